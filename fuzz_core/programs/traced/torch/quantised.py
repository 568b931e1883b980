"""Quantisation-aware training of a small network, then integer and low-precision inference with the same weights."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

LOW, HIGH = -128, 127


class FakeQuantLinear(nn.Linear):
    """A linear layer whose weight is rounded per output channel and whose input is rounded per tensor."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = self.weight.detach().abs().amax(dim=1).clamp(min=1e-4) / HIGH
        zero = torch.zeros(self.out_features, dtype=torch.int32)
        weight = torch.fake_quantize_per_channel_affine(self.weight, scale, zero, 0, LOW, HIGH)
        step, origin = affine(x.detach())
        rounded = torch.fake_quantize_per_tensor_affine(x, step, origin, quant_min=0, quant_max=255)
        return F.linear(rounded, weight, self.bias)


class LearnedStep(nn.Module):
    """Rounds activations to four bits with a step size that is learned, by a straight-through estimator."""

    def __init__(self) -> None:
        super().__init__()
        self.step = nn.Parameter(torch.tensor(0.2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scaled = torch.clamp(x / self.step, min=0, max=15)
        return (scaled + (torch.round(scaled) - scaled).detach()) * self.step


class Network(nn.Module):
    """Two rounded layers with a learned step between them."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.first = FakeQuantLinear(4, width)
        self.step = LearnedStep()
        self.second = FakeQuantLinear(width, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.step(F.relu6(self.first(x))))


def affine(x: torch.Tensor) -> tuple[float, int]:
    """Scale and zero point that map the tensor's range onto 0 to 255."""
    low, high = torch.aminmax(x)
    low, high = min(low.item(), 0.0), max(high.item(), 1e-3)
    scale = (high - low) / 255
    return scale, int(max(0, min(255, round(-low / scale))))


def integer_linear(x: torch.Tensor, layer: nn.Linear) -> torch.Tensor:
    """The layer in integers: 8-bit operands, 32-bit products, one float scale at the end."""
    scale, zero = affine(x)
    data = torch.quantize_per_tensor(x, scale, zero, dtype=torch.quint8)
    rows = layer.weight.detach().abs().amax(dim=1).clamp_min(1e-4).to(torch.float64) / HIGH
    weight = torch.quantize_per_channel(layer.weight.detach(), rows, torch.zeros_like(rows), axis=0, dtype=torch.qint8)
    product = (data.int_repr().to(torch.int32) - data.q_zero_point()) @ weight.int_repr().int().t()
    return product.to(torch.float32) * data.q_scale() * weight.q_per_channel_scales().float() + layer.bias


def pack_nibbles(codes: torch.Tensor) -> torch.Tensor:
    """Two 4-bit codes in one byte, and a check that they come back out."""
    even, odd = codes[..., ::2], codes[..., 1::2]
    packed = torch.bitwise_or(even, torch.bitwise_left_shift(odd, 4)).to(torch.uint8)
    opened = torch.stack([packed & 0x0F, torch.bitwise_right_shift(packed, 4)], dim=-1).flatten(-2)
    assert torch.equal(opened.to(codes.dtype), codes)
    return packed


def low_precision(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """The largest error of the float network in bfloat16 under autocast and in float16 arithmetic."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        brief = F.linear(x, model.first.weight, model.first.bias)
    half = torch.addmm(model.first.bias.half(), x.half(), model.first.weight.half().t())
    exact = F.linear(x.double(), model.first.weight.double(), model.first.bias.to(dtype=torch.float64))
    return torch.stack([torch.dist(exact, other.double(), p=math.inf) for other in (brief, half)]).max()


def main() -> None:
    torch.manual_seed(0)
    inputs = torch.randn(8, 4)
    labels = inputs.prod(dim=1).gt(0).long()
    model = Network()
    optimizer = torch.optim.Rprop(model.parameters(), lr=0.01, etas=(0.5, 1.2), step_sizes=(1e-5, 0.1))
    for _ in range(3):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        assert math.isfinite(loss.item())
    with torch.no_grad():
        hidden = integer_linear(inputs, model.first).clamp(0, 6)
        drift = F.pairwise_distance(integer_linear(hidden, model.second), model(inputs), p=2.0)
        codes = torch.floor(hidden / 6 * 15).to(torch.int32)
        assert pack_nibbles(codes).shape == (8, 4) and torch.isfinite(drift).all()
        assert low_precision(model, inputs) < 1.0


if __name__ == "__main__":
    main()
