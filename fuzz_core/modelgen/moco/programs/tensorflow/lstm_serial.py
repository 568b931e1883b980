"""LSTM layers that tell the next price of a stock from 20 days of 6 figures, by serial calls of layers."""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

TRAINING, TESTING, BATCH = 100, 20, 100
DAYS, FIGURES = 20, 6

keras.utils.set_random_seed(0)
walks = tf.cumsum(0.1 * tf.random.normal((TRAINING + TESTING, DAYS + 1, FIGURES)), axis=1)
days, prices = walks[:, :DAYS], walks[:, DAYS, -1:]

inputs = keras.Input(shape=(DAYS, FIGURES))
x = layers.LSTM(16, return_sequences=True)(inputs)
x = layers.Dropout(rate=0.2)(x)
x = layers.LSTM(8, return_sequences=True)(x)
x = layers.Dense(8)(x)
x = layers.Activation("tanh")(x)
x = layers.Flatten()(x)
outputs = layers.Dense(1)(x)
model = keras.Model(inputs, outputs)

criterion = keras.losses.MeanSquaredError()
optimizer = keras.optimizers.Adam(learning_rate=1e-3)
for start in range(0, TRAINING, BATCH):
    with tf.GradientTape() as tape:
        loss = criterion(prices[start : start + BATCH], model(days[start : start + BATCH], training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))

loss = criterion(prices[TRAINING:], model(days[TRAINING:], training=False))
print("loss", float(loss))
