"""An object detection head: anchors on a grid, focal and IoU losses, box decoding, suppression and cropping."""

import math

import jittor as jt
from jittor import init, nn

GRID, ANCHORS, CLASSES, SIZE = 4, 2, 3, 16.0


class DetectionHead(nn.Module):
    """For each anchor of each cell: an objectness logit, class logits and four box offsets."""

    def __init__(self, channels: int = 4) -> None:
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv(3, channels, 3, 2, 1), nn.BatchNorm(channels), nn.GELU(), nn.Conv(channels, channels, 3, 2, 1)
        )
        self.head = nn.Conv(channels, ANCHORS * (1 + CLASSES + 4), kernel_size=1)
        init.gauss_(self.head.weight, mean=0.0, std=0.01)

    def execute(self, images: jt.Var) -> tuple[jt.Var, ...]:
        maps = self.head(nn.gelu(self.backbone(images)))
        rows = maps.permute(0, 2, 3, 1).reshape(images.shape[0], GRID * GRID * ANCHORS, -1)
        return jt.split(rows, [1, CLASSES, 4], dim=2)


def make_anchors() -> jt.Var:
    """Corner boxes (x1, y1, x2, y2) of two sizes around the centre of every cell, in pixels."""
    centres = (jt.arange(GRID) + 0.5) * (SIZE / GRID)
    y, x = jt.meshgrid(centres, centres)
    middle = jt.stack([x, y], dim=-1).reshape(-1, 1, 2)
    half = jt.array([[2.0, 2.0], [4.0, 3.0]]).unsqueeze(0)
    return jt.concat([middle - half, middle + half], dim=-1).flatten(0, 1)


def iou(a: jt.Var, b: jt.Var) -> jt.Var:
    """Pairwise intersection over union of corner boxes."""
    low = jt.maximum(a[:, None, :2], b[None, :, :2])
    high = jt.minimum(a[:, None, 2:], b[None, :, 2:])
    overlap = jt.maximum(high - low, 0.0).prod(2)
    area_a, area_b = ((box[:, 2:] - box[:, :2]).clamp(min_v=0.0).prod(1) for box in (a, b))
    return overlap / (area_a[:, None] + area_b - overlap + 1e-6)


def focal_loss(logits: jt.Var, target: jt.Var, gamma: float = 2.0) -> jt.Var:
    chance = logits.sigmoid()
    missed = (target - chance).abs()
    return (-jt.safe_log(1.0 - missed) * missed.pow(gamma)).sum() / jt.maximum(target.sum(), 1.0)


def detection_loss(outputs: tuple[jt.Var, ...], anchors: jt.Var, box: jt.Var, label: int) -> jt.Var:
    """Matches one box to its best anchors, then adds the losses of objectness, class and place."""
    objectness, classes, offsets = (part[0] for part in outputs)
    overlap = iou(anchors, box.unsqueeze(0)).squeeze(1)
    matched = jt.logical_or(overlap > 0.5, overlap == overlap.max())
    rows = matched.nonzero().squeeze(1)
    chosen = jt.full((rows.shape[0],), label, "int32")
    place = nn.smooth_l1_loss((box - anchors[rows]) / SIZE, offsets[rows], reduction="sum")
    kinds = nn.cross_entropy_loss(classes[rows], chosen, reduction="mean")
    return focal_loss(objectness[:, 0], matched.float32()) + kinds + place


def crop(image: jt.Var, boxes: jt.Var, size: int = 4) -> jt.Var:
    """Resamples each box out of the image to (boxes, channels, size, size)."""
    centre, half = (boxes[:, :2] + boxes[:, 2:]) / SIZE - 1.0, (boxes[:, 2:] - boxes[:, :2]) / SIZE
    theta = jt.zeros((boxes.shape[0], 2, 3))
    theta[:, 0, 0], theta[:, 1, 1], theta[:, :, 2] = half[:, 0], half[:, 1], centre
    grid = nn.affine_grid(theta, (boxes.shape[0], 3, size, size), align_corners=False)
    view = image.expand(boxes.shape[0], -1, -1, -1)
    return nn.grid_sample(view, grid, mode="bilinear", padding_mode="border", align_corners=False)


def main() -> None:
    jt.set_global_seed(0)
    box, label, anchors = jt.array([3.0, 4.0, 9.0, 12.0]), 2, make_anchors()
    image = jt.rand(1, 3, 16, 16)
    image[:, label, 4:12, 3:9] += 1.0
    model = DetectionHead()
    optimizer = jt.optim.SGD(model.parameters(), 0.01, momentum=0.5, dampening=0.1)
    for _ in range(3):
        loss = detection_loss(model(image), anchors, box, label)
        optimizer.step(loss)
        assert math.isfinite(loss.item())
    model.eval()
    with jt.no_grad():
        objectness, _, offsets = (part.squeeze(0) for part in model(image))
        boxes = jt.clamp(anchors + SIZE * offsets, 0.0, SIZE)
        scored = jt.concat([boxes, objectness.sigmoid()], dim=1)
        best = jt.nms(scored, 0.4)
        order, values = jt.argsort(objectness[:, 0], descending=True)
        cropped = crop(image, boxes[order[:3]])
    assert best.shape[0] >= 1 and values.shape == (GRID * GRID * ANCHORS,)
    assert bool(jt.isfinite(cropped).all())


if __name__ == "__main__":
    main()
