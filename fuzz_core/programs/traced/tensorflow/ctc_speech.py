"""Speech recognition in small: made tones, mel spectrograms with masking, a convolutional-recurrent net, CTC loss."""

import math

import tensorflow as tf

RATE, SYMBOLS, BLANK, BANDS = 800, 5, 0, 6
FRAME, HOP = 32, 16
layers = tf.keras.layers


def make_model(width: int = 8) -> tf.keras.Model:
    """Convolutions over time, a bidirectional LSTM and a score per frame and symbol."""
    frames = tf.keras.Input(shape=(None, BANDS))
    x = layers.Normalization(axis=-1, mean=0.5, variance=1.0)(frames)
    x = layers.ZeroPadding1D(padding=(2, 2))(x)
    x = layers.Conv1D(2 * width, kernel_size=5, strides=1, activation="swish")(x)
    x = layers.MaxPooling1D(pool_size=2, strides=1, padding="same")(x)
    x = layers.SpatialDropout1D(rate=0.1)(layers.DepthwiseConv1D(3, padding="same")(x))
    x = layers.AlphaDropout(rate=0.1, seed=3)(layers.SeparableConv1D(width, 3, padding="same", dilation_rate=1)(x))
    x = layers.Bidirectional(layers.LSTM(width, return_sequences=True, implementation=1), merge_mode="sum")(x)
    return tf.keras.Model(frames, layers.Dense(SYMBOLS, activation=tf.nn.log_softmax)(x))


def make_speech(count: int) -> tuple[tf.Tensor, tf.RaggedTensor]:
    """Waves (count, samples) in which each symbol is a tone of its own pitch, and the symbols."""
    lengths = tf.random.uniform([count], 2, 5, dtype=tf.int32)
    flat = tf.random.uniform([int(tf.reduce_sum(lengths))], 1, SYMBOLS, dtype=tf.int32)
    time = tf.range(128, dtype=tf.float32) / RATE
    tones = tf.sin(2 * math.pi * 60.0 * tf.cast(flat, tf.float32)[:, tf.newaxis] * time)
    words = tf.RaggedTensor.from_row_lengths(flat, lengths)
    waves = tf.reshape(words.with_values(tones).to_tensor(), [count, -1])
    return waves + 0.05 * tf.random.normal(waves.shape), words


def features_of(waves: tf.Tensor) -> tf.Tensor:
    """Log-mel energies (count, frames, BANDS), with their cepstral smoothing added."""
    emphasised = tf.concat([waves[:, :1], waves[:, 1:] - 0.9 * waves[:, :-1]], axis=1)
    spectrum = tf.signal.stft(emphasised, FRAME, HOP, fft_length=FRAME, window_fn=tf.signal.hann_window, pad_end=True)
    filters = tf.signal.linear_to_mel_weight_matrix(BANDS, FRAME // 2 + 1, RATE, 20.0, upper_edge_hertz=RATE / 2)
    mel = tf.math.log1p(tf.tensordot(tf.square(tf.abs(spectrum)), filters, 1))
    cepstrum = tf.signal.mfccs_from_log_mel_spectrograms(mel)
    kept = cepstrum * tf.cast(tf.range(BANDS) < 4, tf.float32)
    return mel + 0.1 * tf.signal.idct(kept, type=2, norm="ortho")


def mask(features: tf.Tensor) -> tf.Tensor:
    """Hides one band and a stretch of frames."""
    band = tf.random.uniform([], maxval=BANDS, dtype=tf.int32)
    start = tf.random.uniform([], 0, features.shape[1] - 2, dtype=tf.int32)
    columns = tf.one_hot(band, BANDS, on_value=0.0, off_value=1.0)
    axis = tf.range(features.shape[1])
    rows = tf.cast(tf.logical_or(axis < start, axis >= start + 2), tf.float32)
    return features * columns * rows[tf.newaxis, :, tf.newaxis]


def resynthesise(waves: tf.Tensor) -> tf.Tensor:
    """The error after the time-frequency plane and back, with and without overlapping windows."""
    window = tf.signal.inverse_stft_window_fn(HOP, forward_window_fn=tf.signal.hamming_window)
    spectrum = tf.signal.stft(waves, FRAME, HOP, window_fn=tf.signal.hamming_window)
    back = tf.signal.inverse_stft(spectrum, frame_length=FRAME, frame_step=HOP, window_fn=window)
    frames = tf.signal.frame(waves, frame_length=FRAME, frame_step=FRAME, pad_end=False, axis=-1)
    whole = tf.signal.overlap_and_add(frames, frame_step=FRAME)
    kinds = tf.signal.idct(tf.signal.dct(frames, type=2, norm="ortho"), type=2, norm="ortho")
    lapped = tf.signal.mdct(waves, frame_length=FRAME, window_fn=tf.signal.vorbis_window, norm="ortho")
    undone = tf.signal.inverse_mdct(lapped, window_fn=tf.signal.kaiser_bessel_derived_window, norm="ortho")
    inner = slice(FRAME, waves.shape[1] - FRAME)
    tf.debugging.assert_all_finite(undone, message="the lapped transform overflows")
    return tf.reduce_max(tf.abs(back[:, inner] - waves[:, inner])) + tf.norm(whole - waves) + tf.norm(kinds - frames)


def decode(scores: tf.Tensor, frames: tf.Tensor) -> list[tf.Tensor]:
    """The best path per utterance, greedily and by beam search."""
    greedy, _ = tf.nn.ctc_greedy_decoder(scores, frames, merge_repeated=True, blank_index=BLANK)
    beams, _ = tf.nn.ctc_beam_search_decoder(scores, frames, beam_width=3, top_paths=1)
    return [tf.sparse.to_dense(path, default_value=-1) for path in (*greedy, *beams)]


def main() -> None:
    tf.keras.utils.set_random_seed(0)
    waves, words = make_speech(3)
    features, labels = features_of(waves), words.to_tensor(default_value=BLANK)
    sizes = tf.cast(words.row_lengths(), tf.int32)
    frames = tf.fill([3], features.shape[1])
    model = make_model()
    optimizer = tf.keras.optimizers.Adafactor(learning_rate=0.02, beta_2_decay=-0.8, clip_threshold=1.0)
    for _ in range(3):
        with tf.GradientTape() as tape:
            scores = model(mask(features), training=True)
            losses = tf.nn.ctc_loss(labels, scores, sizes, frames, logits_time_major=False, blank_index=BLANK)
            padded = tf.keras.losses.CTC(reduction="mean")(labels, scores)
            loss = tf.reduce_mean(losses) + 0.1 * padded
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        assert math.isfinite(float(loss))
    paths = decode(tf.transpose(model(features), perm=(1, 0, 2)), frames)
    assert all(len(path) == 3 for path in paths) and float(resynthesise(waves)) < 1e-2


if __name__ == "__main__":
    main()
