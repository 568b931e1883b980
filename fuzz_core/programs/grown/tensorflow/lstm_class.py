"""LSTM layers that tell the next price of a stock from 20 days of 6 figures (open, high, low, close, volume, mean)."""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

DAYS, FIGURES = 20, 6

keras.utils.set_random_seed(0)
walks = tf.cumsum(0.1 * tf.random.normal((120, DAYS + 1, FIGURES)), axis=1)
samples, targets = walks[:, :DAYS], walks[:, DAYS, -1:]
criterion = keras.losses.MeanSquaredError()


class Forecaster(keras.Model):
    """Two recurrent layers, a dense layer per day and the price."""

    def __init__(self):
        super().__init__()
        self.lstm1 = layers.LSTM(16, return_sequences=True)
        self.dropout = layers.Dropout(rate=0.2)
        self.lstm2 = layers.LSTM(8, return_sequences=True)
        self.dense = layers.Dense(8)
        self.flatten = layers.Flatten()
        self.head = layers.Dense(1)

    def build(self, shape):
        """Each layer makes its weights when it first computes."""
        self.built = True

    def call(self, x, training=None):
        x = self.lstm1(x)
        x = self.dropout(x, training=training)
        x = self.lstm2(x)
        x = self.dense(x)
        x = tf.tanh(x)
        x = self.flatten(x)
        return self.head(x)


model = Forecaster()
