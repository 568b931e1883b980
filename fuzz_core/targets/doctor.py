"""Checks of this machine: the parts that a run needs or can use, with remedies. Imports no library."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fuzz_core.ir.errors import UserError
from fuzz_core.targets import environment, facts, index, installer, process
from fuzz_core.targets.record import CACHE_VARIABLE, list_targets, lock_of, targets_root
from fuzz_core.targets.spec import parse_spec

ENOUGH_BYTES = 3_000_000_000
_TOOL_TIMEOUT_S = 15.0
_ASKED_OF_INDEX = "expecttest"


class DoctorCheck(NamedTuple):
    """The result of one check of this machine.

    `remedy` is empty if it is `ok`. Every run needs a `required` one.
    """

    name: str
    ok: bool
    detail: str
    remedy: str = ""
    required: bool = False


def checks(configured: str | None = None) -> list[DoctorCheck]:
    """Look at everything, in the order in which a user would repair it.

    Takes a few seconds at most.

    Args:
        configured: the spec of the target that runs are meant for, where there is one.
    """
    required = [_python(), _installer(), _cache()]
    needs = [*_needs(), *_tools(), *_compilers(configured), _terminal()]
    return [
        each._replace(remedy="" if each.ok else each.remedy, required=each in required) for each in [*required, *needs]
    ]


def _python() -> DoctorCheck:
    version = ".".join(map(str, sys.version_info[:3]))
    has_venv = importlib.util.find_spec("venv") is not None
    detail = f"Python {version}" + ("" if has_venv else " without venv")
    return DoctorCheck("python", has_venv, detail, "on Debian: apt install python3-venv")


def _installer() -> DoctorCheck:
    """Check pip, and whether uv does the installing."""
    try:
        told = _output([*installer.pip_command(), "--version"])
        detail = f"uv ({shutil.which('uv')})" if installer.uses_uv() else " ".join((told or "pip").split()[:2])
    except UserError as error:
        return DoctorCheck("installer", False, error.problem, error.remedy)
    return DoctorCheck("installer", told is not None, detail, "repair pip: python -m ensurepip")


def _cache() -> DoctorCheck:
    """Check that targets can be written where they are kept."""
    try:
        lock_of(targets_root(), "doctor")
    except UserError as error:
        return DoctorCheck("cache", False, error.problem, error.remedy)
    return DoctorCheck("cache", True, str(targets_root()))


def _needs() -> Iterator[DoctorCheck]:
    """Check free space, the index, and the targets that are made."""
    home = targets_root()
    free = shutil.disk_usage(next(folder for folder in (home, *home.parents) if folder.exists())).free
    remedy = f"free some space or set {CACHE_VARIABLE} to another disk: a target takes 1 to 10 GB"
    yield DoctorCheck("disk", free >= ENOUGH_BYTES, f"{free / 1e9:.1f} GB free for targets", remedy)
    remedy = "check the network and pip's settings; without an index, use a wheel file or python:/path/to/bin/python"
    try:
        # List a small package that every torch target needs, without a download.
        found = index.listed(index.sources(), _ASKED_OF_INDEX, hasty=True)
        yield DoctorCheck(
            "package index",
            bool(found),
            "reachable" if found else f"the index lists no file of {_ASKED_OF_INDEX}",
            remedy,
        )
    except UserError as error:
        yield DoctorCheck("package index", False, error.problem.splitlines()[0], remedy)
    keys = ", ".join(target.key for target in list_targets())
    yield DoctorCheck("targets", bool(keys), keys or "no target is made yet", "make one: nightfuzz pull torch==2.13.0")


def _tools() -> Iterator[DoctorCheck]:
    """Check the driver of NVIDIA devices, a Docker engine, and gdb, which names the native frames of a crash."""
    gpus = _output(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"])
    remedy = "no GPU is needed; for GPU modes, install NVIDIA's driver, then `nightfuzz pull --flavour cuda`"
    yield DoctorCheck("gpu", bool(gpus), "; ".join((gpus or "no NVIDIA device").splitlines()), remedy)
    engine = _output(["docker", "info", "--format", "{{.ServerVersion}}"])
    problem = "the engine does not answer" if shutil.which("docker") else "not installed"
    remedy = "Docker is needed only for --sandbox: install Docker, start it, and join its group"
    yield DoctorCheck("docker", bool(engine), f"engine {engine}" if engine else problem, remedy)
    gdb = shutil.which("gdb") or ""
    yield DoctorCheck(
        "gdb", bool(gdb), gdb or "not installed", "on Debian: apt install gdb (it names the C++ functions of a crash)"
    )


def _compilers(configured: str | None) -> Iterator[DoctorCheck]:
    """Check the compiler and Python's headers if a library in use compiles itself; otherwise yield no check."""
    libraries = {target.library for target in list_targets()}
    with contextlib.suppress(UserError):
        libraries |= {parse_spec(configured).library or ""} - {""} if configured else set()
    if needing := sorted(filter(facts.compiles, libraries)):
        lacking = environment.missing_compiler()
        found = ", ".join(lacking) or f"{shutil.which(environment.COMPILER)} and Python's headers"
        detail = f"{found}, for {', '.join(needing)}"
        yield DoctorCheck("compiler", not lacking, detail, "; ".join(lacking.values()))


def _terminal() -> DoctorCheck:
    """Check that progress can be drawn."""
    good = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    size = shutil.get_terminal_size()
    detail = f"{size.columns} x {size.lines}" if good else "none: progress is printed as plain lines"
    return DoctorCheck("terminal", good, detail, "run in a terminal, with TERM set (not needed in CI)")


def _output(command: Sequence[str]) -> str | None:
    """Return the output of a system tool in the user's whole environment; None if the tool fails.

    Docker's tools need variables such as DOCKER_HOST.
    """
    try:
        done = process.run(command, _TOOL_TIMEOUT_S, os.environ)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
