"""LSTM layers that tell the next price of a stock from 20 days of 6 figures (open, high, low, close, volume, mean)."""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

TRAINING, TESTING, BATCH = 100, 20, 100
DAYS, FIGURES = 20, 6


def make_prices(count):
    """Random walks, (count, days, figures), and the last figure of the day that follows."""
    walks = tf.cumsum(0.1 * tf.random.normal((count, DAYS + 1, FIGURES)), axis=1)
    return walks[:, :DAYS], walks[:, DAYS, -1:]


keras.utils.set_random_seed(0)
days, prices = make_prices(TRAINING + TESTING)


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


def train(model, days, prices):
    """One epoch in batches."""
    criterion = keras.losses.MeanSquaredError()
    optimizer = keras.optimizers.Adam(learning_rate=1e-3)
    for start in range(0, TRAINING, BATCH):
        with tf.GradientTape() as tape:
            loss = criterion(prices[start : start + BATCH], model(days[start : start + BATCH], training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))


def evaluate(model, days, prices):
    """The loss on days that were not trained with."""
    return float(tf.reduce_mean(tf.square(model(days, training=False) - prices)))


def main():
    model = Forecaster()
    train(model, days[:TRAINING], prices[:TRAINING])
    print("loss", evaluate(model, days[TRAINING:], prices[TRAINING:]))


if __name__ == "__main__":
    main()
