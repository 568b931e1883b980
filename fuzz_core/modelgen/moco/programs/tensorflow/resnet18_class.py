"""ResNet18: a stem and eight residual blocks of two convolutions each.

The images are of 64 x 64 x 3: those of ImageNet, 224 x 224, cost twelve times as much.
"""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

TRAINING, TESTING, BATCH, CLASSES = 100, 20, 100, 1000
# 64 makes the model as wide as the published one.
WIDTH = 8

keras.utils.set_random_seed(0)
images = tf.random.uniform((TRAINING + TESTING, 64, 64, 3))
labels = tf.random.uniform((TRAINING + TESTING,), maxval=CLASSES, dtype=tf.int32)


class ResNet18(keras.Model):
    """A stem, four stages of two residual blocks, and a classifier."""

    def __init__(self):
        super().__init__()
        self.conv1 = layers.Conv2D(WIDTH, 7, strides=2, padding="same", use_bias=False)
        self.norm1 = layers.BatchNormalization()
        self.act1 = layers.ReLU()
        self.pool1 = layers.MaxPooling2D(3, strides=2, padding="same")
        self.first2a = layers.Conv2D(WIDTH, 3, padding="same", use_bias=False)
        self.norm2a1 = layers.BatchNormalization()
        self.act2a = layers.ReLU()
        self.second2a = layers.Conv2D(WIDTH, 3, padding="same", use_bias=False)
        self.norm2a2 = layers.BatchNormalization()
        self.add2a = layers.Add()
        self.first2b = layers.Conv2D(WIDTH, 3, padding="same", use_bias=False)
        self.norm2b1 = layers.BatchNormalization()
        self.act2b = layers.ReLU()
        self.second2b = layers.Conv2D(WIDTH, 3, padding="same", use_bias=False)
        self.norm2b2 = layers.BatchNormalization()
        self.add2b = layers.Add()
        self.skip3a = layers.Conv2D(2 * WIDTH, 1, strides=2, use_bias=False)
        self.scale3a = layers.BatchNormalization()
        self.first3a = layers.Conv2D(2 * WIDTH, 3, strides=2, padding="same", use_bias=False)
        self.norm3a1 = layers.BatchNormalization()
        self.act3a = layers.ReLU()
        self.second3a = layers.Conv2D(2 * WIDTH, 3, padding="same", use_bias=False)
        self.norm3a2 = layers.BatchNormalization()
        self.add3a = layers.Add()
        self.first3b = layers.Conv2D(2 * WIDTH, 3, padding="same", use_bias=False)
        self.norm3b1 = layers.BatchNormalization()
        self.act3b = layers.ReLU()
        self.second3b = layers.Conv2D(2 * WIDTH, 3, padding="same", use_bias=False)
        self.norm3b2 = layers.BatchNormalization()
        self.add3b = layers.Add()
        self.skip4a = layers.Conv2D(4 * WIDTH, 1, strides=2, use_bias=False)
        self.scale4a = layers.BatchNormalization()
        self.first4a = layers.Conv2D(4 * WIDTH, 3, strides=2, padding="same", use_bias=False)
        self.norm4a1 = layers.BatchNormalization()
        self.act4a = layers.ReLU()
        self.second4a = layers.Conv2D(4 * WIDTH, 3, padding="same", use_bias=False)
        self.norm4a2 = layers.BatchNormalization()
        self.add4a = layers.Add()
        self.first4b = layers.Conv2D(4 * WIDTH, 3, padding="same", use_bias=False)
        self.norm4b1 = layers.BatchNormalization()
        self.act4b = layers.ReLU()
        self.second4b = layers.Conv2D(4 * WIDTH, 3, padding="same", use_bias=False)
        self.norm4b2 = layers.BatchNormalization()
        self.add4b = layers.Add()
        self.skip5a = layers.Conv2D(8 * WIDTH, 1, strides=2, use_bias=False)
        self.scale5a = layers.BatchNormalization()
        self.first5a = layers.Conv2D(8 * WIDTH, 3, strides=2, padding="same", use_bias=False)
        self.norm5a1 = layers.BatchNormalization()
        self.act5a = layers.ReLU()
        self.second5a = layers.Conv2D(8 * WIDTH, 3, padding="same", use_bias=False)
        self.norm5a2 = layers.BatchNormalization()
        self.add5a = layers.Add()
        self.first5b = layers.Conv2D(8 * WIDTH, 3, padding="same", use_bias=False)
        self.norm5b1 = layers.BatchNormalization()
        self.act5b = layers.ReLU()
        self.second5b = layers.Conv2D(8 * WIDTH, 3, padding="same", use_bias=False)
        self.norm5b2 = layers.BatchNormalization()
        self.add5b = layers.Add()
        self.pool = layers.GlobalAveragePooling2D()
        self.features = layers.Flatten()
        self.head = layers.Dense(CLASSES)

    def build(self, shape):
        """Each layer makes its weights when it first computes."""
        self.built = True

    def call(self, x, training=None):
        x = self.conv1(x)
        x = self.norm1(x)
        x = self.act1(x)
        x = self.pool1(x)
        skip = x
        x = self.first2a(x)
        x = self.norm2a1(x)
        x = self.act2a(x)
        x = self.second2a(x)
        x = self.norm2a2(x)
        x = self.add2a([x, skip])
        x = tf.nn.relu(x)
        skip = x
        x = self.first2b(x)
        x = self.norm2b1(x)
        x = self.act2b(x)
        x = self.second2b(x)
        x = self.norm2b2(x)
        x = self.add2b([x, skip])
        x = tf.nn.relu(x)
        skip = self.skip3a(x)
        skip = self.scale3a(skip)
        x = self.first3a(x)
        x = self.norm3a1(x)
        x = self.act3a(x)
        x = self.second3a(x)
        x = self.norm3a2(x)
        x = self.add3a([x, skip])
        x = tf.nn.relu(x)
        skip = x
        x = self.first3b(x)
        x = self.norm3b1(x)
        x = self.act3b(x)
        x = self.second3b(x)
        x = self.norm3b2(x)
        x = self.add3b([x, skip])
        x = tf.nn.relu(x)
        skip = self.skip4a(x)
        skip = self.scale4a(skip)
        x = self.first4a(x)
        x = self.norm4a1(x)
        x = self.act4a(x)
        x = self.second4a(x)
        x = self.norm4a2(x)
        x = self.add4a([x, skip])
        x = tf.nn.relu(x)
        skip = x
        x = self.first4b(x)
        x = self.norm4b1(x)
        x = self.act4b(x)
        x = self.second4b(x)
        x = self.norm4b2(x)
        x = self.add4b([x, skip])
        x = tf.nn.relu(x)
        skip = self.skip5a(x)
        skip = self.scale5a(skip)
        x = self.first5a(x)
        x = self.norm5a1(x)
        x = self.act5a(x)
        x = self.second5a(x)
        x = self.norm5a2(x)
        x = self.add5a([x, skip])
        x = tf.nn.relu(x)
        skip = x
        x = self.first5b(x)
        x = self.norm5b1(x)
        x = self.act5b(x)
        x = self.second5b(x)
        x = self.norm5b2(x)
        x = self.add5b([x, skip])
        x = tf.nn.relu(x)
        x = self.pool(x)
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
    model = ResNet18()
    train(model, images[:TRAINING], labels[:TRAINING])
    print("loss", evaluate(model, images[TRAINING:], labels[TRAINING:]))


if __name__ == "__main__":
    main()
