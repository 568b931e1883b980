"""State-space models of a sequence: a diagonal complex one as a long convolution, and a selective one as a scan."""

import math

import tensorflow as tf

LENGTH, WIDTH, STATES = 16, 4, 3


class DiagonalSsm(tf.Module):
    """A linear recurrence with complex diagonal dynamics, applied as a convolution by fast Fourier transform."""

    def __init__(self) -> None:
        super().__init__()
        self.decay = tf.Variable(tf.math.log(tf.random.uniform([WIDTH, STATES], 0.1, 0.6)))
        self.frequency = tf.Variable(tf.tile(math.pi * tf.range(STATES, dtype=tf.float32)[None], [WIDTH, 1]))
        self.mix = [tf.Variable(tf.random.normal((WIDTH, STATES))) for _ in range(2)]
        self.step = tf.Variable(tf.fill([WIDTH, 1], -2.0))
        self.skip = tf.Variable(tf.ones([WIDTH]), name="skip")

    def kernel(self, length: int) -> tf.Tensor:
        """The impulse response of each channel, (WIDTH, length)."""
        poles = tf.complex(-tf.exp(self.decay), self.frequency) * tf.cast(tf.exp(self.step), tf.complex64)
        powers = tf.exp(poles[..., None] * tf.cast(tf.range(length), tf.complex64))
        weights = tf.dtypes.complex(*self.mix) * tf.math.expm1(poles) / poles
        return 2 * tf.math.real(tf.einsum("ds,dsl->dl", weights, powers))

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        length = x.shape[-1]
        size = tf.constant([2 * length])
        response = tf.signal.rfft(self.kernel(length), fft_length=size)
        y = tf.signal.irfft(tf.signal.rfft(x, fft_length=size) * response, size)
        return y[..., :length] + self.skip[:, tf.newaxis] * x


class SelectiveSsm(tf.Module):
    """Step size, input and output of the recurrence depend on the token; a scan over time."""

    def __init__(self) -> None:
        super().__init__()
        self.project = tf.keras.layers.Dense(WIDTH + 2 * STATES)
        self.project.build((None, None, WIDTH))
        self.decay = tf.Variable(tf.broadcast_to(tf.math.log(tf.range(1.0, STATES + 1)), [WIDTH, STATES]))
        self.local = tf.Variable(tf.random.normal([3, WIDTH, WIDTH], stddev=0.3))

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        padded = tf.pad(tf.transpose(x, [0, 2, 1]), paddings=[[0, 0], [2, 0], [0, 0]])
        u = tf.nn.silu(tf.nn.conv1d(padded, self.local, stride=1, padding="VALID", data_format="NWC"))
        step, entry, leave = tf.split(self.project(u), [WIDTH, STATES, STATES], axis=-1)
        step = tf.math.softplus(step)[..., tf.newaxis]
        keep = tf.exp(-step * tf.exp(self.decay))
        drive = step * entry[:, :, tf.newaxis] * u[..., tf.newaxis]
        moved = [tf.experimental.numpy.moveaxis(part, 1, 0) for part in (keep, drive)]
        states = tf.scan(
            lambda state, now: state * now[0] + now[1], tuple(moved), initializer=tf.zeros_like(drive[:, 0])
        )
        return tf.einsum("tbdn,btn->bdt", states, leave)


def discretise(dynamics: tf.Tensor, entry: tf.Tensor, step: float) -> tuple[tf.Tensor, tf.Tensor]:
    """Zero-order hold and the bilinear rule for a full matrix; they agree for small steps."""
    identity = tf.eye(STATES, batch_shape=None)
    held = tf.linalg.expm(dynamics * step)
    bilinear = tf.linalg.solve(identity - step / 2 * dynamics, identity + step / 2 * dynamics, adjoint=False)
    driven = tf.linalg.matvec(tf.matmul(tf.linalg.inv(dynamics), held - identity), entry)
    tf.debugging.assert_less(tf.norm(held - bilinear, ord="fro", axis=(0, 1)), 0.1)
    return held, driven


def make_series(count: int) -> tf.Tensor:
    """Damped oscillations of a driven linear system, (count, WIDTH, LENGTH)."""
    spin = tf.constant([[-0.1, 1.0, 0.0], [-1.0, -0.1, 0.0], [0.0, 0.3, -0.5]])
    held, driven = discretise(spin, tf.constant([0.5, 0.0, 1.0]), step=0.1)
    state, states = tf.random.normal([count, STATES]), []
    for _ in range(LENGTH):
        state = driven + tf.matmul(state, held, transpose_b=True)
        states.append(state)
    return tf.matmul(tf.random.normal([WIDTH, STATES]), tf.stack(states, axis=-1))


def spectrum(x: tf.Tensor) -> tf.Tensor:
    """Magnitude and phase of each channel's spectrum, with frequency zero in the middle."""
    turned = tf.signal.fftshift(tf.signal.fft(tf.cast(x, tf.complex64)), axes=-1)
    back = tf.signal.ifft(tf.signal.ifftshift(turned, axes=[-1]))
    tf.debugging.assert_near(tf.math.real(back), x, atol=1e-3)
    return tf.stack([tf.abs(turned), tf.math.angle(turned), tf.math.imag(tf.math.conj(turned))], axis=0)


def main() -> None:
    tf.random.set_seed(0)
    series = make_series(4)
    blocks = [DiagonalSsm(), SelectiveSsm()]
    head = tf.Variable(tf.eye(WIDTH))
    variables = [*blocks[0].trainable_variables, *blocks[1].trainable_variables, head]
    optimizer = tf.keras.optimizers.Adam(5e-3, use_ema=True, ema_momentum=0.9)
    for _ in range(3):
        with tf.GradientTape() as tape:
            x = series[..., :-1]
            for block in blocks:
                x = x + tf.clip_by_value(block(x), -3.0, 3.0)
            loss = tf.reduce_mean(tf.math.squared_difference(tf.matmul(head, x), series[..., 1:]))
        gradients = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        assert math.isfinite(float(loss))
    memory = tf.math.cumulative_logsumexp(tf.math.log(tf.abs(blocks[0].kernel(LENGTH)) + 1e-6), axis=-1, reverse=False)
    assert bool(tf.reduce_all(tf.math.is_finite(spectrum(x)))) and memory.shape == (WIDTH, LENGTH)


if __name__ == "__main__":
    main()
