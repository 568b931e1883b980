"""A transformer that learns to copy a token sequence in reverse, with encoder, decoder and masks of both kinds."""

import math

import tensorflow as tf

VOCABULARY, LENGTH = 11, 7
PADDING, BEGIN = 0, 1
layers = tf.keras.layers


class EncoderBlock(layers.Layer):
    """Self-attention and a feed-forward layer, each followed by layer normalisation."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = layers.MultiHeadAttention(num_heads=heads, key_dim=width // heads, dropout=0.0)
        self.first, self.second = layers.LayerNormalization(epsilon=1e-5), layers.LayerNormalization(axis=-1)
        self.feed = tf.keras.Sequential([layers.Dense(2 * width, activation="gelu"), layers.Dense(width)])

    def call(self, x: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        x = self.first(x + self.attention(x, x, attention_mask=mask[:, tf.newaxis, :]))
        return self.second(layers.add([x, self.feed(x)]))


class DecoderBlock(layers.Layer):
    """Causal grouped-query attention, then attention over the encoder, each after RMS normalisation."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.own = layers.GroupQueryAttention(head_dim=width // heads, num_query_heads=heads, num_key_value_heads=2)
        self.cross = layers.Attention(use_scale=True, score_mode="dot")
        self.norms = [layers.RMSNormalization(epsilon=1e-6) for _ in range(2)]

    def call(self, x: tf.Tensor, memory: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        y = self.norms[0](x)
        x = x + self.own(y, y, use_causal_mask=True)
        mixed, scores = self.cross([self.norms[1](x), memory], mask=[None, mask], return_attention_scores=True)
        tf.debugging.assert_near(tf.reduce_sum(scores, axis=-1), tf.ones(tf.shape(scores)[:-1]), atol=1e-3)
        return x + mixed


class Reverser(tf.keras.Model):
    """Token embeddings plus sinusoids, one block on either side and a head tied to the embeddings."""

    def __init__(self, width: int = 16, heads: int = 4) -> None:
        super().__init__()
        self.tokens = layers.Embedding(VOCABULARY, width)
        self.positions = sinusoids(LENGTH, width)
        self.encoder, self.decoder = EncoderBlock(width, heads), DecoderBlock(width, heads)

    def embed(self, tokens: tf.Tensor) -> tf.Tensor:
        scale = tf.math.sqrt(tf.cast(self.tokens.output_dim, tf.float32))
        return tf.math.multiply(self.tokens(tokens), scale) + self.positions[: tokens.shape[1]]

    def call(self, source: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
        mask = tf.math.not_equal(source, PADDING)
        states = self.decoder(self.embed(target), self.encoder(self.embed(source), mask), mask)
        return tf.linalg.matmul(states, self.tokens.embeddings, transpose_b=True)


def sinusoids(length: int, width: int) -> tf.Tensor:
    rates = tf.pow(1e4, -tf.range(0, width, delta=2, dtype=tf.float32) / width)
    angles = tf.tensordot(tf.range(length, dtype=tf.float32), rates, axes=0)
    return tf.reshape(tf.stack([tf.sin(angles), tf.cos(angles)], axis=-1), [length, width])


def causal_attention(query: tf.Tensor, keys: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """The same attention in plain operations, with a band matrix as the mask."""
    scores = tf.einsum("btd,bsd->bts", query, keys) * tf.math.rsqrt(float(query.shape[-1]))
    allowed = tf.linalg.band_part(tf.ones(scores.shape[-2:]), num_lower=-1, num_upper=0)
    return tf.matmul(tf.nn.softmax(tf.where(allowed > 0, scores, -1e9), axis=-1), values)


def make_batch(count: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Padded source sequences and the same tokens reversed, each of them (count, LENGTH)."""
    source = tf.random.uniform((count, LENGTH), 2, VOCABULARY, dtype=tf.int32)
    lengths = tf.random.uniform((count,), 3, LENGTH + 1, tf.int32)
    source = tf.where(tf.sequence_mask(lengths, LENGTH), source, PADDING)
    return source, tf.reverse(source, axis=[1])


def masked_loss(target: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=logits)
    weights = tf.cast(target != PADDING, losses.dtype)
    return tf.nn.weighted_moments(losses, axes=[0, 1], frequency_weights=weights)[0]


def main() -> None:
    tf.random.set_seed(0)
    source, target = make_batch(4)
    model = Reverser()
    optimizer = tf.keras.optimizers.AdamW(learning_rate=3e-3, weight_decay=0.01, amsgrad=True, global_clipnorm=1.0)
    given = tf.pad(target[:, :-1], [[0, 0], [1, 0]], constant_values=BEGIN)
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = masked_loss(target, model(source, given))
        gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, model.trainable_variables), clip_norm=1.0)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        assert math.isfinite(float(loss))
    embedded = model.embed(source)
    mixed = causal_attention(embedded, tf.roll(embedded, shift=1, axis=1), embedded)
    chances = tf.nn.softmax(model(source, tf.fill([4, 1], BEGIN))[:, -1])
    best = tf.math.approx_max_k(chances, k=3, recall_target=0.95)
    assert bool(tf.math.is_finite(tf.reduce_max(mixed))) and best[0].shape == (4, 3)


if __name__ == "__main__":
    main()
