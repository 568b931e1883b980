"""A mixture of experts: a noisy router sends every token to its two best experts, within a capacity."""

import math

import tensorflow as tf

WIDTH, EXPERTS, CHOSEN = 8, 4, 2
layers = tf.keras.layers


class Router(layers.Layer):
    """Chooses the experts of each token and keeps the book on how even the load is."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = layers.Dense(
            EXPERTS, use_bias=False, kernel_regularizer=tf.keras.regularizers.OrthogonalRegularizer()
        )
        self.noise = self.add_weight(shape=(WIDTH, EXPERTS), initializer="zeros", trainable=True)

    def call(self, tokens: tf.Tensor, training: bool = False) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        logits = self.gate(tokens)
        if training:
            logits += 0.5 * tf.random.normal(tf.shape(logits)) * tf.math.softplus(tf.matmul(tokens, self.noise))
        weights, chosen = tf.nn.top_k(logits, k=CHOSEN, sorted=False)
        return tf.nn.softmax(weights, axis=-1), chosen, balance_loss(logits, chosen)


class GroupedExperts(layers.Layer):
    """All experts as one batched matrix product over slots of a fixed capacity."""

    def __init__(self, hidden: int = 12) -> None:
        super().__init__()
        start = tf.keras.initializers.TruncatedNormal(mean=0.0, stddev=0.2, seed=5)
        self.rise = self.add_weight(shape=(EXPERTS, WIDTH, hidden), initializer=start)
        self.fall = self.add_weight(shape=(EXPERTS, hidden, WIDTH), initializer="glorot_normal")

    def call(self, slots: tf.Tensor) -> tf.Tensor:
        return tf.einsum("ech,ehw->ecw", tf.nn.swish(tf.linalg.matmul(slots, self.rise)), self.fall)


class MixtureOfExperts(tf.keras.Model):
    """Dispatches tokens into slots, runs the experts and puts the weighted results back in place."""

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self.capacity = capacity
        self.router, self.experts = Router(), GroupedExperts()
        self.shared = layers.Dense(WIDTH, activation="softsign")

    def call(self, tokens: tf.Tensor, training: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
        weights, chosen, balance = self.router(tokens, training=training)
        expert = tf.reshape(chosen, [-1])
        onehot = tf.one_hot(expert, EXPERTS, dtype=tf.int32)
        rank = tf.reduce_sum(tf.cumsum(onehot, axis=0, exclusive=True) * onehot, axis=1)
        kept = tf.less(rank, self.capacity)
        place = tf.boolean_mask(expert * self.capacity + rank, kept)
        token = tf.boolean_mask(tf.repeat(tf.range(len(tokens)), repeats=CHOSEN), kept)
        shape = tf.constant([EXPERTS * self.capacity, WIDTH])
        slots = tf.scatter_nd(place[:, tf.newaxis], tf.gather(tokens, token), shape)
        results = tf.reshape(self.experts(tf.reshape(slots, [EXPERTS, self.capacity, WIDTH])), [-1, WIDTH])
        scaled = tf.gather(results, place) * tf.boolean_mask(tf.reshape(weights, [-1, 1]), kept)
        return tf.tensor_scatter_nd_add(self.shared(tokens), token[:, tf.newaxis], scaled), balance


class SoftMixture(tf.keras.Model):
    """Three experts by their products, maxima and averages, mixed by a straight-through Gumbel sample."""

    def __init__(self) -> None:
        super().__init__()
        self.experts = [layers.Dense(WIDTH), layers.Dense(WIDTH, use_bias=False), layers.Dense(WIDTH, "elu")]
        self.gate = layers.Dense(len(self.experts))

    def call(self, tokens: tf.Tensor) -> tf.Tensor:
        outputs = [expert(tokens) for expert in self.experts]
        gumbel = -tf.math.log(-tf.math.log(tf.random.uniform([len(tokens), 3], 1e-6, 1.0)))
        soft = tf.nn.softmax((self.gate(tokens) + gumbel) / 0.7)
        hard = tf.cast(tf.equal(soft, tf.reduce_max(soft, axis=1, keepdims=True)), soft.dtype)
        choice = soft + tf.stop_gradient(hard - soft)
        together = layers.maximum(outputs) + layers.average(outputs) + layers.multiply(outputs)
        return layers.Dot(axes=(1, 1))([choice, tf.stack(outputs, axis=1)]) + 0.1 * together


def balance_loss(logits: tf.Tensor, chosen: tf.Tensor) -> tf.Tensor:
    """The share of tokens times the mean chance per expert, plus the squared log-partition."""
    load = tf.math.bincount(tf.reshape(chosen, [-1]), minlength=EXPERTS, maxlength=EXPERTS, dtype=tf.float32)
    chance = tf.reduce_mean(tf.nn.softmax(logits), axis=0)
    spread = tf.reduce_mean(tf.reduce_logsumexp(logits, axis=-1, keepdims=True) ** 2)
    return EXPERTS * tf.tensordot(load / tf.reduce_sum(load), chance, axes=1) + 1e-3 * spread


def main() -> None:
    tf.random.set_seed(0)
    tokens = tf.random.normal([10, WIDTH])
    target = tf.where(tokens[:, :1] > 0, tf.reverse(tokens, axis=[-1]), tf.roll(tokens, shift=1, axis=-1))
    model, soft = MixtureOfExperts(capacity=6), SoftMixture()
    model(tokens), soft(tokens)
    optimizer = tf.keras.optimizers.Adafactor(learning_rate=0.02, beta_2_decay=-0.8, clip_threshold=1.0)
    variables = [*model.trainable_variables, *soft.trainable_variables]
    for _ in range(3):
        with tf.GradientTape() as tape:
            output, balance = model(tokens, training=True)
            loss = tf.keras.losses.MeanSquaredError("sum_over_batch_size")(target, output) + 0.1 * balance
            loss += tf.reduce_mean(tf.abs(soft(tokens) - target)) + tf.math.reduce_sum(model.losses)
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        assert math.isfinite(float(loss))
    _, chosen, _ = model.router(tokens)
    load = tf.histogram_fixed_width(tf.cast(chosen, tf.float32), value_range=[0.0, 4.0], nbins=EXPERTS)
    parts = tf.dynamic_partition(tokens, chosen[:, 0], num_partitions=EXPERTS)
    assert int(tf.reduce_sum(load)) == 10 * CHOSEN and sum(len(part) for part in parts) == 10


if __name__ == "__main__":
    main()
