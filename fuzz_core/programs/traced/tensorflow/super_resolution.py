"""Super-resolution: images of half the size are grown back by sub-pixel convolution, patches and resampling."""

import math

import tensorflow as tf

layers = tf.keras.layers


class SubPixel(tf.keras.Model):
    """Convolutions at low resolution and one depth-to-space, added to a bicubic enlargement."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.enter = layers.Conv2D(width, 5, padding="same", kernel_initializer="lecun_normal")
        self.middle = layers.SeparableConv2D(width, (3, 3), padding="same", activation="mish")
        self.leave = layers.Conv2D(12, 3, padding="same", data_format="channels_last")

    def call(self, small: tf.Tensor) -> tf.Tensor:
        x = tf.nn.elu(self.enter(small))
        coarse = tf.image.resize(small, size=[16, 16], method=tf.image.ResizeMethod.BICUBIC, antialias=False)
        return coarse + tf.nn.depth_to_space(self.leave(x + self.middle(x)), block_size=2, data_format="NHWC")


class PatchAttention(tf.keras.layers.Layer):
    """Each patch is mixed from patches that look like it."""

    def __init__(self) -> None:
        super().__init__()
        self.project = layers.EinsumDense("bnp,pd->bnd", output_shape=(None, 8), bias_axes=None)

    def call(self, images: tf.Tensor) -> tf.Tensor:
        patches = tf.image.extract_patches(images, [1, 2, 2, 1], [1, 2, 2, 1], rates=[1, 1, 1, 1], padding="VALID")
        rows = tf.reshape(patches, [len(images), 16, 12])
        keys = tf.nn.l2_normalize(self.project(rows), axis=-1)
        weights = tf.nn.softmax(8.0 * tf.matmul(keys, keys, transpose_b=True))
        return tf.nn.depth_to_space(tf.reshape(tf.matmul(weights, rows), tf.shape(patches)), 2)


def make_images(count: int) -> tf.Tensor:
    """Smooth colour gradients with one sharp edge, (count, 16, 16, 3)."""
    slopes = tf.random.uniform([2, count, 1, 1, 3])
    y, x = tf.meshgrid(tf.linspace(-1.0, 1.0, 16), tf.linspace(-1.0, 1.0, 16), indexing="ij")
    y, x = y[tf.newaxis, ..., tf.newaxis], x[tf.newaxis, ..., tf.newaxis]
    edge = tf.cast(x > 0.3 * y, tf.float32)
    return tf.math.sigmoid(slopes[0] * y + slopes[1] * x + edge)


def shrink(images: tf.Tensor) -> tf.Tensor:
    """Blurs with a binomial window and keeps every second pixel."""
    line = tf.constant([1.0, 4.0, 6.0, 4.0, 1.0]) / 16.0
    kernel = tf.tile(tf.tensordot(line, line, axes=0)[..., tf.newaxis, tf.newaxis], [1, 1, 3, 1])
    padded = tf.pad(images, tf.constant([[0, 0], [2, 2], [2, 2], [0, 0]]), mode="SYMMETRIC")
    return tf.nn.depthwise_conv2d(padded, kernel, strides=(1, 2, 2, 1), padding="VALID", dilations=None)


def recolour(images: tf.Tensor) -> tf.Tensor:
    """Through every colour space and back, then small changes of colour."""
    ways = tf.image
    same = [
        ways.hsv_to_rgb(ways.rgb_to_hsv(images)),
        ways.yiq_to_rgb(ways.rgb_to_yiq(images)),
        ways.yuv_to_rgb(ways.rgb_to_yuv(images)),
    ]
    for other in same:
        tf.debugging.assert_near(other, images, atol=1e-2)
    grey = ways.grayscale_to_rgb(ways.rgb_to_grayscale(images))
    changed = [
        ways.adjust_hue(images, delta=0.1),
        ways.adjust_saturation(images, 1.5),
        ways.adjust_gamma(images, 0.8, 1),
    ]
    steps = [ways.adjust_brightness(images, -0.1), ways.adjust_contrast(images, contrast_factor=1.2)]
    return tf.add_n([grey, *changed, *steps, ways.per_image_standardization(images)]) / 7.0


def turned(images: tf.Tensor) -> tf.Tensor:
    """Flips, quarter turns and a crop around the middle, resized back."""
    flipped = tf.image.flip_left_right(tf.image.flip_up_down(images))
    quarter = tf.image.rot90(tf.image.random_flip_left_right(flipped, seed=2), k=3)
    middle = tf.image.central_crop(quarter, central_fraction=0.5)
    boxed = tf.image.resize_with_crop_or_pad(middle, target_height=12, target_width=20)
    return tf.image.resize_with_pad(boxed, 16, 16, method="bilinear", antialias=True)


def enlargements(small: tf.Tensor) -> dict[str, tf.Tensor]:
    """Plain resampling by each method there is, to 16 x 16, and by bytes of a compressed file."""
    methods = ("nearest", "bilinear", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic")
    grown = {name: tf.image.resize(small, (16, 16), method=name, antialias=name != "nearest") for name in methods}
    codes = tf.image.convert_image_dtype(small, dtype=tf.uint8, saturate=True)
    stored = [tf.image.decode_png(tf.io.encode_png(code, compression=5), channels=3) for code in tf.unstack(codes)]
    lossy = [tf.io.decode_jpeg(tf.io.encode_jpeg(code, quality=80), channels=3, ratio=1) for code in codes]
    tf.debugging.assert_equal(tf.stack(stored), codes)
    return grown | {"jpeg": tf.image.resize(tf.cast(tf.stack(lossy), tf.float32) / 255.0, [16, 16])}


def main() -> None:
    tf.random.set_seed(0)
    images = make_images(4)
    small = shrink(images)
    grow, patches = SubPixel(), PatchAttention()
    grow(small), patches(small)
    variables = [*grow.trainable_variables, *patches.trainable_variables]
    optimizer = tf.keras.optimizers.Adamax(5e-3, epsilon=1e-7)
    for _ in range(3):
        with tf.GradientTape() as tape:
            output = grow(small + 0.1 * patches(small))
            spectra = [tf.abs(tf.signal.rfft2d(tf.transpose(part, [0, 3, 1, 2]))) for part in (output, images)]
            loss = tf.reduce_mean(tf.abs(output - images)) + 1e-3 * tf.reduce_mean(tf.abs(spectra[0] - spectra[1]))
            loss += tf.reduce_mean(tf.keras.losses.LogCosh(reduction="none")(images, output))
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        assert math.isfinite(float(loss))
    ratios = [tf.reduce_mean(tf.image.psnr(images, plain, max_val=1)) for plain in enlargements(small).values()]
    assert bool(tf.reduce_all(tf.math.is_finite(tf.stack(ratios)))) and recolour(images).shape == images.shape
    assert turned(images).shape == (4, 16, 16, 3)


if __name__ == "__main__":
    main()
