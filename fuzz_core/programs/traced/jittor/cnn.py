"""A convolutional network that tells which quadrant of a small image holds the bright square."""

import math

import jittor as jt
from jittor import init, nn

CLASSES = 4


class SeparableConv(nn.Module):
    """A depthwise convolution with dilation, followed by a pointwise one."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv(inputs, inputs, (3, 3), 1, padding=2, dilation=2, groups=inputs)
        self.pointwise = nn.Conv2d(inputs, outputs, 1, bias=False)
        self.norm = nn.GroupNorm(num_groups=2, num_channels=outputs, affine=True)
        init.kaiming_normal_(self.pointwise.weight, mode="fan_out", nonlinearity="relu")
        init.uniform_(self.norm.weight, low=0.9, high=1.1)
        init.zero_(self.norm.bias)

    def execute(self, x: jt.Var) -> jt.Var:
        return nn.relu6(self.norm(self.pointwise(self.depthwise(x))))


class Cnn(nn.Module):
    """A stem, a separable stage, two kinds of pooling side by side and a linear classifier."""

    def __init__(self, channels: int = 4) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.ReplicationPad2d(1), nn.Conv(1, channels, kernel_size=3, bias=False))
        self.norm = nn.BatchNorm2d(channels, eps=1e-3, momentum=0.05)
        self.separable = SeparableConv(channels, 2 * channels)
        self.pool = nn.Pool(3, stride=2, padding=1, ceil_mode=True, op="maximum")
        self.smooth = nn.AvgPool2d((2, 2), count_include_pad=False)
        self.drop = nn.Dropout2d(p=0.1)
        self.scale = init.xavier_uniform((1, 2 * channels), gain=1.0).reshape(1, 2 * channels, 1, 1)
        init.one_(self.norm.weight)
        self.head = nn.Sequential(nn.Flatten(1, -1), nn.Linear(16 * channels, 8), nn.ReLU6(), nn.Linear(8, CLASSES))

    def execute(self, x: jt.Var) -> jt.Var:
        x = self.pool(nn.relu(self.norm(self.stem(x))))
        x = self.drop(self.smooth(self.separable(x))) * self.scale
        coarse = nn.AdaptiveMaxPool2d((2, 2))(x)
        return self.head(jt.concat([coarse, nn.AdaptiveAvgPool2d(2)(x)], dim=1))


def make_images(count: int) -> tuple[jt.Var, jt.Var]:
    """Noisy 12 x 12 images and the quadrant, 0 to 3, that holds a bright square."""
    labels = jt.randint(0, CLASSES, shape=(count,), dtype="int32")
    images = jt.randn(count, 1, 12, 12) * 0.1
    for index, label in enumerate(labels.tolist()):
        row, column = divmod(label, 2)
        images[index, 0, 6 * row + 1 : 6 * row + 5, 6 * column + 1 : 6 * column + 5] += 1.0
    return images, labels


def augment(images: jt.Var) -> jt.Var:
    """Shifts by one pixel, frames and changes the contrast: none of it moves the square to another quadrant."""
    shifted = jt.roll(images, shifts=(1, -1), dims=(2, 3))
    padded = nn.pad(shifted[..., 1:-1, 1:-1], (1, 1, 1, 1), mode="reflect")
    contrast = init.uniform((images.shape[0], 1, 1, 1), "float32", low=0.8, high=1.2)
    return jt.clamp(padded * contrast, min_v=-1.0, max_v=2.0)


def main() -> None:
    jt.set_global_seed(0)
    images, labels = make_images(4)
    model = Cnn()
    criterion = nn.CrossEntropyLoss(weight=jt.array([1.0, 0.5, 2.0, 1.0]), ignore_index=-1)
    optimizer = nn.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4, nesterov=True)
    schedulers = [
        jt.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5),
        jt.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 2], gamma=0.5),
    ]
    for _ in range(3):
        loss = criterion(model(augment(images)), labels)
        optimizer.step(loss)
        for scheduler in schedulers:
            scheduler.step()
        assert math.isfinite(loss.item())
    model.eval()
    with jt.no_grad():
        guess, confidence = model(images).argmax(dim=1)
        accuracy = guess.equal(labels).float32().mean()
    assert 0.0 <= accuracy.item() <= 1.0 and bool(jt.isfinite(confidence).all())


if __name__ == "__main__":
    main()
