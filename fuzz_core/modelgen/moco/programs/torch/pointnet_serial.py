"""PointNet on stock prices, 20 days of 6 figures, as one sequence of layers."""

import torch
from torch import nn

TRAINING, TESTING, BATCH, CLASSES = 100, 20, 50, 2
# 64 makes the model as wide as the published one.
WIDTH = 64

torch.manual_seed(0)
days = torch.randn(TRAINING + TESTING, 6, 20)
labels = torch.randint(0, CLASSES, (TRAINING + TESTING,))

model = nn.Sequential(
    nn.Conv1d(6, WIDTH, 1),
    nn.BatchNorm1d(WIDTH),
    nn.ReLU(),
    nn.Conv1d(WIDTH, 2 * WIDTH, 1),
    nn.BatchNorm1d(2 * WIDTH),
    nn.ReLU(),
    nn.Conv1d(2 * WIDTH, 32 * WIDTH, 1),
    nn.BatchNorm1d(32 * WIDTH),
    nn.AdaptiveMaxPool1d(1),
    nn.Flatten(),
    nn.Linear(32 * WIDTH, 16 * WIDTH),
    nn.BatchNorm1d(16 * WIDTH),
    nn.ReLU(),
    nn.Linear(16 * WIDTH, 8 * WIDTH),
    nn.ReLU(),
    nn.Dropout(0.3),
    nn.Flatten(),
    nn.Linear(8 * WIDTH, CLASSES),
)

criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
model.train()
for start in range(0, TRAINING, BATCH):
    optimizer.zero_grad()
    loss = criterion(model(days[start : start + BATCH]), labels[start : start + BATCH])
    loss.backward()
    optimizer.step()

model.eval()
with torch.no_grad():
    loss = criterion(model(days[TRAINING:]), labels[TRAINING:])
print("loss", loss.item())
