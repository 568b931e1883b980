"""A denoising autoencoder of small images that remembers where its pooling took each maximum."""

import math

import jittor as jt
from jittor import init, nn


class Encoder(nn.Module):
    """Two convolutions, one of them strided, and a pooling that gives its indices too."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv(1, width, 3, stride=1, padding=1)
        self.norm = nn.InstanceNorm2d(width, eps=1e-4, affine=True)
        self.second = nn.Conv(width, width, 3, stride=2, padding=1, groups=2)
        self.pool = nn.MaxPool2d(2, stride=2, return_indices=True)

    def execute(self, x: jt.Var) -> tuple[jt.Var, jt.Var]:
        x = nn.leaky_relu(self.norm(self.first(x)), 0.1)
        return self.pool(nn.elu(self.second(x), alpha=0.5))


class Decoder(nn.Module):
    """Puts each maximum back to its place and grows the image again."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.unpool = nn.MaxUnpool2d(2, stride=2)
        self.grow = nn.ConvTranspose(width, width, 4, stride=2, padding=1, output_padding=0)
        self.mix = nn.Conv(width, 1, (1, 3), padding=(0, 1))
        self.activation = nn.LeakyReLU(0.2)

    def execute(self, x: jt.Var, indices: jt.Var) -> jt.Var:
        return self.mix(self.activation(self.grow(self.unpool(x, indices))))


class Autoencoder(nn.Module):
    """The two halves and a bottleneck between them."""

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.encoder, self.decoder = Encoder(width), Decoder(width)
        self.code = nn.Linear(4 * width, 4)
        self.spread = nn.Linear(4, 4 * width, bias=False)
        init.xavier_gauss_(self.code.weight, gain=0.5)
        init.constant_(self.code.bias, value=0.1)

    def execute(self, x: jt.Var) -> tuple[jt.Var, jt.Var]:
        maxima, indices = self.encoder(x)
        code = jt.tanh(self.code(maxima.flatten(1)))
        return self.decoder(self.spread(code).reshape(maxima.shape), indices), code


def make_images(count: int) -> jt.Var:
    """8 x 8 images of one bar each, upright or lying, with values from 0 to 1."""
    place = jt.randint(1, 7, shape=(count, 1, 1, 1))
    axis = jt.index((count, 1, 8, 8), dim=3) if count % 2 else jt.index((count, 1, 8, 8), dim=2)
    return jt.exp(-((axis - place).float32()).sqr())


def corrupt(images: jt.Var, share: float) -> jt.Var:
    """Sets a random share of the pixels to zero and adds noise to all."""
    kept = jt.rand_like(images) > share
    return (images * kept + 0.05 * jt.randn_like(images)).clamp(0.0, 1.0)


def main() -> None:
    jt.set_global_seed(1)
    images, model = make_images(4), Autoencoder()
    optimizer = jt.optim.Adam(model.parameters(), lr=0.01, eps=1e-7, betas=(0.8, 0.95), weight_decay=1e-5)
    similar = nn.BCEWithLogitsLoss(pos_weight=jt.array([2.0]))
    for _ in range(3):
        logits, code = model(corrupt(images, 0.2))
        sparse = code.abs().mean() + 0.1 * jt.maximum(code.abs() - 0.9, 0.0).sum()
        loss = similar(logits, images) + 0.01 * sparse
        optimizer.step(loss)
        assert math.isfinite(loss.item())
    model.eval()
    with jt.no_grad():
        restored, code = model(images)
        restored = restored.sigmoid()
        error = nn.mse_loss(restored, images) + nn.l1_loss(restored, images)
        plain = nn.bce_loss(jt.clamp(restored, 1e-4, 1 - 1e-4), images)
    assert error.item() >= 0 and math.isfinite(plain.item())
    assert code.std().item() >= 0 and jt.norm(code, p=1, dim=1).shape == (4,)


if __name__ == "__main__":
    main()
