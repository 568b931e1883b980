"""A network for short clips: convolutions over space and time, pooling and growing back."""

import math

import jittor as jt
from jittor import nn

FRAMES, SIZE = 4, 4


class ClipNet(nn.Module):
    """A clip is shrunk, told in one number, grown back to its future and spread out again."""

    def __init__(self, width: int = 2) -> None:
        super().__init__()
        self.enter = nn.Conv3d(1, width, kernel_size=(3, 3, 3), stride=1, padding=1, bias=True)
        self.pool = nn.MaxPool3d(2, stride=2)
        self.inner = nn.Conv3d(width, width, (1, 3, 3), padding=(0, 1, 1), groups=width)
        self.unpool = nn.MaxUnpool3d(2, stride=2)
        self.grow = nn.ConvTranspose3d(width, 1, kernel_size=2, stride=2, padding=0)
        self.head = nn.Linear(width, 2)

    def execute(self, clip: jt.Var) -> tuple[jt.Var, jt.Var, jt.Var]:
        x = nn.relu(self.enter(clip))
        small = nn.elu(self.inner(self.pool(x)))
        whole = nn.AdaptiveAvgPool3d((1, 1, 1))(small).flatten(1)
        future = self.grow(small)
        restored = self.unpool(small, corners(small)).mean(1, keepdims=True)
        return self.head(whole), future, restored


def corners(small: jt.Var) -> jt.Var:
    """Where each element came from, had it been the first of its block."""
    depth, row, column = (2 * jt.index(small.shape, dim=dim) for dim in (2, 3, 4))
    return (depth * SIZE + row) * SIZE + column


def make_clips(count: int) -> tuple[jt.Var, jt.Var]:
    """A bright column that moves right or left, and which of the two."""
    direction = jt.arange(count) % 2
    shape = (count, 1, FRAMES, SIZE, SIZE)
    time, column = jt.index(shape, dim=2), jt.index(shape, dim=4)
    sign = (1 - 2 * direction).reshape(count, 1, 1, 1, 1)
    place = jt.mod(time * sign + SIZE, SIZE)
    return column.equal(place).float32() + 0.1 * jt.randn(shape), direction


def motion(clip: jt.Var) -> jt.Var:
    """Differences of frames, smoothed in space and time, and their largest part."""
    change = (clip[:, :, 1:] - clip[:, :, :-1]).abs()
    padded = jt.concat([change, change[:, :, -1:]], dim=2)
    smooth = nn.AvgPool3d(2, stride=1)(padded)
    coarse = nn.AdaptiveMaxPool3d((1, 2, 2))(smooth)
    return coarse.max(dims=(2, 3, 4))


def functional(clip: jt.Var) -> jt.Var:
    """A convolution and its transpose by their functions, with a kernel that takes a mean."""
    weight = jt.full((1, 1, 2, 2, 2), 0.125)
    narrow = nn.conv3d(clip, weight, stride=2)
    wide = nn.conv_transpose3d(narrow, weight * 8.0, stride=2)
    by_pool = nn.Pool3d(2, stride=2, op="mean")(clip)
    assert (narrow - by_pool).abs().max().item() < 1e-4
    return wide


def frames_grid(clip: jt.Var) -> jt.Var:
    """All frames of one clip side by side in one picture."""
    frames = clip[0].transpose(1, 0, 2, 3)
    return jt.make_grid(frames, nrow=2, padding=1, pad_value=0.0)


def main() -> None:
    jt.set_global_seed(17)
    clips, direction = make_clips(2)
    model = ClipNet()
    optimizer = jt.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(2):
        logits, future, restored = model(clips)
        loss = nn.cross_entropy_loss(logits, direction) + nn.mse_loss(future[:, :, :-1], clips[:, :, 1:])
        loss = loss + 0.1 * nn.L1Loss()(restored, clips)
        optimizer.step(loss)
        assert math.isfinite(loss.item())
    model.eval()
    with jt.no_grad():
        assert bool(jt.isfinite(motion(clips)).all()) and bool(jt.isfinite(functional(clips)).all())
        picture = frames_grid(clips)
    assert picture.ndim == 3 and not bool(jt.isnan(picture).any())


if __name__ == "__main__":
    main()
