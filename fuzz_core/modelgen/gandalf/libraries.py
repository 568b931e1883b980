"""Templates of the code that a program of each library has besides its operators."""

from __future__ import annotations

from typing import NamedTuple

from fuzz_core.modelgen.gandalf.table import Library


class Writing(NamedTuple):
    """Templates of the start of a program, of small expressions, and of further calls of the model in one library."""

    start: str  # the first lines; {precision} is float32 or float64
    tensor: str  # a tensor from a numpy array, whose dtype it keeps
    move: str  # a tensor with its axes in another order
    integer: str  # the dtype of integers unless an operator names another one
    cast: str  # a tensor in another dtype
    sum: str  # the sum of all elements
    # Statements that compute `gradients` of {loss} in a step of training. The loss is a function of `made`, the model's
    # results for `values`; a gradient may be None.
    step: str
    compiled: str  # a statement that computes `made` by the compiled model


WRITINGS: dict[Library, Writing] = {
    "torch": Writing(
        start="import numpy as np\nimport torch\nfrom torch import nn\nfrom torch.nn import functional as F\n\n"
        "torch.set_grad_enabled(False)\ntorch.set_default_dtype(torch.{precision})\n",
        tensor="torch.tensor({array})",
        move="{tensor}.permute({axes})",
        cast="{tensor}.to(torch.{dtype})",
        integer="int64",
        sum="({}).sum()",
        step="torch.set_grad_enabled(True)\nvalues = [each.clone().requires_grad_() for each in {values}]\n"
        "made = model(*values)\nloss = {loss}\ngradients = [None] * len(values)\n"
        "if loss.requires_grad:\n    gradients = torch.autograd.grad(loss, values, allow_unused=True)",
        compiled='made = torch.compile(model, backend="aot_eager", dynamic=False)({values})',
    ),
    "tensorflow": Writing(
        start="import numpy as np\nimport tensorflow as tf\nfrom tensorflow import keras\n\n"
        'keras.backend.set_floatx("{precision}")\nkeras.mixed_precision.set_global_policy("{precision}")\n',
        tensor="tf.constant({array})",
        move="tf.transpose({tensor}, {axes})",
        cast="tf.cast({tensor}, tf.{dtype})",
        integer="int32",
        sum="tf.reduce_sum({})",
        step="values = [tf.identity(each) for each in {values}]\nwith tf.GradientTape() as tape:\n"
        "    tape.watch(values)\n    made = model(*values)\n    loss = {loss}\n"
        "gradients = [each if each is None else tf.convert_to_tensor(each) for each in tape.gradient(loss, values)]",
        compiled="made = tf.function(model)({values})",
    ),
    "jittor": Writing(
        # Eager execution compiles an operator once for all graphs; lazy execution compiles them together, anew for each
        # graph.
        start="import jittor as jt\nimport numpy as np\nfrom jittor import nn\n\njt.flags.lazy_execution = 0\n",
        tensor="jt.array({array}, {dtype!r})",
        move="{tensor}.permute({axes})",
        cast="{tensor}.{dtype}()",
        integer="int32",
        sum="({}).sum()",
        step="values = [each.clone() for each in {values}]\nmade = model(*values)\nloss = {loss}\n"
        "gradients = jt.grad(loss, values)",
        compiled="with jt.flag_scope(lazy_execution=1):\n    made = model({values})",
    ),
}
