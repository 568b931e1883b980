"""A model program of fakelib's one layer, and the facts about that layer."""

from __future__ import annotations

from fuzz_core.modelgen.moco.facts import Facts, NumberRange, Origin, Parameter

PROGRAM = """import numpy as np
import fakelib

data = np.arange(24.0)

x = fakelib.nn.Window(2, stride=1)(data)
x = fakelib.nn.Window(1, stride=2)(x)
x = fakelib.nn.Window(3, stride=1)(x)
outputs = fakelib.nn.Window(1, stride=1)(x)
print("loss", float(outputs.sum()))
"""
SAID = Origin(source="docstring", text="width must be positive and stride not negative")
WINDOW = Facts(
    api="fakelib.nn.Window",
    definition="Every stride-th element, times width.",
    parameters=(
        Parameter(name="width", dtype="int", required=True, bounds=(NumberRange(least=1, origin=SAID),), seen=("2",)),
        Parameter(name="stride", dtype="int", default="1", bounds=(NumberRange(least=0, most=4, origin=SAID),)),
    ),
    ranks=(1, 2),
    dtypes=("float32", "float64"),
    returns="tensor",
    example={"width": "2"},
)
