"""A graph neural network that labels nodes by community: convolution, attention and pooling over an edge list."""

import math

import tensorflow as tf

NODES, FEATURES, COMMUNITIES = 12, 6, 3


class GraphConvolution(tf.keras.layers.Layer):
    """Mean over neighbours by segment sums along the edges, with symmetric normalisation."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.outputs = outputs

    def build(self, shape: tuple) -> None:
        self.weight = self.add_weight(shape=(shape[-1], self.outputs), initializer="he_uniform", name="weight")

    def call(self, x: tf.Tensor, edges: tf.Tensor) -> tf.Tensor:
        source, target = tf.unstack(edges, axis=0)
        degree = tf.math.bincount(target, minlength=NODES, maxlength=NODES, dtype=tf.float32)
        scale = tf.math.rsqrt(tf.gather(degree, source) * tf.gather(degree, target))
        messages = tf.gather(tf.matmul(x, self.weight), source) * scale[:, tf.newaxis]
        return tf.math.unsorted_segment_sum(messages, target, num_segments=NODES)


class GraphAttention(tf.keras.layers.Layer):
    """Edge weights by a softmax over each node's incoming edges."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.project = tf.keras.layers.Dense(width, use_bias=False)
        self.score = tf.keras.layers.EinsumDense("ef,fg->eg", output_shape=(1,), bias_axes="g")

    def call(self, x: tf.Tensor, edges: tf.Tensor) -> tf.Tensor:
        source, target = edges[0], edges[1]
        values = self.project(x)
        pairs = tf.concat([tf.gather(values, source), tf.gather(values, target)], axis=1)
        scores = tf.squeeze(tf.nn.leaky_relu(self.score(pairs), 0.2), axis=1)
        weights = segment_softmax(scores, target)
        mixed = weights[:, None] * tf.gather(values, source, axis=0)
        return tf.tensor_scatter_nd_add(tf.zeros_like(values), target[:, None], mixed)


class Gnn(tf.keras.Model):
    """Convolution, attention and a readout of the whole graph that every node sees."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.convolution, self.attention = GraphConvolution(width), GraphAttention(width)
        self.norm = tf.keras.layers.LayerNormalization(center=False, scale=False)
        self.head = tf.keras.layers.Dense(COMMUNITIES, bias_initializer=tf.keras.initializers.Constant(0.1))

    def call(self, x: tf.Tensor, edges: tf.Tensor) -> tf.Tensor:
        x = tf.nn.selu(self.convolution(x, edges))
        y = self.norm(self.attention(x, edges))
        peak = tf.broadcast_to(tf.reduce_max(y, axis=0, keepdims=True), tf.shape(y))
        return self.head(tf.concat((x, y, peak), axis=-1))


def segment_softmax(scores: tf.Tensor, segment: tf.Tensor) -> tf.Tensor:
    peaks = tf.math.unsorted_segment_max(scores, segment, NODES)
    powers = tf.exp(scores - tf.gather(peaks, segment))
    sums = tf.scatter_nd(tf.expand_dims(segment, 1), powers, shape=[NODES])
    return tf.math.divide_no_nan(powers, tf.gather(sums, segment))


def make_graph() -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Node features, edges (2, count) that mostly stay within a community, and the community of each node."""
    labels = tf.math.mod(tf.range(NODES), COMMUNITIES)
    same = tf.equal(labels[None, :], labels[:, None])
    chance = tf.where(same, 0.8, 0.1)
    drawn = tf.cast(tf.random.uniform([NODES, NODES], seed=1) < chance, tf.float32)
    upper = tf.linalg.band_part(drawn, 0, -1)
    adjacency = tf.linalg.set_diag(tf.maximum(upper, tf.transpose(upper)), tf.ones([NODES]))
    noise = tf.random.normal((NODES, FEATURES), stddev=0.5, seed=2)
    edges = tf.transpose(tf.where(adjacency > 0.0))
    return tf.one_hot(labels, FEATURES, dtype=tf.float32) + noise, tf.cast(edges, tf.int32), labels


def pooled(x: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Sum, mean, product and minimum of the node features of each community."""
    order = tf.argsort(labels, direction="ASCENDING", stable=True)
    rows, segments = tf.gather(x, order), tf.gather(labels, order)
    parts = [pool(rows, segments) for pool in (tf.math.segment_mean, tf.math.segment_min, tf.math.segment_sum)]
    spread = tf.math.unsorted_segment_sqrt_n(data=x, segment_ids=labels, num_segments=COMMUNITIES)
    return tf.stack([*parts, spread], axis=1)


def main() -> None:
    tf.random.set_seed(0)
    features, edges, labels = make_graph()
    known = tf.random.uniform((NODES,), seed=3) >= 0.3
    model = Gnn()
    optimizer = tf.keras.optimizers.Adagrad(learning_rate=0.05, initial_accumulator_value=0.2, epsilon=1e-6)
    for _ in range(3):
        with tf.GradientTape() as tape:
            logits = model(features, edges)
            picked = tf.boolean_mask(tf.nn.log_softmax(logits, axis=1), known)
            loss = -tf.reduce_mean(tf.gather_nd(picked, tf.boolean_mask(labels, known)[:, None], batch_dims=1))
            jumps = tf.gather(logits, edges[0]) - tf.gather(logits, edges[1])
            loss += 0.01 * tf.reduce_mean(tf.reduce_sum(jumps**2, axis=-1))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        assert math.isfinite(float(loss))
    found, _, counts = tf.unique_with_counts(tf.argmax(model(features, edges), axis=-1))
    assert int(tf.reduce_sum(counts)) == NODES and len(found) <= COMMUNITIES
    assert pooled(features, labels).shape == (COMMUNITIES, 4, FEATURES)


if __name__ == "__main__":
    main()
