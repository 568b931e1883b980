"""VGG19, for images of the shape of CIFAR-10's: sixteen convolutions and three dense layers.

The last pooling is adaptive, because Jittor's others want images that are larger than their window.
"""

import jittor as jt
from jittor import nn

TRAINING, TESTING, BATCH, CLASSES = 100, 20, 100, 10
# 64 makes the model as wide as the published one.
WIDTH = 4


class Vgg19(nn.Module):
    """Five stages of convolutions, each with pooling, and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1a = nn.Conv2d(3, WIDTH, kernel_size=3, padding=1)
        self.relu1a = nn.ReLU()
        self.conv1b = nn.Conv2d(WIDTH, WIDTH, kernel_size=3, padding=1)
        self.relu1b = nn.ReLU()
        self.pool1 = nn.MaxPool2d(2)
        self.conv2a = nn.Conv2d(WIDTH, 2 * WIDTH, kernel_size=3, padding=1)
        self.relu2a = nn.ReLU()
        self.conv2b = nn.Conv2d(2 * WIDTH, 2 * WIDTH, kernel_size=3, padding=1)
        self.relu2b = nn.ReLU()
        self.pool2 = nn.MaxPool2d(2)
        self.conv3a = nn.Conv2d(2 * WIDTH, 4 * WIDTH, kernel_size=3, padding=1)
        self.relu3a = nn.ReLU()
        self.conv3b = nn.Conv2d(4 * WIDTH, 4 * WIDTH, kernel_size=3, padding=1)
        self.relu3b = nn.ReLU()
        self.conv3c = nn.Conv2d(4 * WIDTH, 4 * WIDTH, kernel_size=3, padding=1)
        self.relu3c = nn.ReLU()
        self.conv3d = nn.Conv2d(4 * WIDTH, 4 * WIDTH, kernel_size=3, padding=1)
        self.relu3d = nn.ReLU()
        self.pool3 = nn.MaxPool2d(2)
        self.conv4a = nn.Conv2d(4 * WIDTH, 8 * WIDTH, kernel_size=3, padding=1)
        self.relu4a = nn.ReLU()
        self.conv4b = nn.Conv2d(8 * WIDTH, 8 * WIDTH, kernel_size=3, padding=1)
        self.relu4b = nn.ReLU()
        self.conv4c = nn.Conv2d(8 * WIDTH, 8 * WIDTH, kernel_size=3, padding=1)
        self.relu4c = nn.ReLU()
        self.conv4d = nn.Conv2d(8 * WIDTH, 8 * WIDTH, kernel_size=3, padding=1)
        self.relu4d = nn.ReLU()
        self.pool4 = nn.MaxPool2d(2)
        self.conv5a = nn.Conv2d(8 * WIDTH, 8 * WIDTH, kernel_size=3, padding=1)
        self.relu5a = nn.ReLU()
        self.conv5b = nn.Conv2d(8 * WIDTH, 8 * WIDTH, kernel_size=3, padding=1)
        self.relu5b = nn.ReLU()
        self.conv5c = nn.Conv2d(8 * WIDTH, 8 * WIDTH, kernel_size=3, padding=1)
        self.relu5c = nn.ReLU()
        self.conv5d = nn.Conv2d(8 * WIDTH, 8 * WIDTH, kernel_size=3, padding=1)
        self.relu5d = nn.ReLU()
        self.pool5 = nn.AdaptiveAvgPool2d(1)
        self.dense1 = nn.Linear(8 * WIDTH, 64 * WIDTH)
        self.relu6 = nn.ReLU()
        self.drop6 = nn.Dropout(0.5)
        self.dense2 = nn.Linear(64 * WIDTH, 64 * WIDTH)
        self.drop7 = nn.Dropout(0.5)
        self.head = nn.Linear(64 * WIDTH, CLASSES)

    def execute(self, x: jt.Var) -> jt.Var:
        x = self.conv1a(x)
        x = self.relu1a(x)
        x = self.conv1b(x)
        x = self.relu1b(x)
        x = self.pool1(x)
        x = self.conv2a(x)
        x = self.relu2a(x)
        x = self.conv2b(x)
        x = self.relu2b(x)
        x = self.pool2(x)
        x = self.conv3a(x)
        x = self.relu3a(x)
        x = self.conv3b(x)
        x = self.relu3b(x)
        x = self.conv3c(x)
        x = self.relu3c(x)
        x = self.conv3d(x)
        x = self.relu3d(x)
        x = self.pool3(x)
        x = self.conv4a(x)
        x = self.relu4a(x)
        x = self.conv4b(x)
        x = self.relu4b(x)
        x = self.conv4c(x)
        x = self.relu4c(x)
        x = self.conv4d(x)
        x = self.relu4d(x)
        x = self.pool4(x)
        x = self.conv5a(x)
        x = self.relu5a(x)
        x = self.conv5b(x)
        x = self.relu5b(x)
        x = self.conv5c(x)
        x = self.relu5c(x)
        x = self.conv5d(x)
        x = self.relu5d(x)
        x = self.pool5(x)
        x = jt.flatten(x, 1)
        x = self.dense1(x)
        x = self.relu6(x)
        x = self.drop6(x)
        x = self.dense2(x)
        x = nn.relu(x)
        x = self.drop7(x)
        x = jt.flatten(x, 1)
        return self.head(x)


def train(model: nn.Module, images: jt.Var, labels: jt.Var) -> None:
    """One epoch in batches."""
    criterion = nn.CrossEntropyLoss()
    optimizer = jt.optim.SGD(model.parameters(), lr=0.01)
    model.train()
    for start in range(0, TRAINING, BATCH):
        loss = criterion(model(images[start : start + BATCH]), labels[start : start + BATCH])
        optimizer.step(loss)


def evaluate(model: nn.Module, images: jt.Var, labels: jt.Var) -> float:
    """The loss on images that were not trained with."""
    model.eval()
    with jt.no_grad():
        return nn.cross_entropy_loss(model(images), labels).item()


def main() -> None:
    jt.set_global_seed(0)
    images = jt.rand(TRAINING + TESTING, 3, 32, 32)
    labels = jt.randint(0, CLASSES, (TRAINING + TESTING,))
    model = Vgg19()
    train(model, images[:TRAINING], labels[:TRAINING])
    print("loss", evaluate(model, images[TRAINING:], labels[TRAINING:]))


if __name__ == "__main__":
    main()
