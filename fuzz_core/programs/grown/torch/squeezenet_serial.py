"""SqueezeNet, as sequences of layers that a function connects.

The images are of 64 x 64 x 3: those of ImageNet, 224 x 224, cost twelve times as much.
"""

import torch
import torch.nn.functional as F
from torch import nn

CLASSES = 10
# 8 makes the model as wide as the published one.
WIDTH = 8

torch.manual_seed(0)
samples = torch.rand(120, 3, 64, 64)
targets = torch.randint(0, CLASSES, (120,))
criterion = nn.CrossEntropyLoss()

stem = nn.Sequential(
    nn.Conv2d(3, 8 * WIDTH, kernel_size=3, stride=2),
    nn.ReLU(),
    nn.MaxPool2d(3, stride=2),
    nn.Conv2d(8 * WIDTH, 2 * WIDTH, kernel_size=1),
    nn.ReLU(),
)
left2 = nn.Sequential(
    nn.Conv2d(2 * WIDTH, 8 * WIDTH, kernel_size=1),
)
right2 = nn.Sequential(
    nn.Conv2d(2 * WIDTH, 8 * WIDTH, kernel_size=3, padding=1),
)
squeeze2 = nn.Sequential(
    nn.Conv2d(16 * WIDTH, 2 * WIDTH, kernel_size=1),
    nn.ReLU(),
)
left3 = nn.Sequential(
    nn.Conv2d(2 * WIDTH, 8 * WIDTH, kernel_size=1),
)
right3 = nn.Sequential(
    nn.Conv2d(2 * WIDTH, 8 * WIDTH, kernel_size=3, padding=1),
)
squeeze3 = nn.Sequential(
    nn.MaxPool2d(3, stride=2),
    nn.Conv2d(16 * WIDTH, 4 * WIDTH, kernel_size=1),
    nn.ReLU(),
)
left4 = nn.Sequential(
    nn.Conv2d(4 * WIDTH, 16 * WIDTH, kernel_size=1),
)
right4 = nn.Sequential(
    nn.Conv2d(4 * WIDTH, 16 * WIDTH, kernel_size=3, padding=1),
)
squeeze4 = nn.Sequential(
    nn.Conv2d(32 * WIDTH, 4 * WIDTH, kernel_size=1),
    nn.ReLU(),
)
left5 = nn.Sequential(
    nn.Conv2d(4 * WIDTH, 16 * WIDTH, kernel_size=1),
)
right5 = nn.Sequential(
    nn.Conv2d(4 * WIDTH, 16 * WIDTH, kernel_size=3, padding=1),
)
squeeze5 = nn.Sequential(
    nn.MaxPool2d(3, stride=2),
    nn.Conv2d(32 * WIDTH, 6 * WIDTH, kernel_size=1),
    nn.ReLU(),
)
left6 = nn.Sequential(
    nn.Conv2d(6 * WIDTH, 24 * WIDTH, kernel_size=1),
)
right6 = nn.Sequential(
    nn.Conv2d(6 * WIDTH, 24 * WIDTH, kernel_size=3, padding=1),
)
squeeze6 = nn.Sequential(
    nn.Conv2d(48 * WIDTH, 6 * WIDTH, kernel_size=1),
    nn.ReLU(),
)
left7 = nn.Sequential(
    nn.Conv2d(6 * WIDTH, 24 * WIDTH, kernel_size=1),
)
right7 = nn.Sequential(
    nn.Conv2d(6 * WIDTH, 24 * WIDTH, kernel_size=3, padding=1),
)
squeeze7 = nn.Sequential(
    nn.Conv2d(48 * WIDTH, 8 * WIDTH, kernel_size=1),
    nn.ReLU(),
)
left8 = nn.Sequential(
    nn.Conv2d(8 * WIDTH, 32 * WIDTH, kernel_size=1),
)
right8 = nn.Sequential(
    nn.Conv2d(8 * WIDTH, 32 * WIDTH, kernel_size=3, padding=1),
)
squeeze8 = nn.Sequential(
    nn.Conv2d(64 * WIDTH, 8 * WIDTH, kernel_size=1),
    nn.ReLU(),
)
left9 = nn.Sequential(
    nn.Conv2d(8 * WIDTH, 32 * WIDTH, kernel_size=1),
)
right9 = nn.Sequential(
    nn.Conv2d(8 * WIDTH, 32 * WIDTH, kernel_size=3, padding=1),
)
squeeze9 = nn.Sequential(
    nn.Dropout(0.5),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(64 * WIDTH, CLASSES),
)
parts = nn.ModuleList(
    [
        stem, left2, right2, squeeze2, left3, right3, squeeze3, left4, right4, squeeze4, left5, right5,
        squeeze5, left6, right6, squeeze6, left7, right7, squeeze7, left8, right8, squeeze8, left9, right9,
        squeeze9,
    ]
)


def model(x: torch.Tensor) -> torch.Tensor:
    """From images (n, 3, 64, 64) to logits."""
    x = stem(x)
    x = torch.cat([left2(x), right2(x)], dim=1)
    x = F.relu(x)
    x = squeeze2(x)
    x = torch.cat([left3(x), right3(x)], dim=1)
    x = F.relu(x)
    x = squeeze3(x)
    x = torch.cat([left4(x), right4(x)], dim=1)
    x = F.relu(x)
    x = squeeze4(x)
    x = torch.cat([left5(x), right5(x)], dim=1)
    x = F.relu(x)
    x = squeeze5(x)
    x = torch.cat([left6(x), right6(x)], dim=1)
    x = F.relu(x)
    x = squeeze6(x)
    x = torch.cat([left7(x), right7(x)], dim=1)
    x = F.relu(x)
    x = squeeze7(x)
    x = torch.cat([left8(x), right8(x)], dim=1)
    x = F.relu(x)
    x = squeeze8(x)
    x = torch.cat([left9(x), right9(x)], dim=1)
    x = F.relu(x)
    return squeeze9(x)
