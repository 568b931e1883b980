"""State-space models of a sequence: a diagonal one as a long convolution, and a selective one as a scan."""

import math

import jittor as jt
from jittor import linalg, nn

LENGTH, WIDTH, STATES = 8, 3, 2


class DiagonalSsm(nn.Module):
    """A linear recurrence with rotating and decaying states, applied as one causal convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.decay = jt.log(jt.rand(WIDTH, STATES) * 0.5 + 0.1)
        self.frequency = math.pi * jt.arange(STATES).float32().repeat(WIDTH, 1)
        self.mix = jt.randn(WIDTH, STATES)
        self.skip = jt.ones((WIDTH, 1))

    def kernel(self, length: int) -> jt.Var:
        """The impulse response of each channel, (WIDTH, length)."""
        time = jt.arange(length).float32()
        size = jt.exp(-jt.exp(self.decay).unsqueeze(-1) * time)
        return (self.mix.unsqueeze(-1) * size * jt.cos(self.frequency.unsqueeze(-1) * time)).sum(1)

    def execute(self, x: jt.Var) -> jt.Var:
        batch, width, length = x.shape
        shape = [batch, width, length, length]
        past = x.reindex(shape, ["i0", "i1", "i3"])
        response = self.kernel(length).reindex(shape, ["i1", "i2-i3"], overflow_value=0.0)
        return (past * response).sum(-1) + self.skip * x


class SelectiveSsm(nn.Module):
    """Step size, input and output of the recurrence depend on the token; a scan in the log domain."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(WIDTH, WIDTH + 2 * STATES)
        self.decay = jt.log(jt.arange(1, STATES + 1).float32()).expand(WIDTH, STATES).clone()
        self.local = nn.Conv1d(WIDTH, WIDTH, kernel_size=3, padding=2, groups=WIDTH)

    def execute(self, x: jt.Var) -> jt.Var:
        length = x.shape[-1]
        u = nn.silu(self.local(x)[:, :, :length]).transpose(0, 2, 1)
        step, entry, leave = jt.split(self.project(u), [WIDTH, STATES, STATES], dim=-1)
        step = nn.softplus(step).unsqueeze(-1)
        log_decay = jt.cumsum(-step * self.decay.exp(), dim=1)
        drive = step * entry.unsqueeze(2) * u.unsqueeze(-1)
        gap = log_decay.unsqueeze(2) - log_decay.unsqueeze(1)
        past = jt.tril(jt.ones((length, length)), diagonal=0)[None, :, :, None, None]
        weights = jt.exp(jt.minimum(gap, 0.0)) * past
        states = (weights * drive.unsqueeze(1)).sum(2)
        return linalg.einsum("btdn,btn->bdt", states, leave)


def discretise(dynamics: jt.Var, entry: jt.Var, step: float) -> tuple[jt.Var, jt.Var]:
    """The bilinear rule for a full matrix, and its eigenvalues inside the unit circle."""
    identity = jt.init.eye(dynamics.shape)
    held = linalg.solve(identity - step / 2 * dynamics, identity + step / 2 * dynamics)
    driven = jt.matmul(linalg.inv(identity - step / 2 * dynamics), entry.unsqueeze(1)).squeeze(1) * step
    assert abs(linalg.det(held).item()) <= 1.0
    return held, driven


def spectrum(signal: jt.Var) -> jt.Var:
    """The power of each frequency by the sums that define it, and by complex numbers where a release has them."""
    length = signal.shape[-1]
    angle = jt.outer(jt.arange(length), jt.arange(length)).float32() * (2 * math.pi / length)
    real, imaginary = jt.matmul(signal, jt.cos(angle)), -jt.matmul(signal, jt.sin(angle))
    power = real.sqr() + imaginary.sqr()
    if hasattr(nn, "ComplexNumber"):
        number = nn.ComplexNumber(real, imaginary)
        assert ((number * number.conj()).real - power).abs().max().item() < 1e-2
        assert (number.norm().sqr() - power).abs().max().item() < 1e-2
        assert nn.view_as_complex(nn.view_as_real(number)).shape == power.shape
    return power


def make_series(count: int) -> jt.Var:
    """Damped oscillations of a driven linear system, (count, WIDTH, LENGTH)."""
    spin = jt.array([[-0.1, 1.0, 0.0], [-1.0, -0.1, 0.0], [0.0, 0.3, -0.5]])
    held, driven = discretise(spin, jt.array([0.5, 0.0, 1.0]), step=0.1)
    state, states = jt.randn(count, WIDTH), []
    for _ in range(LENGTH):
        state = nn.matmul_transpose(state, held) + driven
        states.append(state)
    return jt.stack(states, dim=-1)


def main() -> None:
    jt.set_global_seed(13)
    series = make_series(2)
    blocks, head = nn.ModuleList([DiagonalSsm(), SelectiveSsm()]), nn.Conv1d_sp(WIDTH, WIDTH)
    optimizer = jt.optim.Adam([*blocks.parameters(), *head.parameters()], lr=5e-3)
    scheduler = jt.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    for _ in range(2):
        x = series[:, :, :-1]
        for block in blocks:
            x = x + nn.hardtanh(block(x), min_val=-3.0, max_val=3.0)
        loss = nn.mse_loss(head(x), series[:, :, 1:])
        optimizer.step(loss)
        scheduler.step()
        assert math.isfinite(loss.item())
    growth = jt.cumprod(jt.sigmoid(blocks[0].kernel(LENGTH)), dim=1)
    assert bool(jt.isfinite(spectrum(x)).all()) and bool((growth > 0).all())


if __name__ == "__main__":
    main()
