"""LSTM layers that tell the next price of a stock from 20 days of 6 figures, by serial calls of layers."""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

DAYS, FIGURES = 20, 6

keras.utils.set_random_seed(0)
walks = tf.cumsum(0.1 * tf.random.normal((120, DAYS + 1, FIGURES)), axis=1)
samples, targets = walks[:, :DAYS], walks[:, DAYS, -1:]
criterion = keras.losses.MeanSquaredError()

inputs = keras.Input(shape=(DAYS, FIGURES))
x = layers.LSTM(16, return_sequences=True)(inputs)
x = layers.Dropout(rate=0.2)(x)
x = layers.LSTM(8, return_sequences=True)(x)
x = layers.Dense(8)(x)
x = layers.Activation("tanh")(x)
x = layers.Flatten()(x)
outputs = layers.Dense(1)(x)
model = keras.Model(inputs, outputs)
