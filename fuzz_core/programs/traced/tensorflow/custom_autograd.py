"""Custom gradients: functions with their own backward, recomputation, Jacobians and forward mode."""

import math

import tensorflow as tf

layers = tf.keras.layers


@tf.custom_gradient
def straight_through_sign(x: tf.Tensor):
    """The sign of a number, with the gradient of a clipped identity."""

    def backward(upstream: tf.Tensor) -> tf.Tensor:
        return upstream * tf.cast(tf.abs(x) <= 1.0, upstream.dtype)

    return tf.sign(x), backward


@tf.custom_gradient
def safe_norm(x: tf.Tensor):
    """The Euclidean norm along the last axis, with a zero gradient at zero."""
    norm = tf.norm(x, ord=2, axis=-1, keepdims=True)
    return norm, lambda upstream: upstream * tf.math.divide_no_nan(x, norm)


def reverse_gradient(factor: float):
    """The identity forwards, and minus a multiple of it backwards, as domain-adversarial training wants."""

    @tf.custom_gradient
    def reverse(x: tf.Tensor):
        return tf.identity(x), lambda upstream: tf.negative(upstream) * factor

    return reverse


class ScaledVariable(tf.Module):
    """A custom gradient that also sends something to the variable it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = tf.Variable(1.5, trainable=True, dtype=tf.float32)

    @tf.Module.with_name_scope
    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        @tf.custom_gradient
        def scaled(x: tf.Tensor):
            def backward(upstream: tf.Tensor, variables: list):
                return upstream * variables[0], [tf.clip_by_norm(tf.reduce_sum(upstream * x), clip_norm=0.5)]

            return tf.multiply(x, self.scale), backward

        return scaled(x)


class Network(tf.keras.Model):
    """A binarised layer, a recomputed layer and two heads that pull in opposite directions."""

    def __init__(self, width: int = 6) -> None:
        super().__init__()
        self.enter, self.middle = layers.Dense(width), layers.Dense(width, activation="hard_tanh")
        self.label, self.domain = layers.Dense(3, activation="softsign"), layers.Dense(2)
        self.scale, self.reverse = ScaledVariable(), reverse_gradient(0.1)

    def call(self, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        x = straight_through_sign(self.enter(x)) / (safe_norm(self.enter(x)) + 1.0)
        x = self.middle(self.scale(x))
        return self.label(tf.grad_pass_through(tf.round)(x)), self.domain(self.reverse(x))


def curvature(x: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """The Hessian of a linear classifier's loss: the Jacobian of a gradient."""
    weight = tf.Variable(tf.random.normal([4, 3], stddev=0.1))
    with tf.GradientTape(persistent=True) as outer:
        with tf.GradientTape() as inner:
            loss = tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, tf.matmul(x, weight)))
        slope = inner.gradient(loss, weight)
    hessian = outer.jacobian(slope, weight, experimental_use_pfor=False)
    return tf.linalg.eigvalsh(tf.reshape(hessian, [12, 12]))


def directional(x: tf.Tensor) -> tf.Tensor:
    """Derivatives along a direction in forward mode, and row by row Jacobians in reverse mode."""
    with tf.autodiff.ForwardAccumulator(primals=x, tangents=tf.ones_like(x)) as forward:
        y = tf.math.erf(x) + tf.math.lgamma(tf.abs(x) + 1.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        z = tf.math.erf(x) + tf.math.lgamma(tf.abs(x) + 1.0)
    rows = tape.batch_jacobian(z, x, experimental_use_pfor=False)
    tf.debugging.assert_near(forward.jvp(y), tf.reduce_sum(rows, axis=-1), atol=1e-4)
    return rows


def main() -> None:
    tf.random.set_seed(0)
    x, labels, domains = tf.random.normal([6, 4]), tf.constant([0, 1, 2, 0, 1, 2]), tf.constant([0, 0, 0, 1, 1, 1])
    model, loss_of = Network(), tf.nn.sparse_softmax_cross_entropy_with_logits
    kinds = tf.keras.optimizers
    optimizers = (
        kinds.Ftrl(learning_rate=0.05, learning_rate_power=-0.5, l2_regularization_strength=1e-4),
        kinds.Adagrad(learning_rate=0.05, initial_accumulator_value=0.2, epsilon=1e-6),
        kinds.Lion(learning_rate=5e-3),
    )
    for optimizer in optimizers:
        with tf.GradientTape() as tape:
            label, domain = model(x)
            loss = tf.reduce_mean(loss_of(labels, label)) + 0.5 * tf.reduce_mean(loss_of(domains, domain))
        variables = list(tape.watched_variables())
        gradients = tape.gradient(loss, variables, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        assert math.isfinite(float(loss))
    theory, numeric = tf.test.compute_gradient(safe_norm, [tf.random.normal([3, 4])], delta=1e-2)
    assert abs(theory[0] - numeric[0]).max() < 0.05
    assert directional(x).shape == (6, 4, 4) and bool(tf.reduce_all(curvature(x, labels) > -1e-3))


if __name__ == "__main__":
    main()
