"""Generative adversarial networks: a plain one with label smoothing and a Wasserstein critic with gradient penalty."""

import math

import tensorflow as tf

NOISE = 6
layers = tf.keras.layers


def make_generator() -> tf.keras.Model:
    """From a noise vector to an 8 x 8 image in (-1, 1)."""
    return tf.keras.Sequential(
        [
            tf.keras.Input(shape=(NOISE,)),
            layers.Dense(4 * 4 * 4, use_bias=False, kernel_initializer=tf.keras.initializers.RandomNormal(0.0, 0.1)),
            layers.BatchNormalization(scale=False, center=True),
            layers.ReLU(max_value=6.0, negative_slope=0.1),
            layers.Reshape((4, 4, 4)),
            layers.Conv2DTranspose(8, (3, 3), strides=(2, 2), padding="same", activation="tanh"),
            layers.Conv2D(1, 3, padding="same", activation=tf.math.tanh),
        ]
    )


def make_discriminator() -> tf.keras.Model:
    """From an image to one logit, with spectral normalisation on the convolution."""
    return tf.keras.Sequential(
        [
            tf.keras.layers.InputLayer((8, 8, 1)),
            layers.SpectralNormalization(layers.Conv2D(8, 4, strides=2, padding="same"), power_iterations=2),
            layers.Lambda(lambda x: tf.nn.leaky_relu(x, alpha=0.2)),
            layers.AlphaDropout(rate=0.1, seed=3),
            layers.GlobalAveragePooling2D(),
            layers.Dense(1, kernel_initializer="glorot_uniform"),
        ]
    )


def make_images(count: int) -> tf.Tensor:
    """Stripes of random phase and direction, (count, 8, 8, 1)."""
    phase = tf.random.uniform((count, 1, 1, 1), maxval=2 * math.pi)
    stripes = tf.broadcast_to(tf.cos(tf.range(8.0)[None, None, :, None] + phase), [count, 8, 8, 1])
    flipped = tf.random.uniform([count, 1, 1, 1]) > 0.5
    return tf.where(flipped, stripes, tf.image.transpose(stripes))


def gradient_penalty(critic: tf.keras.Model, real: tf.Tensor, fake: tf.Tensor) -> tf.Tensor:
    """Pulls the critic's gradient norm to 1 between real and generated images."""
    share = tf.random.uniform([real.shape[0], 1, 1, 1], 0.0, 1.0)
    between = real + share * (fake - real)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(between)
        score = critic(between, training=False)
    slope = tf.reshape(tape.gradient(score, between), [real.shape[0], -1])
    return tf.reduce_mean(tf.math.squared_difference(tf.norm(slope, ord="euclidean", axis=1), 1.0))


def train_discriminator(critic: tf.keras.Model, optimizer, real: tf.Tensor, fake: tf.Tensor) -> float:
    criterion = tf.keras.losses.BinaryCrossentropy(from_logits=True, label_smoothing=0.1)
    labels = tf.concat([tf.ones((len(real), 1)), tf.zeros((len(fake), 1))], axis=0)
    with tf.GradientTape() as tape:
        scores = critic(tf.concat([real, fake], 0), training=True)
        weighted = tf.nn.weighted_cross_entropy_with_logits(labels=labels, logits=scores, pos_weight=1.5)
        loss = criterion(labels, scores) + tf.reduce_mean(weighted) + 0.1 * gradient_penalty(critic, real, fake)
    optimizer.apply_gradients(zip(tape.gradient(loss, critic.trainable_weights), critic.trainable_weights, strict=True))
    return float(loss)


def train_generator(generator: tf.keras.Model, critic: tf.keras.Model, optimizer, noise: tf.Tensor) -> float:
    with tf.GradientTape() as tape:
        score = critic(generator(noise, training=True), training=True)
        saturating = tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.ones_like(score), logits=score)
        hinge = tf.keras.losses.hinge(tf.ones_like(score), score)
        loss = tf.reduce_mean(saturating) + tf.reduce_mean(hinge)
    gradients = tape.gradient(loss, generator.trainable_weights)
    optimizer.apply_gradients(zip(gradients, generator.trainable_weights, strict=True))
    return float(loss)


def main() -> None:
    tf.random.set_seed(0)
    generator, critic = make_generator(), make_discriminator()
    down = tf.keras.optimizers.RMSprop(learning_rate=1e-3, rho=0.9, momentum=0.1, centered=True)
    up = tf.keras.optimizers.Nadam(2e-3, beta_1=0.5)
    for _ in range(2):
        real, noise = make_images(4), tf.random.truncated_normal([4, NOISE], stddev=1.0)
        fake = tf.stop_gradient(generator(noise))
        assert math.isfinite(train_discriminator(critic, down, real, fake))
        assert math.isfinite(train_generator(generator, critic, up, noise))
    images = generator(tf.random.normal((4, NOISE)), training=False)
    sheet = tf.nn.depth_to_space(tf.reshape(tf.transpose(images, [3, 1, 2, 0]), [1, 8, 8, 4]), block_size=2)
    assert sheet.shape == (1, 16, 16, 1) and float(tf.reduce_max(tf.abs(sheet))) <= 1.0


if __name__ == "__main__":
    main()
