"""From a spec to exact builds, newest first: version, flavour and the file to install.

The spec names the index, or the indexes of pip's configuration are asked. PyTorch is special: on Linux its plain build
is the CUDA one. If a CPU build is wanted and missing there, PyTorch's own index is asked once, with a short timeout. If
that index has none either, the flavour `auto` takes the plain build (it runs without a GPU) and says so, and `cpu`
refuses before any download. TensorFlow has one build for both flavours; `cuda` adds the CUDA libraries as its extra.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Literal

from packaging.tags import compatible_tags, cpython_tags, sys_tags
from packaging.version import Version

from fuzz_core.adapters.library import library_of
from fuzz_core.ir.errors import UserError
from fuzz_core.targets import choice, index, process, wheels
from fuzz_core.targets.artifact import Artifact, sha256_of, without_secrets
from fuzz_core.targets.installer import IndexUnreachable
from fuzz_core.targets.record import list_targets
from fuzz_core.targets.spec import Flavour, TargetSpec

TORCH_INDEX_VARIABLE = "NIGHTFUZZ_TORCH_INDEX"
_TORCH_INDEX = "https://download.pytorch.org/whl"
# Today's build may not be there yet.
NORMAL_DAYS = 1
_DRIVER = re.compile(r"CUDA Version: *(\d+)\.(\d+)")


class NoBuildError(UserError):
    """The index answers, and has no build that fits."""


def _today() -> date:
    return datetime.now(UTC).date()


@dataclass(frozen=True)
class Access:
    """Settings for network and cache."""

    allow_cached: bool = False  # if there is no network, take the newest build that is here
    cache_bytes: int = wheels.BOUND_BYTES  # room for the kept wheels
    # Called with the name of each step that begins, as a user reads it.
    announce: Callable[[str], object] = lambda text: None


DEFAULT_ACCESS = Access()


@dataclass(frozen=True)
class InstallPlan:
    """A build to install."""

    key: str
    version: Version
    requirement: str  # its name, with extras
    artifact: Artifact  # its file
    options: tuple[str, ...] = ()  # for the installer
    notes: tuple[str, ...] = ()  # notes for the user


def torch_index() -> str:
    """Return the address under which PyTorch keeps its indexes, one for each flavour."""
    return os.environ.get(TORCH_INDEX_VARIABLE, _TORCH_INDEX).rstrip("/")


def has_gpu() -> bool:
    """Return whether this machine shows an NVIDIA GPU; looked at, not asked, as asking takes seconds."""
    return shutil.which("nvidia-smi") is not None or Path("/dev/nvidia0").exists()


def named_flavour(spec: TargetSpec) -> Literal["", "cpu", "cuda"]:
    """Return the flavour that a spec itself names: `tensorflow-cpu`, `torch==2.13.0+cpu`, `torch-nightly/cu130`."""
    local = Version(spec.version).local if spec.version and spec.kind != "wheel" else None
    if (spec.distribution or "").endswith("-cpu") or "cpu" in (local, spec.label):
        return "cpu"
    return "cuda" if spec.label or (local or "").startswith("cu") else ""


def wanted_flavour(spec: TargetSpec, flavour: Flavour) -> str:
    """Return `cpu` or `cuda`: what `auto` means for this spec on this machine.

    Raises:
        UserError: the spec contradicts the settings.
    """
    named = named_flavour(spec)
    if named and flavour not in ("auto", named):
        raise UserError(
            f"{spec.text} names a {named} build, but --flavour is {flavour}",
            "leave out --flavour, or name another build",
        )
    if flavour == "auto":
        return named or ("cuda" if has_gpu() else "cpu")
    return flavour


def resolve(spec: TargetSpec, flavour: Flavour) -> list[InstallPlan]:
    """Return the builds that a spec can mean here, newest first.

    Raises:
        IndexUnreachable: the index does not answer.
        NoBuildError: no build there fits.
        UserError: the flavour does not exist, or the wheel is of another Python.
    """
    if spec.kind == "wheel":
        return [_wheel_build(spec)]
    listed, labelled = search(spec, flavour, machine_of())
    return builds_among(spec, flavour, listed, labelled)


def search(spec: TargetSpec, flavour: Flavour, machine: choice.Machine) -> tuple[list[Artifact], list[Artifact]]:
    """List the files of a package in the indexes, and its builds of a flavour that only the library's own index has.

    Raises:
        UserError: as `resolve`, if no index answers.
    """
    listed, wish = index.listed(sources_of(spec, flavour), str(spec.distribution)), wish_of(spec, flavour)
    newest = choice.newest(listed, replace(wish, strict=False), machine)
    label = _missing_label(spec, newest, wish)
    if label is None:
        return listed, []
    elsewhere: list[Artifact] = []
    with suppress(IndexUnreachable):
        elsewhere = index.listing(f"{torch_index()}/{label}", str(spec.distribution), hasty=True)
    version = spec.version or (Version(newest[0].version).public if newest else None)
    return [*listed, *elsewhere], choice.newest(elsewhere, replace(wish, version=version, label=label), machine)


def builds(spec: TargetSpec, flavour: Flavour) -> list[InstallPlan]:
    """Return the builds that `resolve` finds in the index of the spec alone.

    Raises:
        UserError: as `resolve`.
    """
    return builds_among(spec, flavour, index.listed(sources_of(spec, flavour), str(spec.distribution)))


def kept_builds(spec: TargetSpec, flavour: Flavour, home: Path) -> list[InstallPlan]:
    """Return the builds that are on this machine: kept wheels and made targets of the index.

    Raises:
        NoBuildError: there is none.
    """
    addresses = {without_secrets(each.address).rstrip("/") for each in sources_of(spec, flavour)}
    addresses |= {f"{torch_index()}/cpu"} if _is_own_release(spec) else set()
    made = [target.origin.artifact for target in list_targets(home) if target.origin is not None]
    here = {each.key: each for each in (*wheels.cached(), *made)}.values()
    ours = [each for each in here if each.index in addresses and each.distribution == spec.distribution]
    return builds_among(spec, flavour, ours, where="what is kept here")


def key_of(*parts: str) -> str:
    """Join parts to a file name: `torch-2.13.0+cpu-cp311`.

    A library's version text is untrusted and may hold any character.
    """
    return re.sub(r"[^A-Za-z0-9.+_-]", "_", "-".join(parts))


def _python_tag() -> str:
    """Return the Python tag of this interpreter, which targets are made with: `cp311`."""
    return next(sys_tags()).interpreter


def machine_of(python: str = "") -> choice.Machine:
    """Describe this machine with this Python, or with the newest patch of another Python, given as `3.12`."""
    if python in ("", own_python()):
        return choice.Machine(list(sys_tags()), ".".join(map(str, sys.version_info[:3])))
    version = [int(part) for part in python.split(".")]
    tags = [*cpython_tags(version), *compatible_tags(version, f"cp{python.replace('.', '')}")]
    return choice.Machine(tags, f"{python}.99")


def own_python() -> str:
    """Return the version of this interpreter, which targets are made with: `3.11`."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def sources_of(spec: TargetSpec, flavour: Flavour) -> list[index.PackageSource]:
    """Return the sources for a spec: its own index, PyTorch's for the nights, else where pip is set up to look."""
    if spec.index is not None:
        return [index.PackageSource(spec.index)]
    library = library_of(spec.library)
    if not (spec.nightly and library.own_index and spec.distribution in library.distributions):
        return index.sources()
    # PyTorch's index has a folder per flavour; the folder above lists them all.
    label = spec.label or ("cpu" if wanted_flavour(spec, flavour) == "cpu" else None)
    return [index.PackageSource(f"{torch_index()}/nightly" + (f"/{label}" if label else ""))]


def _is_own_release(spec: TargetSpec) -> bool:
    """Return whether a build that pip's indexes lack can be in the library's own index."""
    return spec.index is None and not spec.nightly and library_of(spec.library).own_index


def _missing_label(spec: TargetSpec, newest: Sequence[Artifact], wish: choice.Wish) -> str | None:
    """Return the part of PyTorch's index that may have the build which pip's indexes lack."""
    if not _is_own_release(spec):
        return None
    if spec.version and (asked := Version(spec.version).local):
        return None if newest else asked
    there = bool(newest) and choice.flavour_fits(newest[0], wish)
    return "cpu" if not wish.accelerated and not there and sys.platform == "linux" else None


def _wheel_build(spec: TargetSpec) -> InstallPlan:
    artifact, ours = wheel_artifact(spec), list(sys_tags())
    if not artifact.tags & set(ours):
        theirs = ", ".join(sorted(map(str, artifact.tags)))
        raise UserError(
            f"{artifact.filename} is for another Python or platform: it is tagged {theirs}",
            f"this Python takes {ours[0]}: run nightfuzz with the wheel's Python, or build the wheel for this Python",
        )
    name, version = artifact.distribution, artifact.version
    return InstallPlan(key_of(name, version, _python_tag(), artifact.key[:8]), Version(version), name, artifact)


def wheel_artifact(spec: TargetSpec) -> Artifact:
    """Return a wheel file of this machine as an artifact."""
    assert spec.path is not None
    name, path = str(spec.distribution), spec.path
    return Artifact("", name, str(spec.version), path.name, path.as_uri(), sha256_of(path))


def builds_among(
    spec: TargetSpec, flavour: Flavour, listed: Sequence[Artifact], found: Sequence[Artifact] = (), where: str = ""
) -> list[InstallPlan]:
    """Return `found`, else the files of `listed` that fit, as builds.

    Args:
        where: who lists them, for an error.

    Raises:
        NoBuildError: no build fits.
        UserError: no build has the flavour.
    """
    found = found or choice.newest(listed, wish_of(spec, flavour), machine_of())
    if not found:
        raise none_among(spec, listed, where or (without_secrets(spec.index) if spec.index else "the package index"))
    return [_build(spec, flavour, each) for each in found]


def wish_of(spec: TargetSpec, flavour: Flavour) -> choice.Wish:
    """Turn a spec into a wish for a build from an index."""
    wanted = wanted_flavour(spec, flavour)
    if not library_of(spec.library).own_index:
        return choice.Wish(spec.version, spec.nightly, spec.label)
    driver = _driver() if wanted == "cuda" and not spec.label else None
    flavoured = (wanted == "cuda", flavour != "auto", driver, sys.platform != "linux")
    return choice.Wish(spec.version, spec.nightly, spec.label, *flavoured)


def _driver() -> tuple[int, int] | None:
    """Return the newest CUDA version that this machine's driver runs."""
    try:
        found = _DRIVER.search(process.run(["nvidia-smi"], timeout=20, env=os.environ).stdout)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return (int(found.group(1)), int(found.group(2))) if found else None


def _build(spec: TargetSpec, flavour: Flavour, artifact: Artifact) -> InstallPlan:
    version, wanted = Version(artifact.version), wanted_flavour(spec, flavour)
    library, name = library_of(spec.library), artifact.distribution
    # A build for CPU and GPU uses a GPU with the CUDA libraries, which come as an extra.
    extra = name in library.dual and wanted == "cuda" and sys.platform == "linux"
    # Dependencies of PyTorch's own builds are in the same index, some in no other.
    own = library.own_index and (spec.nightly or artifact.index.startswith(torch_index()))
    return InstallPlan(
        key_of(name + "-cuda" * extra, artifact.version, _python_tag(), artifact.key[:8]),
        version,
        name + "[and-cuda]" * extra,
        artifact,
        ("--extra-index-url", artifact.index) if own else (),
        (*_flavour_notes(spec, flavour, wanted, version), *_notes(spec, artifact)),
    )


def _flavour_notes(spec: TargetSpec, flavour: Flavour, wanted: str, chosen: Version) -> tuple[str, ...]:
    """Return notes for the user about the flavour that was found.

    Raises:
        UserError: the flavour was to be another one.
    """
    library = library_of(spec.library)
    if spec.distribution in library.dual and flavour == "cpu":
        return (f"{spec.distribution} is one build for CPU and GPU: installed without the CUDA libraries",)
    if not library.own_index or (chosen.local == "cpu") == (wanted == "cpu") or sys.platform != "linux":
        return ()
    problem = f"no {wanted.upper()} build of {spec.library} {chosen.public} was found, only {chosen}"
    if flavour == wanted:
        raise UserError(
            problem,
            f"set {TORCH_INDEX_VARIABLE} to the address of an index that has such a build, or set --flavour auto",
        )
    return (f"{problem}: took that build",)


def _notes(spec: TargetSpec, artifact: Artifact) -> list[str]:
    """Return notes for the user about the file.

    The newest night may be old, if a Python gets no new ones.
    """
    notes = []
    if artifact.yanked is not None:
        why = f": {artifact.yanked}" if artifact.yanked else ""
        notes.append(f"{artifact.filename} has been yanked{why}; nightfuzz takes it because you named its version")
    if artifact.sha256 is None:
        notes.append(f"the index gives no SHA-256 of {artifact.filename}: the download could not be verified")
    day, _ = artifact.dated()
    age = (_today() - day).days if day and spec.nightly and spec.version is None else 0
    if age > NORMAL_DAYS:
        notes.append(f"the newest nightly build that fits here is {age} days old ({day})")
    return notes


def none_among(spec: TargetSpec, listed: Sequence[Artifact], where: str) -> NoBuildError:
    """Return why none of the files that an index lists of a package fits here."""
    machine, here = machine_of(), f"{_python_tag()} on this platform"
    if not listed and spec.index:
        return NoBuildError(
            f"the index {where} has no package {spec.distribution}", "correct the name of the package or the address"
        )
    ranks = dict.fromkeys(machine.tags, 0)
    fitting = [each for each in listed if choice.installable(each, ranks, machine.python)]
    if not fitting:
        return NoBuildError(
            f"{where} has no {spec.distribution} for {here}",
            f"run nightfuzz with another Python, or name another index: index:https://HOST/PATH#{spec.distribution}",
        )
    if spec.version is None and all(each.yanked is not None for each in fitting):
        return NoBuildError(
            f"{where}: every {spec.distribution} for {here} has been yanked",
            f"to use a yanked build, name its version: {spec.distribution}==VERSION",
        )
    wanted = "nightly build" if spec.nightly else "build"
    labelled = f" labelled {spec.label}" if spec.label else ""
    versions = sorted({Version(each.version) for each in fitting})
    if spec.version is None:
        missing, hint = spec.distribution, f"name one of its newest versions: {', '.join(map(str, versions[-3:]))}"
    else:
        asked = Version(spec.version)
        near = [each for each in versions if each < asked][-3:] + [each for each in versions if each > asked][:3]
        missing, hint = (
            f"{spec.distribution}=={asked}",
            f"name one of the nearest versions: {', '.join(map(str, near))}",
        )
    return NoBuildError(f"{where} has no {wanted} of {missing}{labelled} for {here}", hint)
