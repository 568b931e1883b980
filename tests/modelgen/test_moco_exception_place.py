"""Tests that the place where an error arose shows whether the error was raised on purpose."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pytest

from fuzz_core.worker.programs_exception import PROGRAM, raised

LIBRARY = """
import fractions

def said(x):
    raise ValueError(x)

def said_wrongly(x):
    raise ValueError(x.no)

def kept(x):
    assert x > 5, x

def kept_wrongly(x):
    assert x.no

def one_line(x):
    if x: raise ValueError

def shared(x):
    return fractions.Fraction(x, 0)

def within(x):
    return [1 // n for n in (x, 0)]

class Layer:
    def __getattr__(self, name):
        raise AttributeError(name)

def looked(x):
    return Layer().no

def refused(x):
    return np.zeros(-x)

def tensors(x):
    y = np.ones(3)
    return y + np.ones(4)

def made(x):
    return np.dtype([x])

class Plain:
    def __init__(self):
        pass

def made_wrongly(x):
    return Plain(x)

def made_of_python(x):
    return int([x])

def recurs(x):
    return recurs(x + 1)

def asked(x):
    if np.ones(3) > x:
        return x

def raised_on(x):
    try:
        return int([x])
    except TypeError:
        raise

def rethrown(x):
    try:
        return np.ones(2).argmax(axis=5)
    except ZeroDivisionError as error:
        return error

def again(x):
    try:
        said(x)
    except ValueError as error:
        raise RuntimeError("other") from error
"""


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("said", "raise"),
        ("said_wrongly", "expression"),
        ("kept", "assert"),
        ("kept_wrongly", "expression"),
        ("one_line", "raise"),
        ("shared", "expression"),
        ("within", "expression"),
        ("looked", "expression"),
        ("refused", "call"),
        ("tensors", "call"),
        ("made", "call"),
        ("made_wrongly", "expression"),
        ("made_of_python", "expression"),
        ("again", "raise"),
        ("asked", "expression"),
        ("raised_on", "expression"),
        ("recurs", "expression"),
    ],
)
def test_whether_somebody_meant_an_error_is_told_by_where_it_arose(name: str, how: str, tmp_path: Path) -> None:
    file = tmp_path / "library.py"
    file.write_text(LIBRARY)
    names: dict[str, Any] = {"np": np}
    exec(compile(LIBRARY, str(file), "exec"), names)
    with pytest.raises(Exception) as caught:
        exec(compile(f"library['{name}'](1)", PROGRAM, "exec"), {"library": names})
    told = raised(caught.value)
    assert (told.how, told.line) == (how, 1)
    assert any(str(file) in frame for frame in told.frames)


def test_whether_an_error_was_raised_on_purpose_needs_no_source() -> None:
    names: dict[str, Any] = {}
    exec(compile("def said(x):\n    raise ValueError(x)\n", "gone.py", "exec"), names)
    with pytest.raises(ValueError) as caught:
        exec(compile("said(1)", PROGRAM, "exec"), names)
    assert raised(caught.value).how == "raise"


def test_an_error_of_another_class_than_pythons_is_no_accident_whatever_its_frame_was_at_last(tmp_path: Path) -> None:
    """TensorFlow makes such tracebacks: new entries, with the last instruction of their frames."""
    file = tmp_path / "library.py"
    file.write_text(LIBRARY)
    names: dict[str, Any] = {"np": np}
    exec(compile(LIBRARY, str(file), "exec"), names)
    with pytest.raises(Exception) as caught:
        exec(compile("library['rethrown'](1)", PROGRAM, "exec"), {"library": names})
    outer: Any = caught.value.__traceback__
    while outer.tb_next.tb_next is not None:
        outer = outer.tb_next
    inner = outer.tb_next
    outer.tb_next = TracebackType(None, inner.tb_frame, inner.tb_frame.f_lasti, inner.tb_lineno)
    assert raised(caught.value).how == "call"
