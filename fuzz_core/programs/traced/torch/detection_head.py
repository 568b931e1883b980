"""An object detection head: anchors on a grid, focal and IoU losses, box decoding, suppression and cropping."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

GRID, ANCHORS, CLASSES, SIZE = 4, 2, 3, 16.0


class DetectionHead(nn.Module):
    """For each anchor of each cell: an objectness logit, class logits and four box offsets."""

    def __init__(self, channels: int = 8) -> None:
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, channels, 3, 2, 1), nn.BatchNorm2d(channels), nn.SiLU(), nn.Conv2d(channels, channels, 3, 2, 1)
        )
        self.head = nn.Conv2d(channels, ANCHORS * (1 + CLASSES + 4), kernel_size=1)
        nn.init.normal_(self.head.weight, std=0.01)

    def forward(self, images: torch.Tensor) -> tuple[torch.Tensor, ...]:
        maps = self.head(F.gelu(self.backbone(images), approximate="tanh"))
        rows = maps.permute(0, 2, 3, 1).reshape(images.shape[0], GRID * GRID * ANCHORS, -1)
        return torch.split(rows, [1, CLASSES, 4], dim=2)


def make_anchors() -> torch.Tensor:
    """Corner boxes (x1, y1, x2, y2) of two sizes around the centre of every cell, in pixels."""
    centres = (torch.arange(GRID) + 0.5) * (SIZE / GRID)
    y, x = torch.meshgrid(centres, centres, indexing="ij")
    middle = torch.stack((x, y), dim=-1).view(-1, 1, 2)
    half = torch.tensor([[2.0, 2.0], [4.0, 3.0]]).unsqueeze(0)
    return torch.cat([middle - half, middle + half], dim=-1).flatten(0, 1)


def iou(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Pairwise intersection over union of corner boxes."""
    low = torch.maximum(a[:, None, :2], b[None, :, :2])
    high = torch.minimum(a[:, None, 2:], b[None, :, 2:])
    overlap = (high - low).clamp_min(0).prod(dim=-1)
    area_a, area_b = ((box[:, 2:] - box[:, :2]).clamp(min=0).prod(1) for box in (a, b))
    return overlap / (area_a[:, None] + area_b - overlap + 1e-6)


def focal_loss(logits: torch.Tensor, target: torch.Tensor, gamma: float = 2.0) -> torch.Tensor:
    plain = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    return (plain * (1.0 - torch.exp(-plain)) ** gamma).sum() / target.sum().clamp(min=1.0)


def detection_loss(outputs: tuple[torch.Tensor, ...], anchors: torch.Tensor, box: torch.Tensor, label: int):
    """Matches one box to its best anchors, then adds the losses of objectness, class and place."""
    objectness, classes, offsets = (part[0] for part in outputs)
    overlap = iou(anchors, box.unsqueeze(0)).squeeze(1)
    matched = torch.logical_or(overlap > 0.5, overlap == overlap.max())
    target = torch.index_put(torch.zeros(len(anchors)), (matched.nonzero().squeeze(1),), torch.tensor(1.0))
    chosen = torch.full((int(matched.sum()),), label, dtype=torch.long)
    place = F.smooth_l1_loss(offsets[matched], (box - anchors[matched]) / SIZE, reduction="sum", beta=0.1)
    kinds = F.multi_margin_loss(classes[matched], chosen, p=1, margin=0.5)
    return focal_loss(objectness[:, 0], target) + kinds + place


def suppress(boxes: torch.Tensor, scores: torch.Tensor, threshold: float) -> torch.Tensor:
    """Indices of boxes that survive non-maximum suppression, best first."""
    order = torch.argsort(scores, descending=True, stable=True)
    overlap, kept = iou(boxes, boxes), []
    while order.numel() > 0:
        kept.append(order[0])
        order = order[1:][torch.less_equal(overlap[order[0], order[1:]], threshold)]
    return torch.stack(kept)


def crop(image: torch.Tensor, boxes: torch.Tensor, size: int = 4) -> torch.Tensor:
    """Resamples each box out of the image to (boxes, channels, size, size)."""
    centre, half = (boxes[:, :2] + boxes[:, 2:]) / SIZE - 1.0, (boxes[:, 2:] - boxes[:, :2]) / SIZE
    theta = torch.cat([torch.diag_embed(half), centre.unsqueeze(2)], dim=2)
    grid = F.affine_grid(theta, [len(boxes), 3, size, size], align_corners=False)
    view = image.expand(len(boxes), -1, -1, -1)
    return F.grid_sample(view, grid, mode="bilinear", padding_mode="border", align_corners=False)


def main() -> None:
    torch.manual_seed(0)
    box, label, anchors = torch.tensor([3.0, 4.0, 9.0, 12.0]), 2, make_anchors()
    image = torch.rand(1, 3, 16, 16)
    image[:, label, 4:12, 3:9] += 1.0
    model = DetectionHead()
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.5, dampening=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        loss = detection_loss(model(image), anchors, box, label)
        loss.backward()
        optimizer.step()
        assert math.isfinite(loss.item())
    with torch.no_grad():
        objectness, _, offsets = (part.squeeze(0) for part in model.eval()(image))
        boxes = torch.clip(anchors + SIZE * offsets, 0.0, SIZE)
        best = suppress(boxes, objectness.sigmoid().ravel(), threshold=0.4)[:3]
    assert torch.isfinite(crop(image, boxes[best])).all()


if __name__ == "__main__":
    main()
