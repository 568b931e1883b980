"""Recurrent networks over sequences of different lengths: which symbol occurs most often, and what comes next."""

import math

import tensorflow as tf

SYMBOLS = 6
layers = tf.keras.layers


class Tagger(tf.keras.Model):
    """Masked embedding, a bidirectional LSTM, a GRU above it, and a classifier on the last state."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.embedding = layers.Embedding(SYMBOLS, width, mask_zero=True, embeddings_initializer="uniform")
        lstm = layers.LSTM(width, return_sequences=True, recurrent_dropout=0.1, unit_forget_bias=True)
        self.both = layers.Bidirectional(lstm, merge_mode="concat")
        self.gru = layers.GRU(width, activation="tanh", recurrent_activation="hard_sigmoid", reset_after=False)
        self.head = layers.Dense(SYMBOLS, activation="log_softmax")

    def call(self, tokens: tf.Tensor, training: bool = False) -> tf.Tensor:
        mask = self.embedding.compute_mask(tokens)
        states = self.both(self.embedding(tokens), mask=mask, training=training)
        return self.head(self.gru(states, mask=mask))


class Forecaster(tf.keras.Model):
    """Cells unrolled by hand below, and a stack of cells run by the RNN layer above."""

    def __init__(self, width: int = 5) -> None:
        super().__init__()
        self.lstm = layers.LSTMCell(width, use_bias=True, dropout=0.0)
        stack = layers.StackedRNNCells([layers.SimpleRNNCell(width, activation="relu"), layers.GRUCell(width)])
        self.rnn = layers.RNN(stack, return_sequences=True, go_backwards=False)
        self.head = layers.TimeDistributed(layers.Dense(1, kernel_regularizer=tf.keras.regularizers.L1L2(1e-4, 1e-4)))

    def call(self, series: tf.Tensor) -> tf.Tensor:
        state = [tf.zeros((tf.shape(series)[0], self.lstm.units)) for _ in range(2)]
        outputs = tf.TensorArray(tf.float32, size=series.shape[1], clear_after_read=False)
        for index, value in enumerate(tf.unstack(series, axis=1)):
            output, state = self.lstm(value, state)
            outputs = outputs.write(index, output)
        return self.head(self.rnn(tf.transpose(outputs.stack(), perm=[1, 0, 2])))


def make_sequences(count: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Padded tokens (batch, time), and for each row the symbol that occurs most often."""
    lengths = tf.random.uniform([count], 2, 9, dtype=tf.int64, seed=1)
    flat = tf.random.uniform([int(tf.reduce_sum(lengths))], 1, SYMBOLS, dtype=tf.int32, seed=2)
    ragged = tf.RaggedTensor.from_row_lengths(flat, lengths)
    counts = tf.math.bincount(ragged, minlength=SYMBOLS, axis=-1, dtype=tf.int32)
    return ragged.to_tensor(default_value=0, shape=[None, 8]), tf.argmax(counts, axis=1, output_type=tf.int32)


def train(model: tf.keras.Model, inputs: tf.Tensor, target: tf.Tensor, criterion) -> None:
    optimizer = tf.keras.optimizers.Adam(1e-2, beta_1=0.9, beta_2=0.99, epsilon=1e-7, clipnorm=None)
    for _ in range(3):
        with tf.GradientTape(persistent=False, watch_accessed_variables=True) as tape:
            loss = criterion(target, model(inputs)) + tf.add_n([*model.losses, tf.constant(0.0)])
        gradients = tape.gradient(loss, model.trainable_variables, unconnected_gradients="zero")
        clipped, norm = tf.clip_by_global_norm(gradients, clip_norm=1.0)
        optimizer.apply_gradients(zip(clipped, model.trainable_variables, strict=True))
        assert math.isfinite(float(loss)) and math.isfinite(float(norm))


def negative_log_likelihood(labels: tf.Tensor, log_chances: tf.Tensor) -> tf.Tensor:
    return -tf.reduce_sum(tf.gather(log_chances, labels, axis=1, batch_dims=1))


def main() -> None:
    tf.keras.utils.set_random_seed(0)
    tokens, labels = make_sequences(6)
    tagger = Tagger()
    train(tagger, tokens, labels, negative_log_likelihood)
    wave = tf.math.sin(tf.linspace(0.0, 6.0, num=12)[None, :, None] + tf.range(3.0)[:, None, None])
    forecaster = Forecaster()
    train(forecaster, wave[:, :-1], wave[:, 1:], tf.keras.losses.Huber(delta=0.5, reduction="sum_over_batch_size"))
    best = tf.math.top_k(tagger(tokens), k=2, sorted=True)
    lengths = tf.math.count_nonzero(tokens, axis=1, dtype=tf.int32)
    mask = tf.sequence_mask(lengths, maxlen=8, dtype=tf.float32)
    reversed_tokens = tf.reverse_sequence(tokens, lengths, seq_axis=1, batch_axis=0)
    assert best.indices.shape == (6, 2) and reversed_tokens.shape == mask.shape
    error = tf.keras.losses.MeanAbsoluteError(reduction=None)(wave[:, 1:], forecaster(wave[:, :-1]))
    assert bool(tf.reduce_all(tf.math.is_finite(error)))


if __name__ == "__main__":
    main()
