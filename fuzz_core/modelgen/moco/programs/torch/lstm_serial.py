"""LSTM layers that tell the next price of a stock from 20 days of 6 figures, as one sequence of layers."""

import torch
from torch import nn

TRAINING, TESTING, BATCH = 100, 20, 50
DAYS, FIGURES = 20, 6


class Outputs(nn.Module):
    """What a recurrent layer gives for each day, without its last state."""

    def forward(self, x):
        return x[0] if isinstance(x, tuple) else x


torch.manual_seed(0)
walks = torch.randn(TRAINING + TESTING, DAYS + 1, FIGURES).mul(0.1).cumsum(dim=1)
days, prices = walks[:, :DAYS], walks[:, DAYS, -1:]

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

criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
model.train()
for start in range(0, TRAINING, BATCH):
    optimizer.zero_grad()
    loss = criterion(model(days[start : start + BATCH]), prices[start : start + BATCH])
    loss.backward()
    optimizer.step()

model.eval()
with torch.no_grad():
    loss = criterion(model(days[TRAINING:]), prices[TRAINING:])
print("loss", loss.item())
