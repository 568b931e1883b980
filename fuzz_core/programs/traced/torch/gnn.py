"""A graph neural network that labels nodes by community: convolution, attention and pooling over an edge list."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

NODES, FEATURES, COMMUNITIES = 12, 6, 3


class GraphConvolution(nn.Module):
    """Mean over neighbours by scattering along the edges, with symmetric normalisation."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        nn.init.kaiming_normal_(self.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        source, target = edges
        degree = torch.bincount(target, minlength=x.shape[0]).clamp(min=1).to(x.dtype)
        scale = torch.rsqrt(degree[source] * degree.index_select(0, target))
        messages = torch.mm(x, self.weight)[source].mul(scale.unsqueeze(-1))
        return torch.zeros(x.shape[0], self.weight.shape[1]).index_add(0, target, messages, alpha=1.0)


class GraphAttention(nn.Module):
    """Edge weights by a softmax over each node's incoming edges."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.project = nn.Linear(width, width, bias=False)
        self.score = nn.Bilinear(width, width, 1)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        source, target = edges.unbind(dim=0)
        values = self.project(x)
        scores = F.leaky_relu(self.score(values[source], values[target]), 0.2).squeeze(1)
        weights = segment_softmax(scores, target, x.size(0))
        mixed = torch.zeros_like(values)
        return mixed.scatter_add(0, target[:, None].expand(-1, values.size(1)), weights[:, None] * values[source])


class Gnn(nn.Module):
    """Convolution, attention and a readout of the whole graph that every node sees."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.convolution = GraphConvolution(FEATURES, width)
        self.attention = GraphAttention(width)
        self.norm = nn.LayerNorm([width], elementwise_affine=False)
        self.head = nn.Linear(3 * width, COMMUNITIES)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        x = F.selu(self.convolution(x, edges))
        y = self.norm(self.attention(x, edges))
        peak = torch.amax(y, dim=0, keepdim=True).expand_as(y)
        return self.head(torch.hstack([x, y, peak]))


def segment_softmax(scores: torch.Tensor, segment: torch.Tensor, count: int) -> torch.Tensor:
    peaks = torch.full((count,), -torch.inf).scatter_reduce(0, segment, scores, reduce="amax", include_self=True)
    powers = torch.exp(scores - peaks.gather(0, segment))
    sums = torch.zeros(count).scatter_add_(0, segment, powers)
    return torch.div(powers, sums.take(segment).add(1e-9))


def make_graph() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Node features, edges (2, count) that mostly stay within a community, and the community of each node."""
    labels = torch.arange(NODES).remainder(COMMUNITIES)
    same = labels.unsqueeze(0) == labels.unsqueeze(1)
    chance = torch.where(same, 0.8, 0.1).triu(diagonal=1)
    adjacency = torch.bernoulli(chance)
    adjacency = torch.maximum(adjacency, adjacency.t()) + torch.eye(NODES)
    features = F.one_hot(labels, num_classes=FEATURES).float() + 0.5 * torch.randn(NODES, FEATURES)
    return features, adjacency.nonzero(as_tuple=False).t().contiguous(), labels


def main() -> None:
    torch.manual_seed(0)
    features, edges, labels = make_graph()
    known = torch.rand(NODES).ge(0.3)
    model = Gnn()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05, lr_decay=1e-3, initial_accumulator_value=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        logits = model(features, edges)
        loss = F.nll_loss(F.log_softmax(logits[known], dim=1), labels.masked_select(known))
        smoothness = torch.index_select(logits, 0, edges[0]).sub(logits[edges[1]]).pow(2).sum(-1).mean()
        (loss + 0.01 * smoothness).backward()
        optimizer.step()
        assert math.isfinite(loss.item())
    with torch.no_grad():
        found, counts = torch.unique(model(features, edges).argmax(-1), return_counts=True)
    assert counts.sum().item() == NODES and found.numel() <= COMMUNITIES


if __name__ == "__main__":
    main()
