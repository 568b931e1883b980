"""MobileNet, for images of the shape of CIFAR-10's, as one sequence of layers."""

import torch
from torch import nn

TRAINING, TESTING, BATCH, CLASSES = 100, 20, 50, 10
# 8 makes the model as wide as the published one.
WIDTH = 8

torch.manual_seed(0)
images = torch.rand(TRAINING + TESTING, 3, 32, 32)
labels = torch.randint(0, CLASSES, (TRAINING + TESTING,))

model = nn.Sequential(
    nn.Conv2d(3, 4 * WIDTH, kernel_size=3, stride=2, padding=1, bias=False),
    nn.BatchNorm2d(4 * WIDTH),
    nn.ReLU6(),
    nn.Conv2d(4 * WIDTH, 4 * WIDTH, 3, padding=1, groups=4 * WIDTH, bias=False),
    nn.Conv2d(4 * WIDTH, 8 * WIDTH, kernel_size=1, bias=False),
    nn.BatchNorm2d(8 * WIDTH),
    nn.ReLU6(),
    nn.Conv2d(8 * WIDTH, 8 * WIDTH, 3, stride=2, padding=1, groups=8 * WIDTH, bias=False),
    nn.Conv2d(8 * WIDTH, 16 * WIDTH, kernel_size=1, bias=False),
    nn.Conv2d(16 * WIDTH, 16 * WIDTH, 3, padding=1, groups=16 * WIDTH, bias=False),
    nn.Conv2d(16 * WIDTH, 16 * WIDTH, kernel_size=1, bias=False),
    nn.ReLU6(),
    nn.Conv2d(16 * WIDTH, 16 * WIDTH, 3, stride=2, padding=1, groups=16 * WIDTH, bias=False),
    nn.Conv2d(16 * WIDTH, 32 * WIDTH, kernel_size=1, bias=False),
    nn.Conv2d(32 * WIDTH, 32 * WIDTH, 3, padding=1, groups=32 * WIDTH, bias=False),
    nn.Conv2d(32 * WIDTH, 32 * WIDTH, kernel_size=1, bias=False),
    nn.BatchNorm2d(32 * WIDTH),
    nn.ReLU6(),
    nn.Conv2d(32 * WIDTH, 32 * WIDTH, 3, stride=2, padding=1, groups=32 * WIDTH, bias=False),
    nn.Conv2d(32 * WIDTH, 64 * WIDTH, kernel_size=1, bias=False),
    nn.Conv2d(64 * WIDTH, 64 * WIDTH, 3, padding=1, groups=64 * WIDTH, bias=False),
    nn.Conv2d(64 * WIDTH, 64 * WIDTH, kernel_size=1, bias=False),
    nn.ReLU6(),
    nn.Conv2d(64 * WIDTH, 64 * WIDTH, 3, padding=1, groups=64 * WIDTH, bias=False),
    nn.Conv2d(64 * WIDTH, 64 * WIDTH, kernel_size=1, bias=False),
    nn.Conv2d(64 * WIDTH, 64 * WIDTH, 3, padding=1, groups=64 * WIDTH, bias=False),
    nn.Conv2d(64 * WIDTH, 64 * WIDTH, kernel_size=1, bias=False),
    nn.ReLU6(),
    nn.Conv2d(64 * WIDTH, 64 * WIDTH, 3, padding=1, groups=64 * WIDTH, bias=False),
    nn.Conv2d(64 * WIDTH, 64 * WIDTH, kernel_size=1, bias=False),
    nn.Conv2d(64 * WIDTH, 64 * WIDTH, 3, padding=1, groups=64 * WIDTH, bias=False),
    nn.Conv2d(64 * WIDTH, 64 * WIDTH, kernel_size=1, bias=False),
    nn.BatchNorm2d(64 * WIDTH),
    nn.ReLU6(),
    nn.Conv2d(64 * WIDTH, 64 * WIDTH, 3, stride=2, padding=1, groups=64 * WIDTH, bias=False),
    nn.Conv2d(64 * WIDTH, 128 * WIDTH, kernel_size=1, bias=False),
    nn.Conv2d(128 * WIDTH, 128 * WIDTH, 3, padding=1, groups=128 * WIDTH, bias=False),
    nn.Conv2d(128 * WIDTH, 128 * WIDTH, kernel_size=1, bias=False),
    nn.BatchNorm2d(128 * WIDTH),
    nn.ReLU6(),
    nn.AdaptiveAvgPool2d(1),
    nn.Dropout(0.001),
    nn.Flatten(),
    nn.Linear(128 * WIDTH, CLASSES),
)

criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
model.train()
for start in range(0, TRAINING, BATCH):
    optimizer.zero_grad()
    loss = criterion(model(images[start : start + BATCH]), labels[start : start + BATCH])
    loss.backward()
    optimizer.step()

model.eval()
with torch.no_grad():
    loss = criterion(model(images[TRAINING:]), labels[TRAINING:])
print("loss", loss.item())
