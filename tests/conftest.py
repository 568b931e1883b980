"""Fixtures that tests of every package share."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz_core.targets.build import has_gpu
from fuzz_core.targets.environment import ensure
from fuzz_core.targets.installer import IndexUnreachable
from fuzz_core.targets.spec import parse_spec


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests marked `gpu` are skipped where there is none."""
    for item in items:
        if item.get_closest_marker("gpu") and not has_gpu():
            item.add_marker(pytest.mark.skip(reason="no NVIDIA GPU on this machine"))


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
