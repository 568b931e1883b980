"""LSTM layers that tell the next price of a stock from 20 days of 6 figures, as one sequence of layers."""

import torch
from torch import nn

DAYS, FIGURES = 20, 6

torch.manual_seed(0)
walks = torch.cumsum(0.1 * torch.randn(120, DAYS + 1, FIGURES), dim=1)
samples, targets = walks[:, :DAYS], walks[:, DAYS, -1:]
criterion = nn.MSELoss()


class Outputs(nn.Module):
    """What a recurrent layer gives for each day, without its last state."""

    def forward(self, x):
        return x[0] if isinstance(x, tuple) else x


model = nn.Sequential(
    nn.LSTM(FIGURES, 16, batch_first=True),
    Outputs(),
    nn.Dropout(p=0.2),
    nn.LSTM(16, 8, num_layers=1, batch_first=True),
    Outputs(),
    nn.Linear(8, 8),
    nn.Tanh(),
    nn.Flatten(),
    nn.Linear(8 * DAYS, 1),
)
parts = model
