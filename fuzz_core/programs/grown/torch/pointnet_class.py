"""PointNet on stock prices: each of 20 days is a point of 6 figures; it tells whether the price rises."""

import torch
import torch.nn.functional as F
from torch import nn

CLASSES = 2
# 64 makes the model as wide as the published one.
WIDTH = 64

torch.manual_seed(0)
samples = torch.randn(120, 6, 20)
targets = torch.randint(0, CLASSES, (120,))
criterion = nn.CrossEntropyLoss()


class PointNet(nn.Module):
    """Convolutions of each point alone, the peak over all points, and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(6, WIDTH, 1)
        self.norm1 = nn.BatchNorm1d(WIDTH)
        self.act1 = nn.ReLU()
        self.conv2 = nn.Conv1d(WIDTH, 2 * WIDTH, 1)
        self.norm2 = nn.BatchNorm1d(2 * WIDTH)
        self.act2 = nn.ReLU()
        self.conv3 = nn.Conv1d(2 * WIDTH, 32 * WIDTH, 1)
        self.norm3 = nn.BatchNorm1d(32 * WIDTH)
        self.peak = nn.AdaptiveMaxPool1d(1)
        self.dense1 = nn.Linear(32 * WIDTH, 16 * WIDTH)
        self.norm4 = nn.BatchNorm1d(16 * WIDTH)
        self.act4 = nn.ReLU()
        self.dense2 = nn.Linear(16 * WIDTH, 8 * WIDTH)
        self.drop = nn.Dropout(0.3)
        self.head = nn.Linear(8 * WIDTH, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.conv1(x)
        x = self.norm1(x)
        x = self.act1(x)
        x = self.conv2(x)
        x = self.norm2(x)
        x = self.act2(x)
        x = self.conv3(x)
        x = self.norm3(x)
        x = self.peak(x)
        x = torch.flatten(x, 1)
        x = self.dense1(x)
        x = self.norm4(x)
        x = self.act4(x)
        x = self.dense2(x)
        x = F.relu(x)
        x = self.drop(x)
        x = torch.flatten(x, 1)
        return self.head(x)


model = PointNet()
parts = model
