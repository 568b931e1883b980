"""A segmentation network with skip connections: shrinking, growing by several ways of resizing, and overlap losses."""

import math

import jittor as jt
from jittor import nn

SIZE = 8


class Stage(nn.Module):
    """A padded convolution with a norm; its padding is one of the library's layers."""

    def __init__(self, inputs: int, outputs: int, padding: nn.Module) -> None:
        super().__init__()
        self.padding, self.conv = padding, nn.Conv(inputs, outputs, 3)
        self.norm = nn.InstanceNorm(outputs, eps=1e-5, affine=True)

    def execute(self, x: jt.Var) -> jt.Var:
        return nn.leaky_relu(self.norm(self.conv(self.padding(x))), scale=0.05)


class Unet(nn.Module):
    """Two levels down and up again."""

    def __init__(self, width: int = 2) -> None:
        super().__init__()
        self.first = Stage(1, width, nn.ReflectionPad2d(1))
        self.second = Stage(width, 2 * width, nn.ZeroPad2d((1, 1, 1, 1)))
        self.bottom = Stage(2 * width, 2 * width, nn.ConstantPad2d(1, 1.0))
        self.pool = nn.MaxPool2d(kernel_size=2, stride=2)
        self.grow = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.shuffle = nn.Sequential(nn.Conv(3 * width, 4 * width, 1), nn.PixelShuffle(2))
        self.merge, self.head = nn.Conv(4 * width, 2 * width, 1), nn.Conv(2 * width, 1, 1)

    def execute(self, x: jt.Var) -> jt.Var:
        first = self.first(x)
        second = self.second(self.pool(first))
        bottom = self.bottom(nn.max_pool2d(second, 2, stride=2))
        up = nn.relu(self.merge(jt.contrib.concat([second, self.grow(bottom)], dim=1)))
        mixed = self.shuffle(jt.concat([up, nn.avg_pool2d(first, 2)], dim=1))
        return self.head(jt.concat([mixed, first], dim=1))


def make_discs(count: int) -> tuple[jt.Var, jt.Var]:
    """Noisy images of a disc each, and where the disc is."""
    row, column = jt.index((count, 1, SIZE, SIZE), 2), jt.index((count, 1, SIZE, SIZE), 3)
    centre = jt.randint(2, SIZE - 2, shape=(count, 2)).float32()
    x, y = centre[:, 0].reshape(count, 1, 1, 1), centre[:, 1].reshape(count, 1, 1, 1)
    mask = (jt.hypot(row - x, column - y) < 2.5).float32()
    return mask + 0.2 * jt.randn(mask.shape), mask


def dice_loss(logits: jt.Var, mask: jt.Var) -> jt.Var:
    chance = jt.sigmoid(logits).flatten(1)
    flat = mask.flatten(1)
    both = (chance * flat).sum(1)
    return 1 - ((2 * both + 1) / (chance.sum(1) + flat.sum(1) + 1)).mean()


def boundary(mask: jt.Var) -> jt.Var:
    """Where a mask differs from its surroundings, by pooling in both directions."""
    wide = nn.Pool(3, stride=1, padding=1, op="maximum")(mask)
    narrow = 1.0 - nn.Pool(3, 1, 1, op="maximum")(1.0 - mask)
    return wide - narrow


def resized(image: jt.Var) -> list[jt.Var]:
    """The image at other sizes, by every way of reading between the pixels."""
    return [
        nn.resize(image, (5, 6), mode="nearest"),
        nn.interpolate(image, size=(6, 6), mode="bilinear", align_corners=False),
        nn.interpolate(image, scale_factor=2, mode="bicubic"),
        nn.Resize((4, 4), mode="bilinear")(image),
        nn.resize(image, (4, 4), mode="area"),
    ]


def flipped_vote(model: Unet, images: jt.Var) -> jt.Var:
    """The mean guess over an image and its mirror image."""
    mirrored = jt.flip(model(jt.flip(images, [3])), [3])
    return (model(images) + mirrored).sigmoid() / 2 + jt.zeros_like(images)


def main() -> None:
    jt.set_global_seed(16)
    images, mask = make_discs(2)
    model = Unet()
    optimizer = nn.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        logits = model(images)
        weights = 1.0 + boundary(mask)
        loss = nn.binary_cross_entropy_with_logits(logits, mask, weight=weights) + dice_loss(logits, mask)
        optimizer.step(loss)
        assert math.isfinite(loss.item())
    model.eval()
    with jt.no_grad():
        for other in resized(images):
            assert bool(jt.isfinite(other).all())
        vote = flipped_vote(model, images)
    assert vote.shape == mask.shape and 0.0 <= vote.min().item() <= vote.max().item() <= 1.0


if __name__ == "__main__":
    main()
