"""A video classifier: three-dimensional convolutions, a convolutional LSTM and the direction of a moving dot."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMES, SIZE, DIRECTIONS = 4, 8, 4


class FactorisedConv(nn.Module):
    """A spatial and a temporal convolution in place of a full one."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.spatial = nn.Conv3d(inputs, outputs, kernel_size=(1, 3, 3), padding=(0, 1, 1), bias=False)
        self.temporal = nn.Conv3d(outputs, outputs, (3, 1, 1), stride=(1, 1, 1), padding=(1, 0, 0), groups=2)
        self.norm = nn.BatchNorm3d(outputs, momentum=0.2)
        self.drop = nn.Dropout3d(0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.drop(F.elu(self.norm(self.temporal(self.spatial(x))), alpha=0.8))


class ConvLstm(nn.Module):
    """An LSTM whose gates are convolutions."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.gates = nn.Conv2d(inputs + hidden, 4 * hidden, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = cell = x.new_zeros((x.shape[0], self.hidden, *x.shape[-2:]))
        for frame in torch.unbind(x, dim=2):
            gates = self.gates(torch.cat([frame, state], dim=1))
            enter, forget, leave, fresh = gates.tensor_split(4, dim=1)
            cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(fresh)
            state = F.sigmoid(leave) * F.tanh(cell)
        return state


class VideoNet(nn.Module):
    """Both kinds of block, pooling over time and space, and a linear head."""

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.pad = nn.ReplicationPad3d((1, 1, 1, 1, 0, 0))
        self.blocks = nn.Sequential(FactorisedConv(1, width), nn.MaxPool3d((1, 2, 2)), FactorisedConv(width, width))
        self.memory = ConvLstm(width, width)
        self.smooth = nn.AvgPool3d(kernel_size=2, stride=(1, 2, 2), padding=0, ceil_mode=True)
        self.head = nn.Linear(3 * width, DIRECTIONS)

    def forward(self, clips: torch.Tensor) -> torch.Tensor:
        x = self.blocks(self.pad(clips))
        last = F.adaptive_avg_pool2d(self.memory(x), 1).flatten(1)
        mean = F.adaptive_avg_pool3d(self.smooth(x), output_size=1).flatten(start_dim=1)
        peak = nn.AdaptiveMaxPool3d((1, 1, 1))(x).reshape(len(clips), -1)
        return self.head(torch.cat([last, mean, peak], dim=-1))


class NextFrame(nn.Module):
    """Predicts the clip one step later: shrunk, normalised and grown back by a transposed convolution."""

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.shrink = nn.Conv3d(1, width, 2, stride=2, padding_mode="zeros")
        self.grow = nn.ConvTranspose3d(width, 1, kernel_size=2, stride=2, output_padding=(0, 0, 0))
        self.norm = nn.InstanceNorm3d(width, affine=False)

    def forward(self, clips: torch.Tensor) -> torch.Tensor:
        x = self.grow(F.logsigmoid(self.norm(self.shrink(clips))))
        return F.interpolate(x, scale_factor=(1.0, 1.0, 1.0), mode="trilinear", align_corners=False)


def make_clips(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Clips (count, 1, FRAMES, SIZE, SIZE) of a dot that moves up, right, down or left."""
    labels = torch.randint(DIRECTIONS, [count])
    steps = torch.tensor([[-1, 0], [0, 1], [1, 0], [0, -1]])[labels]
    time = torch.arange(FRAMES).view(1, FRAMES, 1)
    places = torch.remainder(torch.randint(0, SIZE, (count, 1, 2)) + time * steps.unsqueeze(1), SIZE)
    flat = places[..., 0] * SIZE + places[..., 1]
    clips = torch.zeros(count, FRAMES, SIZE * SIZE).scatter(2, flat.unsqueeze(-1), 1.0)
    return clips.view(count, 1, FRAMES, SIZE, SIZE), labels


def main() -> None:
    torch.manual_seed(0)
    clips, labels = make_clips(4)
    model, forecast = VideoNet(), NextFrame()
    optimizer = torch.optim.RMSprop([*model.parameters(), *forecast.parameters()], 1e-3, momentum=0.5, eps=1e-6)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 2], gamma=0.5)
    for _ in range(3):
        optimizer.zero_grad(set_to_none=False)
        loss = F.cross_entropy(model(clips), labels, label_smoothing=0.1)
        loss = loss + F.l1_loss(forecast(clips), torch.roll(clips, shifts=-1, dims=2))
        loss.backward()
        optimizer.step()
        scheduler.step()
        assert math.isfinite(loss.item())
    with torch.no_grad():
        chances = F.softmin(-model.eval()(clips), dim=1)
        best, where = torch.max(chances, dim=1, keepdim=True)
    motion = torch.gradient(clips, dim=2, edge_order=1)[0].abs().amax(dim=(1, 2))
    assert torch.equal(chances.gather(1, where), best) and motion.shape == (4, SIZE, SIZE)


if __name__ == "__main__":
    main()
