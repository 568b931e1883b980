"""Metric learning: embeddings of labelled points under margin losses, with mining, and candidate sampling for words."""

import math

import tensorflow as tf

CLASSES, WIDTH, WORDS = 4, 8, 20
layers = tf.keras.layers


class Embedder(tf.keras.Model):
    """A small network onto the unit sphere, with one weight vector (proxy) per class."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = layers.Dense(16, activation=tf.keras.activations.leaky_relu)
        self.noise, self.leave = layers.GaussianDropout(rate=0.05), layers.Dense(WIDTH, kernel_constraint="unit_norm")
        self.unit = layers.UnitNormalization(axis=1)
        self.proxies = self.add_weight(shape=(CLASSES, WIDTH), initializer="random_normal", name="proxies")

    def call(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
        return self.unit(self.leave(self.noise(self.enter(x), training=training)))


def distances(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    squared = (
        tf.reduce_sum(a**2, 1, keepdims=True) - 2.0 * tf.matmul(a, b, transpose_b=True) + tf.reduce_sum(b**2, axis=1)
    )
    return tf.sqrt(tf.maximum(squared, 1e-12))


def arc_margin(features: tf.Tensor, proxies: tf.Tensor, labels: tf.Tensor, margin: float = 0.3) -> tf.Tensor:
    """Cross-entropy over cosines, after the angle to the right proxy was widened by the margin."""
    cosine = tf.matmul(features, tf.nn.l2_normalize(proxies, axis=1), transpose_b=True)
    cosine = tf.clip_by_value(cosine, -1.0 + 1e-5, 1.0 - 1e-5)
    wider = tf.cos(tf.acos(cosine) + margin)
    chosen = tf.one_hot(labels, CLASSES, on_value=True, off_value=False, dtype=tf.bool)
    scores = 8.0 * tf.where(chosen, wider, cosine)
    return tf.reduce_mean(tf.keras.losses.SparseCategoricalCrossentropy(True, reduction=None)(labels, scores))


def mine(features: tf.Tensor, labels: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """For each point the farthest one of its class and the nearest one of another."""
    distance = distances(features, features)
    same = tf.equal(labels[tf.newaxis, :], labels[:, tf.newaxis])
    positive = tf.argmax(tf.where(same, distance, -1.0), axis=1)
    negative = tf.argmin(tf.where(same, tf.float32.max, distance), axis=1, output_type=tf.int32)
    return positive, negative


def margin_losses(features: tf.Tensor, positive: tf.Tensor, negative: tf.Tensor) -> tf.Tensor:
    """Triplet, contrastive and ranking losses over mined pairs."""
    near = tf.norm(features - tf.gather(features, positive) + 1e-6, axis=1)
    far = tf.norm(features - tf.gather(features, negative) + 1e-6, axis=-1)
    triplet = tf.nn.relu(near - far + 0.5)
    contrastive = tf.square(near) + tf.square(tf.maximum(0.0, 1.0 - far))
    ranking = tf.math.log1p(tf.exp(near - far))
    return tf.reduce_mean(triplet + contrastive + ranking)


def class_losses(features: tf.Tensor, proxies: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Margin and divergence losses of the scores against one-hot targets."""
    chances = tf.nn.softmax(tf.matmul(features, proxies, transpose_b=True))
    wanted = tf.one_hot(labels, CLASSES)
    losses = tf.keras.losses
    margins = losses.CategoricalHinge()(wanted, chances) + losses.SquaredHinge()(2 * wanted - 1, chances)
    hinge = losses.Hinge(reduction="sum")(2 * wanted - 1, chances)
    divergence = losses.KLDivergence()(0.9 * wanted + 0.1 / CLASSES, chances)
    circle = losses.Circle(gamma=2.0, margin=0.25)(labels, features)
    entropy = tf.math.multiply_no_nan(tf.math.log(chances), chances) + tf.math.xlogy(chances, chances)
    others = losses.Huber(delta=0.5, reduction="sum_over_batch_size")(wanted, chances) + tf.reduce_mean(entropy)
    others += losses.CosineSimilarity(axis=-1, reduction="sum")(wanted, chances)
    return margins + 0.1 * hinge + divergence + circle + losses.Poisson()(wanted, chances) + 0.1 * others


def word_loss(table: tf.Variable, bias: tf.Variable, words: tf.Tensor, features: tf.Tensor) -> tf.Tensor:
    """Two sampled losses for a class of many words, by each of the candidate samplers."""
    sampled = tf.random.log_uniform_candidate_sampler(words, 1, num_sampled=5, unique=True, range_max=WORDS, seed=1)
    contrast = tf.nn.nce_loss(
        table, bias, words, features, 5, WORDS, sampled_values=sampled, remove_accidental_hits=True
    )
    uniform = tf.random.uniform_candidate_sampler(words, num_true=1, num_sampled=4, unique=False, range_max=WORDS)
    softmax = tf.nn.sampled_softmax_loss(
        table, bias, words, features, num_sampled=4, num_classes=WORDS, sampled_values=uniform
    )
    fixed = tf.random.fixed_unigram_candidate_sampler(words, 1, 3, True, WORDS, unigrams=[1.0] * WORDS, distortion=0.75)
    hits, _, _ = tf.nn.compute_accidental_hits(words, fixed.sampled_candidates, num_true=1)
    assert hits.dtype == tf.int32
    return tf.reduce_mean(contrast) + tf.reduce_mean(softmax)


def main() -> None:
    tf.keras.utils.set_random_seed(0)
    labels = tf.repeat(tf.range(CLASSES), repeats=[3] * CLASSES)
    words = tf.reshape(tf.cast(labels * 4, tf.int64), [-1, 1])
    points = tf.gather(tf.eye(CLASSES, num_columns=6), labels) + 0.2 * tf.random.normal([12, 6])
    model = Embedder()
    model(points)
    table, bias = tf.Variable(tf.random.normal([WORDS, WIDTH], stddev=0.1)), tf.Variable(tf.zeros(WORDS))
    optimizer = tf.keras.optimizers.Lamb(learning_rate=0.02, beta_1=0.9, beta_2=0.99)
    variables = [*model.trainable_variables, table, bias]
    for _ in range(3):
        with tf.GradientTape() as tape:
            features = model(points, training=True)
            loss = arc_margin(features, model.proxies, labels) + class_losses(features, model.proxies, labels)
            loss += margin_losses(features, *mine(features, labels)) + word_loss(table, bias, words, features)
        gradients = [tf.convert_to_tensor(slope) for slope in tape.gradient(loss, variables)]
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        assert math.isfinite(float(loss))
    distance = tf.linalg.set_diag(distances(points, points), tf.fill([12], tf.float32.max))
    nearest = tf.math.top_k(-distance, k=2).indices
    hit = tf.reduce_any(tf.gather(labels, nearest) == labels[:, tf.newaxis], axis=1)
    assert 0.0 <= float(tf.reduce_mean(tf.cast(hit, tf.float32))) <= 1.0


if __name__ == "__main__":
    main()
