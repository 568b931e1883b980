"""Translation of digit strings with a recurrent encoder, additive attention, teacher forcing and beam search."""

import math

import tensorflow as tf

VOCABULARY, PADDING, BEGIN, END = 9, 0, 1, 2
layers = tf.keras.layers


class Translator(tf.keras.Model):
    """A bidirectional GRU encoder; a GRU cell decoder with additive and dot attention over the encoder's states."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.embedding = layers.Embedding(VOCABULARY, width, mask_zero=True, embeddings_regularizer="l2")
        gru = layers.GRU(width // 2, return_sequences=True, return_state=True, kernel_initializer="orthogonal")
        self.encoder = layers.Bidirectional(gru)
        self.attention = layers.AdditiveAttention(use_scale=True, dropout=0.0)
        self.dot = layers.Attention(use_scale=False, score_mode="concat")
        self.cell = layers.GRUCell(width, bias_initializer="ones", reset_after=True)
        self.head = layers.Dense(VOCABULARY, kernel_regularizer=tf.keras.regularizers.L2(1e-4))

    def encode(self, source: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        mask = tf.not_equal(source, PADDING)
        memory, ahead, back = self.encoder(self.embedding(source), mask=mask)
        return memory, tf.concat([ahead, back], axis=-1), mask

    def step(self, token: tf.Tensor, state: tf.Tensor, memory: tf.Tensor, mask: tf.Tensor):
        query = tf.expand_dims(state, axis=1)
        context = tf.squeeze(self.attention([query, memory, memory], mask=[None, mask]), axis=1)
        own = tf.squeeze(self.dot([query, memory], mask=[None, mask]), [1])
        output, _ = self.cell(tf.concat([self.embedding(token), context], axis=-1), state)
        return tf.nn.log_softmax(self.head(tf.concat([output, own], 1))), output

    def call(self, source: tf.Tensor, target: tf.Tensor, forcing: float = 0.8) -> tf.Tensor:
        memory, state, mask = self.encode(source)
        token, outputs = tf.fill([len(source)], BEGIN), []
        for wanted in tf.unstack(target, axis=1):
            chances, state = self.step(token, state, memory, mask)
            outputs.append(chances)
            forced = tf.random.uniform([len(source)]) < forcing
            token = tf.where(forced, wanted, tf.argmax(chances, axis=-1, output_type=tf.int32))
        return tf.stack(outputs, axis=1)


def beam_search(model: Translator, source: tf.Tensor, beams: int = 3, length: int = 4) -> tf.Tensor:
    """The likeliest translation of one string, by keeping the `beams` best prefixes."""
    memory, state, mask = (tf.repeat(part, beams, axis=0) for part in model.encode(source))
    prefixes = tf.fill([beams, 1], value=BEGIN)
    total = tf.concat([tf.zeros([1]), tf.fill([beams - 1], -math.inf)], axis=0)
    for _ in range(length):
        chances, state = model.step(prefixes[:, -1], state, memory, mask)
        total, flat = tf.math.top_k(tf.reshape(total[:, None] + chances, [-1]), k=beams)
        parent, token = flat // VOCABULARY, tf.math.mod(flat, VOCABULARY)
        prefixes = tf.concat([tf.gather(prefixes, parent), token[:, tf.newaxis]], axis=1)
        state = tf.gather(state, indices=parent)
    return prefixes[tf.argmax(total)]


def make_pairs(count: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Digit strings of different lengths, and the same strings sorted, with an end mark."""
    lengths = tf.random.uniform([count], minval=2, maxval=6, dtype=tf.int32)
    flat = tf.random.uniform([int(tf.reduce_sum(lengths))], 3, VOCABULARY, tf.int32)
    rows = tf.RaggedTensor.from_row_lengths(values=flat, row_lengths=lengths)
    ordered = tf.ragged.constant([[*sorted(row), END] for row in rows.to_list()], dtype=tf.int32)
    return rows.to_tensor(PADDING), ordered.to_tensor(default_value=PADDING)


def errors(found: tf.Tensor, wanted: tf.Tensor) -> tf.Tensor:
    """The edit distance of each translation, in symbols per symbol."""
    found = tf.sparse.from_dense(tf.where(found == END, PADDING, found))
    return tf.edit_distance(found, tf.sparse.from_dense(wanted), normalize=True)


def main() -> None:
    tf.keras.utils.set_random_seed(0)
    source, target = make_pairs(5)
    model = Translator()
    model(source, target)
    restarts = tf.keras.optimizers.schedules.CosineDecayRestarts(0.01, first_decay_steps=2, t_mul=1.0, m_mul=0.9)
    optimizer = tf.keras.optimizers.Adam(restarts, clipnorm=1.0)
    criterion = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")
    for _ in range(3):
        with tf.GradientTape() as tape:
            losses = criterion(target, model(source, target))
            weights = tf.cast(tf.cast(target, tf.bool), tf.float32)
            loss = tf.nn.weighted_moments(losses, axes=[0, 1], frequency_weights=weights)[0]
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        assert math.isfinite(float(loss))
    translated = beam_search(model, source[:1])
    chances = tf.transpose(model(source, target, forcing=0.0), [1, 0, 2])
    lengths = tf.fill([len(source)], len(chances))
    decoded, _ = tf.nn.ctc_beam_search_decoder(chances, lengths, beam_width=4, top_paths=2)
    assert int(translated[0]) == BEGIN and len(decoded) == 2
    found = tf.argmax(tf.transpose(chances, perm=[1, 0, 2]), axis=-1, output_type=tf.int32)
    assert errors(found, target).shape == (5,)


if __name__ == "__main__":
    main()
