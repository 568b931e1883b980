"""Forecasts of counts and quantiles of a seasonal series, with dilated convolutions and classical features."""

import math

import tensorflow as tf

LENGTH, AHEAD = 24, 4
QUANTILES = (0.1, 0.5, 0.9)
layers = tf.keras.layers


class DilatedBlock(layers.Layer):
    """A gated causal convolution with a residual path."""

    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.both = layers.Conv1D(2 * width, kernel_size=3, dilation_rate=dilation, padding="causal")
        self.norm = layers.LayerNormalization(axis=[1, 2], epsilon=1e-4)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        values, gate = tf.split(self.both(x), num_or_size_splits=2, axis=-1)
        return self.norm(x + tf.tanh(values) * tf.sigmoid(gate))


class Forecaster(tf.keras.Model):
    """Quantiles of the coming steps, and the rate of a Poisson count."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.scale = layers.Normalization(axis=-1)
        self.enter = layers.Conv1D(width, 1)
        self.blocks = [DilatedBlock(width, 2**level) for level in range(2)]
        self.pools = [layers.MaxPooling1D(6), layers.AveragePooling1D(pool_size=6, strides=6, padding="valid")]
        self.quantiles, self.rate = layers.Dense(AHEAD * len(QUANTILES)), layers.Dense(AHEAD, "exponential", False)

    def call(self, features: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        x = self.enter(self.scale(features))
        for block in self.blocks:
            x = block(x)
        joined = tf.concat([layers.Flatten()(pool(x)) for pool in self.pools], axis=1)
        steps = layers.Reshape((AHEAD, len(QUANTILES)))(self.quantiles(joined))
        steps = tf.cumsum(tf.concat([steps[..., :1], tf.math.softplus(steps[..., 1:])], axis=-1), axis=-1)
        return steps, tf.minimum(self.rate(0.1 * joined), 20.0)


def make_series(count: int) -> tf.Tensor:
    """Daily and weekly waves with trend, noise and a missing value each."""
    time = tf.range(LENGTH + AHEAD, dtype=tf.float32)
    phase = tf.random.uniform([count, 1], maxval=6.0)
    waves = tf.sin(time / 3.0 + phase) + 0.5 * tf.cos(time * 0.5) + 0.05 * time
    noise = tf.random.normal(tf.shape(waves), stddev=0.1) + 0.01 * tf.random.gamma([count, 1], alpha=2.0, beta=1.0)
    places = tf.stack([tf.range(count), tf.random.uniform([count], 2, LENGTH - 2, dtype=tf.int32)], axis=1)
    return tf.tensor_scatter_nd_update(waves + noise, places, tf.fill([count], math.nan))


def fill(series: tf.Tensor) -> tf.Tensor:
    """Each missing value becomes the mean of the rest of its row."""
    known = tf.math.logical_not(tf.math.is_nan(series))
    plain = tf.where(known, series, tf.zeros_like(series))
    count = tf.reduce_sum(tf.cast(known, tf.float32), axis=1, keepdims=True)
    return tf.where(known, series, tf.reduce_sum(plain, 1, keepdims=True) / count)


def features_of(series: tf.Tensor) -> tf.Tensor:
    """The series, differences, ranks, bins and a smoothed copy, (count, time, 6)."""
    change = series - tf.concat([series[:, :1], series[:, :-1]], axis=1)
    rank = tf.cast(tf.argsort(tf.argsort(series, axis=-1), axis=-1), tf.float32) / series.shape[1]
    level = tf.cast(layers.Discretization(bin_boundaries=[-0.5, 0.5, 1.5])(series), tf.float32)
    places = tf.cast(tf.searchsorted(tf.sort(series, axis=-1), series, side="right"), tf.float32)
    kept = tf.signal.rfft(series) * tf.complex(tf.cast(tf.range(LENGTH // 2 + 1) < 5, tf.float32), 0.0)
    smooth = tf.signal.irfft(kept, fft_length=[LENGTH])
    return tf.stack([series, change, rank, level, places, smooth], axis=-1)


def pinball(forecast: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    error = tf.expand_dims(target, -1) - forecast
    weights = tf.constant(QUANTILES)
    return tf.reduce_mean(tf.maximum(weights * error, (weights - 1.0) * error))


def describe(series: tf.Tensor) -> tf.Tensor:
    """Summary statistics: moments, bins, windows, special functions of the rank and comparisons with the rest."""
    mean, variance = tf.nn.moments(series, axes=[1], keepdims=True)
    deviation = tf.math.reduce_std(tf.signal.frame(series, frame_length=6, frame_step=3, axis=-1), axis=-1)
    _, total, squares, _ = tf.nn.sufficient_statistics(series, axes=[1])
    counts = tf.math.bincount(tf.histogram_fixed_width_bins(series, [-2.0, 3.0], nbins=5), minlength=5, axis=-1)
    tail = tf.math.betainc(2.0, 3.0, tf.sigmoid(series)) + tf.math.igamma(1.5, tf.abs(series))
    ratio = tf.math.truediv(total, tf.sqrt(squares)) + tf.squeeze(mean * tf.math.reciprocal_no_nan(variance), 1)
    parts = [deviation, tf.cast(counts, tf.float32), tail, ratio[:, None], tf.math.zeta(2.0, 1.0 + tail)]
    return tf.concat(parts, axis=1)


def windows_of(series: tf.Tensor) -> tf.data.Dataset:
    """Pairs of features of the past and values of the future, with the counts that they stand for."""
    pairs = tf.data.Dataset.from_tensor_slices((series[:, :LENGTH], series[:, LENGTH:])).batch(5)
    return pairs.map(lambda past, future: (past, future, tf.exp(tf.minimum(future, 3.0)))).take(1).repeat(3)


def main() -> None:
    tf.keras.utils.set_random_seed(0)
    series = fill(make_series(5))
    model = Forecaster()
    model.scale.adapt(features_of(series[:, :LENGTH]))
    optimizer = tf.keras.optimizers.Nadam(learning_rate=5e-3, weight_decay=1e-3)
    for past, future, rates in windows_of(series):
        counts = tf.random.stateless_poisson(tf.shape(rates), seed=[1, 2], lam=rates, dtype=tf.float32)
        with tf.GradientTape() as tape:
            quantiles, rate = model(features_of(past))
            plain = tf.nn.log_poisson_loss(targets=counts, log_input=tf.math.log(rate + 1e-6), compute_full_loss=True)
            ratio = tf.keras.losses.MeanSquaredLogarithmicError()(counts, rate)
            loss = pinball(quantiles, future) + 0.1 * tf.reduce_mean(plain) + ratio
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        assert math.isfinite(float(loss))
    low, _, high = tf.unstack(model(features_of(series[:, :LENGTH]))[0], axis=-1)
    assert bool(tf.reduce_all(low <= high)) and bool(tf.reduce_all(tf.math.is_finite(describe(series))))


if __name__ == "__main__":
    main()
