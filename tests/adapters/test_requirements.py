"""The adapter reads from a refusal what an api lacks on this machine."""

from __future__ import annotations

import pytest
from nightfuzz_searchlib import Adapter

from fuzz_core.adapters import base


@pytest.mark.parametrize(
    ("message", "lack"),
    [
        ("ModuleNotFoundError: No module named 'scipy.sparse'", "needs the package scipy.sparse"),
        ("ImportError: Could not import PIL.Image. The use of `load_img` requires PIL.", "needs the package PIL"),
        ("ImportError: The `plot` function requires the `matplotlib` package.", "needs the package matplotlib"),
        ("ImportError: You must install pydot (`pip install pydot`) for it.", "needs the package pydot"),
        (
            "TypeError: Can't instantiate abstract class Spec with abstract method value_type",
            "is an abstract class: only its subclasses can be used",
        ),
        (
            "NotImplementedError: Initializer subclasses must implement the `__call__()` method.",
            "is an abstract class: only its subclasses can be used",
        ),
        ("ValueError: the shape requires a matrix", ""),
        ("NotImplementedError: not implemented for 'Half'", ""),
    ],
)
def test_a_refusal_that_names_a_requirement(message: str, lack: str) -> None:
    assert base.Adapter.missing_requirement(Adapter(), message) == lack
