"""VGG19, for images of the shape of CIFAR-10's, as one sequence of layers."""

import torch
from torch import nn

TRAINING, TESTING, BATCH, CLASSES = 100, 20, 50, 10
# 64 makes the model as wide as the published one.
WIDTH = 8

torch.manual_seed(0)
images = torch.rand(TRAINING + TESTING, 3, 32, 32)
labels = torch.randint(0, CLASSES, (TRAINING + TESTING,))

model = nn.Sequential(
    nn.Conv2d(3, WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
    nn.Conv2d(WIDTH, WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(WIDTH, 2 * WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
    nn.Conv2d(2 * WIDTH, 2 * WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(2 * WIDTH, 4 * WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
    nn.Conv2d(4 * WIDTH, 4 * WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
    nn.Conv2d(4 * WIDTH, 4 * WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
    nn.Conv2d(4 * WIDTH, 4 * WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(4 * WIDTH, 8 * WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
    nn.Conv2d(8 * WIDTH, 8 * WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
    nn.Conv2d(8 * WIDTH, 8 * WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
    nn.Conv2d(8 * WIDTH, 8 * WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(8 * WIDTH, 8 * WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
    nn.Conv2d(8 * WIDTH, 8 * WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
    nn.Conv2d(8 * WIDTH, 8 * WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
    nn.Conv2d(8 * WIDTH, 8 * WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(8 * WIDTH, 64 * WIDTH),
    nn.ReLU(),
    nn.Dropout(0.5),
    nn.Linear(64 * WIDTH, 64 * WIDTH),
    nn.ReLU(),
    nn.Dropout(0.5),
    nn.Flatten(),
    nn.Linear(64 * WIDTH, CLASSES),
)

criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
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
