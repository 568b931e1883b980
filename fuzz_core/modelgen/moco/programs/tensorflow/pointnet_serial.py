"""PointNet on stock prices, 20 days of 6 figures, by serial calls of layers."""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

TRAINING, TESTING, BATCH, CLASSES = 100, 20, 100, 2
# 64 makes the model as wide as the published one.
WIDTH = 64

keras.utils.set_random_seed(0)
days = tf.random.normal((TRAINING + TESTING, 20, 6))
labels = tf.random.uniform((TRAINING + TESTING,), maxval=CLASSES, dtype=tf.int32)

inputs = keras.Input(shape=(20, 6))
x = layers.Conv1D(WIDTH, 1)(inputs)
x = layers.BatchNormalization()(x)
x = layers.ReLU()(x)
x = layers.Conv1D(2 * WIDTH, 1)(x)
x = layers.BatchNormalization()(x)
x = layers.ReLU()(x)
x = layers.Conv1D(32 * WIDTH, 1)(x)
x = layers.BatchNormalization()(x)
x = layers.GlobalMaxPooling1D()(x)
x = layers.Dense(16 * WIDTH)(x)
x = layers.BatchNormalization()(x)
x = layers.ReLU()(x)
x = layers.Dense(8 * WIDTH)(x)
x = layers.ReLU()(x)
x = layers.Dropout(0.3)(x)
x = layers.Flatten()(x)
outputs = layers.Dense(CLASSES)(x)
model = keras.Model(inputs, outputs)

criterion = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = keras.optimizers.SGD(learning_rate=0.01)
for start in range(0, TRAINING, BATCH):
    with tf.GradientTape() as tape:
        logits = model(days[start : start + BATCH], training=True)
        loss = criterion(labels[start : start + BATCH], logits)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))

loss = criterion(labels[TRAINING:], model(days[TRAINING:], training=False))
print("loss", float(loss))
