"""Pictures from arrays: a data set with a loader, random changes of pictures and a small network that sees them."""

import math

import jittor as jt
import numpy as np
from jittor import nn, transform
from jittor.dataset import Dataset

SIZE = 12


class Pictures(Dataset):
    """Pictures of one colour with a brighter square, and the colour's number."""

    def __init__(self, count: int, change: transform.Compose) -> None:
        super().__init__(batch_size=2, shuffle=True, drop_last=True, num_workers=0)
        self.change, self.random = change, np.random.default_rng(0)
        self.set_attrs(total_len=count)

    def __getitem__(self, index: int) -> tuple[np.ndarray, int]:
        label = index % 3
        picture = self.random.integers(0, 60, (SIZE, SIZE, 3), dtype=np.uint8)
        picture[..., label] += 100
        picture[3:9, 3:9] += 50
        return self.change(transform.to_pil_image(picture)), label


class Net(nn.Module):
    """One convolution and the mean of its responses."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv(3, 4, 3, stride=2), nn.BatchNorm2d(4), nn.Linear(4, 3)

    def execute(self, x: jt.Var) -> jt.Var:
        x = nn.relu(self.norm(self.conv(x)))
        return self.head(x.mean(dims=(2, 3)))


def changes() -> transform.Compose:
    """Random crops, mirrors, colours and turns, then numbers around zero."""
    return transform.Compose(
        [
            transform.Resize((SIZE + 2, SIZE + 2)),
            transform.RandomCrop((SIZE, SIZE)),
            transform.RandomHorizontalFlip(p=0.5),
            transform.RandomVerticalFlip(p=0.5),
            transform.ColorJitter(brightness=0.2, contrast=0.2, saturation=0.2, hue=0.1),
            transform.RandomChoice([transform.RandomRotation(10), transform.RandomAffine(5, translate=(0.1, 0.1))]),
            transform.RandomApply([transform.RandomGray(p=0.5)], p=0.3),
            transform.RandomCropAndResize((SIZE, SIZE), scale=(0.7, 1.0)),
            transform.Lambda(np.asarray),
            transform.Lambda(lambda picture: picture.transpose(2, 0, 1).astype(np.float32) / 255.0),
            transform.ImageNormalize(mean=[0.5, 0.5, 0.5], std=[0.25, 0.25, 0.25]),
        ]
    )


def still(picture: np.ndarray) -> list[np.ndarray]:
    """Fixed changes of one picture, each by its function."""
    image = transform.to_pil_image(picture)
    changed = [
        transform.crop(image, 1, 2, 6, 6),
        transform.center_crop(image, (8, 8)),
        transform.crop_and_resize(image, 1, 1, 8, 8, (SIZE, SIZE)),
        transform.resize(image, (6, 6)),
        transform.hflip(image),
        transform.vflip(image),
        transform.adjust_brightness(image, 0.7),
        transform.adjust_contrast(image, 1.3),
        transform.adjust_saturation(image, 0.5),
        transform.adjust_hue(image, 0.1),
        transform.adjust_gamma(image, 0.8, gain=1),
        transform.gray(image, 3),
        transform.CenterCrop(10)(image),
        *transform.FiveCrop(6)(image),
    ]
    return [np.asarray(each) for each in changed]


def main() -> None:
    jt.set_global_seed(26)
    pictures, model = Pictures(6, changes()), Net()
    optimizer = jt.optim.SGD(model.parameters(), lr=0.05)
    for images, labels in pictures:
        loss = nn.cross_entropy_loss(model(images), labels)
        optimizer.step(loss)
        assert math.isfinite(loss.item())
    picture = np.random.default_rng(1).integers(0, 255, (SIZE, SIZE, 3), dtype=np.uint8)
    for each in still(picture):
        assert each.ndim == 3 and each.shape[2] == 3
    batch = jt.array(np.stack([picture, picture[::-1]])).float32().permute(0, 3, 1, 2) / 255.0
    grid = jt.make_grid(batch, nrow=2, padding=1, normalize=True)
    normal = transform.image_normalize(batch[0].numpy(), [0.5] * 3, [0.5] * 3)
    assert bool(jt.isfinite(grid).all()) and normal.shape == (3, SIZE, SIZE)


if __name__ == "__main__":
    main()
