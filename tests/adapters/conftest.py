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
    """Returns the interpreter of a new environment that holds numpy alone."""
    venv.create(home, symlinks=True)
    for folder in Path(np.__file__).parent.parent.glob("numpy*"):
        (packages_of(home) / folder.name).symlink_to(folder)
    return home / "bin" / "python"


def packages_of(home: Path) -> Path:
    """Returns the folder of an environment's packages."""
    return Path(sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)}))


@pytest.fixture(scope="session")
def numpy_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with numpy."""
    return with_numpy(tmp_path_factory.mktemp("numpy") / "env")


@pytest.fixture
def faulty_python(tmp_path: Path) -> Path:
    """An interpreter whose numpy has a bug: `linalg.norm` refuses an array without elements."""
    python = with_numpy(tmp_path / "env")
    (packages_of(tmp_path / "env") / "planted.py").write_text(dedent(PLANTED))
    (packages_of(tmp_path / "env") / "planted.pth").write_text("import planted\n")
    return python


@pytest.fixture
def numpylib(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of numpy's adapter, made known to the controller and to targets as a place of adapters.

    The folder is on no other test's path: every interpreter holds numpy beside its library, so each would find this
    adapter.
    """
    monkeypatch.syspath_prepend(NUMPYLIB)
    monkeypatch.setenv("NIGHTFUZZ_PATH", str(NUMPYLIB))
    return NUMPYLIB
