"""A normalising flow that learns the density of a bent ring by maximum likelihood and samples from it."""

import math

import tensorflow as tf

WIDTH = 4


class Coupling(tf.Module):
    """An affine coupling: one half of the features decides how the other half is scaled and shifted."""

    def __init__(self, hidden: int = 16) -> None:
        super().__init__(name="coupling")
        self.enter = tf.Variable(tf.random.normal([WIDTH // 2, hidden], stddev=0.3), name="enter")
        self.bias = tf.Variable(tf.zeros([hidden]))
        self.leave = tf.Variable(tf.zeros((hidden, WIDTH)), dtype=tf.float32)

    def net(self, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        hidden = tf.nn.softsign(tf.nn.bias_add(tf.matmul(x, self.enter), self.bias))
        scale, shift = tf.split(tf.matmul(hidden, self.leave), num_or_size_splits=2, axis=-1)
        return tf.math.tanh(scale), shift

    def forward(self, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        fixed, moved = tf.split(x, [WIDTH // 2, WIDTH // 2], axis=-1)
        scale, shift = self.net(fixed)
        return tf.concat([moved * tf.exp(scale) + shift, fixed], -1), tf.reduce_sum(scale, axis=-1)

    def inverse(self, y: tf.Tensor) -> tf.Tensor:
        moved, fixed = tf.split(y, 2, axis=1)
        scale, shift = self.net(fixed)
        return tf.concat([fixed, tf.math.divide(moved - shift, tf.exp(scale))], axis=1)


class TriangularLinear(tf.Module):
    """An invertible linear map held as a unit lower and an upper triangle; the log-determinant is a sum."""

    def __init__(self) -> None:
        super().__init__()
        start, _ = tf.linalg.qr(tf.random.normal((WIDTH, WIDTH)), full_matrices=False)
        packed, self.permutation = tf.linalg.lu(start)
        diagonal = tf.linalg.diag_part(packed)
        self.sign = tf.math.sign(diagonal)
        self.log_scale = tf.Variable(tf.math.log(tf.abs(diagonal)))
        self.lower = tf.Variable(tf.linalg.band_part(packed, -1, 0))
        self.upper = tf.Variable(tf.linalg.band_part(packed, 0, -1))

    def factors(self) -> tuple[tf.Tensor, tf.Tensor]:
        lower = tf.linalg.set_diag(tf.linalg.band_part(self.lower, -1, 0), tf.ones(WIDTH))
        upper = tf.linalg.set_diag(tf.linalg.band_part(self.upper, 0, -1), self.sign * tf.exp(self.log_scale))
        return lower, upper

    def forward(self, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        lower, upper = self.factors()
        mixed = tf.linalg.matvec(tf.linalg.matmul(lower, upper), x)
        return tf.gather(mixed, tf.math.invert_permutation(self.permutation), axis=-1), tf.reduce_sum(self.log_scale)

    def inverse(self, y: tf.Tensor) -> tf.Tensor:
        lower, upper = self.factors()
        columns = tf.transpose(tf.gather(y, self.permutation, axis=-1))
        middle = tf.linalg.triangular_solve(lower, columns, lower=True)
        return tf.linalg.matrix_transpose(tf.linalg.triangular_solve(upper, middle, lower=False, adjoint=False))


class Flow(tf.Module):
    """A stack of couplings and linear maps over a standard normal base."""

    def __init__(self, depth: int = 2) -> None:
        super().__init__()
        self.steps = [step() for _ in range(depth) for step in (TriangularLinear, Coupling)]

    def log_prob(self, x: tf.Tensor) -> tf.Tensor:
        total = tf.zeros(tf.shape(x)[0])
        for step in self.steps:
            x, volume = step.forward(x)
            total = tf.math.add(total, volume)
        return total - 0.5 * tf.reduce_sum(tf.square(x) + math.log(2 * math.pi), axis=1)

    def sample(self, count: int) -> tf.Tensor:
        y = tf.random.stateless_normal((count, WIDTH), seed=(3, 4))
        for step in reversed(self.steps):
            y = step.inverse(y)
        return y


def make_ring(count: int) -> tf.Tensor:
    """Points near a ring in two dimensions, bent into the other two."""
    angle = tf.random.uniform([count], -math.pi, math.pi)
    radius = tf.exp(tf.random.normal([count], stddev=0.1))
    ring = tf.stack([radius * tf.cos(angle), radius * tf.sin(angle)], axis=1)
    bent = tf.concat([ring, tf.math.pow(ring, 2.0)], axis=1)
    return bent + 0.05 * tf.random.stateless_truncated_normal(tf.shape(bent), seed=[1, 2])


def main() -> None:
    tf.random.set_seed(0)
    data = make_ring(16)
    flow = Flow()
    decay = tf.keras.optimizers.schedules.PolynomialDecay(5e-3, decay_steps=4, end_learning_rate=1e-3, power=2.0)
    optimizer = tf.keras.optimizers.Lion(learning_rate=decay)
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = -tf.reduce_mean(flow.log_prob(data))
        gradients = tape.gradient(loss, flow.trainable_variables)
        optimizer.apply_gradients(zip(gradients, flow.trainable_variables, strict=True))
        assert math.isfinite(float(loss))
    drawn = flow.sample(8)
    bits = tf.reduce_logsumexp(flow.log_prob(drawn), axis=0) / tf.math.log(2.0)
    again, _ = flow.steps[0].forward(flow.steps[0].inverse(drawn))
    tf.debugging.assert_near(again, drawn, rtol=1e-2, atol=1e-2, message="the linear map does not invert")
    assert drawn.shape == (8, WIDTH) and math.isfinite(float(bits))


if __name__ == "__main__":
    main()
