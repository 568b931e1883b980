"""GoogLeNet, as sequences of layers that a function connects.

The images are of 64 x 64 x 3: those of ImageNet, 224 x 224, cost twelve times as much.
"""

import torch
from torch import nn

TRAINING, TESTING, BATCH, CLASSES = 100, 20, 50, 1000
# 8 makes the model as wide as the published one.
WIDTH = 2

torch.manual_seed(0)
images = torch.rand(TRAINING + TESTING, 3, 64, 64)
labels = torch.randint(0, CLASSES, (TRAINING + TESTING,))

stem = nn.Sequential(
    nn.Conv2d(3, 8 * WIDTH, kernel_size=7, stride=2, padding=3),
    nn.ReLU(),
    nn.MaxPool2d(3, stride=2, padding=1),
    nn.Conv2d(8 * WIDTH, 8 * WIDTH, kernel_size=1),
    nn.ReLU(),
    nn.Conv2d(8 * WIDTH, 24 * WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(3, stride=2, padding=1),
)
point3a = nn.Sequential(
    nn.Conv2d(24 * WIDTH, 8 * WIDTH, kernel_size=1),
    nn.ReLU(),
)
near3a = nn.Sequential(
    nn.Conv2d(24 * WIDTH, 12 * WIDTH, kernel_size=1),
    nn.ReLU(),
    nn.Conv2d(12 * WIDTH, 16 * WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
)
far3a = nn.Sequential(
    nn.Conv2d(24 * WIDTH, 2 * WIDTH, kernel_size=1),
    nn.ReLU(),
    nn.Conv2d(2 * WIDTH, 4 * WIDTH, kernel_size=5, padding=2),
    nn.ReLU(),
)
pooled3a = nn.Sequential(
    nn.MaxPool2d(3, stride=1, padding=1),
    nn.Conv2d(24 * WIDTH, 4 * WIDTH, kernel_size=1),
    nn.ReLU(),
)
point3b = nn.Sequential(
    nn.Conv2d(32 * WIDTH, 16 * WIDTH, kernel_size=1),
    nn.ReLU(),
)
near3b = nn.Sequential(
    nn.Conv2d(32 * WIDTH, 16 * WIDTH, kernel_size=1),
    nn.ReLU(),
    nn.Conv2d(16 * WIDTH, 24 * WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
)
far3b = nn.Sequential(
    nn.Conv2d(32 * WIDTH, 4 * WIDTH, kernel_size=1),
    nn.ReLU(),
    nn.Conv2d(4 * WIDTH, 12 * WIDTH, kernel_size=5, padding=2),
    nn.ReLU(),
)
pooled3b = nn.Sequential(
    nn.MaxPool2d(3, stride=1, padding=1),
    nn.Conv2d(32 * WIDTH, 8 * WIDTH, kernel_size=1),
    nn.ReLU(),
)
pool4 = nn.Sequential(
    nn.MaxPool2d(3, stride=2, padding=1),
)
point4a = nn.Sequential(
    nn.Conv2d(60 * WIDTH, 24 * WIDTH, kernel_size=1),
    nn.ReLU(),
)
near4a = nn.Sequential(
    nn.Conv2d(60 * WIDTH, 12 * WIDTH, kernel_size=1),
    nn.ReLU(),
    nn.Conv2d(12 * WIDTH, 26 * WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
)
far4a = nn.Sequential(
    nn.Conv2d(60 * WIDTH, 2 * WIDTH, kernel_size=1),
    nn.ReLU(),
    nn.Conv2d(2 * WIDTH, 6 * WIDTH, kernel_size=5, padding=2),
    nn.ReLU(),
)
pooled4a = nn.Sequential(
    nn.MaxPool2d(3, stride=1, padding=1),
    nn.Conv2d(60 * WIDTH, 8 * WIDTH, kernel_size=1),
    nn.ReLU(),
)
point4b = nn.Sequential(
    nn.Conv2d(64 * WIDTH, 20 * WIDTH, kernel_size=1),
    nn.ReLU(),
)
near4b = nn.Sequential(
    nn.Conv2d(64 * WIDTH, 14 * WIDTH, kernel_size=1),
    nn.ReLU(),
    nn.Conv2d(14 * WIDTH, 28 * WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
)
far4b = nn.Sequential(
    nn.Conv2d(64 * WIDTH, 3 * WIDTH, kernel_size=1),
    nn.ReLU(),
    nn.Conv2d(3 * WIDTH, 8 * WIDTH, kernel_size=5, padding=2),
    nn.ReLU(),
)
pooled4b = nn.Sequential(
    nn.MaxPool2d(3, stride=1, padding=1),
    nn.Conv2d(64 * WIDTH, 8 * WIDTH, kernel_size=1),
    nn.ReLU(),
)
point4c = nn.Sequential(
    nn.Conv2d(64 * WIDTH, 16 * WIDTH, kernel_size=1),
    nn.ReLU(),
)
near4c = nn.Sequential(
    nn.Conv2d(64 * WIDTH, 16 * WIDTH, kernel_size=1),
    nn.ReLU(),
    nn.Conv2d(16 * WIDTH, 32 * WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
)
far4c = nn.Sequential(
    nn.Conv2d(64 * WIDTH, 3 * WIDTH, kernel_size=1),
    nn.ReLU(),
    nn.Conv2d(3 * WIDTH, 8 * WIDTH, kernel_size=5, padding=2),
    nn.ReLU(),
)
pooled4c = nn.Sequential(
    nn.MaxPool2d(3, stride=1, padding=1),
    nn.Conv2d(64 * WIDTH, 8 * WIDTH, kernel_size=1),
    nn.ReLU(),
)
point4d = nn.Sequential(
    nn.Conv2d(64 * WIDTH, 14 * WIDTH, kernel_size=1),
    nn.ReLU(),
)
near4d = nn.Sequential(
    nn.Conv2d(64 * WIDTH, 18 * WIDTH, kernel_size=1),
    nn.ReLU(),
    nn.Conv2d(18 * WIDTH, 36 * WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
)
far4d = nn.Sequential(
    nn.Conv2d(64 * WIDTH, 4 * WIDTH, kernel_size=1),
    nn.ReLU(),
    nn.Conv2d(4 * WIDTH, 8 * WIDTH, kernel_size=5, padding=2),
    nn.ReLU(),
)
pooled4d = nn.Sequential(
    nn.MaxPool2d(3, stride=1, padding=1),
    nn.Conv2d(64 * WIDTH, 8 * WIDTH, kernel_size=1),
    nn.ReLU(),
)
point4e = nn.Sequential(
    nn.Conv2d(66 * WIDTH, 32 * WIDTH, kernel_size=1),
    nn.ReLU(),
)
near4e = nn.Sequential(
    nn.Conv2d(66 * WIDTH, 20 * WIDTH, kernel_size=1),
    nn.ReLU(),
    nn.Conv2d(20 * WIDTH, 40 * WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
)
far4e = nn.Sequential(
    nn.Conv2d(66 * WIDTH, 4 * WIDTH, kernel_size=1),
    nn.ReLU(),
    nn.Conv2d(4 * WIDTH, 16 * WIDTH, kernel_size=5, padding=2),
    nn.ReLU(),
)
pooled4e = nn.Sequential(
    nn.MaxPool2d(3, stride=1, padding=1),
    nn.Conv2d(66 * WIDTH, 16 * WIDTH, kernel_size=1),
    nn.ReLU(),
)
pool5 = nn.Sequential(
    nn.MaxPool2d(3, stride=2, padding=1),
)
point5a = nn.Sequential(
    nn.Conv2d(104 * WIDTH, 32 * WIDTH, kernel_size=1),
    nn.ReLU(),
)
near5a = nn.Sequential(
    nn.Conv2d(104 * WIDTH, 20 * WIDTH, kernel_size=1),
    nn.ReLU(),
    nn.Conv2d(20 * WIDTH, 40 * WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
)
far5a = nn.Sequential(
    nn.Conv2d(104 * WIDTH, 4 * WIDTH, kernel_size=1),
    nn.ReLU(),
    nn.Conv2d(4 * WIDTH, 16 * WIDTH, kernel_size=5, padding=2),
    nn.ReLU(),
)
pooled5a = nn.Sequential(
    nn.MaxPool2d(3, stride=1, padding=1),
    nn.Conv2d(104 * WIDTH, 16 * WIDTH, kernel_size=1),
    nn.ReLU(),
)
point5b = nn.Sequential(
    nn.Conv2d(104 * WIDTH, 48 * WIDTH, kernel_size=1),
    nn.ReLU(),
)
near5b = nn.Sequential(
    nn.Conv2d(104 * WIDTH, 24 * WIDTH, kernel_size=1),
    nn.ReLU(),
    nn.Conv2d(24 * WIDTH, 48 * WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
)
far5b = nn.Sequential(
    nn.Conv2d(104 * WIDTH, 6 * WIDTH, kernel_size=1),
    nn.ReLU(),
    nn.Conv2d(6 * WIDTH, 16 * WIDTH, kernel_size=5, padding=2),
    nn.ReLU(),
)
pooled5b = nn.Sequential(
    nn.MaxPool2d(3, stride=1, padding=1),
    nn.Conv2d(104 * WIDTH, 16 * WIDTH, kernel_size=1),
    nn.ReLU(),
)
tail = nn.Sequential(
    nn.AdaptiveAvgPool2d(1),
    nn.Dropout(0.4),
    nn.Flatten(),
    nn.Linear(128 * WIDTH, CLASSES),
)
parts = nn.ModuleList(
    [
        stem, point3a, near3a, far3a, pooled3a, point3b, near3b, far3b, pooled3b, pool4, point4a, near4a,
        far4a, pooled4a, point4b, near4b, far4b, pooled4b, point4c, near4c, far4c, pooled4c, point4d,
        near4d, far4d, pooled4d, point4e, near4e, far4e, pooled4e, pool5, point5a, near5a, far5a, pooled5a,
        point5b, near5b, far5b, pooled5b, tail,
    ]
)


def model(x: torch.Tensor) -> torch.Tensor:
    """From images (n, 3, 64, 64) to logits."""
    x = stem(x)
    x = torch.cat([point3a(x), near3a(x), far3a(x), pooled3a(x)], dim=1)
    x = torch.cat([point3b(x), near3b(x), far3b(x), pooled3b(x)], dim=1)
    x = pool4(x)
    x = torch.cat([point4a(x), near4a(x), far4a(x), pooled4a(x)], dim=1)
    x = torch.cat([point4b(x), near4b(x), far4b(x), pooled4b(x)], dim=1)
    x = torch.cat([point4c(x), near4c(x), far4c(x), pooled4c(x)], dim=1)
    x = torch.cat([point4d(x), near4d(x), far4d(x), pooled4d(x)], dim=1)
    x = torch.cat([point4e(x), near4e(x), far4e(x), pooled4e(x)], dim=1)
    x = pool5(x)
    x = torch.cat([point5a(x), near5a(x), far5a(x), pooled5a(x)], dim=1)
    x = torch.cat([point5b(x), near5b(x), far5b(x), pooled5b(x)], dim=1)
    return tail(x)


criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(parts.parameters(), lr=0.01)
parts.train()
for start in range(0, TRAINING, BATCH):
    optimizer.zero_grad()
    loss = criterion(model(images[start : start + BATCH]), labels[start : start + BATCH])
    loss.backward()
    optimizer.step()

parts.eval()
with torch.no_grad():
    loss = criterion(model(images[TRAINING:]), labels[TRAINING:])
print("loss", loss.item())
