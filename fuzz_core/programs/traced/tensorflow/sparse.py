"""Sparse models: factorised ratings over embedding bags, smoothing on a sparse graph and a pruned linear layer."""

import math

import tensorflow as tf

USERS, ITEMS, WIDTH = 6, 9, 4


class Ratings(tf.Module):
    """The dot product of a user's factor and the mean of the item's tags, with sparse gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.users = tf.Variable(tf.random.normal([USERS, WIDTH], seed=1))
        self.tags = tf.Variable(tf.random.truncated_normal([ITEMS, WIDTH], stddev=0.5, seed=2))
        self.bias = tf.Variable(tf.zeros([ITEMS]), name="bias")

    def __call__(self, user: tf.Tensor, tags: tf.SparseTensor, weights: tf.SparseTensor) -> tf.Tensor:
        items = tf.nn.safe_embedding_lookup_sparse(self.tags, tags, weights, combiner="mean", default_id=0)
        plain = tf.nn.embedding_lookup_sparse(self.tags, tags, None, combiner="sqrtn", max_norm=2.0)
        factors = tf.nn.embedding_lookup(self.users, user, max_norm=None)
        bias = tf.math.segment_mean(tf.gather(self.bias, tags.values), tags.indices[:, 0])
        spread = tf.math.unsorted_segment_sqrt_n(tf.gather(self.bias, tags.values), tags.indices[:, 0], user.shape[0])
        return tf.reduce_sum(factors * (items + plain), axis=1) + bias + spread


def make_adjacency(count: int) -> tf.SparseTensor:
    """A ring of `count` nodes with some chords, in row-major order."""
    nodes = tf.range(count, dtype=tf.int64)
    ring = tf.stack([nodes, tf.math.floormod(nodes + 1, count)], axis=1)
    chords = tf.stack([nodes[::3], (nodes[::3] + 4) % count], axis=1)
    indices = tf.concat([ring, chords, tf.reverse(ring, axis=[1])], axis=0)
    weights = tf.linspace(0.1, 1.0, num=indices.shape[0])
    return tf.sparse.reorder(tf.SparseTensor(indices, weights, dense_shape=[count, count]))


def smooth(adjacency: tf.SparseTensor, signal: tf.Tensor) -> tf.Tensor:
    """Diffusion along the edges and back, plus the row sums."""
    spread = tf.sparse.softmax(adjacency)
    signal = tf.sparse.sparse_dense_matmul(spread, signal)
    signal = tf.sparse.sparse_dense_matmul(adjacency, signal, adjoint_a=True)
    sums = tf.sparse.reduce_sum(adjacency, axis=1, keepdims=True)
    peaks = tf.sparse.reduce_max(adjacency, axis=1, keepdims=True)
    return signal / (sums + peaks)


def round_trips(adjacency: tf.SparseTensor) -> tf.Tensor:
    """The same matrix by many ways; the sum of absolute differences."""
    dense = tf.sparse.to_dense(adjacency, default_value=0.0, validate_indices=True)
    left, right = tf.sparse.split(sp_input=adjacency, num_split=2, axis=1)
    halves = tf.sparse.concat(axis=1, sp_inputs=[left, right], expand_nonconcat_dims=False)
    doubled = tf.sparse.add(adjacency, adjacency, threshold=0.0)
    turned = tf.sparse.transpose(tf.sparse.transpose(adjacency, perm=[1, 0]))
    folded = tf.sparse.reshape(tf.sparse.reshape(adjacency, [-1]), adjacency.dense_shape)
    mapped = tf.sparse.map_values(tf.multiply, adjacency, 1.0)
    top = tf.sparse.slice(adjacency, start=[0, 0], size=[2, 4])
    tf.debugging.assert_equal(tf.sparse.to_dense(top), dense[:2, :4])
    largest = tf.sparse.maximum(adjacency, tf.sparse.minimum(adjacency, doubled))
    others = [halves, turned, folded, mapped, largest, tf.sparse.from_dense(dense), doubled * 0.5]
    return tf.add_n([tf.reduce_sum(tf.abs(dense - tf.sparse.to_dense(other))) for other in others])


def edit(adjacency: tf.SparseTensor) -> tf.SparseTensor:
    """Drops light edges, fills empty rows, and masks the first rows of the slices that a gather would make."""
    strong = tf.sparse.retain(adjacency, tf.math.greater(adjacency.values, 0.5))
    filled, empty = tf.sparse.fill_empty_rows(strong, default_value=-1.0)
    slices = tf.IndexedSlices(filled.values[:, None], filled.indices[:, 0], dense_shape=filled.dense_shape)
    kept = tf.sparse.mask(slices, mask_indices=[0])
    assert empty.dtype == tf.bool and len(kept.indices) < len(slices.indices)
    return tf.sparse.expand_dims(filled, axis=0)


def make_ratings(count: int) -> tuple[tf.Tensor, tf.SparseTensor, tf.SparseTensor, tf.Tensor]:
    """Users, tags of the items with weights, and the ratings."""
    sizes = tf.random.uniform([count], 1, 4, dtype=tf.int32, seed=3)
    flat = tf.random.uniform([int(tf.reduce_sum(sizes))], 0, ITEMS, tf.int64, seed=4)
    tags = tf.RaggedTensor.from_row_lengths(flat, sizes).to_sparse()
    user = tf.random.uniform([count], maxval=USERS, dtype=tf.int32)
    return user, tags, tags.with_values(tf.ones_like(tags.values, tf.float32) / 2), tf.random.poisson([count], lam=3.0)


def main() -> None:
    tf.random.set_seed(0)
    user, tags, weights, ratings = make_ratings(7)
    model, adjacency = Ratings(), make_adjacency(ITEMS + 1)
    layer = tf.keras.layers.Dense(WIDTH, kernel_constraint=tf.keras.constraints.NonNeg())
    layer.build((None, WIDTH))
    variables = [*model.trainable_variables, *layer.trainable_variables]
    optimizer = tf.keras.optimizers.Adadelta(learning_rate=1.0, rho=0.9, epsilon=1e-5)
    for _ in range(3):
        with tf.GradientTape() as tape:
            diffused = smooth(adjacency, layer(tf.random.normal([ITEMS + 1, WIDTH])))
            error = tf.math.squared_difference(model(user, tags, weights), ratings)
            loss = tf.reduce_mean(error) + 0.1 * tf.reduce_mean(tf.square(diffused))
        gradients = [tf.convert_to_tensor(slope) for slope in tape.gradient(loss, variables)]
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        assert math.isfinite(float(loss))
    crossed = tf.sparse.cross_hashed([tags, tf.sparse.from_dense([["a"], ["b"]] * 3 + [["a"]])], num_buckets=10)
    assert float(tf.nn.zero_fraction(layer.kernel)) <= 1.0 and int(tf.reduce_max(crossed.values)) < 10
    assert float(round_trips(adjacency)) < 1e-4 and edit(adjacency).shape == (1, ITEMS + 1, ITEMS + 1)


if __name__ == "__main__":
    main()
