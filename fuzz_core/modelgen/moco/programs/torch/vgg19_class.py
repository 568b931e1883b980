"""VGG19, for images of the shape of CIFAR-10's: sixteen convolutions and three dense layers."""

import torch
import torch.nn.functional as F
from torch import nn

TRAINING, TESTING, BATCH, CLASSES = 100, 20, 50, 10
# 64 makes the model as wide as the published one.
WIDTH = 8


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
        self.pool5 = nn.MaxPool2d(2)
        self.dense1 = nn.Linear(8 * WIDTH, 64 * WIDTH)
        self.relu6 = nn.ReLU()
        self.drop6 = nn.Dropout(0.5)
        self.dense2 = nn.Linear(64 * WIDTH, 64 * WIDTH)
        self.drop7 = nn.Dropout(0.5)
        self.head = nn.Linear(64 * WIDTH, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
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
        x = torch.flatten(x, 1)
        x = self.dense1(x)
        x = self.relu6(x)
        x = self.drop6(x)
        x = self.dense2(x)
        x = F.relu(x)
        x = self.drop7(x)
        x = torch.flatten(x, 1)
        return self.head(x)


def train(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> None:
    """One epoch in batches."""
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    model.train()
    for start in range(0, TRAINING, BATCH):
        optimizer.zero_grad()
        loss = criterion(model(images[start : start + BATCH]), labels[start : start + BATCH])
        loss.backward()
        optimizer.step()


def evaluate(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> float:
    """The loss on images that were not trained with."""
    model.eval()
    with torch.no_grad():
        return F.cross_entropy(model(images), labels).item()


def main() -> None:
    torch.manual_seed(0)
    images = torch.rand(TRAINING + TESTING, 3, 32, 32)
    labels = torch.randint(0, CLASSES, (TRAINING + TESTING,))
    model = Vgg19()
    train(model, images[:TRAINING], labels[:TRAINING])
    print("loss", evaluate(model, images[TRAINING:], labels[TRAINING:]))


if __name__ == "__main__":
    main()
