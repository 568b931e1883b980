"""SqueezeNet: eight fire modules, each of which squeezes and then expands in two ways side by side.

The images are of 64 x 64 x 3: those of ImageNet, 224 x 224, cost twelve times as much.
"""

import torch
import torch.nn.functional as F
from torch import nn

TRAINING, TESTING, BATCH, CLASSES = 100, 20, 50, 10
# 8 makes the model as wide as the published one.
WIDTH = 8


class SqueezeNet(nn.Module):
    """A stem, eight fire modules and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8 * WIDTH, kernel_size=3, stride=2)
        self.act1 = nn.ReLU()
        self.pool1 = nn.MaxPool2d(3, stride=2)
        self.squeeze2 = nn.Conv2d(8 * WIDTH, 2 * WIDTH, kernel_size=1)
        self.act2 = nn.ReLU()
        self.left2 = nn.Conv2d(2 * WIDTH, 8 * WIDTH, kernel_size=1)
        self.right2 = nn.Conv2d(2 * WIDTH, 8 * WIDTH, kernel_size=3, padding=1)
        self.squeeze3 = nn.Conv2d(16 * WIDTH, 2 * WIDTH, kernel_size=1)
        self.act3 = nn.ReLU()
        self.left3 = nn.Conv2d(2 * WIDTH, 8 * WIDTH, kernel_size=1)
        self.right3 = nn.Conv2d(2 * WIDTH, 8 * WIDTH, kernel_size=3, padding=1)
        self.pool3 = nn.MaxPool2d(3, stride=2)
        self.squeeze4 = nn.Conv2d(16 * WIDTH, 4 * WIDTH, kernel_size=1)
        self.act4 = nn.ReLU()
        self.left4 = nn.Conv2d(4 * WIDTH, 16 * WIDTH, kernel_size=1)
        self.right4 = nn.Conv2d(4 * WIDTH, 16 * WIDTH, kernel_size=3, padding=1)
        self.squeeze5 = nn.Conv2d(32 * WIDTH, 4 * WIDTH, kernel_size=1)
        self.act5 = nn.ReLU()
        self.left5 = nn.Conv2d(4 * WIDTH, 16 * WIDTH, kernel_size=1)
        self.right5 = nn.Conv2d(4 * WIDTH, 16 * WIDTH, kernel_size=3, padding=1)
        self.pool5 = nn.MaxPool2d(3, stride=2)
        self.squeeze6 = nn.Conv2d(32 * WIDTH, 6 * WIDTH, kernel_size=1)
        self.act6 = nn.ReLU()
        self.left6 = nn.Conv2d(6 * WIDTH, 24 * WIDTH, kernel_size=1)
        self.right6 = nn.Conv2d(6 * WIDTH, 24 * WIDTH, kernel_size=3, padding=1)
        self.squeeze7 = nn.Conv2d(48 * WIDTH, 6 * WIDTH, kernel_size=1)
        self.act7 = nn.ReLU()
        self.left7 = nn.Conv2d(6 * WIDTH, 24 * WIDTH, kernel_size=1)
        self.right7 = nn.Conv2d(6 * WIDTH, 24 * WIDTH, kernel_size=3, padding=1)
        self.squeeze8 = nn.Conv2d(48 * WIDTH, 8 * WIDTH, kernel_size=1)
        self.act8 = nn.ReLU()
        self.left8 = nn.Conv2d(8 * WIDTH, 32 * WIDTH, kernel_size=1)
        self.right8 = nn.Conv2d(8 * WIDTH, 32 * WIDTH, kernel_size=3, padding=1)
        self.squeeze9 = nn.Conv2d(64 * WIDTH, 8 * WIDTH, kernel_size=1)
        self.act9 = nn.ReLU()
        self.left9 = nn.Conv2d(8 * WIDTH, 32 * WIDTH, kernel_size=1)
        self.right9 = nn.Conv2d(8 * WIDTH, 32 * WIDTH, kernel_size=3, padding=1)
        self.drop = nn.Dropout(0.5)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(64 * WIDTH, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        x = self.act1(x)
        x = self.pool1(x)
        x = self.squeeze2(x)
        x = self.act2(x)
        left = self.left2(x)
        right = self.right2(x)
        x = torch.cat([left, right], dim=1)
        x = F.relu(x)
        x = self.squeeze3(x)
        x = self.act3(x)
        left = self.left3(x)
        right = self.right3(x)
        x = torch.cat([left, right], dim=1)
        x = F.relu(x)
        x = self.pool3(x)
        x = self.squeeze4(x)
        x = self.act4(x)
        left = self.left4(x)
        right = self.right4(x)
        x = torch.cat([left, right], dim=1)
        x = F.relu(x)
        x = self.squeeze5(x)
        x = self.act5(x)
        left = self.left5(x)
        right = self.right5(x)
        x = torch.cat([left, right], dim=1)
        x = F.relu(x)
        x = self.pool5(x)
        x = self.squeeze6(x)
        x = self.act6(x)
        left = self.left6(x)
        right = self.right6(x)
        x = torch.cat([left, right], dim=1)
        x = F.relu(x)
        x = self.squeeze7(x)
        x = self.act7(x)
        left = self.left7(x)
        right = self.right7(x)
        x = torch.cat([left, right], dim=1)
        x = F.relu(x)
        x = self.squeeze8(x)
        x = self.act8(x)
        left = self.left8(x)
        right = self.right8(x)
        x = torch.cat([left, right], dim=1)
        x = F.relu(x)
        x = self.squeeze9(x)
        x = self.act9(x)
        left = self.left9(x)
        right = self.right9(x)
        x = torch.cat([left, right], dim=1)
        x = F.relu(x)
        x = self.drop(x)
        x = self.pool(x)
        x = torch.flatten(x, 1)
        return self.head(x)


def train(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> None:
    """One epoch in batches."""
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    model.train()
    for start in range(0, TRAINING, BATCH):
        optimizer.zero_grad()
        loss = criterion(model(images[start : start + BATCH]), labels[start : start + BATCH])
        loss.backward()
        optimizer.step()


def evaluate(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> float:
    """The loss on images that were not trained with."""
    model.eval()
    with torch.no_grad():
        return F.cross_entropy(model(images), labels).item()


def main() -> None:
    torch.manual_seed(0)
    images = torch.rand(TRAINING + TESTING, 3, 64, 64)
    labels = torch.randint(0, CLASSES, (TRAINING + TESTING,))
    model = SqueezeNet()
    train(model, images[:TRAINING], labels[:TRAINING])
    print("loss", evaluate(model, images[TRAINING:], labels[TRAINING:]))


if __name__ == "__main__":
    main()
