"""Gaussian process regression with learned kernels, exact by Cholesky factors and by structured operators."""

import math

import tensorflow as tf


class Kernel(tf.Module):
    """A sum of a squared-exponential, a Matern and a periodic covariance."""

    def __init__(self) -> None:
        super().__init__(name="kernel")
        self.raw = {name: tf.Variable(0.0, dtype=tf.float64) for name in ("scale", "matern", "period")}
        self.noise = tf.Variable(tf.constant(-2.0, tf.float64), name="noise")

    def __call__(self, a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
        scale, width, period = (tf.math.softplus(self.raw[name]) + 0.1 for name in ("scale", "matern", "period"))
        gap = tf.math.subtract(a[:, tf.newaxis, 0], b[tf.newaxis, :, 0])
        distance = tf.sqrt(tf.square(gap) + 1e-12) * math.sqrt(3.0) / width
        wave = tf.sin(math.pi * tf.abs(gap) / period)
        smooth = tf.exp(-0.5 * tf.square(gap / scale))
        return smooth + (1.0 + distance) * tf.exp(-distance) + tf.exp(-2.0 * wave**2)

    def level(self) -> tf.Tensor:
        return tf.nn.softplus(self.noise) + 1e-4


def marginal_likelihood(kernel: Kernel, x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    """The log density of the observations, by one Cholesky factor."""
    factor = tf.linalg.cholesky(kernel(x, x) + kernel.level() * tf.eye(len(x), dtype=tf.float64))
    weights = tf.linalg.cholesky_solve(factor, tf.expand_dims(y, -1))
    volume = 2.0 * tf.reduce_sum(tf.math.log(tf.linalg.diag_part(factor)))
    fit = tf.tensordot(y, tf.squeeze(weights, -1), axes=[[0], [0]])
    return -0.5 * (fit + volume + len(x) * tf.math.log(tf.constant(2 * math.pi, tf.float64)))


def predict(kernel: Kernel, x: tf.Tensor, y: tf.Tensor, new: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The posterior mean and covariance at new places."""
    noisy = tf.linalg.set_diag(kernel(x, x), tf.linalg.diag_part(kernel(x, x)) + kernel.level())
    factor = tf.linalg.cholesky(noisy)
    half = tf.linalg.triangular_solve(factor, kernel(x, new), lower=True)
    mean = tf.linalg.matvec(half, tf.linalg.triangular_solve(factor, y[:, None])[:, 0], transpose_a=True)
    return mean, kernel(new, new) - tf.linalg.matmul(half, half, transpose_a=True)


def operators(kernel: Kernel, x: tf.Tensor) -> tf.Tensor:
    """Log-determinants and solutions by linear operators that know the structure of the covariance."""
    matrix = kernel(x, x) + kernel.level() * tf.eye(len(x), dtype=tf.float64)
    full = tf.linalg.LinearOperatorFullMatrix(matrix, is_self_adjoint=True, is_positive_definite=True)
    noise = tf.linalg.LinearOperatorScaledIdentity(num_rows=len(x), multiplier=kernel.level())
    diagonal = tf.linalg.LinearOperatorDiag(tf.linalg.diag_part(matrix), is_non_singular=True)
    low_rank = tf.linalg.LinearOperatorLowRankUpdate(diagonal, matrix[:, :2], diag_update=tf.ones([2], tf.float64))
    toeplitz = tf.linalg.LinearOperatorToeplitz(col=matrix[0], row=matrix[0])
    product = tf.linalg.LinearOperatorKronecker([noise, tf.linalg.LinearOperatorIdentity(2, dtype=tf.float64)])
    blocks = tf.linalg.LinearOperatorBlockDiag([full, diagonal])
    right = tf.ones([len(x), 1], tf.float64)
    solved = full.solve(right) + diagonal.solve(right, adjoint=False) + low_rank.solve(right)
    volumes = [op.log_abs_determinant() for op in (full, diagonal, product, blocks)]
    return tf.reduce_sum(solved) + tf.add_n(volumes) + tf.reduce_sum(toeplitz.matvec(right[:, 0])) + noise.trace()


def checks(matrix: tf.Tensor) -> None:
    """Different ways to the same determinant, inverse and square root of a covariance."""
    sign, volume = tf.linalg.slogdet(matrix)
    near = tf.debugging.assert_near
    near(volume, tf.linalg.logdet(matrix), rtol=1e-6)
    near(sign * tf.exp(volume), tf.linalg.det(matrix), rtol=1e-6)
    values, vectors = tf.linalg.eigh(matrix)
    near(tf.linalg.inv(matrix), tf.matmul(vectors / values, vectors, transpose_b=True), atol=1e-5)
    root = tf.linalg.sqrtm(matrix)
    near(tf.matmul(root, root), matrix, atol=1e-5)
    near(tf.linalg.trace(matrix), tf.reduce_sum(tf.linalg.svd(matrix, compute_uv=False)), rtol=1e-6)
    near(tf.linalg.pinv(matrix, rcond=1e-12), tf.linalg.inv(matrix, adjoint=True), atol=1e-4)
    near(tf.linalg.lu_matrix_inverse(*tf.linalg.lu(matrix)), tf.linalg.inv(matrix), atol=1e-5)


def main() -> None:
    tf.random.set_seed(0)
    x = tf.sort(tf.random.uniform([10, 1], maxval=4.0, dtype=tf.float64), axis=0, direction="ASCENDING")
    y = tf.math.divide_no_nan(tf.sin(3.0 * x[:, 0]), x[:, 0]) + 0.1 * tf.random.normal([10], dtype=tf.float64)
    kernel = Kernel()
    optimizer = tf.keras.optimizers.RMSprop(learning_rate=0.05, rho=0.8)
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = -marginal_likelihood(kernel, x, y) + 1e-3 * operators(kernel, x) ** 2
        gradients = tape.gradient(loss, kernel.trainable_variables)
        optimizer.apply_gradients(zip(gradients, kernel.trainable_variables, strict=True))
        assert math.isfinite(float(loss))
    checks(kernel(x, x) + 0.5 * tf.eye(10, dtype=tf.float64))
    mean, covariance = predict(kernel, x, y, tf.linspace(tf.constant(0.0, tf.float64), 4.0, 5)[:, tf.newaxis])
    factor = tf.linalg.cholesky(covariance + 1e-3 * tf.eye(5, dtype=tf.float64))
    draws = mean + tf.einsum("ij,sj->si", factor, tf.random.normal([3, 5], dtype=tf.float64))
    chance = 0.5 * (1.0 + tf.math.erf(draws / math.sqrt(2.0)))
    tf.debugging.assert_near(tf.math.ndtri(chance), draws, rtol=1e-2, atol=1e-2)
    assert draws.shape == (3, 5) and bool(tf.reduce_all(tf.math.is_finite(draws)))


if __name__ == "__main__":
    main()
