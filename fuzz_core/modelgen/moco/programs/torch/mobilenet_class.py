"""MobileNet, for images of the shape of CIFAR-10's: thirteen depthwise convolutions, each before a pointwise one."""

import torch
import torch.nn.functional as F
from torch import nn

TRAINING, TESTING, BATCH, CLASSES = 100, 20, 50, 10
# 8 makes the model as wide as the published one.
WIDTH = 8


class MobileNet(nn.Module):
    """A stem, thirteen separable convolutions and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 4 * WIDTH, kernel_size=3, stride=2, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(4 * WIDTH)
        self.act = nn.ReLU6()
        self.depth1 = nn.Conv2d(4 * WIDTH, 4 * WIDTH, 3, padding=1, groups=4 * WIDTH, bias=False)
        self.point1 = nn.Conv2d(4 * WIDTH, 8 * WIDTH, kernel_size=1, bias=False)
        self.norm1 = nn.BatchNorm2d(8 * WIDTH)
        self.act1 = nn.ReLU6()
        self.depth2 = nn.Conv2d(8 * WIDTH, 8 * WIDTH, 3, stride=2, padding=1, groups=8 * WIDTH, bias=False)
        self.point2 = nn.Conv2d(8 * WIDTH, 16 * WIDTH, kernel_size=1, bias=False)
        self.depth3 = nn.Conv2d(16 * WIDTH, 16 * WIDTH, 3, padding=1, groups=16 * WIDTH, bias=False)
        self.point3 = nn.Conv2d(16 * WIDTH, 16 * WIDTH, kernel_size=1, bias=False)
        self.depth4 = nn.Conv2d(16 * WIDTH, 16 * WIDTH, 3, stride=2, padding=1, groups=16 * WIDTH, bias=False)
        self.point4 = nn.Conv2d(16 * WIDTH, 32 * WIDTH, kernel_size=1, bias=False)
        self.depth5 = nn.Conv2d(32 * WIDTH, 32 * WIDTH, 3, padding=1, groups=32 * WIDTH, bias=False)
        self.point5 = nn.Conv2d(32 * WIDTH, 32 * WIDTH, kernel_size=1, bias=False)
        self.norm5 = nn.BatchNorm2d(32 * WIDTH)
        self.act5 = nn.ReLU6()
        self.depth6 = nn.Conv2d(32 * WIDTH, 32 * WIDTH, 3, stride=2, padding=1, groups=32 * WIDTH, bias=False)
        self.point6 = nn.Conv2d(32 * WIDTH, 64 * WIDTH, kernel_size=1, bias=False)
        self.depth7 = nn.Conv2d(64 * WIDTH, 64 * WIDTH, 3, padding=1, groups=64 * WIDTH, bias=False)
        self.point7 = nn.Conv2d(64 * WIDTH, 64 * WIDTH, kernel_size=1, bias=False)
        self.act7 = nn.ReLU6()
        self.depth8 = nn.Conv2d(64 * WIDTH, 64 * WIDTH, 3, padding=1, groups=64 * WIDTH, bias=False)
        self.point8 = nn.Conv2d(64 * WIDTH, 64 * WIDTH, kernel_size=1, bias=False)
        self.depth9 = nn.Conv2d(64 * WIDTH, 64 * WIDTH, 3, padding=1, groups=64 * WIDTH, bias=False)
        self.point9 = nn.Conv2d(64 * WIDTH, 64 * WIDTH, kernel_size=1, bias=False)
        self.depth10 = nn.Conv2d(64 * WIDTH, 64 * WIDTH, 3, padding=1, groups=64 * WIDTH, bias=False)
        self.point10 = nn.Conv2d(64 * WIDTH, 64 * WIDTH, kernel_size=1, bias=False)
        self.depth11 = nn.Conv2d(64 * WIDTH, 64 * WIDTH, 3, padding=1, groups=64 * WIDTH, bias=False)
        self.point11 = nn.Conv2d(64 * WIDTH, 64 * WIDTH, kernel_size=1, bias=False)
        self.norm11 = nn.BatchNorm2d(64 * WIDTH)
        self.act11 = nn.ReLU6()
        self.depth12 = nn.Conv2d(64 * WIDTH, 64 * WIDTH, 3, stride=2, padding=1, groups=64 * WIDTH, bias=False)
        self.point12 = nn.Conv2d(64 * WIDTH, 128 * WIDTH, kernel_size=1, bias=False)
        self.depth13 = nn.Conv2d(128 * WIDTH, 128 * WIDTH, 3, padding=1, groups=128 * WIDTH, bias=False)
        self.point13 = nn.Conv2d(128 * WIDTH, 128 * WIDTH, kernel_size=1, bias=False)
        self.norm13 = nn.BatchNorm2d(128 * WIDTH)
        self.act13 = nn.ReLU6()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.drop = nn.Dropout(0.001)
        self.head = nn.Linear(128 * WIDTH, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        x = self.norm(x)
        x = self.act(x)
        x = self.depth1(x)
        x = self.point1(x)
        x = self.norm1(x)
        x = self.act1(x)
        x = self.depth2(x)
        x = self.point2(x)
        x = self.depth3(x)
        x = self.point3(x)
        x = F.relu6(x)
        x = self.depth4(x)
        x = self.point4(x)
        x = self.depth5(x)
        x = self.point5(x)
        x = self.norm5(x)
        x = self.act5(x)
        x = self.depth6(x)
        x = self.point6(x)
        x = self.depth7(x)
        x = self.point7(x)
        x = self.act7(x)
        x = self.depth8(x)
        x = self.point8(x)
        x = self.depth9(x)
        x = self.point9(x)
        x = F.relu6(x)
        x = self.depth10(x)
        x = self.point10(x)
        x = self.depth11(x)
        x = self.point11(x)
        x = self.norm11(x)
        x = self.act11(x)
        x = self.depth12(x)
        x = self.point12(x)
        x = self.depth13(x)
        x = self.point13(x)
        x = self.norm13(x)
        x = self.act13(x)
        x = self.pool(x)
        x = self.drop(x)
        x = torch.flatten(x, 1)
        return self.head(x)


def train(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> None:
    """One epoch in batches."""
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
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
    images = torch.rand(TRAINING + TESTING, 3, 32, 32)
    labels = torch.randint(0, CLASSES, (TRAINING + TESTING,))
    model = MobileNet()
    train(model, images[:TRAINING], labels[:TRAINING])
    print("loss", evaluate(model, images[TRAINING:], labels[TRAINING:]))


if __name__ == "__main__":
    main()
