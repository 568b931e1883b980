"""A transformer that learns to copy a token sequence in reverse, with encoder, decoder and masks of both kinds."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY = 11
PADDING, BEGIN = 0, 1


class Reverser(nn.Module):
    """Token and sinusoidal position embeddings, a post-norm encoder and a pre-norm decoder."""

    def __init__(self, width: int = 16, heads: int = 4) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width, padding_idx=PADDING)
        self.register_buffer("positions", sinusoids(16, width))
        layer = nn.TransformerEncoderLayer(width, heads, 32, dropout=0.0, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, norm=nn.LayerNorm(width), enable_nested_tensor=False)
        decoder = nn.TransformerDecoderLayer(width, nhead=heads, dim_feedforward=32, batch_first=True, norm_first=True)
        self.decoder = nn.TransformerDecoder(decoder, 1)
        self.head = nn.Linear(width, VOCABULARY, bias=False)

    def embed(self, tokens: torch.Tensor) -> torch.Tensor:
        scale = math.sqrt(self.tokens.embedding_dim)
        return torch.add(self.tokens(tokens) * scale, self.positions[: tokens.shape[1]])

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        ignored = source.eq(PADDING)
        causal = nn.Transformer.generate_square_subsequent_mask(target.size(1))
        memory = self.encoder(self.embed(source), src_key_padding_mask=ignored)
        states = self.decoder(
            self.embed(target), memory, tgt_mask=causal, memory_key_padding_mask=ignored, tgt_is_causal=True
        )
        return self.head(states)


class RotaryBlock(nn.Module):
    """A decoder-only block: rotary positions, grouped queries, RMS norm and a gated feed-forward layer."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(width, eps=1e-6)
        self.query, self.keys = nn.Linear(width, width), nn.Linear(width, width // 2)
        self.gate = nn.Sequential(nn.Linear(width, 4 * width), nn.GLU(dim=-1), nn.Linear(2 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(x)
        query = rotate(self.query(y).unflatten(-1, (4, 4)).transpose(1, 2))
        keys = self.keys(y).unflatten(-1, (2, 4)).transpose(1, 2).repeat_interleave(2, dim=1)
        mixed = F.scaled_dot_product_attention(query, rotate(keys), keys, attn_mask=None, dropout_p=0.0, is_causal=True)
        x = x + mixed.transpose(1, 2).flatten(2)
        return x + self.gate(F.rms_norm(x, (x.shape[-1],)))


def sinusoids(length: int, width: int) -> torch.Tensor:
    steps = torch.arange(length, dtype=torch.float32)
    angles = torch.outer(steps, torch.exp(torch.arange(0, width, 2) * (-math.log(1e4) / width)))
    return torch.stack((angles.sin(), angles.cos()), dim=-1).reshape(length, width)


def rotate(x: torch.Tensor) -> torch.Tensor:
    """Rotates pairs of features by an angle that grows with the position (the second-last axis)."""
    angles = torch.arange(x.shape[-2])[:, None] / torch.pow(100.0, torch.arange(x.shape[-1] // 2))
    turned = torch.view_as_complex(x.float().unflatten(-1, (-1, 2))) * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).flatten(-2)


def make_batch(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Padded source sequences and the same tokens reversed, each of them (count, 7)."""
    source = torch.randint(2, VOCABULARY, (count, 7))
    source[torch.arange(7).expand(count, 7) >= torch.randint(3, 8, (count, 1))] = PADDING
    return source, torch.fliplr(source)


def main() -> None:
    torch.manual_seed(0)
    source, target = make_batch(4)
    model, block = Reverser(), RotaryBlock()
    optimizer = torch.optim.AdamW([*model.parameters(), *block.parameters()], lr=3e-3, weight_decay=0.01, amsgrad=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 2))
    given = F.pad(target[:, :-1], (1, 0), value=BEGIN)
    for _ in range(3):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(source, given).movedim(-1, 1), target, ignore_index=PADDING)
        loss = loss + 0.01 * block(model.embed(source)).square().mean()
        loss.backward()
        optimizer.step()
        schedule.step()
        assert math.isfinite(loss.item())
    model.eval()
    with torch.no_grad():
        logits = model(source, torch.full((4, 1), BEGIN))
        perplexity = torch.exp(F.cross_entropy(logits[:, -1], target[:, 0], reduction="sum"))
    assert not torch.isnan(perplexity)


if __name__ == "__main__":
    main()
