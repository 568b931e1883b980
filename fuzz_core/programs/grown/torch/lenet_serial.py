"""LeNet on images of the shape of MNIST's, 1 x 28 x 28, as one sequence of layers."""

import torch
from torch import nn

CLASSES = 10

torch.manual_seed(0)
samples = torch.rand(120, 1, 28, 28)
targets = torch.randint(0, CLASSES, (120,))
criterion = nn.CrossEntropyLoss()

model = nn.Sequential(
    nn.Conv2d(1, 6, kernel_size=5, padding=2),
    nn.Tanh(),
    nn.AvgPool2d(2, stride=2),
    nn.Conv2d(6, 16, kernel_size=5),
    nn.ReLU(),
    nn.MaxPool2d(kernel_size=2),
    nn.Flatten(start_dim=1),
    nn.Linear(400, 120),
    nn.ReLU(inplace=True),
    nn.Linear(120, 84),
    nn.Sigmoid(),
    nn.Flatten(),
    nn.Linear(84, CLASSES),
)
parts = model
