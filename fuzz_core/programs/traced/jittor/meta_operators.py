"""Layers written with the library's meta-operators: re-indexing, broadcasting, reducing and a little own code."""

import math

import jittor as jt
from jittor import nn

INLINE = """
for (int i = 0; i < in0_shape0; i++)
    @out(i) = @in0(i) * @in0(i) + 1;
"""
INLINE_SLOPE = """
for (int i = 0; i < in0_shape0; i++)
    @out(i) = 2 * @in0(i) * @dout(i);
"""


class Convolution(nn.Module):
    """A convolution as three loops: windows, weights spread over them, and a sum."""

    def __init__(self, inputs: int, outputs: int, size: int) -> None:
        super().__init__()
        self.weight = jt.init.relu_invariant_gauss([outputs, inputs, size, size], "float32")

    def execute(self, x: jt.Var) -> jt.Var:
        batch, inputs, height, width = x.shape
        outputs, _, size, _ = self.weight.shape
        shape = [batch, outputs, inputs, height - size + 1, width - size + 1, size, size]
        windows = x.reindex(shape, ["i0", "i2", "i3+i5", "i4+i6"])
        weights = self.weight.broadcast(shape, dims=[0, 3, 4])
        return (windows * weights).sum(dims=[2, 5, 6])


class Pooling(nn.Module):
    """The largest or the mean of each square, by a reduction that names where each element goes."""

    def __init__(self, size: int, op: str) -> None:
        super().__init__()
        self.size, self.op = size, op

    def execute(self, x: jt.Var) -> jt.Var:
        batch, width, rows, columns = x.shape
        shape = [batch, width, rows // self.size, columns // self.size]
        pooled = x.reindex_reduce(self.op, shape, ["i0", "i1", f"i2/{self.size}", f"i3/{self.size}"])
        return pooled / self.size**2 if self.op == "add" else pooled


class Squares(nn.Module):
    """One plus the square, in code that is compiled for it."""

    def execute(self, x: jt.Var) -> jt.Var:
        flat = x.reshape(-1)
        done = jt.code(flat.shape, flat.dtype, [flat], cpu_src=INLINE, cpu_grad_src=[INLINE_SLOPE])
        return done.reshape(x.shape)


def products(a: jt.Var, b: jt.Var) -> jt.Var:
    """A matrix product as a broadcast and a sum, against the library's own."""
    rows, inner, columns = a.shape[0], a.shape[1], b.shape[1]
    shape = [rows, inner, columns]
    product = jt.multiply(jt.broadcast(a, shape, [2]), jt.broadcast(b, shape, [0])).sum(1)
    assert (product - nn.matmul(a, b)).abs().max().item() < 1e-4
    return product


def reductions(x: jt.Var) -> jt.Var:
    """Every reduction by its own name and by the general one."""
    assert jt.all_equal(x.reduce("maximum", 1), jt.reduce_maximum(x, 1))
    assert jt.all_equal(jt.reduce(x, "minimum", 0), x.reduce_minimum(0))
    large, any_large, all_large = x > 0.5, jt.reduce_logical_or(x > 0.5, 1), jt.reduce_logical_and(x > 0.5, 1)
    odd = jt.reduce_logical_xor(large, 1)
    assert jt.all_equal(jt.logical_and(any_large, all_large), all_large) and odd.shape == any_large.shape
    assert (jt.reduce_multiply(x, 1) - x.prod(1)).abs().max().item() < 1e-6
    return jt.reduce_add(x, 0) / x.shape[0] - jt.mean(x, 0)


def local_maxima(x: jt.Var) -> jt.Var:
    """Places that none of the earlier, larger ones forbids: the candidates of a suppression."""
    place, ordered = jt.argsort(x, descending=True)
    kept = jt.candidate(ordered, "std::abs(@x(j) - @x(i)) < 0.1f")
    return place[kept]


def spread(x: jt.Var) -> jt.Var:
    """Views with shifted, mirrored and repeated elements, all by one operator."""
    count = x.shape[0]
    mirrored = x.reindex([count], [f"{count}-1-i0"])
    shifted = x.reindex([count], ["i0-1"], overflow_value=-1.0)
    tiled = jt.reindex(x, [2 * count], ["i0/2"])
    assert (mirrored - jt.flip(x, 0)).abs().max().item() == 0 and shifted[0].item() == -1.0
    return tiled.reindex_var([mirrored.index(0) * 2]) - x


def main() -> None:
    jt.set_global_seed(23)
    images, wanted = jt.rand(2, 1, 6, 6), jt.array([0, 1])
    model = nn.Sequential(Convolution(1, 2, 3), Squares(), Pooling(2, "maximum"), Pooling(2, "add"), nn.Flatten())
    optimizer = jt.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(2):
        loss = nn.cross_entropy_loss(model(images), wanted)
        optimizer.step(loss)
        assert math.isfinite(loss.item())
    plain = nn.conv2d(images, model[0].weight)
    assert (plain - model[0](images)).abs().max().item() < 1e-4
    assert bool(jt.isfinite(products(jt.randn(2, 3), jt.randn(3, 2))).all())
    assert reductions(jt.rand(3, 4)).abs().max().item() < 1e-5
    line = jt.rand(5)
    assert local_maxima(line).shape[0] >= 1 and spread(line).abs().max().item() == 0


if __name__ == "__main__":
    main()
