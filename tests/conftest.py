"""Fixtures that tests of every package share."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz_core.targets.environment import ensure
from fuzz_core.targets.installer import IndexUnreachable
from fuzz_core.targets.spec import parse_spec


def _interpreter(spec: str) -> Path:
    """The real library, installed once per user and reused (locked, so that parallel test processes may ask)."""
    try:
        return ensure(parse_spec(spec), "cpu").python
    except IndexUnreachable as error:
        pytest.skip(f"{spec} is not installed as a target and can't be: {error.problem}")


@pytest.fixture(scope="session")
def torch_python() -> Path:
    """An interpreter with torch 2.13.0, numpy, expecttest, scipy and pytest."""
    return _interpreter("torch==2.13.0")


@pytest.fixture(scope="session")
def tensorflow_python() -> Path:
    """An interpreter with TensorFlow 2.21.0, keras and pytest."""
    return _interpreter("tensorflow-cpu==2.21.0")
