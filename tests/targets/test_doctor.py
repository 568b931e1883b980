"""Tests of the missing parts that doctor reports, and of their remedies."""

from __future__ import annotations

import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from fuzz_core.targets.doctor import DoctorCheck, checks
from fuzz_core.targets.environment import ensure
from fuzz_core.targets.spec import parse_spec

pytestmark = pytest.mark.usefixtures("own_index")


def by_name() -> dict[str, DoctorCheck]:
    return {check.name: check for check in checks()}


def tool(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def test_on_a_bare_machine_each_missing_thing_has_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    found = by_name()
    missing = {name for name, check in found.items() if not check.ok}
    assert {"targets", "gpu", "docker", "gdb", "package index", "terminal"} <= missing
    assert all(check.detail for check in found.values())
    assert all(bool(check.remedy) != check.ok for check in found.values())
    assert not any(check.required for check in found.values() if not check.ok)


def test_tools_that_are_there_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/bin")
    tool(tmp_path / "bin", "nvidia-smi", "echo 'NVIDIA H200, 580.1'")
    tool(tmp_path / "bin", "docker", "echo 27.1")
    tool(tmp_path / "bin", "gdb", "exit 0")
    found = by_name()
    assert (found["gpu"].ok, found["gpu"].detail) == (True, "NVIDIA H200, 580.1")
    assert (found["docker"].ok, found["docker"].detail) == (True, "engine 27.1")
    assert (found["gdb"].ok, found["gdb"].detail) == (True, str(tmp_path / "bin" / "gdb"))


def test_an_engine_that_does_not_answer_is_told_from_one_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert by_name()["docker"].detail == "not installed"
    tool(tmp_path / "bin", "docker", "exit 1")
    assert by_name()["docker"].detail == "the engine does not answer"


def test_a_compiler_is_looked_for_where_a_library_compiles_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    for other in (None, "fakelib==1.0", "no target", "torch"):
        assert "compiler" not in {check.name for check in checks(configured=other)}
    found = {check.name: check for check in checks(configured="jittor==1.3.11.0")}["compiler"]
    assert (found.ok, found.detail) == (
        False, "no C++ compiler (g++), no headers of this Python (Python.h), for jittor",
    )  # fmt: skip
    assert found.remedy == "on Debian: apt install g++; on Debian: apt install python3-dev"
    tool(tmp_path / "bin", "g++", "exit 0")
    (tmp_path / "Python.h").touch()
    assert {check.name: check.ok for check in checks(configured="jittor")}["compiler"]


def test_made_targets_are_listed(make_wheel: Callable[..., Path]) -> None:
    make_wheel("1.0")
    target = ensure(parse_spec("fakelib==1.0"))
    assert by_name()["targets"].detail == target.key


def test_a_cache_that_can_not_be_written_stops_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NIGHTFUZZ_CACHE", str(tmp_path / "file"))
    cache = by_name()["cache"]
    assert (cache.ok, cache.required) == (False, True)
    assert "NIGHTFUZZ_CACHE" in cache.remedy
