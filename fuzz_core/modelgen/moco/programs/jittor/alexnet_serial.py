"""AlexNet, for images of the shape of CIFAR-10's, as one sequence of layers."""

import jittor as jt
from jittor import nn

TRAINING, TESTING, BATCH, CLASSES = 100, 20, 100, 10
# 64 makes the model as wide as the published one.
WIDTH = 2

jt.set_global_seed(0)
images = jt.rand(TRAINING + TESTING, 3, 32, 32)
labels = jt.randint(0, CLASSES, (TRAINING + TESTING,))

model = nn.Sequential(
    nn.Conv2d(3, WIDTH, kernel_size=3, stride=2, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(WIDTH, 3 * WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(3 * WIDTH, 6 * WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
    nn.Conv2d(6 * WIDTH, 4 * WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
    nn.Conv2d(4 * WIDTH, 4 * WIDTH, kernel_size=3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Dropout(0.5),
    nn.Linear(16 * WIDTH, 64 * WIDTH),
    nn.ReLU(),
    nn.Dropout(0.5),
    nn.Linear(64 * WIDTH, 64 * WIDTH),
    nn.ReLU(),
    nn.Flatten(),
    nn.Linear(64 * WIDTH, CLASSES),
)

criterion = nn.CrossEntropyLoss()
optimizer = jt.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
model.train()
for start in range(0, TRAINING, BATCH):
    loss = criterion(model(images[start : start + BATCH]), labels[start : start + BATCH])
    optimizer.step(loss)

model.eval()
with jt.no_grad():
    loss = criterion(model(images[TRAINING:]), labels[TRAINING:])
print("loss", loss.item())
