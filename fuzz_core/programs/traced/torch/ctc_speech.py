"""Speech recognition in small: made tones, mel spectrograms with masking, a convolutional-recurrent net, CTC loss."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

RATE, SYMBOLS, BLANK, BANDS = 800, 5, 0, 6
FRAME, HOP = 32, 16


class Recogniser(nn.Module):
    """Convolutions over time, a bidirectional LSTM and a score per frame and symbol."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.front = nn.Sequential(
            nn.BatchNorm1d(BANDS),
            nn.Conv1d(BANDS, 2 * width, kernel_size=5, stride=1, padding="same", padding_mode="reflect"),
            nn.GLU(dim=1),
            nn.MaxPool1d(kernel_size=2, stride=1, padding=1, dilation=1),
            nn.Dropout1d(0.1),
        )
        self.lstm = nn.LSTM(width, width, bidirectional=True, proj_size=4)
        self.head = nn.Linear(8, SYMBOLS)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        frames = self.front(features).permute(2, 0, 1)
        states, _ = self.lstm(frames)
        return nn.LogSoftmax(dim=-1)(self.head(states))


def make_speech(count: int) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Waves (count, samples) in which each symbol is a tone of its own pitch, and the symbols."""
    words = [torch.randint(1, SYMBOLS, (int(n),)) for n in torch.randint(2, 5, (count,))]
    time = torch.arange(128) / RATE
    waves = [torch.cat([torch.sin(2 * math.pi * 60.0 * s * time) for s in word.tolist()]) for word in words]
    padded = nn.utils.rnn.pad_sequence(waves, batch_first=True)
    return padded + 0.05 * torch.randn(padded.shape), words


def mel_filters() -> torch.Tensor:
    """Triangular filters (BANDS, FRAME // 2 + 1), evenly spaced in mel."""
    edges = 700 * (torch.pow(10, torch.linspace(0, 2595 * math.log10(1 + RATE / 1400), BANDS + 2) / 2595) - 1)
    bins = torch.fft.rfftfreq(FRAME, d=1 / RATE)
    rise = (bins - edges[:-2, None]) / (edges[1:-1, None] - edges[:-2, None])
    fall = (edges[2:, None] - bins) / (edges[2:, None] - edges[1:-1, None])
    return torch.minimum(rise, fall).clamp(min=0.0)


def features_of(waves: torch.Tensor) -> torch.Tensor:
    """Log-mel energies (count, BANDS, frames), with the loud parts emphasised."""
    emphasised = torch.cat([waves[:, :1], waves[:, 1:] - 0.9 * waves[:, :-1]], dim=1)
    window = torch.hann_window(FRAME, periodic=True)
    spectrum = torch.stft(emphasised, FRAME, HOP, window=window, center=True, pad_mode="reflect", return_complex=True)
    power = spectrum.abs().square()
    return torch.log1p(torch.einsum("bf,nft->nbt", mel_filters(), power))


def mask(features: torch.Tensor) -> torch.Tensor:
    """Hides one band and a stretch of frames."""
    band = int(torch.randint(BANDS, ()))
    start = int(torch.randint(0, features.shape[-1] - 3, (1,)))
    hidden = features.clone()
    hidden[:, band].zero_()
    hidden.narrow(-1, start, 2).fill_(features.mean().item())
    return hidden


def resynthesise(waves: torch.Tensor) -> torch.Tensor:
    """The error after a transform to the time-frequency plane and back."""
    window = torch.hamming_window(FRAME, periodic=True, alpha=0.5, beta=0.5)
    spectrum = torch.stft(waves, n_fft=FRAME, hop_length=HOP, win_length=FRAME, window=window, return_complex=True)
    polar = torch.polar(torch.abs(spectrum), torch.angle(spectrum))
    back = torch.istft(polar, FRAME, hop_length=HOP, window=window, length=waves.shape[-1])
    return torch.max(torch.abs(back - waves))


def decode(scores: torch.Tensor) -> list[torch.Tensor]:
    """The best path per utterance: repeats folded, blanks dropped."""
    paths = scores.argmax(dim=-1).t()
    folded = [torch.unique_consecutive(path) for path in paths]
    return [path[path != BLANK] for path in folded]


def main() -> None:
    torch.manual_seed(0)
    waves, words = make_speech(3)
    features = features_of(waves)
    targets, sizes = torch.cat(words), torch.tensor([len(word) for word in words])
    model = Recogniser()
    criterion = nn.CTCLoss(blank=BLANK, reduction="mean", zero_infinity=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="min", factor=0.5, patience=0, threshold=0.1)
    for _ in range(3):
        scores = model(mask(features))
        frames = torch.full((3,), scores.size(0), dtype=torch.long)
        loss = criterion(scores, targets, frames, sizes)
        padded = nn.utils.rnn.pad_sequence(words, batch_first=True)
        loss = loss + 0.1 * F.ctc_loss(scores, padded, frames.tolist(), sizes.tolist(), reduction="sum")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step(loss.item())
        assert math.isfinite(loss.item())
    with torch.no_grad():
        assert len(decode(model.eval()(features))) == 3
    assert resynthesise(waves) < 1e-3


if __name__ == "__main__":
    main()
