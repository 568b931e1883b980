"""A lock: the files of one version of a package, as an index listed them at one moment, or one wheel file.

A target that is made from a lock takes one of its files, even if the index lists newer ones by then.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Annotated, get_args

from packaging.version import Version
from pydantic import Field, TypeAdapter
from pydantic.dataclasses import dataclass

from fuzz_core.adapters.library import library_of
from fuzz_core.ir.errors import UserError
from fuzz_core.targets import choice, index, resolve
from fuzz_core.targets.artifact import Artifact, day_of
from fuzz_core.targets.spec import Flavour, TargetSpec

# The part of a target's key that names the interpreter, and how many digits of the file's key are in it.
_PYTHON, KEY_DIGITS = r"cp3\d{1,2}", 8
_Name = Annotated[str, Field(max_length=200)]


@dataclass(frozen=True)
class BuildLock:
    """The files that one spec means: of one version, for several Pythons, platforms or flavours."""

    library: _Name
    distribution: _Name
    version: _Name
    artifacts: tuple[Artifact, ...]
    # `3.12` where only files for that Python are in it; empty for files of all.
    python: Annotated[str, Field(pattern=r"^(3\.\d{1,2})?$")] = ""
    notes: tuple[str, ...] = ()  # notes for the user

    def artifact_of(self, key: str) -> Artifact | None:
        """Return the file that the target with this key was made of; None if the lock has no such file."""
        python = f"cp{self.python.replace('.', '')}" if self.python else _PYTHON
        for each in self.artifacts:
            name = rf"{re.escape(each.distribution)}(-cuda)?-{re.escape(each.version)}"
            if re.fullmatch(rf"{name}-{python}-{each.key[:KEY_DIGITS]}", key):
                return each
        return None

    @property
    def flavours(self) -> frozenset[str]:
        """`cpu`, `cuda` or both; empty where one file serves both."""
        return frozenset(filter(None, (_flavour(self.library, each) for each in self.artifacts)))

    def summary(self) -> str:
        """Describe the lock in one line: the version, and the flavours and Pythons that it has files for."""
        flavours = f", {' and '.join(sorted(self.flavours))}" if self.flavours else ""
        pythons = f"Python {self.python}" if self.python else "the Python of each runner"
        return f"{self.distribution} {self.version}{flavours}, {len(self.artifacts)} files, for {pythons}"


def lock_build(spec: TargetSpec, flavour: Flavour, python: str = "") -> BuildLock | None:
    """Look up the newest build that a spec means here, and lock its files; None for an interpreter, which has none.

    The lock holds files of every flavour that `flavour` and the spec allow, all of the newest version that all these
    flavours have.

    Args:
        python: the one Python to lock files for, `3.12`. If `python` is empty, the version is chosen for this Python,
            and its files are locked for all Pythons.

    Raises:
        UserError: as `resolve.resolve`.
    """
    name, library = str(spec.distribution), str(spec.library)
    if spec.kind == "python":
        return None
    if spec.kind == "wheel":
        return BuildLock(library, name, str(spec.version), (resolve.wheel_artifact(spec),))
    machine = resolve.machine_of(python)
    listed: list[Artifact] = []
    wishes: list[choice.Wish] = []
    newest: list[list[Artifact]] = []
    for each in _flavours(spec, flavour):
        listed += resolve.search(spec, each, machine)[0]
        wishes.append(resolve.wish_of(spec, each))
        newest.append(choice.newest(listed, wishes[-1], machine))
    fitting = [
        [each for each in files if choice.flavour_fits(each, wish)] for files, wish in zip(newest, wishes, strict=True)
    ]
    offered = [files for files in fitting if files] or [files for files in newest if files]
    if not offered:
        raise resolve.none_among(spec, listed, "the package index")
    version = _version(offered)
    files = [each for each in listed if _is_meant(each, spec, version) and _runs(each, python)]
    if any(fitting):
        files = [each for each in files if any(choice.flavour_fits(each, wish) for wish in wishes)]
    unique = {(each.filename, each.sha256): each for each in files}.values()
    here = python in ("", resolve.own_python())
    notes = resolve.builds_among(spec, flavour, list(unique))[0].notes if here else ()
    return BuildLock(library, name, str(version), tuple(unique), python, notes)


def locked_builds(spec: TargetSpec, flavour: Flavour, lock: BuildLock) -> list[resolve.InstallPlan]:
    """Return the files of a lock that fit here, the best first.

    Raises:
        UserError: no file fits, the lock is of another Python, or a wheel file has changed since.
    """
    own = resolve.own_python()
    if lock.python not in ("", own):
        raise UserError(
            f"{lock.distribution} {lock.version} was planned for Python {lock.python}, "
            f"but this runner has Python {own}",
            f"install Python {lock.python} on this runner, or set python-version to {own}",
        )
    if spec.kind != "wheel":
        return resolve.builds_among(spec, flavour, lock.artifacts, where="the plan")
    (found,) = resolve.resolve(spec, flavour)
    if found.artifact.sha256 != lock.artifacts[0].sha256:
        raise UserError(f"{found.artifact.filename} has changed since the plan job locked it", "run the plan job again")
    return [found]


def same_file(spec: TargetSpec, flavour: Flavour, artifact: Artifact) -> Artifact:
    """Find a locked file in this machine's index.

    The machine that locked the file may reach another index, and a lock has no passwords. Two files are the same if
    their content is.

    Returns:
        The index's record of it, or `artifact` if the index has none.
    """
    if spec.kind == "wheel" or artifact.sha256 is None:
        return artifact
    with suppress(UserError):
        for each in index.listed(resolve.sources_of(spec, flavour), artifact.distribution, hasty=True):
            if (each.filename, each.sha256) == (artifact.filename, artifact.sha256):
                return each
    return artifact


def aligned(locks: Sequence[BuildLock]) -> list[BuildLock]:
    """Return the locks with only those files whose flavours all of them have.

    Locks that have no flavour in common stay as they are.

    So a build for CUDA is compared with a build for CUDA, also on a machine without a GPU, if one has no other.
    """
    flavoured = [lock.flavours for lock in locks if lock.flavours]
    common = frozenset.intersection(*flavoured) if flavoured else frozenset()
    if not common:
        return list(locks)
    return [
        replace(lock, artifacts=tuple(each for each in lock.artifacts if _flavour(lock.library, each) in {*common, ""}))
        for lock in locks
    ]


def _flavour(library: str, artifact: Artifact) -> str:
    """Return the flavour that a file was built for; empty if the library has one build for both."""
    if not library_of(library).own_index:
        return ""
    return "cpu" if Version(artifact.version).local == "cpu" else "cuda"


def _flavours(spec: TargetSpec, flavour: Flavour) -> list[Flavour]:
    """Return the flavours that the fuzz job's machine may want.

    The flavour of this machine does not matter.
    """
    named = resolve.named_flavour(spec)
    wanted = named if flavour == "auto" else flavour
    return [each for each in get_args(Flavour) if each != "auto" and wanted in ("", each)]


def _version(offered: Sequence[Sequence[Artifact]]) -> Version:
    """Return the newest version that each list has; the newest of all where they have none in common."""
    versions = [[Version(Version(each.version).public) for each in files] for files in offered]
    common = set.intersection(*map(set, versions))
    return max(common or set.union(*map(set, versions)), key=lambda version: (day_of(version) or date.min, version))


def _is_meant(artifact: Artifact, spec: TargetSpec, version: Version) -> bool:
    found = Version(artifact.version)
    pinned = spec.version is None or Version(spec.version) in (found, Version(found.public))
    return Version(found.public) == version and pinned and spec.label in (None, found.local)


def _runs(artifact: Artifact, python: str) -> bool:
    """Return whether a file can be installed on Linux, by that Python where one is given."""
    if not artifact.is_wheel:
        return True
    tags = [tag for tag in artifact.tags if tag.platform == "any" or "linux" in tag.platform]
    ours = {(tag.interpreter, tag.abi) for tag in resolve.machine_of(python).tags} if python else None
    return any(ours is None or (tag.interpreter, tag.abi) in ours for tag in tags)


def to_json(lock: BuildLock) -> str:
    """Return the lock as JSON, its addresses without secrets."""
    return TypeAdapter(BuildLock).dump_json(lock, indent=1).decode()


def read_lock(path: Path) -> BuildLock:
    """Read a lock that `to_json` wrote.

    Raises:
        UserError: the file has no lock.
    """
    try:
        return TypeAdapter(BuildLock).validate_json(path.read_bytes())
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}", "check the path given with --lock") from error
    except ValueError as error:
        raise UserError(
            f"{path} is not a lock file of nightfuzz", "run the plan job again: it writes this file"
        ) from error
