"""PointNet on stock prices: each of 20 days is a point of 6 figures; it tells whether the price rises."""

import torch
import torch.nn.functional as F
from torch import nn

TRAINING, TESTING, BATCH, CLASSES = 100, 20, 50, 2
# 64 makes the model as wide as the published one.
WIDTH = 64


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


def train(model: nn.Module, days: torch.Tensor, labels: torch.Tensor) -> None:
    """One epoch in batches."""
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    model.train()
    for start in range(0, TRAINING, BATCH):
        optimizer.zero_grad()
        loss = criterion(model(days[start : start + BATCH]), labels[start : start + BATCH])
        loss.backward()
        optimizer.step()


def evaluate(model: nn.Module, days: torch.Tensor, labels: torch.Tensor) -> float:
    """The loss on days that were not trained with."""
    model.eval()
    with torch.no_grad():
        return F.cross_entropy(model(days), labels).item()


def main() -> None:
    torch.manual_seed(0)
    days = torch.randn(TRAINING + TESTING, 6, 20)
    labels = torch.randint(0, CLASSES, (TRAINING + TESTING,))
    model = PointNet()
    train(model, days[:TRAINING], labels[:TRAINING])
    print("loss", evaluate(model, days[TRAINING:], labels[TRAINING:]))


if __name__ == "__main__":
    main()
