"""LeNet on images of the shape of MNIST's, 1 x 28 x 28: convolutions and averages, then three dense layers."""

import torch
import torch.nn.functional as F
from torch import nn

CLASSES = 10

torch.manual_seed(0)
samples = torch.rand(120, 1, 28, 28)
targets = torch.randint(0, CLASSES, (120,))
criterion = nn.CrossEntropyLoss()


class LeNet(nn.Module):
    """Two convolutional stages and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, kernel_size=5, padding=2)
        self.act1 = nn.Tanh()
        self.pool1 = nn.AvgPool2d(2, stride=2)
        self.conv2 = nn.Conv2d(6, 16, kernel_size=5)
        self.pool2 = nn.MaxPool2d(kernel_size=2)
        self.dense1 = nn.Linear(400, 120)
        self.act3 = nn.ReLU()
        self.dense2 = nn.Linear(120, 84)
        self.act4 = nn.Sigmoid()
        self.head = nn.Linear(84, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.conv1(x)
        x = self.act1(x)
        x = self.pool1(x)
        x = self.conv2(x)
        x = F.relu(x)
        x = self.pool2(x)
        x = torch.flatten(x, start_dim=1)
        x = self.dense1(x)
        x = self.act3(x)
        x = self.dense2(x)
        x = self.act4(x)
        x = torch.flatten(x, 1)
        return self.head(x)


model = LeNet()
parts = model
