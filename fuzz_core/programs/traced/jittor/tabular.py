"""A table of measurements: cleaning, features by elementary functions, statistics and a small regression."""

import math

import jittor as jt
from jittor import nn

ROWS = 8


class Regression(nn.Module):
    """A linear model and a network side by side, with a scale of its own for the output."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.plain, self.hidden = nn.Linear(inputs, 1), nn.Linear(inputs, 4)
        self.leave, self.scale = nn.Linear(4, 1), jt.ones((1,))

    def execute(self, x: jt.Var) -> jt.Var:
        return (self.plain(x) + self.leave(nn.Softplus()(self.hidden(x)))).squeeze(1) * self.scale


def make_table() -> tuple[jt.Var, jt.Var]:
    """Positive measurements, with some that are missing or infinite, and what is to be told from them."""
    table = jt.exp(jt.randn(ROWS, 3) * 0.5)
    wanted = jt.log(table[:, 0]) + jt.sin(table[:, 1])
    table[0, 0], table[1, 1], table[2, 2] = math.nan, math.inf, -math.inf
    return table, wanted


def cleaned(table: jt.Var) -> jt.Var:
    """The table with the median of its column where a number is missing, and limits for the infinite."""
    assert jt.isnan(table).sum().item() == 1 and jt.isinf(table).sum().item() == 2
    table = jt.where(jt.isposinf(table), jt.full_like(table, 4.0), table)
    table = jt.where(jt.isneginf(table), jt.full_like(table, 0.1), table)
    known = jt.masked_fill(table, jt.isnan(table), 1.0)
    middle = jt.stack([jt.median(known[:, column], dim=0) for column in range(3)], dim=0).reshape(1, 3)
    return jt.where(jt.isfinite(table), table, middle.expand(ROWS, 3))


def elementary(x: jt.Var) -> jt.Var:
    """Pairs of a function and its inverse, each of which gives the number back."""
    small = x / (x.max() + 1.0)
    pairs = [
        jt.asinh(jt.sinh(small)), jt.acosh(jt.cosh(small)), jt.atanh(jt.tanh(small)), jt.arcsin(jt.sin(small)),
        jt.arccos(jt.cos(small)), jt.arctan(jt.tan(small)), jt.log2(jt.pow(jt.full_like(small, 2.0), small)),
        jt.rad2deg(jt.deg2rad(small)), jt.sqrt(jt.sqr(small)), -jt.negative(small), jt.exp(jt.safe_log(small)),
    ]  # fmt: skip
    errors = jt.stack([(pair - small).abs().max() for pair in pairs], dim=0)
    assert errors.max().item() < 1e-2
    return jt.concat([jt.ceil(x), jt.floor(x), jt.round(x), nn.sign(x - 1.0)], dim=1)


def integers(x: jt.Var) -> jt.Var:
    """Halves of counts and what is left, and comparisons of counts."""
    counts = (x * 3).floor_int()
    halves, rest = jt.floor_divide(counts, 2), jt.mod(counts, 2)
    assert jt.all_equal(halves * 2 + rest, counts)
    later = jt.greater_equal(counts, counts.roll(1, 0)).int32() - jt.less(counts, 2).int32()
    return jt.add(later, jt.divide(counts, 2).int32()).subtract(jt.not_equal(counts, 1).int32())


def ranks(x: jt.Var) -> jt.Var:
    """The order of each column's numbers, and a check against sorted values."""
    order, ordered = jt.argsort(x, dim=0)
    values, again = jt.sort(x, dim=0, descending=False)
    assert jt.all_equal(values, ordered) and jt.all_equal(again, order)
    place, _ = jt.argsort(order, dim=0)
    lowest, _ = jt.argmin(x, 0)
    highest, _ = jt.argmax(x, 0)
    assert jt.all_equal(lowest, order[0]) and jt.all_equal(highest, order[-1])
    return place


def summary(x: jt.Var) -> jt.Var:
    """Means, spreads and correlations of columns."""
    centred = (x - x.mean(0, keepdims=True)) / jt.std(x, 0, keepdim=True)
    correlation = jt.matmul(centred.t(), centred) / (ROWS - 1)
    assert (jt.diag(correlation) - 1.0).abs().max().item() < 1e-3
    running = jt.cumsum(x, dim=0) / jt.arange(1, ROWS + 1).reshape(ROWS, 1)
    assert (running[-1] - x.mean(0)).abs().max().item() < 1e-3
    return correlation - jt.var(x, 0, unbiased=True, keepdims=True)


def geometry(x: jt.Var) -> jt.Var:
    """Nearest rows, angles and products of the rows, each of three numbers."""
    _, near = jt.misc.knn(x.unsqueeze(0), x.unsqueeze(0), 2)
    first, second = jt.flatten(jt.cross(x, x.roll(1, 0), dim=1), 0).chunk(2, dim=0)
    angle = jt.atan2(first, jt.abs(second) + 1.0)
    upper = jt.triu(jt.matmul(x.t(), x), diagonal=1)
    squared = jt.baddbmm(upper.triu(0).unsqueeze(0), upper.unsqueeze(0), upper.unsqueeze(0))
    apart = jt.logical_xor(first > 0.0, second > 0.0).float32()
    return jt.subtract(angle.sum(), squared.sum()) + apart.sum() + x.gather(1, near[0] % 3).sum()


def main() -> None:
    jt.set_global_seed(25)
    table, wanted = make_table()
    table = cleaned(table)
    features = jt.concat([table, elementary(table) * 0.1, ranks(table).float32() / ROWS], dim=1)
    model = Regression(features.shape[1])
    optimizer = jt.optim.RMSprop(model.parameters(), lr=0.01)
    for _ in range(2):
        loss = nn.L1Loss()(model(features), wanted) + 0.1 * nn.MSELoss()(model(features), wanted)
        optimizer.step(loss)
        assert math.isfinite(loss.item())
    assert bool(jt.isfinite(summary(table)).all()) and integers(table).shape == table.shape
    assert math.isfinite(geometry(table).item())
    first, second = jt.split(jt.randperm(ROWS), ROWS // 2, dim=0)
    assert len(set(first.tolist()) | set(second.tolist())) == ROWS


if __name__ == "__main__":
    main()
