"""A convolutional network that tells which quadrant of a small image holds the bright square."""

import math

import tensorflow as tf

CLASSES = 4
layers = tf.keras.layers


class Cnn(tf.keras.Model):
    """A stem, a separable stage, two kinds of pooling side by side and a linear classifier."""

    def __init__(self, channels: int = 8) -> None:
        super().__init__()
        self.stem = layers.Conv2D(channels, 3, padding="same", use_bias=False, kernel_initializer="he_normal")
        self.norm = layers.BatchNormalization(axis=-1, momentum=0.9, epsilon=1e-3)
        self.depthwise = layers.DepthwiseConv2D((3, 3), strides=(1, 1), padding="valid", dilation_rate=(2, 2))
        self.separable = layers.SeparableConv2D(2 * channels, kernel_size=3, padding="same", depth_multiplier=2)
        self.group = layers.GroupNormalization(groups=4, axis=-1)
        self.pool = layers.MaxPooling2D(pool_size=(2, 2), strides=2, padding="same")
        self.smooth = layers.AveragePooling2D(2, data_format="channels_last")
        self.drop = layers.SpatialDropout2D(0.1, seed=1)
        self.head = tf.keras.Sequential([layers.Flatten(), layers.Dense(16, activation="relu6"), layers.Dense(CLASSES)])

    def call(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
        x = tf.nn.relu(self.norm(self.stem(x), training=training))
        x = self.pool(self.depthwise(x))
        x = self.drop(tf.nn.silu(self.group(self.separable(x))), training=training)
        peak = layers.GlobalMaxPooling2D(keepdims=True)(x)
        return self.head(tf.concat([self.smooth(x), tf.tile(peak, [1, 2, 2, 1])], axis=-1))


def make_images(count: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Noisy 12 x 12 images and the quadrant, 0 to 3, that holds a bright square."""
    labels = tf.random.uniform((count,), minval=0, maxval=CLASSES, dtype=tf.int32, seed=1)
    rows, columns = tf.math.floordiv(labels, 2), tf.math.floormod(labels, 2)
    axis = tf.range(12)
    inside_rows = tf.equal(axis[tf.newaxis, :] // 6, rows[:, tf.newaxis])
    inside_columns = tf.equal(axis[tf.newaxis, :] // 6, columns[:, tf.newaxis])
    square = tf.logical_and(inside_rows[:, :, tf.newaxis], inside_columns[:, tf.newaxis, :])
    noise = tf.random.normal([count, 12, 12, 1], mean=0.0, stddev=0.1, seed=2)
    return noise + tf.cast(square, tf.float32)[..., tf.newaxis], labels


def augment(images: tf.Tensor) -> tf.Tensor:
    """Changes brightness, contrast and sharpness, pads and crops by one pixel: the quadrant stays the same."""
    images = tf.image.random_brightness(images, max_delta=0.1, seed=3)
    images = tf.image.stateless_random_contrast(images, lower=0.8, upper=1.2, seed=(1, 2))
    padded = tf.pad(images, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    cropped = tf.image.random_crop(padded, size=tf.shape(images), seed=4)
    kernel = tf.constant([0.25, 0.5, 0.25])[:, None, None, None]
    blurred = tf.nn.depthwise_conv2d(cropped, kernel, strides=[1, 1, 1, 1], padding="SAME")
    return tf.clip_by_value(blurred, -1.0, 2.0)


def train_step(model: tf.keras.Model, optimizer, images: tf.Tensor, labels: tf.Tensor) -> float:
    targets = tf.one_hot(labels, depth=CLASSES, on_value=0.925, off_value=0.025)
    with tf.GradientTape() as tape:
        logits = model(augment(images), training=True)
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=targets, logits=logits))
        loss += 1e-4 * tf.add_n([tf.nn.l2_loss(weight) for weight in model.trainable_variables])
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return float(loss)


def main() -> None:
    tf.random.set_seed(0)
    images, labels = make_images(8)
    model = Cnn()
    schedule = tf.keras.optimizers.schedules.ExponentialDecay(0.05, decay_steps=2, decay_rate=0.5, staircase=True)
    optimizer = tf.keras.optimizers.SGD(learning_rate=schedule, momentum=0.9, nesterov=True)
    for _ in range(3):
        assert math.isfinite(train_step(model, optimizer, images, labels))
    logits = model(images, training=False)
    metric = tf.keras.metrics.SparseTopKCategoricalAccuracy(k=2, name="top2")
    metric.update_state(labels, logits)
    hits = tf.math.in_top_k(labels, logits, k=1)
    assert 0.0 <= float(metric.result()) <= 1.0 and hits.shape == (8,)


if __name__ == "__main__":
    main()
