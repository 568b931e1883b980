"""What programs look like in each library, besides its operators."""

from __future__ import annotations

from typing import NamedTuple

from fuzz_core.modelgen.gandalf.table import Library


class Writing(NamedTuple):
    """start: the first lines; {precision} is float32 or float64. tensor: of a numpy array, whose dtype it keeps. move:
    a tensor with its axes in another order. integer: the dtype of integers where nothing else is said. cast: a
    tensor in another dtype.
    """

    start: str
    tensor: str
    move: str
    integer: str
    cast: str


WRITINGS: dict[Library, Writing] = {
    "torch": Writing(
        start="import numpy as np\nimport torch\nfrom torch import nn\nfrom torch.nn import functional as F\n\n"
        "torch.set_grad_enabled(False)\ntorch.set_default_dtype(torch.{precision})\n",
        tensor="torch.tensor({array})",
        move="{tensor}.permute({axes})",
        cast="{tensor}.to(torch.{dtype})",
        integer="int64",
    ),
    "tensorflow": Writing(
        start="import numpy as np\nimport tensorflow as tf\nfrom tensorflow import keras\n\n"
        'keras.config.set_floatx("{precision}")\nkeras.config.set_dtype_policy("{precision}")\n',
        tensor="tf.constant({array})",
        move="tf.transpose({tensor}, {axes})",
        cast="tf.cast({tensor}, tf.{dtype})",
        integer="int32",
    ),
    "jittor": Writing(
        start="import jittor as jt\nimport numpy as np\nfrom jittor import nn\n",
        tensor="jt.array({array}, {dtype!r})",
        move="{tensor}.permute({axes})",
        cast="{tensor}.{dtype}()",
        integer="int32",
    ),
}
