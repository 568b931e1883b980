"""Relations 9 to 15 of table 4: settings that libraries name differently or leave to a default."""

from __future__ import annotations

from fuzz_core.modelgen.gandalf.relations.contract import Defaulted, RelationExample, TableRelation


class Together(TableRelation):
    """Several inputs one by one, or put together for the library to take apart."""

    number = 9
    statement = "I1 ≡ I2 when received multi inputs or automated patched inputs"
    examples = (RelationExample("add", "torch", "torch.stack([a, b]).sum(0)"),)


class Multiplier(Defaulted):
    """A depth multiplier of 1, given explicitly or by default."""

    number = 10
    statement = "I1 ≡ I2 when separable and depthwise set as depth_multiplier = 1 or default"
    arguments = (("depth_multiplier", "1"),)
    examples = (RelationExample("depthwise_conv2d_layer", "tensorflow", "keras.layers.DepthwiseConv2D(k)"),)


class Padded(TableRelation):
    """Padding by the operator, or a tensor that is padded before."""

    number = 11
    statement = "I1 ≡ I2 when padding = 'SAME' or dealing with same padded tensor"
    examples = (RelationExample("conv2d_same", "torch", "F.conv2d(F.pad(x, (k // 2,) * 4), w, b)"),)


class Boxes(TableRelation):
    """A box as one parameter, or as a list of its sides."""

    number = 12
    statement = "I1 ≡ I2 when received box param or box transformed from list param"
    examples = (RelationExample("crop2d", "tensorflow", "keras.layers.Cropping2D("),)


class Momentum(TableRelation):
    """The share of the old statistics, or that of the new ones: both add up to 1."""

    number = 13
    statement = "I1 ≡ I2 when I1.momentum + I2.momentum = 1"
    examples = (RelationExample("batch_norm_running_mean", "torch", "(1 - share) * mean + share * x.mean((0, 2, 3))"),)


class Affine(Defaulted):
    """Scale and shift, given explicitly or by default."""

    number = 14
    statement = "I1 ≡ I2 with affine = True or default affine"
    arguments = (("affine", "True"), ("elementwise_affine", "True"), ("center", "True"), ("scale", "True"))
    examples = (
        RelationExample("batch_norm_layer", "torch", "nn.BatchNorm2d(C, eps=0.0078125, track_running_stats=True)"),
    )


class Tracking(Defaulted):
    """Running statistics, given explicitly or by default."""

    number = 15
    statement = "I1 ≡ I2 with track_running_stats = True or default track_running_stats"
    arguments = (("track_running_stats", "True"),)
    examples = (RelationExample("batch_norm_layer", "torch", "nn.BatchNorm2d(C, eps=0.0078125, affine=True)"),)
