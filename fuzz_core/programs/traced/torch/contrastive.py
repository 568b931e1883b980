"""Contrastive learning: two views of each signal are pulled together (InfoNCE, Barlow twins, momentum queue)."""

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def make_encoder(width: int = 16) -> nn.Sequential:
    """A one-dimensional convolutional encoder with a projection head."""
    return nn.Sequential(
        nn.Conv1d(2, 8, kernel_size=5, stride=2, padding=2, padding_mode="zeros"),
        nn.BatchNorm1d(8, affine=True, track_running_stats=True),
        nn.GELU(approximate="none"),
        nn.Conv1d(8, width, 3, dilation=2),
        nn.AdaptiveAvgPool1d(1),
        nn.Flatten(1, -1),
        nn.Linear(width, width, bias=False),
        nn.BatchNorm1d(width, momentum=None),
    )


def make_signals(count: int) -> torch.Tensor:
    """Chirps in two channels, (count, 2, 16)."""
    time = torch.linspace(0.0, 1.0, 16)
    speed = torch.empty(count, 2, 1).log_normal_(mean=1.0, std=0.3)
    return torch.sin(2 * math.pi * speed * time * (1 + time))


def view(signals: torch.Tensor) -> torch.Tensor:
    """A random view: scaled, shifted in time, masked in one window and flipped in sign."""
    scale = torch.empty(signals.shape[0], 1, 1).uniform_(0.7, 1.3)
    shift = int(torch.randint(-2, 3, ()).item())
    start = torch.randint(0, 12, (signals.shape[0], 1, 1))
    axis = torch.arange(signals.shape[-1])
    hidden = torch.logical_and(axis >= start, axis.lt(start + 4))
    sign = torch.randint(0, 2, (signals.shape[0], 1, 1)).mul(2).sub(1)
    return torch.roll(signals * scale, shift, dims=-1).masked_fill(hidden, 0.0).mul(sign)


def info_nce(a: torch.Tensor, b: torch.Tensor, temperature: float = 0.2) -> torch.Tensor:
    """Cross-entropy over similarities of all views; a view is no negative of itself."""
    joined = F.normalize(torch.cat([a, b], dim=0), p=2.0, dim=1, eps=1e-8)
    similarity = torch.matmul(joined, joined.T).div(temperature).fill_diagonal_(-1e4)
    partner = torch.arange(len(joined)).roll(len(a))
    return F.cross_entropy(similarity, partner, reduction="mean", label_smoothing=0.05)


def barlow(a: torch.Tensor, b: torch.Tensor, weight: float = 5e-3) -> torch.Tensor:
    """The cross-correlation of both views' features should be the identity."""
    a, b = ((x - x.mean(0)) / x.std(dim=0, unbiased=False).add(1e-5) for x in (a, b))
    correlation = torch.einsum("bi,bj->ij", a, b) / a.shape[0]
    diagonal = torch.diagonal(correlation)
    outside = correlation.pow(2).sum() - diagonal.square().sum()
    return (1.0 - diagonal).square().sum() + weight * outside


def queue_loss(query: torch.Tensor, key: torch.Tensor, queue: torch.Tensor) -> torch.Tensor:
    """One positive key against a queue of old ones, as log-probabilities and as cosine embeddings."""
    positive = F.cosine_similarity(query, key, dim=-1, eps=1e-6).unsqueeze(1)
    negative = F.linear(F.normalize(query), F.normalize(queue, dim=-1))
    scores = torch.log_softmax(torch.hstack((positive, negative)) / 0.1, dim=1, dtype=torch.float64)
    labels = torch.ones(len(query))
    embedded = F.cosine_embedding_loss(query, queue[: len(query)], -labels, margin=0.3)
    return F.nll_loss(scores, torch.zeros(len(query), dtype=torch.int64)).float() + embedded


def covariance_rank(features: torch.Tensor) -> int:
    """How many directions the features use: a collapsed encoder uses one."""
    return int(torch.linalg.matrix_rank(torch.cov(features.T, correction=0), rtol=1e-3, hermitian=True))


def main() -> None:
    torch.manual_seed(0)
    signals = make_signals(8)
    encoder = make_encoder()
    momentum = copy.deepcopy(encoder).requires_grad_(False)
    queue = torch.randn(12, 16)
    optimizer = torch.optim.SGD(encoder.parameters(), lr=torch.tensor(0.02), momentum=0.9, maximize=False)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4, eta_min=1e-3)
    for _ in range(3):
        a, b = encoder(view(signals)), encoder(view(signals))
        with torch.no_grad():
            for slow, fast in zip(momentum.parameters(), encoder.parameters(), strict=True):
                slow.mul_(0.99).add_(fast, alpha=0.01)
            key = momentum(view(signals))
        loss = info_nce(a, b) + 0.1 * barlow(a, b) + queue_loss(a, key, queue)
        queue = torch.vstack([key, queue])[: len(queue)].detach()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        assert math.isfinite(loss.item())
    with torch.no_grad():
        features = encoder.eval()(signals)
        nearest = torch.cdist(features, features, p=1.0).fill_diagonal_(math.inf).argmin(dim=1, keepdim=False)
    assert covariance_rank(features) >= 1 and nearest.max() < 8


if __name__ == "__main__":
    main()
