"""LSTM layers that tell the next price of a stock from 20 days of 6 figures (open, high, low, close, volume, mean)."""

import torch
from torch import nn

DAYS, FIGURES = 20, 6

torch.manual_seed(0)
walks = torch.cumsum(0.1 * torch.randn(120, DAYS + 1, FIGURES), dim=1)
samples, targets = walks[:, :DAYS], walks[:, DAYS, -1:]
criterion = nn.MSELoss()


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


model = Forecaster()
parts = model
