"""Tests that the files a library compiles take a bounded place, and that the oldest files are removed first."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fuzz_core.adapters.dialect import COMPILED_VARIABLE, compiled
from fuzz_core.targets.environment import prune


def filled(folder: Path, ages: list[int]) -> list[Path]:
    """Writes operators of ten bytes with these ages in seconds, and a core that is no operator."""
    operators = folder / ".cache" / "core" / "jit"
    operators.mkdir(parents=True)
    (folder / ".cache" / "core" / "core.so").write_bytes(b"c" * 100)
    made = [operators / f"op{number}.so" for number in range(len(ages))]
    for path, age in zip(made, ages, strict=True):
        path.write_bytes(b"o" * 10)
        os.utime(path, (10_000 - age, 10_000 - age))
    return made


def test_the_oldest_operators_go_until_the_rest_fits(tmp_path: Path) -> None:
    made = filled(tmp_path, [5, 30, 20, 10])
    assert prune(tmp_path, 25) == 2
    assert [path.exists() for path in made] == [True, False, False, True]
    assert (tmp_path / ".cache" / "core" / "core.so").exists()


def test_what_fits_stays(tmp_path: Path) -> None:
    made = filled(tmp_path, [1, 2])
    assert prune(tmp_path, 20) == 0
    assert all(path.exists() for path in made)


def test_links_are_neither_followed_nor_removed(tmp_path: Path) -> None:
    made = filled(tmp_path / "cache", [1])
    outside = tmp_path / "outside"
    outside.write_bytes(b"x" * 1000)
    (made[0].parent / "link.so").symlink_to(outside)
    prune(tmp_path / "cache", 0)
    assert outside.exists()
    assert not made[0].exists()


def test_an_environment_keeps_its_own_and_another_interpreter_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "env" / "bin" / "python"
    python.parent.mkdir(parents=True)
    assert compiled(python) == Path.home()
    (tmp_path / "env" / "pyvenv.cfg").touch()
    assert compiled(python) == tmp_path / "env" / "compiled"
    monkeypatch.setenv(COMPILED_VARIABLE, str(tmp_path / "elsewhere"))
    assert compiled(python).parent == tmp_path / "elsewhere"
    assert compiled(python) != compiled(tmp_path / "other" / "bin" / "python")
