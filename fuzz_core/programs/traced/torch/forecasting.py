"""Forecasts of counts and quantiles of a seasonal series, with dilated convolutions and classical features."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

LENGTH, AHEAD = 24, 4
QUANTILES = (0.1, 0.5, 0.9)


class DilatedBlock(nn.Module):
    """A gated causal convolution with a residual path."""

    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.pad = nn.ConstantPad1d((2 * dilation, 0), value=0.0)
        self.both = nn.utils.parametrizations.weight_norm(nn.Conv1d(width, 2 * width, 3, dilation=dilation))
        self.norm = nn.GroupNorm(1, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        values, gate = self.both(self.pad(x)).chunk(chunks=2, dim=1)
        return self.norm(x + torch.tanh(values) * torch.sigmoid(gate))


class Forecaster(nn.Module):
    """Quantiles of the coming steps, and the rate of a Poisson count."""

    def __init__(self, channels: int, width: int = 8) -> None:
        super().__init__()
        self.enter = nn.Conv1d(channels, width, kernel_size=1)
        self.blocks = nn.Sequential(*(DilatedBlock(width, 2**level) for level in range(2)))
        self.pool = nn.AdaptiveMaxPool1d(output_size=4)
        self.quantiles = nn.LazyLinear(AHEAD * len(QUANTILES))
        self.rate = nn.Sequential(nn.LazyLinear(AHEAD, bias=False), nn.Threshold(threshold=-3.0, value=-3.0))

    def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.blocks(self.enter(features))
        joined = torch.cat([self.pool(x).flatten(1), F.lp_pool1d(x, norm_type=2.0, kernel_size=6).flatten(1)], dim=1)
        steps = self.quantiles(joined).view(-1, AHEAD, len(QUANTILES))
        return torch.cumsum(torch.cat([steps[..., :1], F.softplus(steps[..., 1:])], dim=-1), dim=-1), self.rate(joined)


def make_series(count: int) -> torch.Tensor:
    """Daily and weekly waves with trend, noise and a missing value each."""
    time = torch.arange(LENGTH + AHEAD, dtype=torch.float32)
    phase = torch.rand(count, 1) * 6
    waves = torch.sin(time / 3 + phase) + 0.5 * torch.cos(torch.deg2rad(time * 30)) + 0.05 * time
    series = waves + torch.normal(0.0, 0.1, size=waves.shape)
    return series.scatter(1, torch.randint(2, LENGTH - 2, (count, 1)), math.nan)


def fill(series: torch.Tensor) -> torch.Tensor:
    """Each missing value becomes the median of its row."""
    return torch.where(torch.isnan(series), torch.nanmedian(series, dim=1, keepdim=True).values, series)


def features_of(series: torch.Tensor) -> torch.Tensor:
    """The series, differences, running extremes, ranks, bins and a smoothed copy, (count, 7, time)."""
    change = torch.diff(series, dim=1, prepend=series[:, :1])
    highest, _ = torch.cummax(series, dim=1)
    lowest = torch.cummin(series, 1).values
    rank = series.argsort(dim=1).argsort(dim=1).float() / series.shape[1]
    edges = torch.quantile(series, torch.tensor([0.25, 0.5, 0.75]))
    level = torch.bucketize(series, edges, right=True).float()
    spectrum = torch.fft.rfft(series, dim=-1)
    kept = spectrum * (torch.arange(spectrum.shape[1]) < 5)
    smooth = torch.fft.irfft(kept, n=series.shape[1], dim=-1)
    return torch.stack([series, change, highest, lowest, rank, level, smooth], dim=1)


def pinball(forecast: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    error = target.unsqueeze(-1) - forecast
    weights = torch.tensor(QUANTILES)
    return torch.maximum(weights * error, (weights - 1) * error).mean()


def describe(series: torch.Tensor) -> torch.Tensor:
    """Summary statistics: moments, order statistics, correlations and windows."""
    windows = series.unfold(dimension=1, size=6, step=3)
    variance, mean = torch.var_mean(windows, dim=-1, correction=0)
    middle = torch.kthvalue(windows, k=3, dim=-1).values
    common = torch.mode(series.round(decimals=0), dim=1).values
    correlation = torch.corrcoef(series)
    hist = torch.histogram(series.flatten(), bins=4, range=(-3.0, 3.0), density=True).hist
    counts = torch.searchsorted(torch.sort(series, dim=1).values, torch.zeros(len(series), 1), right=False)
    spread = torch.aminmax(series, dim=1)
    area = torch.cumulative_trapezoid(series, dx=0.5, dim=1)[:, -1]
    parts = [variance, mean, middle, common, correlation, hist, counts.float(), spread.max - spread.min, area]
    return torch.cat([torch.nan_to_num(part).reshape(-1) for part in parts])


def main() -> None:
    torch.manual_seed(0)
    series = fill(make_series(5))
    past, future = series.split_with_sizes([LENGTH, AHEAD], dim=1)
    features, counts = features_of(past), torch.poisson(future.exp().clamp(max=20.0))
    model = Forecaster(features.shape[1])
    model(features)
    optimizer = torch.optim.NAdam(model.parameters(), lr=5e-3, weight_decay=1e-3, decoupled_weight_decay=True)
    criterion = nn.PoissonNLLLoss(log_input=True, full=True, reduction="mean")
    for _ in range(3):
        optimizer.zero_grad()
        quantiles, rate = model(features)
        loss = pinball(quantiles, future) + criterion(rate, counts) + F.poisson_nll_loss(rate.exp(), counts, False)
        loss.backward()
        optimizer.step()
        assert math.isfinite(loss.item())
    with torch.no_grad():
        low, _, high = model.eval()(features)[0].unbind(dim=-1)
    assert low.le(high).all() and torch.isfinite(describe(series)).all()


if __name__ == "__main__":
    main()
