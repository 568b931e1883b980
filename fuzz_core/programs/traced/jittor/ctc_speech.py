"""A small speech recogniser: features of windows, convolutions, a recurrent layer and a loss over all alignments."""

import math

import jittor as jt
from jittor import nn

LETTERS, BANDS, WIDTH, FRAME = 4, 4, 4, 8


class Recogniser(nn.Module):
    """Logits of letters for every other frame; the blank is letter 0."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Conv1d(BANDS, WIDTH, kernel_size=3, stride=2, padding=1)
        self.norm = nn.BatchNorm1d(WIDTH)
        self.point = nn.Conv1d_sp(WIDTH, WIDTH)
        self.memory = nn.GRU(WIDTH, WIDTH, bidirectional=False)
        self.head = nn.Linear(WIDTH, LETTERS)

    def execute(self, bands: jt.Var) -> jt.Var:
        """From (batch, bands, frames) to (frames / 2, batch, letters)."""
        x = nn.relu(self.norm(self.enter(bands)))
        x = x + nn.Sigmoid()(self.point(x))
        x, _ = self.memory(x.permute(2, 0, 1))
        return self.head(x)


def window(size: int) -> jt.Var:
    return 0.5 - 0.5 * jt.cos(jt.arange(size).float32() * (2 * math.pi / size))


def features(wave: jt.Var) -> jt.Var:
    """The logarithm of the power in each band, from overlapping windows of a wave (batch, samples)."""
    count = (wave.shape[1] - FRAME) // (FRAME // 2) + 1
    shape = [wave.shape[0], count, FRAME]
    frames = wave.reindex(shape, ["i0", f"i1*{FRAME // 2}+i2"]) * window(FRAME)
    angle = jt.outer(jt.arange(FRAME), jt.arange(BANDS)).float32() * (2 * math.pi / FRAME)
    power = jt.matmul(frames, jt.cos(angle)).sqr() + jt.matmul(frames, jt.sin(angle)).sqr()
    return jt.log(power + 1e-3).transpose(0, 2, 1)


def make_speech(count: int, letters: int) -> tuple[jt.Var, jt.Var]:
    """Waves whose pitch tells the letters, and the letters, none of them twice in a row."""
    first = jt.randint(1, LETTERS, shape=(count, 1))
    text = (first + jt.arange(letters).unsqueeze(0) - 1) % (LETTERS - 1) + 1
    pitch = jt.repeat_interleave(text.float32(), 24, dim=1)
    time = jt.arange(pitch.shape[1]).float32() / FRAME
    return jt.sin(pitch * time * 2 * math.pi) + 0.05 * jt.randn(pitch.shape), text


def collapse(best: list[int]) -> list[int]:
    """Letters of a path without repetitions and blanks."""
    return [letter for at, letter in enumerate(best) if letter and (at == 0 or best[at - 1] != letter)]


def mask_bands(bands: jt.Var) -> jt.Var:
    """Silences one random band and one random frame, as augmentation of speech does."""
    band, frame = jt.randint(0, BANDS, (1,)).item(), jt.randint(0, bands.shape[2], (1,)).item()
    place = jt.index(bands.shape, 1).equal(band)
    silent = jt.logical_xor(place, jt.index(bands.shape, 2).equal(frame))
    return jt.masked_fill(bands, silent, 0.0)


def main() -> None:
    jt.set_global_seed(19)
    wave, text = make_speech(2, 2)
    bands, model = features(wave), Recogniser()
    optimizer = jt.optim.RMSprop(model.parameters(), lr=5e-3)
    criterion = jt.CTCLoss(blank=0, reduction="mean", zero_infinity=True)
    targets = jt.array([2, 2], dtype="int32")
    for _ in range(2):
        chances = nn.log_softmax(model(mask_bands(bands)), dim=2)
        lengths = jt.full((2,), chances.shape[0], "int32")
        loss = criterion(chances, text, lengths, targets)
        optimizer.step(loss)
        assert math.isfinite(loss.item())
    model.eval()
    with jt.no_grad():
        logits = model(bands)
        best, _ = logits.argmax(dim=2)
        plain = jt.ctc_loss(nn.log_softmax(logits, dim=2), text, lengths, targets, reduction="sum")
    said = [collapse(path) for path in best.transpose(1, 0).tolist()]
    assert len(said) == 2 and math.isfinite(plain.item())


if __name__ == "__main__":
    main()
