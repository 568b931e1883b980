"""A U-net that segments blobs: skips between a shrinking and a growing half, with several ways to pool and resize."""

import math

import tensorflow as tf

CLASSES, IGNORED = 3, 255
layers = tf.keras.layers


def stage(x: tf.Tensor, width: int) -> tf.Tensor:
    """Two flat convolutions with a channel-wise gate (squeeze and excitation)."""
    x = layers.Conv2D(width, (3, 1), padding="same", kernel_initializer=tf.keras.initializers.HeUniform(seed=1))(x)
    x = layers.Conv2D(width, kernel_size=(1, 3), padding="same", groups=1, bias_regularizer="l2")(x)
    x = layers.GroupNormalization(groups=-1, epsilon=1e-4)(x)
    gate = layers.Dense(width, activation="hard_sigmoid")(layers.GlobalAveragePooling2D(keepdims=True)(x))
    return layers.Multiply()([layers.PReLU(shared_axes=(1, 2))(x), gate])


def make_model(width: int = 4) -> tf.keras.Model:
    """Three resolutions with skips."""
    images = tf.keras.Input(shape=(12, 12, 1), dtype="float32")
    top = stage(images, width)
    middle = stage(layers.MaxPool2D(pool_size=2)(top), 2 * width)
    bottom = layers.Dropout(0.2, noise_shape=(None, 1, 1, 2 * width))(stage(layers.AvgPool2D(2)(middle), 2 * width))
    x = layers.UpSampling2D(2, interpolation="nearest")(bottom)
    x = stage(layers.Concatenate(axis=-1)([middle, x]), width)
    x = layers.Conv2DTranspose(width, 2, strides=(2, 2), padding="valid", use_bias=False)(x)
    x = stage(layers.Add()([top, x]), width)
    return tf.keras.Model(images, layers.Conv2D(CLASSES, 1, activation=None)(x))


def make_blobs(count: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Images of two discs, and per pixel the class 0, 1 or 2, or IGNORED on the frame."""
    y, x = tf.meshgrid(tf.range(12.0), tf.range(12.0), indexing="ij")
    centres = tf.cast(tf.random.uniform([count, 2, 2, 1, 1], 3, 9, dtype=tf.int32), tf.float32)
    inside = tf.math.squared_difference(y, centres[:, :, 0]) + tf.math.squared_difference(x, centres[:, :, 1]) < 6.0
    labels = tf.where(inside[:, 1], 2, tf.cast(inside[:, 0], tf.int32))
    images = tf.cast(labels, tf.float32)[..., tf.newaxis] * 0.5 + tf.random.normal([count, 12, 12, 1], 0.0, 0.1)
    return images, tf.pad(labels[:, 1:-1, 1:-1], [[0, 0], [1, 1], [1, 1]], "CONSTANT", constant_values=IGNORED)


def segmentation_loss(labels: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """Cross-entropy, overlap losses and a focal loss over the pixels whose class is known."""
    known = tf.not_equal(labels, IGNORED)
    entropy = tf.keras.losses.SparseCategoricalCrossentropy(True, ignore_class=IGNORED)(labels, logits)
    wanted = tf.one_hot(tf.boolean_mask(labels, known), CLASSES)
    chances = tf.nn.softmax(tf.boolean_mask(logits, known), axis=-1)
    dice = tf.keras.losses.Dice(axis=0)(wanted, chances)
    tversky = tf.keras.losses.Tversky(alpha=0.3, beta=0.7)(wanted, chances)
    focal = tf.keras.losses.CategoricalFocalCrossentropy(alpha=0.25, gamma=1.5, label_smoothing=0.05)(wanted, chances)
    return entropy + tf.reduce_mean(dice) + tversky + focal


def pooled(images: tf.Tensor) -> list[tf.Tensor]:
    """The ways to shrink an image that the network does not use, and morphological edges."""
    values, places = tf.nn.max_pool_with_argmax(images, ksize=2, strides=2, padding="SAME", include_batch_in_index=True)
    restored = tf.scatter_nd(tf.reshape(places, [-1, 1]), tf.reshape(values, [-1]), [tf.size(images, tf.int64)])
    kernel = tf.zeros([3, 3, 1])
    wide = tf.nn.dilation2d(images, kernel, (1, 1, 1, 1), padding="SAME", data_format="NHWC", dilations=[1, 1, 1, 1])
    thin = tf.nn.erosion2d(images, kernel, [1, 1, 1, 1], "SAME", "NHWC", (1, 1, 1, 1))
    fractional, rows, _ = tf.nn.fractional_max_pool(images, pooling_ratio=[1.0, 1.5, 1.5, 1.0], seed=7)
    average = tf.nn.avg_pool2d(images, ksize=[3, 3], strides=[1, 1], padding="VALID")
    pool = tf.nn.pool(images, window_shape=[2, 2], pooling_type="MAX", strides=[2, 2], padding="SAME", dilations=[1, 1])
    tf.debugging.assert_equal(pool, tf.nn.max_pool2d(images, 2, 2, "SAME"))
    assert rows.dtype == tf.int64 and len(restored) == tf.size(images)
    return [wide - thin, fractional, average, tf.image.extract_glimpse(images, [4, 4], [[0.0, 0.0]] * len(images))]


def main() -> None:
    tf.keras.utils.set_random_seed(0)
    images, labels = make_blobs(4)
    model = make_model()
    schedule = tf.keras.optimizers.schedules.PiecewiseConstantDecay(boundaries=[1, 2], values=[5e-3, 2e-3, 1e-3])
    optimizer = tf.keras.optimizers.AdamW(schedule, weight_decay=1e-4, epsilon=1e-6)
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = segmentation_loss(labels, model(images, training=True)) + tf.add_n(model.losses)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        assert math.isfinite(float(loss))
    known = labels != IGNORED
    found = tf.argmax(model(images), axis=-1, output_type=tf.int32)
    matrix = tf.math.confusion_matrix(labels[known], found[known], num_classes=CLASSES, dtype=tf.int32)
    overlap = tf.keras.metrics.MeanIoU(num_classes=CLASSES, ignore_class=IGNORED)
    overlap.update_state(labels, found)
    assert int(tf.reduce_sum(matrix)) == 400 and 0.0 <= float(overlap.result()) <= 1.0
    assert all(bool(tf.reduce_all(tf.math.is_finite(part))) for part in pooled(images))


if __name__ == "__main__":
    main()
