"""AlexNet, for images of the shape of CIFAR-10's: five convolutions and three dense layers."""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

TRAINING, TESTING, BATCH, CLASSES = 100, 20, 100, 10
# 64 makes the model as wide as the published one.
WIDTH = 8

keras.utils.set_random_seed(0)
images = tf.random.uniform((TRAINING + TESTING, 32, 32, 3))
labels = tf.random.uniform((TRAINING + TESTING,), maxval=CLASSES, dtype=tf.int32)


class AlexNet(keras.Model):
    """Five convolutions, three of them with pooling, and a classifier."""

    def __init__(self):
        super().__init__()
        self.conv1 = layers.Conv2D(WIDTH, 3, strides=2, padding="same")
        self.act1 = layers.ReLU()
        self.pool1 = layers.MaxPooling2D(2)
        self.conv2 = layers.Conv2D(3 * WIDTH, 3, padding="same")
        self.act2 = layers.ReLU()
        self.pool2 = layers.MaxPooling2D(2)
        self.conv3 = layers.Conv2D(6 * WIDTH, 3, padding="same")
        self.act3 = layers.ReLU()
        self.conv4 = layers.Conv2D(4 * WIDTH, 3, padding="same")
        self.conv5 = layers.Conv2D(4 * WIDTH, 3, padding="same")
        self.act5 = layers.ReLU()
        self.pool5 = layers.MaxPooling2D(2)
        self.flatten = layers.Flatten()
        self.drop1 = layers.Dropout(0.5)
        self.dense1 = layers.Dense(64 * WIDTH)
        self.act6 = layers.ReLU()
        self.drop2 = layers.Dropout(0.5)
        self.dense2 = layers.Dense(64 * WIDTH)
        self.act7 = layers.ReLU()
        self.features = layers.Flatten()
        self.head = layers.Dense(CLASSES)

    def build(self, shape):
        """Each layer makes its weights when it first computes."""
        self.built = True

    def call(self, x, training=None):
        x = self.conv1(x)
        x = self.act1(x)
        x = self.pool1(x)
        x = self.conv2(x)
        x = self.act2(x)
        x = self.pool2(x)
        x = self.conv3(x)
        x = self.act3(x)
        x = self.conv4(x)
        x = tf.nn.relu(x)
        x = self.conv5(x)
        x = self.act5(x)
        x = self.pool5(x)
        x = self.flatten(x)
        x = self.drop1(x)
        x = self.dense1(x)
        x = self.act6(x)
        x = self.drop2(x)
        x = self.dense2(x)
        x = self.act7(x)
        x = self.features(x)
        return self.head(x)


def train(model, images, labels):
    """One epoch in batches."""
    criterion = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = keras.optimizers.SGD(learning_rate=0.01)
    for start in range(0, TRAINING, BATCH):
        with tf.GradientTape() as tape:
            logits = model(images[start : start + BATCH], training=True)
            loss = criterion(labels[start : start + BATCH], logits)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))


def evaluate(model, images, labels):
    """The loss on images that were not trained with."""
    logits = model(images, training=False)
    return float(tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)))


def main():
    model = AlexNet()
    train(model, images[:TRAINING], labels[:TRAINING])
    print("loss", evaluate(model, images[TRAINING:], labels[TRAINING:]))


if __name__ == "__main__":
    main()
