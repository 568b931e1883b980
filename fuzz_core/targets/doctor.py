"""What is here of what a run needs or could use, and the remedy for what is missing. Imports no library."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fuzz_core.ir.errors import UserError
from fuzz_core.targets import compiler, index, installer, process
from fuzz_core.targets.record import CACHE_VARIABLE, list_targets, lock_of, targets_root
from fuzz_core.targets.spec import parse_spec

ENOUGH_BYTES = 3_000_000_000
_TOOL_TIMEOUT_S = 15.0
_ASKED_OF_INDEX = "expecttest"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at. `remedy` is empty where it is `ok`; without a `required` one nothing runs."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""
    required: bool = False


def checks(root: Path | None = None, configured: str | None = None) -> list[Check]:
    """Looks at everything, in the order in which a user would repair it. Takes a few seconds at most.

    configured: the spec of the target that runs are meant for, where there is one.
    """
    home = targets_root(root)
    return [
        check_python(),
        check_installer(),
        check_cache(home),
        check_disk(home),
        check_index(),
        check_targets(home),
        check_gpu(),
        check_docker(),
        check_gdb(),
        *check_compilers(home, configured),
        check_terminal(),
    ]


def check_python() -> Check:
    """This Python, which targets are made with, and its venv module."""
    version = ".".join(map(str, sys.version_info[:3]))
    has_venv = importlib.util.find_spec("venv") is not None
    detail = f"Python {version}" + ("" if has_venv else " without venv")
    return _check("python", has_venv, detail, "on Debian: apt install python3-venv", required=True)


def check_installer() -> Check:
    """pip, and whether uv does the installing."""
    try:
        told = _output([*installer.pip_command(), "--version"])
        detail = f"uv ({shutil.which('uv')})" if installer.uses_uv() else " ".join((told or "pip").split()[:2])
    except UserError as error:
        return Check("installer", False, error.problem, error.remedy, required=True)
    return _check("installer", told is not None, detail, "repair pip: python -m ensurepip", required=True)


def check_cache(home: Path) -> Check:
    """Whether targets can be written where they are kept."""
    try:
        lock_of(home, "doctor")
    except UserError as error:
        return Check("cache", False, error.problem, error.remedy, required=True)
    return Check("cache", True, str(home), required=True)


def check_disk(home: Path) -> Check:
    """Free space where targets are kept."""
    there = next(folder for folder in (home, *home.parents) if folder.exists())
    free = shutil.disk_usage(there).free
    remedy = f"free some space or set {CACHE_VARIABLE} to another disk: a target takes 1 to 10 GB"
    return _check("disk", free >= ENOUGH_BYTES, f"{free / 1e9:.1f} GB free for targets", remedy)


def check_index() -> Check:
    """Whether pip finds a small package that every torch target needs: one listing, no download."""
    remedy = "check the network and pip's settings; without an index, use a wheel file or python:/path/to/bin/python"
    try:
        found = index.listed(index.sources(), _ASKED_OF_INDEX, hasty=True)
    except UserError as error:
        return Check("package index", False, error.problem.splitlines()[0], remedy)
    return _check("package index", bool(found), "reachable" if found else "it answers with nothing", remedy)


def check_targets(home: Path) -> Check:
    """The targets that are made."""
    keys = [target.key for target in list_targets(home)]
    return _check("targets", bool(keys), ", ".join(keys) or "none made yet", "make one: nightfuzz pull torch==2.13.0")


def check_gpu() -> Check:
    """NVIDIA devices, as their driver names them."""
    told = _output(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"])
    remedy = "none is needed; for the GPU modes, install NVIDIA's driver and pull a CUDA flavour"
    return _check("gpu", bool(told), "; ".join((told or "no NVIDIA device").splitlines()), remedy)


def check_docker() -> Check:
    """A Docker engine that this user may talk to."""
    told = _output(["docker", "info", "--format", "{{.ServerVersion}}"])
    problem = "the engine does not answer" if shutil.which("docker") else "not installed"
    remedy = "none is needed; for the sandbox, install Docker, start it and join its group"
    return _check("docker", bool(told), f"engine {told}" if told else problem, remedy)


def check_gdb() -> Check:
    """gdb, which names the native frames of a crash."""
    found = shutil.which("gdb")
    return _check(
        "gdb", found is not None, found or "not installed", "on Debian: apt install gdb (signatures by frame)"
    )


def check_compilers(home: Path, configured: str | None) -> list[Check]:
    """A compiler and Python's headers, where a library is used that compiles itself; else nothing is looked at."""
    libraries = {target.library for target in list_targets(home)}
    with contextlib.suppress(UserError):
        libraries |= {parse_spec(configured).library or ""} - {""} if configured else set()
    needing = sorted(filter(compiler.compiles, libraries))
    if not needing:
        return []
    lacking = compiler.missing()
    found = ", ".join(lacking) or f"{shutil.which(compiler.COMPILER)} and Python's headers"
    return [_check("compiler", not lacking, f"{found}, for {', '.join(needing)}", "; ".join(lacking.values()))]


def check_terminal() -> Check:
    """Whether progress can be drawn."""
    good = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    size = shutil.get_terminal_size()
    detail = f"{size.columns} x {size.lines}" if good else "none: progress comes as plain lines"
    return _check("terminal", good, detail, "nothing to do in CI; otherwise run in a terminal, with TERM set")


def _check(name: str, ok: bool, detail: str, remedy: str, required: bool = False) -> Check:
    return Check(name, ok, detail, "" if ok else remedy, required)


def _output(command: Sequence[str]) -> str | None:
    """What a tool of the system says, in the user's whole environment (DOCKER_HOST counts); None where it fails."""
    try:
        done = process.run(command, _TOOL_TIMEOUT_S, os.environ)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
