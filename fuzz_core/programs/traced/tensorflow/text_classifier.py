"""A text classifier from raw strings: cleaning, tokens, vocabulary tables, n-grams and hashed features."""

import math

import tensorflow as tf

WIDTH, LENGTH = 6, 5
layers = tf.keras.layers
SENTENCES = ("the Cat sat.", "dogs run FAST!", "a cat, a dog", "run run run away", "sat still", "fast dogs 42")
LABELS = (0, 1, 0, 1, 0, 1)


class Classifier(tf.keras.Model):
    """Word embeddings, hashed n-grams and character codes, pooled and joined."""

    def __init__(self, sentences: tf.Tensor) -> None:
        super().__init__()
        self.words = layers.TextVectorization(max_tokens=20, output_mode="int", output_sequence_length=LENGTH)
        self.words.adapt(sentences)
        self.counts = layers.TextVectorization(output_mode="tf_idf", ngrams=2, pad_to_max_tokens=False)
        self.counts.adapt(sentences)
        self.hashed = layers.Hashing(num_bins=8, salt=[3, 5])
        self.embedding = layers.Embedding(self.words.vocabulary_size(), WIDTH, mask_zero=True)
        self.pool = layers.GlobalAveragePooling1D()
        self.head = layers.Dense(2, kernel_regularizer="l1")

    def call(self, sentences: tf.Tensor) -> tf.Tensor:
        ids = self.words(sentences)
        mean = self.pool(self.embedding(ids), mask=self.embedding.compute_mask(ids))
        first = tf.one_hot(self.hashed(tokens_of(sentences)[:, :1].to_tensor())[:, 0], depth=8)
        return self.head(tf.concat([mean, first, self.counts(sentences), characters(sentences)], axis=-1))


def tokens_of(sentences: tf.Tensor) -> tf.RaggedTensor:
    """Lower-case words without punctuation, one row per sentence."""
    plain = tf.strings.regex_replace(
        tf.strings.lower(sentences), pattern=r"[^a-z0-9 ]", rewrite="", replace_global=True
    )
    return tf.strings.split(tf.strings.strip(plain), sep=None, maxsplit=-1)


def characters(sentences: tf.Tensor) -> tf.Tensor:
    """Mean code point, length in bytes and the share of vowels."""
    codes = tf.strings.unicode_decode(sentences, input_encoding="UTF-8", errors="replace")
    mean = tf.reduce_mean(tf.cast(codes, tf.float32), axis=1) / 128.0
    length = tf.cast(tf.strings.length(sentences, unit="BYTE"), tf.float32) / 16.0
    letters = tf.strings.bytes_split(sentences)
    vowels = tf.strings.regex_full_match(letters.flat_values, "[aeiou]")
    share = tf.reduce_mean(letters.with_flat_values(tf.cast(vowels, tf.float32)), axis=-1)
    return tf.stack([mean, length, share], axis=1)


def tables(tokens: tf.RaggedTensor) -> tf.RaggedTensor:
    """Ids by a fixed table, by a growing table and by string lookup; unknown words share the last buckets."""
    keys, _ = tf.unique(tokens.flat_values)
    initial = tf.lookup.KeyValueTensorInitializer(keys[:5], tf.range(5, dtype=tf.int64))
    vocabulary = tf.lookup.StaticVocabularyTable(initial, num_oov_buckets=2)
    counts = tf.lookup.experimental.DenseHashTable(tf.string, tf.int64, default_value=0, empty_key="", deleted_key="$")
    counts.insert(keys, tf.ones_like(keys, dtype=tf.int64))
    lookup = layers.StringLookup(vocabulary=[key.decode() for key in keys.numpy()], num_oov_indices=1)
    back = layers.StringLookup(vocabulary=lookup.get_vocabulary(), invert=True)
    tf.debugging.assert_equal(back(lookup(keys)), keys)
    assert int(counts.size()) == len(keys) and vocabulary.size() == 7
    return tf.ragged.map_flat_values(vocabulary.lookup, tokens)


def ragged_tools(ids: tf.RaggedTensor) -> tf.Tensor:
    """Windows, joins, stacks, crosses and reductions of rows of different lengths."""
    pairs = tf.strings.ngrams(tf.strings.as_string(ids), ngram_width=2, separator="-", pad_values=("<", ">"))
    joined = tf.concat([ids, tf.reverse(ids, axis=[1])], axis=1)
    stacked = tf.ragged.stack([ids, joined], axis=0)
    crossed = tf.ragged.cross_hashed([ids, joined], num_buckets=50)
    kept = tf.ragged.boolean_mask(ids, ids > 1)
    spread = tf.gather(ids, tf.argsort(ids.row_lengths(), direction="DESCENDING"))
    sums = tf.reduce_sum(ids, axis=1) + tf.reduce_max(joined, axis=-1) + tf.cast(kept.row_lengths(), tf.int64)
    text = tf.strings.reduce_join(pairs, axis=-1, separator=" ")
    numbers = tf.strings.to_hash_bucket_fast(text, num_buckets=7) + tf.strings.to_hash_bucket(text, 5)
    assert stacked.shape.rank == 3 and crossed.nrows() == spread.nrows()
    return tf.strings.to_number(tf.strings.as_string(sums + numbers), out_type=tf.float32)


def main() -> None:
    tf.keras.utils.set_random_seed(0)
    sentences, labels = tf.constant(SENTENCES), tf.constant(LABELS)
    data = (
        tf.data.Dataset.from_tensor_slices((sentences, labels))
        .cache()
        .shuffle(6, seed=1, reshuffle_each_iteration=True)
    )
    model = Classifier(sentences)
    optimizer = tf.keras.optimizers.Adam(learning_rate=0.02)
    for text, wanted in data.repeat(2).batch(4).prefetch(tf.data.AUTOTUNE):
        with tf.GradientTape() as tape:
            losses = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)(wanted, model(text))
            loss = losses + tf.add_n(model.losses)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        assert math.isfinite(float(loss))
    metrics = [tf.keras.metrics.F1Score(average="macro", threshold=0.5), tf.keras.metrics.AUC(num_thresholds=10)]
    chances = tf.nn.softmax(model(sentences))
    for metric in metrics:
        metric.update_state(tf.one_hot(labels, 2), chances)
        assert 0.0 <= float(metric.result()) <= 1.0
    ids = tables(tokens_of(sentences))
    trimmed = tf.strings.substr(sentences, pos=0, len=3, unit="UTF8_CHAR")
    assert ragged_tools(ids).shape == (6,) and trimmed[0] == b"the"


if __name__ == "__main__":
    main()
