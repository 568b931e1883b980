"""Metric learning: embeddings of labelled points under every ranking and margin loss, with mining of hard examples."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

CLASSES, WIDTH = 4, 8


class Embedder(nn.Module):
    """A small network onto the unit sphere, with one weight vector (proxy) per class."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 16), nn.RReLU(0.1, 0.3), nn.AlphaDropout(p=0.05), nn.Linear(16, WIDTH))
        self.proxies = nn.Parameter(F.normalize(torch.randn(CLASSES, WIDTH), dim=-1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.normalize(self.layers(x), p=2, dim=-1)


def arc_margin(features: torch.Tensor, proxies: torch.Tensor, labels: torch.Tensor, margin: float = 0.3):
    """Cross-entropy over cosines, after the angle to the right proxy was widened by the margin."""
    cosine = F.linear(features, F.normalize(proxies)).clamp(-1 + 1e-6, 1 - 1e-6)
    wider = torch.cos(torch.arccos(cosine) + margin)
    chosen = torch.zeros_like(cosine).scatter_(1, labels.unsqueeze(1), 1.0)
    return F.cross_entropy(8.0 * torch.where(chosen.bool(), wider, cosine), labels, reduction="mean")


def mine(features: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """For each point the farthest one of its class and the nearest one of another."""
    distance = torch.cdist(features, features)
    same = labels.unsqueeze(0).eq(labels.unsqueeze(1))
    positive = distance.masked_fill(same.logical_not(), -math.inf).max(dim=1).indices
    negative = distance.masked_fill(same, math.inf).min(dim=1)[1]
    return positive, negative


def triplet_losses(a: torch.Tensor, p: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
    """The triplet loss with its own distances and with given ones."""
    plain = nn.TripletMarginLoss(margin=0.5, p=2.0, eps=1e-6, swap=True)(a, p, n)
    city = nn.PairwiseDistance(p=1, keepdim=False)
    given = nn.TripletMarginWithDistanceLoss(distance_function=city, margin=1.0, reduction="sum")(a, p, n)
    soft = F.soft_margin_loss(city(a, p) - city(a, n), -torch.ones(len(a)))
    return plain + 0.1 * given + soft


def pair_losses(a: torch.Tensor, p: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
    """Losses over pairs that are marked as alike (1) or not (-1)."""
    marks = torch.cat([torch.ones(len(a)), -torch.ones(len(a))])
    distance = F.pairwise_distance(a.repeat(2, 1), torch.cat([p, n]), p=2.0)
    similar = nn.CosineSimilarity(dim=1, eps=1e-8)
    ranking = nn.MarginRankingLoss(margin=0.2)(similar(a, p), similar(a, n), torch.ones(len(a)))
    hinge = nn.HingeEmbeddingLoss(margin=1.0, reduction="mean")(distance, marks)
    cosine = nn.CosineEmbeddingLoss(margin=0.1)(a.repeat(2, 1), torch.cat([p, n]), marks)
    return ranking + hinge + cosine


def class_losses(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Margin losses over classes, with one label per point and with several."""
    several = F.one_hot(labels, CLASSES) | F.one_hot((labels + 1) % CLASSES, CLASSES)
    listed = torch.full((len(labels), CLASSES), -1).index_copy(1, torch.tensor([0]), labels.unsqueeze(1))
    margin = nn.MultiMarginLoss(p=2, margin=0.5, weight=torch.ones(CLASSES))(scores, labels)
    ranked = nn.MultiLabelMarginLoss(reduction="mean")(scores, listed)
    return margin + ranked + nn.MultiLabelSoftMarginLoss()(scores, several.float())


def recall(features: torch.Tensor, labels: torch.Tensor, k: int) -> torch.Tensor:
    """The share of points with a point of their class among the k nearest others."""
    distance = torch.cdist(features, features).fill_diagonal_(math.inf)
    nearest = distance.topk(k, dim=1, largest=False).indices
    return labels[nearest].eq(labels.unsqueeze(1)).any(dim=1).float().mean()


def main() -> None:
    torch.manual_seed(0)
    labels = torch.arange(CLASSES).repeat_interleave(3)
    points = torch.eye(CLASSES, 6)[labels] + 0.2 * torch.randn(len(labels), 6)
    model = Embedder()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, foreach=True)
    scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, 0.01, 0.1, step_size_up=2, mode="triangular2")
    for _ in range(3):
        features = model(points)
        positive, negative = mine(features.detach(), labels)
        loss = arc_margin(features, model.proxies, labels)
        loss = loss + triplet_losses(features, features[positive], features[negative])
        loss = loss + pair_losses(features, features[positive], features[negative])
        loss = loss + class_losses(features @ model.proxies.t(), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        assert math.isfinite(loss.item())
    with torch.no_grad():
        assert 0 <= recall(model.eval()(points), labels, k=2) <= 1
    assert F.pdist(points, p=2).numel() == len(points) * (len(points) - 1) // 2


if __name__ == "__main__":
    main()
