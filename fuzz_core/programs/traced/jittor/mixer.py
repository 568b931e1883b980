"""A network of patches that mixes places and channels in turn, its shapes told by named axes."""

import math

import jittor as jt
from jittor import einops, nn
from jittor.einops.layers.jittor import Rearrange, Reduce

PATCH, SIDE, WIDTH = 2, 3, 4


class Mix(nn.Module):
    """A small network along the last axis, with a norm before and a dropped path after it."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(inputs)
        self.enter, self.leave = nn.Linear(inputs, hidden), nn.Linear(hidden, inputs)

    def execute(self, x: jt.Var) -> jt.Var:
        return nn.droppath(self.leave(nn.silu(self.enter(self.norm(x)))), p=0.1, is_train=self.is_training())


class Mixer(nn.Module):
    """Patches to tokens, two mixing layers and the mean of all tokens."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.cut = Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=PATCH, q=PATCH)
        self.embed = nn.Linear(PATCH * PATCH, WIDTH)
        self.places, self.channels = Mix(SIDE * SIDE, 6), Mix(WIDTH, 6)
        self.mean, self.head = Reduce("b n c -> b c", "mean"), nn.Linear(WIDTH, classes)
        self.token = nn.Parameter(jt.zeros((1, 1, WIDTH)))

    def execute(self, images: jt.Var) -> jt.Var:
        x = self.embed(self.cut(images))
        x = x + einops.repeat(self.token, "one n c -> (one b) n c", b=x.shape[0])
        turned = self.places(einops.rearrange(x, "b n c -> b c n"))
        x = x + einops.rearrange(turned, "b c n -> b n c")
        return self.head(self.mean(x + self.channels(x)))


def attention(x: jt.Var, heads: int) -> jt.Var:
    """Attention without weights of its own, in named axes."""
    split = einops.rearrange(x, "b n (h d) -> (b h) n d", h=heads)
    scores = nn.softmax(nn.bmm(split, split.transpose(0, 2, 1)) / math.sqrt(split.shape[-1]), dim=-1)
    return einops.rearrange(nn.bmm(scores, split), "(b h) n d -> b n (h d)", h=heads)


def pyramid(images: jt.Var) -> list[jt.Var]:
    """Means and maxima over growing squares, and everything again in the size of the images."""
    mean = einops.reduce(images, "b c (h p) (w q) -> b c h w", "mean", p=2, q=2)
    largest = einops.reduce(images, "b c (h p) w -> b c h w", "max", p=3)
    grown = einops.repeat(mean, "b c h w -> b c (h p) (w q)", p=2, q=2)
    return [grown, largest, einops.reduce(images, "b c h w -> b", "sum")]


def contractions(x: jt.Var) -> jt.Var:
    """Sums over named axes: traces, outer and inner products, and a bilinear form."""
    square = jt.linalg.einsum("bnc,bnd->bcd", x, x)
    form = jt.linalg.einsum("bc,bcd,bd->b", x[:, 0], square, x[:, 1])
    outer = jt.linalg.einsum("i,j->ij", x[0, 0], x[1, 0])
    assert (outer - jt.outer(x[0, 0], x[1, 0])).abs().max().item() < 1e-5
    return form


def make_images(count: int) -> tuple[jt.Var, jt.Var]:
    """Noisy 6 x 6 images that are brighter above or below, and which of the two."""
    label = jt.arange(count) % 2
    row = jt.index((count, 1, 6, 6), dim=2)
    bright = (row >= 3).int32().equal(label.reshape(count, 1, 1, 1))
    return bright.float32() + 0.1 * jt.randn(count, 1, 6, 6), label


def main() -> None:
    jt.set_global_seed(24)
    images, labels = make_images(4)
    sizes = einops.parse_shape(images, "b _ h w")
    assert sizes == {"b": 4, "h": 6, "w": 6}
    model = Mixer(2)
    optimizer = jt.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(2):
        loss = nn.CrossEntropyLoss()(model(images), labels)
        optimizer.step(loss)
        assert math.isfinite(loss.item())
    model.eval()
    with jt.no_grad():
        tokens = model.embed(model.cut(images))
        assert attention(tokens, 2).shape == tokens.shape and bool(jt.isfinite(contractions(tokens)).all())
        for level in pyramid(images):
            assert bool(jt.isfinite(level).all())


if __name__ == "__main__":
    main()
