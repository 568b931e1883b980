"""LeNet on images of the shape of MNIST's, 1 x 28 x 28, as one sequence of layers."""

import torch
from torch import nn

TRAINING, TESTING, BATCH, CLASSES = 100, 20, 50, 10

torch.manual_seed(0)
images = torch.rand(TRAINING + TESTING, 1, 28, 28)
labels = torch.randint(0, CLASSES, (TRAINING + TESTING,))

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

criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
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
