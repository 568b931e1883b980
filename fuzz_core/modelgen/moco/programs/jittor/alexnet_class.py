"""AlexNet, for images of the shape of CIFAR-10's: five convolutions and three dense layers."""

import jittor as jt
from jittor import nn

TRAINING, TESTING, BATCH, CLASSES = 100, 20, 100, 10
# 64 makes the model as wide as the published one.
WIDTH = 2


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

    def execute(self, x: jt.Var) -> jt.Var:
        x = self.conv1(x)
        x = self.act1(x)
        x = self.pool1(x)
        x = self.conv2(x)
        x = self.act2(x)
        x = self.pool2(x)
        x = self.conv3(x)
        x = self.act3(x)
        x = self.conv4(x)
        x = nn.relu(x)
        x = self.conv5(x)
        x = self.act5(x)
        x = self.pool5(x)
        x = jt.flatten(x, 1)
        x = self.drop1(x)
        x = self.dense1(x)
        x = self.act6(x)
        x = self.drop2(x)
        x = self.dense2(x)
        x = self.act7(x)
        x = jt.flatten(x, 1)
        return self.head(x)


def train(model: nn.Module, images: jt.Var, labels: jt.Var) -> None:
    """One epoch in batches."""
    criterion = nn.CrossEntropyLoss()
    optimizer = jt.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
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
    model = AlexNet()
    train(model, images[:TRAINING], labels[:TRAINING])
    print("loss", evaluate(model, images[TRAINING:], labels[TRAINING:]))


if __name__ == "__main__":
    main()
