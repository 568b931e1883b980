"""LeNet on images of the shape of MNIST's, 28 x 28 x 1, by serial calls of layers."""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

TRAINING, TESTING, BATCH, CLASSES = 100, 20, 100, 10

keras.utils.set_random_seed(0)
images = tf.random.uniform((TRAINING + TESTING, 28, 28, 1))
labels = tf.random.uniform((TRAINING + TESTING,), maxval=CLASSES, dtype=tf.int32)

inputs = keras.Input(shape=(28, 28, 1))
x = layers.Conv2D(6, kernel_size=5, padding="same")(inputs)
x = layers.Activation("tanh")(x)
x = layers.AveragePooling2D(pool_size=2, strides=2)(x)
x = layers.Conv2D(16, kernel_size=5)(x)
x = layers.ReLU()(x)
x = layers.MaxPooling2D(pool_size=(2, 2))(x)
x = layers.Flatten()(x)
x = layers.Dense(120, activation="relu")(x)
x = layers.Dense(84)(x)
x = layers.Activation("sigmoid")(x)
x = layers.Flatten()(x)
outputs = layers.Dense(CLASSES)(x)
model = keras.Model(inputs=inputs, outputs=outputs)

criterion = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = keras.optimizers.SGD(learning_rate=0.1)
for start in range(0, TRAINING, BATCH):
    with tf.GradientTape() as tape:
        logits = model(images[start : start + BATCH], training=True)
        loss = criterion(labels[start : start + BATCH], logits)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))

loss = criterion(labels[TRAINING:], model(images[TRAINING:], training=False))
print("loss", float(loss))
