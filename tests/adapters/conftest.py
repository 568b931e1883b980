"""Interpreters that hold a library, for tests of its adapter."""

from __future__ import annotations

import sysconfig
import venv
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

PLANTED = """
    import functools
    import numpy

    plain = numpy.linalg.norm

    @functools.wraps(plain)
    def norm(x, *args, **kwargs):
        if numpy.size(x) == 0:
            raise SystemError("norm returned NULL without setting an exception")
        return plain(x, *args, **kwargs)

    numpy.linalg.norm = norm
"""
NUMPYLIB = Path(__file__).parents[1] / "common" / "numpylib"


def with_numpy(home: Path) -> Path:
    """The interpreter of a new environment with numpy, and nothing else."""
    venv.create(home, symlinks=True)
    for folder in Path(np.__file__).parent.parent.glob("numpy*"):
        (packages_of(home) / folder.name).symlink_to(folder)
    return home / "bin" / "python"


def packages_of(home: Path) -> Path:
    """Where an environment has its packages."""
    return Path(sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)}))


@pytest.fixture(scope="session")
def numpy_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with numpy."""
    return with_numpy(tmp_path_factory.mktemp("numpy") / "env")


@pytest.fixture
def faulty_python(tmp_path: Path) -> Path:
    """One with a numpy whose `linalg.norm` has a bug: it takes no array without elements."""
    python = with_numpy(tmp_path / "env")
    (packages_of(tmp_path / "env") / "planted.py").write_text(dedent(PLANTED))
    (packages_of(tmp_path / "env") / "planted.pth").write_text("import planted\n")
    return python


@pytest.fixture
def numpylib(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of numpy's adapter, where controller and targets look for adapters.

    No other test has it there: every interpreter holds numpy beside its library.
    """
    monkeypatch.syspath_prepend(NUMPYLIB)
    monkeypatch.setenv("NIGHTFUZZ_PATH", str(NUMPYLIB))
    return NUMPYLIB
