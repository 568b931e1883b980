"""ResNet18, as sequences of layers that a function connects.

The images are of 64 x 64 x 3: those of ImageNet, 224 x 224, cost twelve times as much.
"""

import jittor as jt
from jittor import nn

TRAINING, TESTING, BATCH, CLASSES = 100, 20, 100, 1000
# 64 makes the model as wide as the published one.
WIDTH = 4

jt.set_global_seed(0)
images = jt.rand(TRAINING + TESTING, 3, 64, 64)
labels = jt.randint(0, CLASSES, (TRAINING + TESTING,))

stem = nn.Sequential(
    nn.Conv2d(3, WIDTH, kernel_size=7, stride=2, padding=3, bias=False),
    nn.BatchNorm2d(WIDTH),
    nn.ReLU(),
    nn.MaxPool2d(3, stride=2, padding=1),
)
body2a = nn.Sequential(
    nn.Conv2d(WIDTH, WIDTH, kernel_size=3, padding=1, bias=False),
    nn.BatchNorm2d(WIDTH),
    nn.ReLU(),
    nn.Conv2d(WIDTH, WIDTH, kernel_size=3, padding=1, bias=False),
    nn.BatchNorm2d(WIDTH),
)
body2b = nn.Sequential(
    nn.Conv2d(WIDTH, WIDTH, kernel_size=3, padding=1, bias=False),
    nn.BatchNorm2d(WIDTH),
    nn.ReLU(),
    nn.Conv2d(WIDTH, WIDTH, kernel_size=3, padding=1, bias=False),
    nn.BatchNorm2d(WIDTH),
)
skip3a = nn.Sequential(
    nn.Conv2d(WIDTH, 2 * WIDTH, kernel_size=1, stride=2, bias=False),
    nn.BatchNorm2d(2 * WIDTH),
)
body3a = nn.Sequential(
    nn.Conv2d(WIDTH, 2 * WIDTH, kernel_size=3, stride=2, padding=1, bias=False),
    nn.BatchNorm2d(2 * WIDTH),
    nn.ReLU(),
    nn.Conv2d(2 * WIDTH, 2 * WIDTH, kernel_size=3, padding=1, bias=False),
    nn.BatchNorm2d(2 * WIDTH),
)
body3b = nn.Sequential(
    nn.Conv2d(2 * WIDTH, 2 * WIDTH, kernel_size=3, padding=1, bias=False),
    nn.BatchNorm2d(2 * WIDTH),
    nn.ReLU(),
    nn.Conv2d(2 * WIDTH, 2 * WIDTH, kernel_size=3, padding=1, bias=False),
    nn.BatchNorm2d(2 * WIDTH),
)
skip4a = nn.Sequential(
    nn.Conv2d(2 * WIDTH, 4 * WIDTH, kernel_size=1, stride=2, bias=False),
    nn.BatchNorm2d(4 * WIDTH),
)
body4a = nn.Sequential(
    nn.Conv2d(2 * WIDTH, 4 * WIDTH, kernel_size=3, stride=2, padding=1, bias=False),
    nn.BatchNorm2d(4 * WIDTH),
    nn.ReLU(),
    nn.Conv2d(4 * WIDTH, 4 * WIDTH, kernel_size=3, padding=1, bias=False),
    nn.BatchNorm2d(4 * WIDTH),
)
body4b = nn.Sequential(
    nn.Conv2d(4 * WIDTH, 4 * WIDTH, kernel_size=3, padding=1, bias=False),
    nn.BatchNorm2d(4 * WIDTH),
    nn.ReLU(),
    nn.Conv2d(4 * WIDTH, 4 * WIDTH, kernel_size=3, padding=1, bias=False),
    nn.BatchNorm2d(4 * WIDTH),
)
skip5a = nn.Sequential(
    nn.Conv2d(4 * WIDTH, 8 * WIDTH, kernel_size=1, stride=2, bias=False),
    nn.BatchNorm2d(8 * WIDTH),
)
body5a = nn.Sequential(
    nn.Conv2d(4 * WIDTH, 8 * WIDTH, kernel_size=3, stride=2, padding=1, bias=False),
    nn.BatchNorm2d(8 * WIDTH),
    nn.ReLU(),
    nn.Conv2d(8 * WIDTH, 8 * WIDTH, kernel_size=3, padding=1, bias=False),
    nn.BatchNorm2d(8 * WIDTH),
)
body5b = nn.Sequential(
    nn.Conv2d(8 * WIDTH, 8 * WIDTH, kernel_size=3, padding=1, bias=False),
    nn.BatchNorm2d(8 * WIDTH),
    nn.ReLU(),
    nn.Conv2d(8 * WIDTH, 8 * WIDTH, kernel_size=3, padding=1, bias=False),
    nn.BatchNorm2d(8 * WIDTH),
)
tail = nn.Sequential(
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(8 * WIDTH, CLASSES),
)
parts = nn.ModuleList(
    [
        stem, body2a, body2b, skip3a, body3a, body3b, skip4a, body4a, body4b, skip5a, body5a, body5b, tail,
    ]
)


def model(x: jt.Var) -> jt.Var:
    """From images (n, 3, 64, 64) to logits."""
    x = stem(x)
    x = body2a(x) + x
    x = nn.relu(x)
    x = body2b(x) + x
    x = nn.relu(x)
    x = body3a(x) + skip3a(x)
    x = nn.relu(x)
    x = body3b(x) + x
    x = nn.relu(x)
    x = body4a(x) + skip4a(x)
    x = nn.relu(x)
    x = body4b(x) + x
    x = nn.relu(x)
    x = body5a(x) + skip5a(x)
    x = nn.relu(x)
    x = body5b(x) + x
    x = nn.relu(x)
    return tail(x)


criterion = nn.CrossEntropyLoss()
optimizer = jt.optim.SGD(parts.parameters(), lr=0.01, momentum=0.9)
parts.train()
for start in range(0, TRAINING, BATCH):
    loss = criterion(model(images[start : start + BATCH]), labels[start : start + BATCH])
    optimizer.step(loss)

parts.eval()
with jt.no_grad():
    loss = criterion(model(images[TRAINING:]), labels[TRAINING:])
print("loss", loss.item())
