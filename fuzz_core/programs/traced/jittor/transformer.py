"""A small transformer that copies and reverses sequences: encoder, decoder, masks and positions."""

import math

import jittor as jt
from jittor import init, nn

WORDS, WIDTH, HEADS, LENGTH = 8, 8, 2, 4


class Attention(nn.Module):
    """Attention of several heads, written with batched products; a mask forbids what is true in it."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))
        self.leave, self.drop = nn.Linear(WIDTH, WIDTH), nn.Dropout(0.1)

    def split(self, x: jt.Var) -> jt.Var:
        batch, length, _ = x.shape
        return x.reshape(batch, length, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3).reshape(batch * HEADS, length, -1)

    def execute(self, x: jt.Var, memory: jt.Var, forbidden: jt.Var) -> jt.Var:
        query, key, value = self.split(self.query(x)), self.split(self.key(memory)), self.split(self.value(memory))
        scores = nn.bmm_transpose(query, key) / math.sqrt(WIDTH / HEADS)
        scores = jt.where(forbidden.broadcast(scores), jt.full_like(scores, -1e9), scores)
        mixed = nn.bmm(self.drop(nn.softmax(scores, dim=-1)), value)
        batch, length = x.shape[0], x.shape[1]
        return self.leave(mixed.reshape(batch, HEADS, length, -1).transpose(0, 2, 1, 3).reshape(batch, length, WIDTH))


class Block(nn.Module):
    """Attention to itself and to a memory, then a layer of its own for each place."""

    def __init__(self) -> None:
        super().__init__()
        self.own, self.other = Attention(), Attention()
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH, eps=1e-6) for _ in range(3)])
        self.feed = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def execute(self, x: jt.Var, memory: jt.Var, forbidden: jt.Var) -> jt.Var:
        y = self.norms[0](x)
        x = x + self.own(y, y, forbidden)
        x = x + self.other(self.norms[1](x), memory, jt.zeros_like(forbidden))
        return x + self.feed(self.norms[2](x))


class Translator(nn.Module):
    """Embeddings with sines and cosines of the place, a memory, and a decoder that sees only the past."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.block = nn.Embedding(WORDS, WIDTH), Block()
        self.norm = nn.LayerNorm((WIDTH,), elementwise_affine=False)
        init.trunc_normal_(self.embed.weight, std=0.2)

    def execute(self, source: jt.Var, target: jt.Var) -> jt.Var:
        memory = self.norm(self.embed(source) + positions(source.shape[1]))
        future = jt.triu(jt.ones((target.shape[1], target.shape[1])), diagonal=1).bool()
        x = self.block(self.embed(target) + positions(target.shape[1]), memory, future)
        return nn.matmul_transpose(self.norm(x), self.embed.weight)


def positions(length: int) -> jt.Var:
    """Sines and cosines of growing wavelengths, (length, WIDTH)."""
    rate = jt.exp(jt.arange(0, WIDTH, 2).float32() * (-math.log(100.0) / WIDTH))
    angle = jt.arange(length).float32().unsqueeze(1) * rate
    return jt.stack([jt.sin(angle), jt.cos(angle)], dim=-1).flatten(-2)


def smoothed_loss(logits: jt.Var, wanted: jt.Var, smoothing: float) -> jt.Var:
    """The divergence from a target that leaves a little for every other word."""
    exact = nn.one_hot(wanted, WORDS).float32()
    target = exact * (1 - smoothing) + smoothing / WORDS
    return nn.KLDivLoss(reduction="batchmean")(nn.log_softmax(logits, dim=-1), target)


def library_attention(x: jt.Var) -> jt.Var:
    """The library's own layer, with masks, where the release has all of it."""
    if not hasattr(jt.attention, "scaled_dot_product_attention"):
        return x
    mixed, weights = jt.attention.MultiheadAttention(WIDTH, HEADS, batch_first=True)(x, x, x, need_weights=True)
    assert weights.shape == (x.shape[0], x.shape[1], x.shape[1])
    return mixed + jt.attention.scaled_dot_product_attention(x, x, x, is_causal=True)


def main() -> None:
    jt.set_global_seed(14)
    source = jt.randint(1, WORDS, shape=(2, LENGTH))
    wanted = jt.flip(source, 1)
    shifted = jt.concat([jt.zeros((2, 1), dtype="int32"), wanted[:, :-1]], dim=1)
    model = Translator()
    optimizer = jt.optim.AdamW(model.parameters(), lr=0.01, eps=1e-8, betas=(0.9, 0.98), weight_decay=0.01)
    schedule = jt.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4, eta_min=1e-4)
    for _ in range(2):
        loss = smoothed_loss(model(source, shifted), wanted, 0.1)
        optimizer.step(loss)
        schedule.step()
        assert math.isfinite(loss.item())
    model.eval()
    with jt.no_grad():
        best, _ = model(source, shifted).argmax(dim=-1)
        surprise = nn.nll_loss(nn.log_softmax(model(source, shifted)[0], dim=1), wanted[0])
        assert best.shape == source.shape and math.isfinite(surprise.item())
        assert bool(jt.isfinite(library_attention(model.embed(source))).all())


if __name__ == "__main__":
    main()
