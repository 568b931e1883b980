"""A denoising diffusion model of small images, conditioned on a label, with two samplers."""

import math

import tensorflow as tf

STEPS, CLASSES = 10, 3
layers = tf.keras.layers


class ResidualBlock(layers.Layer):
    """Two convolutions, scaled and shifted by the time embedding, around a spatial self-attention."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = layers.GroupNormalization(groups=2, epsilon=1e-6, center=False)
        self.first = layers.Conv2D(channels, 3, padding="same", dilation_rate=2)
        self.second = layers.Conv2D(channels, 3, padding="same", kernel_initializer=tf.keras.initializers.Zeros())
        self.modulate = layers.Dense(2 * channels, bias_initializer=tf.keras.initializers.RandomUniform(-0.05, 0.05))
        self.attention = layers.MultiHeadAttention(2, key_dim=2, value_dim=2, use_bias=False, attention_axes=(1, 2))

    def call(self, x: tf.Tensor, time: tf.Tensor) -> tf.Tensor:
        scale, shift = tf.split(self.modulate(tf.nn.silu(time))[:, tf.newaxis, tf.newaxis], 2, axis=-1)
        hidden = self.first(tf.nn.silu(self.norm(x), beta=1.0)) * (1.0 + scale) + shift
        return x + self.second(tf.nn.silu(self.attention(query=hidden, value=hidden, key=hidden)))


class Denoiser(tf.keras.Model):
    """Predicts the noise from a noisy image, its step and its label."""

    def __init__(self, channels: int = 4, time: int = 8) -> None:
        super().__init__()
        self.enter, self.leave = layers.Conv2D(channels, 1), layers.Conv2D(1, kernel_size=(1, 1), strides=(1, 1))
        self.label = layers.Embedding(CLASSES + 1, time)
        self.category = layers.CategoryEncoding(num_tokens=CLASSES + 1, output_mode="one_hot")
        self.mix = layers.Dense(time, use_bias=False)
        self.block = ResidualBlock(channels)

    def call(self, x: tf.Tensor, step: tf.Tensor, label: tf.Tensor) -> tf.Tensor:
        time = embed_steps(step, self.label.output_dim) + self.label(label) + self.mix(self.category(label[:, None]))
        return self.leave(self.block(self.enter(x), time))


def embed_steps(step: tf.Tensor, width: int) -> tf.Tensor:
    rates = tf.math.pow(10.0, tf.linspace(0.0, -2.0, width // 2))
    angles = tf.einsum("b,r->br", tf.cast(step, tf.float32), rates)
    return tf.concat([tf.math.sin(angles), tf.math.cos(angles)], axis=1)


def cosine_schedule() -> tuple[tf.Tensor, tf.Tensor]:
    """The noise added by each step, and the share of signal left after it."""
    left = tf.square(tf.cos((tf.linspace(0.0, 1.0, STEPS + 1) + 0.008) * (math.pi / 2 / 1.008)))
    added = tf.minimum(1.0 - left[1:] / left[:-1], 0.999)
    return added, tf.math.cumprod(1.0 - added, axis=0, exclusive=False, reverse=False)


def make_images(count: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Images of bars whose direction is the label."""
    label = tf.math.floormod(tf.range(count), CLASSES)
    bars = tf.tile(tf.sin(tf.range(8.0))[tf.newaxis], multiples=[8, 1])
    kinds = tf.stack([bars, tf.transpose(bars), tf.multiply(bars, tf.transpose(bars))])
    return tf.expand_dims(tf.gather(kinds, label, axis=0), -1), label


def add_noise(images: tf.Tensor, noise: tf.Tensor, left: tf.Tensor) -> tf.Tensor:
    left = tf.reshape(left, [-1, 1, 1, 1])
    return tf.sqrt(left) * images + tf.sqrt(1.0 - left) * noise


def sample(model: Denoiser, label: tf.Tensor, stride: int, churn: float) -> tf.Tensor:
    """Walks back from noise in steps of `stride`; `churn` 0 is deterministic, 1 is the ancestral sampler."""
    added, left = cosine_schedule()
    generator = tf.random.Generator.from_seed(5, alg="philox")
    x = generator.normal([len(label), 8, 8, 1], mean=0.0, stddev=1.0)
    for step in range(STEPS - 1, -1, -stride):
        index = tf.fill([len(label)], step)
        plain, guided = model(x, index, tf.fill([len(label)], CLASSES)), model(x, index, label)
        noise = plain + 1.5 * (guided - plain)
        clean = tf.clip_by_value((x - tf.sqrt(1 - left[step]) * noise) / tf.sqrt(left[step]), -1.0, 1.0)
        later = left[step - stride] if step >= stride else tf.constant(1.0)
        spread = churn * tf.sqrt((1.0 - later) * added[step] / (1.0 - left[step]))
        steady = tf.sqrt(tf.nn.relu(1.0 - later - spread**2)) * noise
        x = tf.sqrt(later) * clean + steady + spread * generator.truncated_normal(tf.shape(x), stddev=1.0)
    return x


def main() -> None:
    tf.random.set_seed(0)
    images, label = make_images(6)
    _, left = cosine_schedule()
    model = Denoiser()
    optimizer = tf.keras.optimizers.Adam(2e-3, use_ema=True, ema_momentum=0.9, ema_overwrite_frequency=2)
    for _ in range(3):
        step = tf.random.uniform(shape=[6], maxval=STEPS, dtype=tf.int32)
        noise = tf.random.normal(tf.shape(images))
        hidden = tf.where(tf.random.uniform([6]) < 0.2, CLASSES, label)
        with tf.GradientTape() as tape:
            output = model(add_noise(images, noise, tf.gather(left, step)), step, hidden)
            error = tf.reduce_mean(tf.math.squared_difference(output, noise), axis=[1, 2, 3])
            weight = tf.minimum(tf.gather(left / (1.0 - left), step), 5.0)
            loss = tf.math.reduce_mean(error * weight)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        assert math.isfinite(float(loss))
    for stride, churn in ((1, 1.0), (3, 0.0)):
        assert bool(tf.reduce_all(tf.math.is_finite(sample(model, label[:2], stride, churn))))


if __name__ == "__main__":
    main()
