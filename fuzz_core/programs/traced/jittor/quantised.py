"""Quantisation-aware training of a small network, then integer and low-precision inference with the same weights."""

import math

import jittor as jt
from jittor import nn

HIGH = 127


class Rounded(jt.Function):
    """Rounds to the nearest multiple of a step; the gradient passes where the value was inside the range."""

    def execute(self, x: jt.Var, step: float) -> jt.Var:
        self.inside = jt.logical_and(x >= -HIGH * step, x <= HIGH * step)
        return jt.safe_clip(jt.round(x / step), -HIGH, HIGH) * step

    def grad(self, grad: jt.Var) -> tuple:
        return jt.where(self.inside, grad, jt.zeros_like(grad)), None


class QuantLinear(nn.Module):
    """A linear layer whose weight and input are rounded to eight bits."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = jt.init.invariant_uniform((outputs, inputs), mode="fan_in")
        self.bias = nn.Parameter(jt.zeros(outputs))

    def execute(self, x: jt.Var) -> jt.Var:
        weight = Rounded.apply(self.weight, step_of(self.weight))
        return nn.linear(Rounded.apply(x, step_of(x)), weight, self.bias)


class LearnedStep(nn.Module):
    """Rounds activations to four bits with a step size that is learned, by a straight-through estimator."""

    def __init__(self) -> None:
        super().__init__()
        self.step = jt.array([0.2])

    def execute(self, x: jt.Var) -> jt.Var:
        scaled = jt.clamp(x / self.step, min_v=0.0, max_v=15.0)
        return (scaled + (jt.floor(scaled + 0.5) - scaled).detach()) * self.step


class Network(nn.Module):
    """Two rounded layers with a learned step between them."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.first, self.step, self.second = QuantLinear(4, width), LearnedStep(), QuantLinear(width, 2)

    def execute(self, x: jt.Var) -> jt.Var:
        return self.second(self.step(nn.relu6(self.first(x))))


def step_of(x: jt.Var) -> float:
    return max(x.abs().max().item(), 1e-4) / HIGH


def integer_linear(x: jt.Var, layer: QuantLinear) -> jt.Var:
    """The layer in integers: 8-bit operands, 32-bit products, one float scale at the end."""
    scale, rows = step_of(x), layer.weight.abs().max(1, keepdims=True) / HIGH
    data, weight = jt.round_int(x / scale).int8(), jt.round_int(layer.weight / rows).int8()
    product = (data.int32().unsqueeze(1) * weight.int32().unsqueeze(0)).sum(-1)
    return product.float32() * scale * rows.transpose() + layer.bias


def pack_nibbles(codes: jt.Var) -> jt.Var:
    """Two 4-bit codes in one byte, and a check that they come back out."""
    even, odd = codes[:, ::2], codes[:, 1::2]
    packed = jt.bitwise_or(even, jt.left_shift(odd, 4)).uint8()
    wide = packed.int32()
    opened = jt.stack([jt.bitwise_and(wide, 15), jt.right_shift(wide, 4)], dim=-1).flatten(1)
    assert jt.all_equal(opened, codes)
    return packed


def parity(codes: jt.Var) -> jt.Var:
    """Bits that tell of damage: over each row by exclusive or, and which bits are ever or always set."""
    even = codes.reduce_bitwise_xor([1])
    ever, always = codes.reduce_bitwise_or([0]), codes.reduce_bitwise_and([0])
    assert jt.all_equal(jt.bitwise_xor(ever, always) >= 0, jt.ones_like(ever).bool())
    return jt.bitwise_not(even) % 2


def low_precision(x: jt.Var, layer: QuantLinear) -> float:
    """The largest error of the float layer in float16 arithmetic against float64."""
    exact = jt.matmul(x.float64(), layer.weight.float64().transpose()) + layer.bias.double()
    brief = (x.float16() * layer.weight.float16()[:1]).sum(1).float32()
    return (exact[:, 0].float32() - layer.bias[0] - brief).abs().max().item()


def main() -> None:
    jt.set_global_seed(9)
    inputs = jt.randn(8, 4)
    labels = (inputs.prod(1) > 0).int32()
    model = Network()
    optimizer = nn.RMSprop(model.parameters(), lr=0.01, eps=1e-8, alpha=0.99)
    for _ in range(3):
        loss = nn.cross_entropy_loss(model(inputs), labels)
        optimizer.step(loss)
        assert math.isfinite(loss.item())
    with jt.no_grad():
        hidden = integer_linear(inputs, model.first).clamp(0.0, 6.0)
        drift = (integer_linear(hidden, model.second) - model(inputs)).norm(2, 1)
        codes = jt.floor_int(hidden / 6 * 15)
        assert pack_nibbles(codes).shape == (8, 4) and bool(jt.isfinite(drift).all())
        assert parity(codes).shape == (8,) and low_precision(inputs, model.first) < 1.0
        assert codes.max().item() <= jt.ceil_int(hidden.max() * 15).item() // 1


if __name__ == "__main__":
    main()
