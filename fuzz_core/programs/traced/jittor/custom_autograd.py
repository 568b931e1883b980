"""Custom gradients: functions with their own backward, hooks, stopped parts and derivatives of higher order."""

import math

import jittor as jt
from jittor import nn


class StraightThroughSign(jt.Function):
    """The sign of a number, with the gradient of a clipped identity."""

    def execute(self, x: jt.Var) -> jt.Var:
        self.x = x
        return nn.sign(x)

    def grad(self, grad: jt.Var) -> jt.Var:
        return grad * (self.x.abs() <= 1.0)


class SafeNorm(jt.Function):
    """The Euclidean norm along one axis, with a zero gradient at zero."""

    def execute(self, x: jt.Var, dim: int) -> jt.Var:
        self.x, self.norm = x, x.sqr().sum(dim, keepdims=True).sqrt()
        return self.norm

    def grad(self, grad: jt.Var) -> tuple:
        slope = jt.ternary(self.norm > 0, self.x / jt.maximum(self.norm, 1e-12), jt.zeros_like(self.x))
        return grad * slope, None


class ReverseGradient(jt.Function):
    """The identity forwards, and minus a multiple of it backwards, as domain-adversarial training wants."""

    def execute(self, x: jt.Var, factor: float) -> jt.Var:
        self.factor = factor
        return x.clone()

    def grad(self, grad: jt.Var) -> tuple:
        return -grad * self.factor, None


class Network(nn.Module):
    """A binarised layer and two heads that pull in opposite directions."""

    def __init__(self, width: int = 6) -> None:
        super().__init__()
        self.enter, self.middle = nn.Linear(4, width), nn.Linear(width, width)
        self.label, self.domain = nn.Linear(width, 3), nn.Linear(width, 2)

    def execute(self, x: jt.Var) -> tuple[jt.Var, jt.Var]:
        x = self.enter(x)
        x = StraightThroughSign.apply(x) / (SafeNorm.apply(x, -1) + 1.0)
        x = nn.log_sigmoid(self.middle(x))
        return self.label(x), self.domain(ReverseGradient.apply(x, 0.1))


def curvature(model: Network, x: jt.Var, labels: jt.Var) -> jt.Var:
    """The product of the head's Hessian with a vector of ones, from a gradient of a gradient."""
    weight = model.label.weight.detach().clone()
    weight.start_grad()
    loss = nn.cross_entropy_loss(nn.linear(x, weight), labels)
    slope = jt.grad(loss, weight, retain_graph=True)
    return jt.grad(slope.sum(), weight)


def derivatives_of_numpy(x: jt.Var) -> jt.Var:
    """A function that numpy computes, with its derivative, against the same by operators."""

    def forward(np, data: dict) -> None:
        np.copyto(data["outputs"][0], np.tanh(data["inputs"][0]))

    def backward(np, data: dict) -> None:
        np.copyto(data["outputs"][0], data["dout"] * (1 - np.square(data["f_outputs"][0])))

    y = jt.numpy_code(x.shape, x.dtype, [x], forward, [backward])
    slope, exact = jt.grad(y, x), jt.grad(x.tanh(), x)
    assert (slope - exact).abs().max().item() < 1e-4
    return slope


def products(x: jt.Var) -> None:
    """Products of a Jacobian with vectors from both sides, where the release has them."""
    functional = getattr(jt, "gradfunctional", None)
    if functional is not None:
        value, row = functional.vjp(lambda v: jt.sin(v) * 2.0, x, jt.ones_like(x))
        assert value.shape == x.shape and bool(jt.isfinite(row).all())


def main() -> None:
    jt.set_global_seed(3)
    x, labels, domains = jt.randn(6, 4), jt.array([0, 1, 2, 0, 1, 2]), jt.array([0, 0, 0, 1, 1, 1])
    model, norms, shapes = Network(), [], []
    model.middle.register_forward_hook(lambda module, inputs, output: shapes.append(output.shape))
    optimizer = jt.optim.RMSprop(model.parameters(), lr=0.01, eps=1e-6, alpha=0.9)
    for _ in range(3):
        hidden = model.enter(x)
        hidden.register_hook(lambda grad: norms.append(grad.abs().mean()) or grad)
        label, domain = model(x)
        loss = nn.cross_entropy_loss(label, labels) + 0.5 * nn.cross_entropy_loss(domain, domains)
        optimizer.step(loss + 0.01 * hidden.sqr().mean())
        assert math.isfinite(loss.item())
    model.middle.remove_forward_hook()
    assert shapes and len(norms) == 3
    product = curvature(model, jt.randn(6, 6), labels)
    assert bool(jt.isfinite(product).all()) and product.shape == model.label.weight.shape
    frozen = x.detach()
    frozen.stop_grad()
    assert frozen.is_stop_grad() and bool(jt.isfinite(derivatives_of_numpy(jt.randn(3, 2))).all())
    products(jt.randn(4))


if __name__ == "__main__":
    main()
