"""A model program of fakelib's one layer, and the facts about that layer."""

from __future__ import annotations

from fuzz_core.ir.constraints import Constraint
from fuzz_core.modelgen.moco.facts import Facts, Parameter

PROGRAM = """import numpy as np
import fakelib

data = np.arange(24.0)

x = fakelib.nn.Window(2, stride=1)(data)
x = fakelib.nn.Window(1, stride=2)(x)
x = fakelib.nn.Window(3, stride=1)(x)
outputs = fakelib.nn.Window(1, stride=1)(x)
print("loss", float(outputs.sum()))
"""


def said(argument: str, kind: str, bound: float) -> Constraint:
    """Return what the documentation of fakelib's layer says."""
    text = "width must be positive and stride not negative"
    return Constraint("fakelib.nn.Window", argument, kind, (bound,), text, "docstring")


WINDOW = Facts(
    api="fakelib.nn.Window",
    definition="Every stride-th element, times width.",
    parameters=(
        Parameter(name="width", dtype="int", required=True, constraints=(said("width", "minimum", 1.0),), seen=("2",)),
        Parameter(
            name="stride",
            dtype="int",
            default="1",
            constraints=(said("stride", "minimum", 0.0), said("stride", "maximum", 4.0)),
        ),
    ),
    ranks=(1, 2),
    dtypes=("float32", "float64"),
    returns="tensor",
    example={"width": "2"},
)
