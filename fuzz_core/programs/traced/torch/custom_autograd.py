"""Custom gradients: functions with their own backward, hooks, checkpoints and derivatives of higher order."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class StraightThroughSign(torch.autograd.Function):
    """The sign of a number, with the gradient of a clipped identity."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x.abs().le(1.0)


class SafeNorm(torch.autograd.Function):
    """The Euclidean norm along one axis, with a zero gradient at zero; knows forward mode too."""

    @staticmethod
    def forward(x, dim):
        return torch.linalg.norm(x, ord=None, dim=dim, keepdim=True)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output)
        ctx.save_for_forward(inputs[0], output)
        ctx.dim = inputs[1]

    @staticmethod
    def backward(ctx, grad):
        x, norm = ctx.saved_tensors
        return grad * torch.where(norm > 0, x / norm.clamp(min=1e-12), 0.0), None

    @staticmethod
    def jvp(ctx, tangent, _):
        x, norm = ctx.saved_tensors
        return (x * tangent).sum(ctx.dim, keepdim=True) / norm.clamp_min(1e-12)


class ReverseGradient(torch.autograd.Function):
    """The identity forwards, and minus a multiple of it backwards, as domain-adversarial training wants."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        return grad.neg() * ctx.factor, None


class Network(nn.Module):
    """A binarised layer, a checkpointed layer and two heads that pull in opposite directions."""

    def __init__(self, width: int = 6) -> None:
        super().__init__()
        self.enter, self.middle = nn.Linear(4, width), nn.Sequential(nn.Linear(width, width), nn.LogSigmoid())
        self.label, self.domain = nn.Linear(width, 3), nn.Linear(width, 2)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = StraightThroughSign.apply(self.enter(x)) / SafeNorm.apply(self.enter(x), -1).add(1.0)
        x = checkpoint(self.middle, x, use_reentrant=False)
        return self.label(x), self.domain(ReverseGradient.apply(x, 0.1))


def curvature(model: Network, x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The product of the head's Hessian with a vector, from a gradient of a gradient."""
    weight = model.label.weight.detach().clone().requires_grad_()
    loss = F.cross_entropy(F.linear(x, weight), labels)
    (slope,) = torch.autograd.grad(loss, [weight], create_graph=True, retain_graph=True)
    (product,) = torch.autograd.grad(slope, weight, grad_outputs=torch.ones_like(weight), allow_unused=True)
    return product


def functional_derivatives(x: torch.Tensor) -> torch.Tensor:
    """The Hessian of a smooth function in two ways, and its derivative along one direction."""

    def smooth(v: torch.Tensor) -> torch.Tensor:
        return torch.tanh(v).pow(3).sum() + torch.special.log_ndtr(v).sum()

    hessian = torch.autograd.functional.hessian(smooth, x, vectorize=True)
    jacobian = torch.func.jacfwd(torch.func.grad(smooth))(x)
    _, forward = torch.func.jvp(smooth, (x,), (torch.ones_like(x),))
    assert torch.allclose(hessian, jacobian, rtol=1e-3, atol=1e-4)
    return torch.trace(hessian) + forward


def main() -> None:
    torch.manual_seed(0)
    x, labels, domains = torch.randn(6, 4), torch.tensor([0, 1, 2, 0, 1, 2]), torch.tensor([0, 0, 0, 1, 1, 1])
    model, norms = Network(), []
    model.enter.weight.register_hook(lambda grad: norms.append(grad.norm(p="fro")) or grad.nan_to_num(nan=0.0))
    optimizer = torch.optim.ASGD(model.parameters(), lr=0.05, lambd=1e-4, alpha=0.75, t0=1e6)
    for _ in range(3):
        optimizer.zero_grad()
        label, domain = model(x)
        loss = torch.add(F.cross_entropy(label, labels), F.cross_entropy(domain, domains), alpha=0.5)
        torch.autograd.backward(loss, inputs=list(model.parameters()))
        optimizer.step()
        assert math.isfinite(loss.item())
    double = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v: SafeNorm.apply(v, 1), (double,), eps=1e-6, atol=1e-4)
    assert len(norms) == 3 and torch.isfinite(curvature(model, torch.randn(6, 6), labels)).all()
    assert torch.isfinite(functional_derivatives(torch.randn(4)))


if __name__ == "__main__":
    main()
