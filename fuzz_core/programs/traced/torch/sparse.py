"""Sparse models: factorised ratings over embedding bags, smoothing on a sparse graph and a pruned linear layer."""

import math
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import prune

USERS, ITEMS, WIDTH = 6, 9, 4


class Ratings(nn.Module):
    """The dot product of a user's factor and the mean of the item's tags, with sparse gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.users = nn.Embedding(USERS, WIDTH, sparse=True)
        self.tags = nn.EmbeddingBag(ITEMS, WIDTH, mode="sum", sparse=True)
        self.bias = nn.Embedding.from_pretrained(torch.zeros(ITEMS, 1), freeze=False, sparse=True)

    def forward(self, user: torch.Tensor, tags: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        weights = torch.ones(tags.numel()).div(2.0)
        items = self.tags(tags, offsets, per_sample_weights=weights)
        return torch.linalg.vecdot(self.users(user), items) + self.bias(tags[offsets]).squeeze(-1)


def make_adjacency(count: int) -> torch.Tensor:
    """A ring of `count` nodes with some chords, in coordinate form, coalesced."""
    nodes = torch.arange(count)
    ring = torch.stack([nodes, (nodes + 1) % count])
    chords = torch.stack([nodes[::3], torch.remainder(nodes[::3] + 4, count)])
    indices = torch.cat([ring, chords, ring.flip(0)], dim=1)
    weights = torch.linspace(0.1, 1.0, steps=indices.shape[1])
    return torch.sparse_coo_tensor(indices, weights, size=(count, count), dtype=torch.float32).coalesce()


def smooth(adjacency: torch.Tensor, signal: torch.Tensor) -> torch.Tensor:
    """Three steps of diffusion, each in another layout, plus the row sums."""
    spread = torch.sparse.softmax(adjacency, dim=1)
    signal = torch.sparse.mm(spread, signal)
    signal = torch.matmul(spread.to_dense().to_sparse_csr(), signal)
    signal = torch.sparse.addmm(signal, adjacency, signal, beta=0.5, alpha=0.1)
    return signal + torch.sparse.sum(adjacency, dim=1).to_dense().unsqueeze(1)


def layouts(adjacency: torch.Tensor) -> torch.Tensor:
    """The same matrix by way of every layout; the sum of absolute differences."""
    dense = adjacency.to_dense()
    rows = torch.sparse_csr_tensor(
        torch.cat([torch.zeros(1, dtype=torch.int64), dense.count_nonzero(dim=1).cumsum(0)]),
        adjacency.indices()[1],
        adjacency.values(),
        (len(dense), len(dense)),
    )
    columns = dense.to_sparse_csc()
    blocks = dense.to_sparse_bsr((2, 2))
    masked = dense.sparse_mask(adjacency)
    others = [other.to_dense() for other in (rows, columns, blocks, masked, (masked * 1.0).t().t())]
    return torch.stack([torch.sub(dense, other).abs().sum() for other in others]).sum()


def pruned_layer() -> nn.Linear:
    """A linear layer with its smallest weights and one whole row held at zero."""
    layer = nn.Linear(WIDTH, WIDTH)
    prune.l1_unstructured(layer, name="weight", amount=0.25)
    prune.ln_structured(layer, "weight", amount=1, n=2, dim=0)
    return layer


def make_ratings(count: int) -> tuple[torch.Tensor, ...]:
    """Users, tags of the items as one flat list with offsets, and the ratings."""
    sizes = torch.randint(1, 4, (count,))
    offsets = torch.cumsum(sizes, 0) - sizes
    tags = torch.randint(ITEMS, (int(sizes.sum()),))
    return torch.randint(0, USERS, (count,)), tags, offsets, torch.randint(1, 6, (count,)).float()


def main() -> None:
    torch.manual_seed(0)
    warnings.filterwarnings("ignore", message="Sparse .* tensor support is in beta")
    user, tags, offsets, ratings = make_ratings(7)
    model, layer, adjacency = Ratings(), pruned_layer(), make_adjacency(ITEMS + 1)
    sparse_optimizer = torch.optim.SparseAdam(model.parameters(), lr=0.05, betas=(0.9, 0.99))
    dense_optimizer = torch.optim.Adadelta(layer.parameters(), lr=1.0, rho=0.9, eps=1e-5)
    for _ in range(3):
        sparse_optimizer.zero_grad()
        dense_optimizer.zero_grad()
        diffused = smooth(adjacency, layer(torch.randn(ITEMS + 1, WIDTH)))
        loss = F.mse_loss(model(user, tags, offsets), ratings) + 0.1 * diffused.square().mean()
        loss.backward()
        assert model.users.weight.grad.is_sparse and model.users.weight.grad.coalesce().indices().size(0) == 1
        sparse_optimizer.step()
        dense_optimizer.step()
        assert math.isfinite(loss.item())
    prune.remove(layer, "weight")
    assert torch.count_nonzero(layer.weight).item() <= 12
    assert layouts(adjacency).item() < 1e-4


if __name__ == "__main__":
    main()
