"""State-space models of a sequence: a diagonal complex one as a long convolution, and a selective one as a scan."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

LENGTH, WIDTH, STATES = 16, 4, 3


class DiagonalSsm(nn.Module):
    """A linear recurrence with complex diagonal dynamics, applied as a convolution by fast Fourier transform."""

    def __init__(self) -> None:
        super().__init__()
        self.decay = nn.Parameter(torch.log(torch.rand(WIDTH, STATES) * 0.5 + 0.1))
        self.frequency = nn.Parameter(math.pi * torch.arange(STATES).repeat(WIDTH, 1))
        self.mix = nn.Parameter(torch.view_as_real(torch.randn(WIDTH, STATES, dtype=torch.cfloat)))
        self.step = nn.Parameter(torch.full([WIDTH, 1], -2.0))
        self.skip = nn.Parameter(torch.ones(WIDTH))

    def kernel(self, length: int) -> torch.Tensor:
        """The impulse response of each channel, (WIDTH, length)."""
        poles = torch.complex(-torch.exp(self.decay), self.frequency) * self.step.exp()
        powers = torch.exp(poles.unsqueeze(-1) * torch.arange(length))
        weights = torch.view_as_complex(self.mix) * torch.expm1(poles) / poles
        return 2 * torch.einsum("ds,dsl->dl", weights, powers).real

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        length = x.shape[-1]
        response = torch.fft.rfft(self.kernel(length), n=2 * length)
        y = torch.fft.irfft(torch.fft.rfft(x, n=2 * length, dim=-1) * response, n=2 * length, norm="backward")
        return y.narrow(-1, 0, length) + self.skip[:, None] * x


class SelectiveSsm(nn.Module):
    """Step size, input and output of the recurrence depend on the token; a scan in the log domain."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(WIDTH, WIDTH + 2 * STATES, bias=True)
        self.decay = nn.Parameter(torch.arange(1.0, STATES + 1).log().expand(WIDTH, -1).clone())
        self.local = nn.Conv1d(WIDTH, WIDTH, kernel_size=3, padding=2, groups=WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        u = F.silu(self.local(x)[..., : x.size(-1)]).transpose(-1, -2)
        step, entry, leave = self.project(u).split([WIDTH, STATES, STATES], dim=-1)
        step = F.softplus(step, threshold=15.0).unsqueeze(-1)
        log_decay = torch.cumsum(-step * self.decay.exp(), dim=1)
        drive = step * entry.unsqueeze(2) * u.unsqueeze(-1)
        gap = log_decay.unsqueeze(2) - log_decay.unsqueeze(1)
        past = torch.ones(x.size(-1), x.size(-1), dtype=torch.bool).tril()
        weights = torch.exp(gap.masked_fill(~past[None, :, :, None, None], -torch.inf))
        states = torch.einsum("btsdn,bsdn->btdn", weights, drive)
        return torch.einsum("btdn,btn->bdt", states, leave)


def discretise(dynamics: torch.Tensor, entry: torch.Tensor, step: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Zero-order hold and the bilinear rule for a full matrix; they agree for small steps."""
    identity = torch.eye(STATES)
    held = torch.linalg.matrix_exp(dynamics * step)
    bilinear = torch.linalg.solve(identity - step / 2 * dynamics, identity + step / 2 * dynamics)
    driven = torch.linalg.inv(dynamics).matmul(held - identity).mv(entry)
    assert torch.dist(held, bilinear) < 0.1
    return held, driven


def recurrent_check(ssm: DiagonalSsm) -> torch.Tensor:
    """The cumulative log-sum of the kernel's magnitude: how much memory each channel has left."""
    kernel = ssm.kernel(LENGTH).detach()
    return torch.logcumsumexp(torch.log(kernel.abs() + 1e-6), dim=-1)


def make_series(count: int) -> torch.Tensor:
    """Damped oscillations of a driven linear system, (count, WIDTH, LENGTH)."""
    spin = torch.tensor([[-0.1, 1.0, 0.0], [-1.0, -0.1, 0.0], [0.0, 0.3, -0.5]])
    held, driven = discretise(spin, torch.tensor([0.5, 0.0, 1.0]), step=0.1)
    state, states = torch.randn(count, STATES), []
    for _ in range(LENGTH):
        state = torch.addmm(driven, state, held.T)
        states.append(state)
    mixing = torch.randn(STATES, WIDTH)
    return torch.stack(states, dim=-1).mT.matmul(mixing).mT.contiguous()


def main() -> None:
    torch.manual_seed(0)
    series = make_series(4)
    blocks = nn.ModuleList([DiagonalSsm(), SelectiveSsm()])
    head = nn.Conv1d(WIDTH, WIDTH, 1)
    optimizer = torch.optim.Adam([*blocks.parameters(), *head.parameters()], lr=5e-3, fused=False, foreach=True)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    for _ in range(3):
        x = series[..., :-1]
        for block in blocks:
            x = x + F.hardtanh(block(x), min_val=-3.0, max_val=3.0)
        loss = F.mse_loss(head(x), series[..., 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        assert math.isfinite(loss.item())
    spectrum = torch.fft.fftshift(torch.fft.fft(head(x).detach(), norm="ortho"), dim=-1).abs()
    assert torch.isfinite(spectrum).all() and torch.isfinite(recurrent_check(blocks[0])).all()


if __name__ == "__main__":
    main()
