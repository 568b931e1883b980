"""ResNet18: a stem and eight residual blocks of two convolutions each.

The images are of 64 x 64 x 3: those of ImageNet, 224 x 224, cost twelve times as much.
"""

import torch
import torch.nn.functional as F
from torch import nn

CLASSES = 1000
# 64 makes the model as wide as the published one.
WIDTH = 8

torch.manual_seed(0)
samples = torch.rand(120, 3, 64, 64)
targets = torch.randint(0, CLASSES, (120,))
criterion = nn.CrossEntropyLoss()


class ResNet18(nn.Module):
    """A stem, four stages of two residual blocks, and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, WIDTH, kernel_size=7, stride=2, padding=3, bias=False)
        self.norm1 = nn.BatchNorm2d(WIDTH)
        self.act1 = nn.ReLU()
        self.pool1 = nn.MaxPool2d(3, stride=2, padding=1)
        self.first2a = nn.Conv2d(WIDTH, WIDTH, kernel_size=3, padding=1, bias=False)
        self.norm2a1 = nn.BatchNorm2d(WIDTH)
        self.act2a = nn.ReLU()
        self.second2a = nn.Conv2d(WIDTH, WIDTH, kernel_size=3, padding=1, bias=False)
        self.norm2a2 = nn.BatchNorm2d(WIDTH)
        self.first2b = nn.Conv2d(WIDTH, WIDTH, kernel_size=3, padding=1, bias=False)
        self.norm2b1 = nn.BatchNorm2d(WIDTH)
        self.act2b = nn.ReLU()
        self.second2b = nn.Conv2d(WIDTH, WIDTH, kernel_size=3, padding=1, bias=False)
        self.norm2b2 = nn.BatchNorm2d(WIDTH)
        self.skip3a = nn.Conv2d(WIDTH, 2 * WIDTH, kernel_size=1, stride=2, bias=False)
        self.scale3a = nn.BatchNorm2d(2 * WIDTH)
        self.first3a = nn.Conv2d(WIDTH, 2 * WIDTH, kernel_size=3, stride=2, padding=1, bias=False)
        self.norm3a1 = nn.BatchNorm2d(2 * WIDTH)
        self.act3a = nn.ReLU()
        self.second3a = nn.Conv2d(2 * WIDTH, 2 * WIDTH, kernel_size=3, padding=1, bias=False)
        self.norm3a2 = nn.BatchNorm2d(2 * WIDTH)
        self.first3b = nn.Conv2d(2 * WIDTH, 2 * WIDTH, kernel_size=3, padding=1, bias=False)
        self.norm3b1 = nn.BatchNorm2d(2 * WIDTH)
        self.act3b = nn.ReLU()
        self.second3b = nn.Conv2d(2 * WIDTH, 2 * WIDTH, kernel_size=3, padding=1, bias=False)
        self.norm3b2 = nn.BatchNorm2d(2 * WIDTH)
        self.skip4a = nn.Conv2d(2 * WIDTH, 4 * WIDTH, kernel_size=1, stride=2, bias=False)
        self.scale4a = nn.BatchNorm2d(4 * WIDTH)
        self.first4a = nn.Conv2d(2 * WIDTH, 4 * WIDTH, kernel_size=3, stride=2, padding=1, bias=False)
        self.norm4a1 = nn.BatchNorm2d(4 * WIDTH)
        self.act4a = nn.ReLU()
        self.second4a = nn.Conv2d(4 * WIDTH, 4 * WIDTH, kernel_size=3, padding=1, bias=False)
        self.norm4a2 = nn.BatchNorm2d(4 * WIDTH)
        self.first4b = nn.Conv2d(4 * WIDTH, 4 * WIDTH, kernel_size=3, padding=1, bias=False)
        self.norm4b1 = nn.BatchNorm2d(4 * WIDTH)
        self.act4b = nn.ReLU()
        self.second4b = nn.Conv2d(4 * WIDTH, 4 * WIDTH, kernel_size=3, padding=1, bias=False)
        self.norm4b2 = nn.BatchNorm2d(4 * WIDTH)
        self.skip5a = nn.Conv2d(4 * WIDTH, 8 * WIDTH, kernel_size=1, stride=2, bias=False)
        self.scale5a = nn.BatchNorm2d(8 * WIDTH)
        self.first5a = nn.Conv2d(4 * WIDTH, 8 * WIDTH, kernel_size=3, stride=2, padding=1, bias=False)
        self.norm5a1 = nn.BatchNorm2d(8 * WIDTH)
        self.act5a = nn.ReLU()
        self.second5a = nn.Conv2d(8 * WIDTH, 8 * WIDTH, kernel_size=3, padding=1, bias=False)
        self.norm5a2 = nn.BatchNorm2d(8 * WIDTH)
        self.first5b = nn.Conv2d(8 * WIDTH, 8 * WIDTH, kernel_size=3, padding=1, bias=False)
        self.norm5b1 = nn.BatchNorm2d(8 * WIDTH)
        self.act5b = nn.ReLU()
        self.second5b = nn.Conv2d(8 * WIDTH, 8 * WIDTH, kernel_size=3, padding=1, bias=False)
        self.norm5b2 = nn.BatchNorm2d(8 * WIDTH)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(8 * WIDTH, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.conv1(x)
        x = self.norm1(x)
        x = self.act1(x)
        x = self.pool1(x)
        skip = x
        x = self.first2a(x)
        x = self.norm2a1(x)
        x = self.act2a(x)
        x = self.second2a(x)
        x = self.norm2a2(x)
        x = x + skip
        x = F.relu(x)
        skip = x
        x = self.first2b(x)
        x = self.norm2b1(x)
        x = self.act2b(x)
        x = self.second2b(x)
        x = self.norm2b2(x)
        x = x + skip
        x = F.relu(x)
        skip = self.skip3a(x)
        skip = self.scale3a(skip)
        x = self.first3a(x)
        x = self.norm3a1(x)
        x = self.act3a(x)
        x = self.second3a(x)
        x = self.norm3a2(x)
        x = x + skip
        x = F.relu(x)
        skip = x
        x = self.first3b(x)
        x = self.norm3b1(x)
        x = self.act3b(x)
        x = self.second3b(x)
        x = self.norm3b2(x)
        x = x + skip
        x = F.relu(x)
        skip = self.skip4a(x)
        skip = self.scale4a(skip)
        x = self.first4a(x)
        x = self.norm4a1(x)
        x = self.act4a(x)
        x = self.second4a(x)
        x = self.norm4a2(x)
        x = x + skip
        x = F.relu(x)
        skip = x
        x = self.first4b(x)
        x = self.norm4b1(x)
        x = self.act4b(x)
        x = self.second4b(x)
        x = self.norm4b2(x)
        x = x + skip
        x = F.relu(x)
        skip = self.skip5a(x)
        skip = self.scale5a(skip)
        x = self.first5a(x)
        x = self.norm5a1(x)
        x = self.act5a(x)
        x = self.second5a(x)
        x = self.norm5a2(x)
        x = x + skip
        x = F.relu(x)
        skip = x
        x = self.first5b(x)
        x = self.norm5b1(x)
        x = self.act5b(x)
        x = self.second5b(x)
        x = self.norm5b2(x)
        x = x + skip
        x = F.relu(x)
        x = self.pool(x)
        x = torch.flatten(x, 1)
        return self.head(x)


model = ResNet18()
parts = model
