"""A denoising autoencoder of small images with a sparse code, built with the functional api and trained with fit."""

import math

import tensorflow as tf

layers, losses = tf.keras.layers, tf.keras.losses


def make_encoder(code: int) -> tf.keras.Model:
    """Strided convolutions down to a code of positive numbers."""
    images = tf.keras.Input(shape=(12, 12, 1), name="images")
    x = layers.GaussianNoise(stddev=0.1)(images)
    x = layers.Conv2D(4, kernel_size=4, strides=2, padding="same", activation="elu")(x)
    x = layers.ZeroPadding2D(padding=((1, 0), (1, 0)))(x)
    x = layers.Conv2D(8, (3, 3), strides=(2, 2), kernel_constraint=tf.keras.constraints.MaxNorm(2.0))(x)
    x = layers.UnitNormalization(axis=-1)(layers.LeakyReLU(negative_slope=0.1)(x))
    x = layers.Dense(code, activation="softplus", activity_regularizer="l1")(layers.Flatten()(x))
    return tf.keras.Model(inputs=images, outputs=layers.GaussianDropout(0.05)(x), name="encoder")


def make_decoder(code: int) -> tf.keras.Model:
    """The way back: a transposed convolution, an upsampling and a crop."""
    return tf.keras.Sequential(
        [
            tf.keras.Input((code,)),
            layers.Dense(4 * 9, kernel_initializer=tf.keras.initializers.Orthogonal(gain=0.5)),
            layers.Reshape(target_shape=(3, 3, 4)),
            layers.Conv2DTranspose(8, 3, strides=2, padding="same", activation="selu"),
            layers.PReLU(shared_axes=[1, 2]),
            layers.UpSampling2D(size=(2, 2), interpolation="bilinear"),
            layers.ZeroPadding2D(1),
            layers.Cropping2D(cropping=1),
            layers.Conv2D(1, 3, padding="same", activation="sigmoid"),
        ],
        name="decoder",
    )


def make_images(count: int) -> tf.Tensor:
    """Soft discs at random places, (count, 12, 12, 1), values from 0 to 1."""
    axis = tf.linspace(-1.0, 1.0, 12)
    rows, columns = tf.meshgrid(axis, axis, indexing="ij")
    centres = tf.random.stateless_uniform((count, 2, 1, 1), seed=[0, 1], minval=-0.5, maxval=0.5)
    distance = tf.math.square(rows - centres[:, 0]) + tf.math.squared_difference(columns, centres[:, 1])
    return tf.expand_dims(tf.exp(-4.0 * distance), axis=-1)


def reconstruction_loss(images: tf.Tensor, output: tf.Tensor) -> tf.Tensor:
    """Pixel losses of several kinds, total variation and structural similarity."""
    pixel = losses.MeanSquaredError()(images, output) + losses.LogCosh()(images, output)
    variation = tf.reduce_mean(tf.image.total_variation(output)) / 144.0
    structure = 1.0 - tf.reduce_mean(tf.image.ssim(images, output, max_val=1.0, filter_size=5))
    edges = tf.abs(tf.image.sobel_edges(images) - tf.image.sobel_edges(output))
    return pixel + 0.01 * variation + 0.1 * structure + 0.1 * tf.reduce_mean(edges)


def train_by_hand(encoder: tf.keras.Model, decoder: tf.keras.Model, images: tf.Tensor) -> None:
    optimizer = tf.keras.optimizers.Adamax(learning_rate=5e-3, beta_1=0.9, beta_2=0.95)
    variables = encoder.trainable_variables + decoder.trainable_variables
    for _ in range(2):
        with tf.GradientTape() as tape:
            code = encoder(images, training=True)
            loss = reconstruction_loss(images, decoder(code)) + 1e-3 * tf.norm(code, ord=1)
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        assert math.isfinite(float(loss))


def train_with_fit(encoder: tf.keras.Model, decoder: tf.keras.Model, images: tf.Tensor) -> None:
    model = tf.keras.Sequential([encoder, decoder])
    model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["mae"], run_eagerly=True)
    batches = tf.data.Dataset.from_tensor_slices((images, images)).shuffle(8, seed=0).batch(3, drop_remainder=True)
    history = model.fit(batches.repeat(2), epochs=1, verbose=0)
    assert all(map(math.isfinite, history.history["loss"]))
    loss, error = model.evaluate(images, images, batch_size=2, verbose=0)
    assert math.isfinite(loss) and math.isfinite(error)


def main() -> None:
    tf.keras.utils.set_random_seed(0)
    images = make_images(6)
    encoder, decoder = make_encoder(8), make_decoder(8)
    train_by_hand(encoder, decoder, images)
    train_with_fit(encoder, decoder, images)
    restored = decoder.predict_on_batch(encoder(images))
    quality = tf.image.psnr(images, tf.convert_to_tensor(restored), max_val=1.0)
    assert quality.shape == (6,) and not bool(tf.reduce_any(tf.math.is_nan(quality)))


if __name__ == "__main__":
    main()
