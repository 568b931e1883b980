"""From a spec to one exact build: version, flavour and where to get it.

Flavours. The configured index is asked first, and only torch needs more: on Linux its plain build is the CUDA one. A
CPU build wanted and not there is looked for in PyTorch's own index, once, with a short timeout. If that gives nothing
either, `auto` takes the plain build (it runs without a GPU) and says so, `cpu` refuses before anything is downloaded.
TensorFlow's plain build serves both; `cuda` adds the CUDA libraries as its extra.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename
from packaging.version import Version

from fuzz_core.adapters.library import library_of
from fuzz_core.ir.errors import UserError
from fuzz_core.targets import installer
from fuzz_core.targets.artifact import Artifact
from fuzz_core.targets.spec import TargetSpec

Flavour = Literal["auto", "cpu", "cuda"]
FLAVOURS: tuple[Flavour, ...] = ("auto", "cpu", "cuda")

TORCH_INDEX_VARIABLE = "NIGHTFUZZ_TORCH_INDEX"
_TORCH_INDEX = "https://download.pytorch.org/whl"
_HASTY = ("--retries", "0", "--timeout", "10")
_HASTY_S = 60.0


@dataclass(frozen=True)
class Build:
    """What is going to be installed: requirement lines, options for the installer, what the user should know.

    artifact: the file of an index that it is, where it was chosen there; `requirement` is its name then.
    """

    key: str
    version: Version
    requirement: str
    options: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    artifact: Artifact | None = None


def torch_index() -> str:
    """The address under which PyTorch keeps its indexes, one for each flavour."""
    return os.environ.get(TORCH_INDEX_VARIABLE, _TORCH_INDEX).rstrip("/")


def has_gpu() -> bool:
    """Whether this machine shows an NVIDIA GPU; looked at, not asked, as asking takes seconds."""
    return shutil.which("nvidia-smi") is not None or Path("/dev/nvidia0").exists()


def wanted_flavour(spec: TargetSpec, flavour: Flavour) -> str:
    """`cpu` or `cuda`: what `auto` means for this spec on this machine. Raises UserError for a contradiction."""
    if flavour not in FLAVOURS:
        raise UserError(f"unknown flavour {flavour!r}", f"choose one of: {', '.join(FLAVOURS)}")
    named = _named_flavour(spec)
    if named and flavour not in ("auto", named):
        raise UserError(f"{spec.text} names a {named} build, the flavour asked for is {flavour}", "drop one of the two")
    if flavour == "auto":
        return named or ("cuda" if has_gpu() else "cpu")
    return flavour


def _named_flavour(spec: TargetSpec) -> str | None:
    """The flavour that the spec itself says: `tensorflow-cpu`, `torch==2.13.0+cpu`, `torch-nightly/cu130`."""
    local = Version(spec.version).local if spec.version and spec.kind != "wheel" else None
    if (spec.distribution or "").endswith("-cpu") or "cpu" in (local, spec.label):
        return "cpu"
    if spec.label:
        return "cuda"
    return "cuda" if local and local.startswith("cu") else None


def resolve(spec: TargetSpec, flavour: Flavour) -> Build:
    """The exact build that a pin or a wheel file means here.

    Raises UserError for a version or flavour that doesn't exist and for a wheel of another Python,
    installer.IndexUnreachable where the index does not answer.
    """
    return _wheel_build(spec) if spec.kind == "wheel" else _pinned_build(spec, flavour)


def _wheel_build(spec: TargetSpec) -> Build:
    assert spec.path is not None
    _name, version, _build, tags = parse_wheel_filename(spec.path.name)
    ours = list(sys_tags())
    if not tags & set(ours):
        theirs = ", ".join(sorted(map(str, tags)))
        raise UserError(
            f"{spec.path.name} is for another Python or platform: it is tagged {theirs}",
            f"this one takes {ours[0]} and its like; run nightfuzz with the wheel's Python, or build the wheel for it",
        )
    with spec.path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:8]
    key = f"{key_of(str(spec.distribution), str(version), python_tag())}-{digest}"
    return Build(key, version, f"{spec.distribution} @ {spec.path.as_uri()}")


def _pinned_build(spec: TargetSpec, flavour: Flavour) -> Build:
    distribution, wanted = str(spec.distribution), wanted_flavour(spec, flavour)
    known = installer.available(distribution)
    fitting = _fitting(known, spec.version)
    options: tuple[str, ...] = ()
    if library_of(spec.library).own_index and (label := _missing_label(spec, fitting, wanted)):
        options = ("--extra-index-url", f"{torch_index()}/{label}")
        elsewhere = _asked_hastily(distribution, options)
        known, fitting = known + elsewhere, fitting + _labelled(elsewhere, fitting, spec.version, label)
    if not fitting:
        raise _no_such_version(spec, known)
    chosen = _chosen(fitting, wanted) if library_of(spec.library).own_index else fitting[0]
    notes = flavour_notes(spec, flavour, wanted, chosen)
    extra = extra_of(spec, wanted)
    key = key_of(distribution + ("-cuda" if extra else ""), str(chosen), python_tag())
    return Build(key, chosen, installer.exactly(distribution + extra, chosen), options, notes)


def extra_of(spec: TargetSpec, wanted: str) -> str:
    """What makes one build for CPU and GPU use a GPU: TensorFlow's CUDA libraries come as an extra."""
    return "[and-cuda]" if _is_dual(spec) and wanted == "cuda" and sys.platform == "linux" else ""


def _is_dual(spec: TargetSpec) -> bool:
    return spec.distribution in library_of(spec.library).dual


def _fitting(known: list[Version], version: str | None) -> list[Version]:
    """The builds of the version asked for; of the newest release where none is, or pre-release if there is no other."""
    if version is None:
        releases = [each for each in known if not each.is_prerelease] or known
        version = releases[0].public if releases else None
    if version is None:
        return []
    asked = Version(version)
    return [each for each in known if each == asked or (not asked.local and Version(each.public) == asked)]


def _missing_label(spec: TargetSpec, fitting: list[Version], wanted: str) -> str | None:
    """The part of PyTorch's index that has the build which the configured index lacks, if any."""
    asked = Version(spec.version).local if spec.version else None
    if asked:
        return None if fitting else asked
    cpu_there = any(each.local == "cpu" for each in fitting)
    return "cpu" if wanted == "cpu" and not cpu_there and sys.platform == "linux" else None


def _asked_hastily(distribution: str, options: tuple[str, ...]) -> list[Version]:
    try:
        return installer.available(distribution, (*_HASTY, *options), _HASTY_S)
    except installer.IndexUnreachable:
        return []


def _labelled(elsewhere: list[Version], fitting: list[Version], version: str | None, label: str) -> list[Version]:
    newest = fitting[0].public if fitting and version is None else version
    return [each for each in _fitting(elsewhere, newest) if each.local == label]


def _chosen(fitting: list[Version], wanted: str) -> Version:
    """The newest of the flavour; a local label `cpu` is how torch marks its CPU builds, a plain one is by platform."""
    return max(fitting, key=lambda version: ((version.local == "cpu") == (wanted == "cpu"), version))


def flavour_notes(spec: TargetSpec, flavour: Flavour, wanted: str, chosen: Version) -> tuple[str, ...]:
    """What a user should know of the flavour that was found. Raises UserError where it was to be another one."""
    if _is_dual(spec) and flavour == "cpu":
        return (f"{spec.distribution} is one build for CPU and GPU: installed without the CUDA libraries",)
    if (
        not library_of(spec.library).own_index
        or (chosen.local == "cpu") == (wanted == "cpu")
        or sys.platform != "linux"
    ):
        return ()
    problem = f"no {wanted.upper()} build of {spec.library} {chosen.public} was found, only {chosen}"
    if flavour == wanted:
        raise UserError(problem, f"configure an index that has one, or set {TORCH_INDEX_VARIABLE}, or take auto")
    return (f"{problem}: took that",)


def _no_such_version(spec: TargetSpec, known: list[Version]) -> UserError:
    if not known:
        return UserError(
            f"the package index has no {spec.distribution} for {python_tag()} on this platform",
            "run nightfuzz with another Python, or configure another index",
        )
    asked = Version(str(spec.version))
    below, above = [v for v in known if v < asked][:3], [v for v in known if v > asked][-3:]
    near = ", ".join(map(str, sorted(below + above)))
    return UserError(f"there is no {spec.text} for {python_tag()} on this platform", f"nearest versions: {near}")


def python_tag() -> str:
    """The Python tag of this interpreter, which targets are made with: `cp311`."""
    return next(sys_tags()).interpreter


def key_of(*parts: str) -> str:
    """A file name of parts: `torch-2.13.0+cpu-cp311`. What a library says of itself may hold anything."""
    return re.sub(r"[^A-Za-z0-9.+_-]", "_", "-".join(parts))
