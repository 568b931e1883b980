"""LSTM layers that tell the next price of a stock from 20 days of 6 figures (open, high, low, close, volume, mean)."""

import torch
from torch import nn

TRAINING, TESTING, BATCH = 100, 20, 50
DAYS, FIGURES = 20, 6


class Forecaster(nn.Module):
    """Two recurrent layers, a dense layer per day and the price."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm1 = nn.LSTM(FIGURES, 16, batch_first=True)
        self.dropout = nn.Dropout(p=0.2)
        self.lstm2 = nn.LSTM(16, 8, num_layers=1, batch_first=True)
        self.dense = nn.Linear(8, 8)
        self.head = nn.Linear(8 * DAYS, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x, _ = self.lstm1(x)
        x = self.dropout(x)
        x, _ = self.lstm2(x)
        x = self.dense(x)
        x = torch.tanh(x)
        x = torch.flatten(x, 1)
        return self.head(x)


def make_prices(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Random walks, (count, days, figures), and the last figure of the day that follows."""
    walks = torch.randn(count, DAYS + 1, FIGURES).mul(0.1).cumsum(dim=1)
    return walks[:, :DAYS], walks[:, DAYS, -1:]


def train(model: nn.Module, days: torch.Tensor, prices: torch.Tensor) -> None:
    """One epoch in batches."""
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    model.train()
    for start in range(0, TRAINING, BATCH):
        optimizer.zero_grad()
        loss = criterion(model(days[start : start + BATCH]), prices[start : start + BATCH])
        loss.backward()
        optimizer.step()


def evaluate(model: nn.Module, days: torch.Tensor, prices: torch.Tensor) -> float:
    """The loss on days that were not trained with."""
    model.eval()
    with torch.no_grad():
        return nn.functional.mse_loss(model(days), prices).item()


def main() -> None:
    torch.manual_seed(0)
    days, prices = make_prices(TRAINING + TESTING)
    model = Forecaster()
    train(model, days[:TRAINING], prices[:TRAINING])
    print("loss", evaluate(model, days[TRAINING:], prices[TRAINING:]))


if __name__ == "__main__":
    main()
