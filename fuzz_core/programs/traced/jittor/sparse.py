"""Sparse data: a factorisation of ratings, products of sparse matrices, and counts of what occurs."""

import math

import jittor as jt
from jittor import nn, sparse

USERS, ITEMS, RANK = 5, 6, 3


class Factorisation(nn.Module):
    """A rating is the product of two vectors and two biases."""

    def __init__(self) -> None:
        super().__init__()
        self.user, self.item = nn.Embedding(USERS, RANK), nn.Embedding(ITEMS, RANK)
        self.bias = jt.zeros((USERS + ITEMS,))

    def execute(self, user: jt.Var, item: jt.Var) -> jt.Var:
        both = jt.multiply(self.user(user), nn.embedding(item, self.item.weight)).sum(1)
        return both + self.bias[user] + self.bias[USERS + item]


def make_ratings(count: int) -> tuple[jt.Var, jt.Var, jt.Var]:
    """Cells without repetition, from a matrix of low rank."""
    cells = jt.randperm(USERS * ITEMS)[:count]
    user, item = jt.floor_divide(cells, ITEMS), jt.mod(cells, ITEMS)
    return user, item, jt.sin(user.float32()) * jt.cos(item.float32()) + 1.0


def products(user: jt.Var, item: jt.Var, rating: jt.Var) -> jt.Var:
    """A sparse matrix and its transpose times dense ones, against the same with dense operands."""
    matrix = sparse.sparse_array(jt.stack([user, item], dim=0), rating, jt.NanoVector([USERS, ITEMS]))
    dense = matrix.to_dense()
    right = jt.init.uniform((ITEMS, 2), low=-1.0, high=1.0)
    product = sparse.spmm(matrix, right)
    assert (product - jt.matmul(dense, right)).abs().max().item() < 1e-4
    back = sparse.spmm(matrix.t(), product)
    assert back.shape == (ITEMS, 2) and dense.sum().item() - rating.sum().item() < 1e-3
    return back


def rows_of(user: jt.Var, rating: jt.Var) -> jt.Var:
    """Sums by row through compressed offsets, and the same by adding at indices."""
    order, rows = jt.argsort(user)
    first = jt.searchsorted(rows.float32().unsqueeze(0), jt.arange(USERS + 1).float32().unsqueeze(0))[0]
    running = jt.concat([jt.zeros((1,)), jt.cumsum(rating[order], dim=0)], dim=0)
    sums = running[first[1:]] - running[first[:-1]]
    added = jt.zeros((USERS,)).scatter(0, user, rating, reduce="add")
    assert (sums - added).abs().max().item() < 1e-4
    return sums


def occurrences(user: jt.Var, rating: jt.Var) -> None:
    """Which users occur and how often, what is largest and what lies in the middle."""
    values, inverse, counts = jt.unique(user, return_inverse=True, return_counts=True)
    assert jt.all_equal(values[inverse], user) and counts.sum().item() == user.shape[0]
    histogram = jt.histc(rating, bins=3, min=0.0, max=2.0)
    assert histogram.shape == (3,) and histogram.sum().item() <= rating.shape[0]
    largest, place = jt.topk(rating, 2)
    smallest, _ = jt.kthvalue(rating, 1, dim=0)
    assert jt.median(rating, dim=0).item() <= largest[0].item() and smallest.item() <= rating[place[1]].item()
    chosen = (rating > 1.0).nonzero()
    assert jt.all_equal(rating[chosen[:, 0]] > 1.0, jt.ones((chosen.shape[0],)).bool())


def main() -> None:
    jt.set_global_seed(12)
    user, item, rating = make_ratings(12)
    model = Factorisation()
    optimizer = jt.optim.SGD(model.parameters(), lr=0.05, weight_decay=0.01)
    plateau = jt.lr_scheduler.ReduceLROnPlateau(optimizer, mode="min", factor=0.5, patience=0)
    for _ in range(3):
        loss = nn.smooth_l1_loss(rating, model(user, item), reduction="mean")
        optimizer.step(loss)
        plateau.step(loss.item())
        assert math.isfinite(loss.item())
    assert bool(jt.isfinite(products(user, item, rating)).all())
    assert bool(jt.isfinite(rows_of(user, rating)).all())
    occurrences(user, rating)
    masked = jt.masked_fill(model.user.weight, jt.bernoulli(jt.full((USERS, RANK), 0.5)).bool(), 0.0)
    assert masked.abs().sum().item() <= model.user.weight.abs().sum().item()


if __name__ == "__main__":
    main()
