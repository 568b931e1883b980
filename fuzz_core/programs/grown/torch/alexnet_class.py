"""AlexNet, for images of the shape of CIFAR-10's: five convolutions and three dense layers."""

import torch
import torch.nn.functional as F
from torch import nn

CLASSES = 10
# 64 makes the model as wide as the published one.
WIDTH = 8

torch.manual_seed(0)
samples = torch.rand(120, 3, 32, 32)
targets = torch.randint(0, CLASSES, (120,))
criterion = nn.CrossEntropyLoss()


class AlexNet(nn.Module):
    """Five convolutions, three of them with pooling, and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, WIDTH, kernel_size=3, stride=2, padding=1)
        self.act1 = nn.ReLU()
        self.pool1 = nn.MaxPool2d(2)
        self.conv2 = nn.Conv2d(WIDTH, 3 * WIDTH, kernel_size=3, padding=1)
        self.act2 = nn.ReLU()
        self.pool2 = nn.MaxPool2d(2)
        self.conv3 = nn.Conv2d(3 * WIDTH, 6 * WIDTH, kernel_size=3, padding=1)
        self.act3 = nn.ReLU()
        self.conv4 = nn.Conv2d(6 * WIDTH, 4 * WIDTH, kernel_size=3, padding=1)
        self.conv5 = nn.Conv2d(4 * WIDTH, 4 * WIDTH, kernel_size=3, padding=1)
        self.act5 = nn.ReLU()
        self.pool5 = nn.MaxPool2d(2)
        self.drop1 = nn.Dropout(0.5)
        self.dense1 = nn.Linear(16 * WIDTH, 64 * WIDTH)
        self.act6 = nn.ReLU()
        self.drop2 = nn.Dropout(0.5)
        self.dense2 = nn.Linear(64 * WIDTH, 64 * WIDTH)
        self.act7 = nn.ReLU()
        self.head = nn.Linear(64 * WIDTH, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.conv1(x)
        x = self.act1(x)
        x = self.pool1(x)
        x = self.conv2(x)
        x = self.act2(x)
        x = self.pool2(x)
        x = self.conv3(x)
        x = self.act3(x)
        x = self.conv4(x)
        x = F.relu(x)
        x = self.conv5(x)
        x = self.act5(x)
        x = self.pool5(x)
        x = torch.flatten(x, 1)
        x = self.drop1(x)
        x = self.dense1(x)
        x = self.act6(x)
        x = self.drop2(x)
        x = self.dense2(x)
        x = self.act7(x)
        x = torch.flatten(x, 1)
        return self.head(x)


model = AlexNet()
parts = model
