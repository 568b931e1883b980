"""Contrastive learning: two views of each signal are pulled together (InfoNCE, Barlow twins, momentum queue)."""

import math

import tensorflow as tf

layers = tf.keras.layers


def make_encoder(width: int = 16) -> tf.keras.Model:
    """A one-dimensional convolutional encoder with a projection head."""
    return tf.keras.Sequential(
        [
            tf.keras.Input((16, 2)),
            layers.Conv1D(8, kernel_size=5, strides=2, padding="causal"),
            layers.BatchNormalization(momentum=0.9),
            layers.Activation("gelu"),
            layers.SeparableConv1D(width, 3, padding="valid", dilation_rate=1),
            layers.GlobalAveragePooling1D(data_format="channels_last"),
            layers.Dense(width, use_bias=False),
            layers.BatchNormalization(scale=False),
        ]
    )


def make_signals(count: int) -> tf.Tensor:
    """Chirps in two channels, (count, 16, 2)."""
    time = tf.reshape(tf.linspace(0.0, 1.0, 16), [1, 16, 1])
    speed = tf.exp(tf.random.normal([count, 1, 2], mean=1.0, stddev=0.3))
    return tf.sin(2 * math.pi * speed * time * (1 + time))


def view(signals: tf.Tensor) -> tf.Tensor:
    """A random view: scaled, shifted in time, masked in one window and flipped in sign."""
    count = tf.shape(signals)[0]
    scale = tf.random.uniform(tf.stack([count, 1, 1]), minval=0.7, maxval=1.3)
    shift = tf.random.uniform([], -2, 3, dtype=tf.int32)
    start = tf.random.uniform([count, 1], 0, 12, tf.int64)
    axis = tf.range(16, dtype=tf.int64)
    hidden = tf.logical_and(axis >= start, tf.math.less(axis, start + 4))
    sign = tf.math.sign(tf.random.normal((count, 1, 1)))
    return tf.where(hidden[..., None], 0.0, tf.roll(signals * scale, shift, axis=1)) * sign


def info_nce(a: tf.Tensor, b: tf.Tensor, temperature: float = 0.2) -> tf.Tensor:
    """Cross-entropy over similarities of all views; a view is no negative of itself."""
    joined = tf.math.l2_normalize(tf.concat([a, b], axis=0), axis=1, epsilon=1e-8)
    similarity = tf.matmul(joined, joined, transpose_b=True) / temperature
    similarity = tf.linalg.set_diag(similarity, tf.fill([joined.shape[0]], -1e4))
    partner = tf.roll(tf.range(joined.shape[0]), shift=[a.shape[0]], axis=[0])
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=partner, logits=similarity))


def barlow(a: tf.Tensor, b: tf.Tensor, weight: float = 5e-3) -> tf.Tensor:
    """The cross-correlation of both views' features should be the identity."""
    a, b = ((x - tf.reduce_mean(x, 0)) / (tf.math.reduce_std(x, axis=0) + 1e-4) for x in (a, b))
    correlation = tf.einsum("bi,bj->ij", a, b) / a.shape[0]
    diagonal = tf.linalg.diag_part(correlation)
    outside = correlation - tf.linalg.diag(diagonal)
    return tf.reduce_sum((1.0 - diagonal) ** 2) + weight * tf.reduce_sum(tf.square(outside))


def queue_loss(query: tf.Tensor, key: tf.Tensor, queue: tf.Tensor) -> tf.Tensor:
    """One positive key against a queue of old ones, and the cosine similarity of query and key."""
    query, queue = tf.nn.l2_normalize(query, axis=-1), tf.nn.l2_normalize(queue, -1)
    positive = tf.reduce_sum(query * tf.nn.l2_normalize(key, axis=1), axis=1, keepdims=True)
    scores = tf.concat([positive, tf.matmul(query, queue, False, True)], axis=1) / 0.1
    classes = tf.nn.log_softmax(tf.cast(scores, tf.float64))[:, 0]
    cosine = tf.keras.losses.CosineSimilarity(axis=-1, reduction="sum")(query, key)
    return -tf.cast(tf.reduce_mean(classes), tf.float32) + 0.1 * cosine


def covariance_rank(features: tf.Tensor) -> int:
    """How many directions the features use: a collapsed encoder uses one."""
    centred = features - tf.math.reduce_mean(features, axis=0, keepdims=True)
    covariance = tf.matmul(centred, centred, transpose_a=True) / tf.cast(tf.shape(features)[0], tf.float32)
    values = tf.linalg.eigvalsh(covariance)
    return int(tf.math.count_nonzero(values > 1e-3 * tf.reduce_max(values)))


def main() -> None:
    tf.keras.utils.set_random_seed(0)
    signals = make_signals(8)
    encoder, momentum = make_encoder(), make_encoder()
    momentum.set_weights(encoder.get_weights())
    queue = tf.random.normal([12, 16])
    schedule = tf.keras.optimizers.schedules.CosineDecay(0.02, decay_steps=4, alpha=0.1, warmup_steps=0)
    optimizer = tf.keras.optimizers.SGD(schedule, momentum=0.9, weight_decay=1e-4)
    for _ in range(3):
        key = tf.stop_gradient(momentum(view(signals), training=True))
        with tf.GradientTape() as tape:
            a, b = encoder(view(signals), training=True), encoder(view(signals), training=True)
            loss = info_nce(a, b) + 0.1 * barlow(a, b) + queue_loss(a, key, queue)
        gradients = tape.gradient(loss, encoder.trainable_variables)
        optimizer.apply_gradients(zip(gradients, encoder.trainable_variables, strict=True))
        for slow, fast in zip(momentum.variables, encoder.variables, strict=True):
            slow.assign(slow * 0.99 + fast * 0.01)
        queue = tf.slice(tf.concat([key, queue], 0), begin=[0, 0], size=[12, -1])
        assert math.isfinite(float(loss))
    features = encoder(signals, training=False)
    distance = tf.norm(features[:, None] - features[None], ord=1, axis=-1)
    nearest = tf.argmin(tf.linalg.set_diag(distance, tf.fill([8], math.inf)), axis=1)
    assert covariance_rank(features) >= 1 and int(tf.reduce_max(nearest)) < 8


if __name__ == "__main__":
    main()
