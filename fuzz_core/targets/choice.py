"""Which of the files of an index is the newest build for a Python, a platform and a flavour. Pure."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import Tag
from packaging.version import Version

from fuzz_core.targets.artifact import Artifact, day_of


@dataclass(frozen=True)
class Wish:
    """A wish for a build."""

    version: str | None = None  # exactly that one
    nightly: bool = False  # dated builds
    label: str | None = None  # the part behind the `+`
    accelerated: bool | None = None  # whether a build for CUDA is wanted, None where a package has one build for all
    strict: bool = False  # whether no second flavour will do
    driver: tuple[int, int] | None = None  # the newest CUDA version that this machine runs, as (major, minor)
    plain_is_cpu: bool = False  # whether a build without label is a CPU one


@dataclass(frozen=True)
class Machine:
    """The machine that a build is chosen for.

    Attributes:
        tags: what this interpreter can install, best first.
        python: its version, `3.11.4`.
    """

    tags: Sequence[Tag]
    python: str


def newest(artifacts: Iterable[Artifact], wish: Wish, machine: Machine) -> list[Artifact]:
    """Return the builds that fit, newest first and best tag first; empty where none does.

    Yanked ones are left out unless their version is asked for by its number (PEP 592).
    """
    ranks = {tag: -place for place, tag in enumerate(machine.tags)}
    fitting = [each for each in artifacts if installable(each, ranks, machine.python)]
    found = _of_version(fitting, wish.version) if wish.version else _unpinned(fitting, wish)
    if wish.label is not None:
        labels = {wish.label, None} if wish.label == "cpu" and wish.plain_is_cpu else {wish.label}
        found = [each for each in found if Version(each.version).local in labels]
    # A flavour of a nightly may be missing tonight: its build of yesterday is better than a build of another flavour.
    # If no build has the flavour, all are given, and the caller says what is wrong with them.
    if wish.nightly or wish.strict:
        found = [each for each in found if flavour_fits(each, wish)] or found
    return sorted(found, key=lambda each: _order(each, wish, ranks), reverse=True)


def installable(artifact: Artifact, ranks: Mapping[Tag, int], python: str) -> bool:
    """Return whether its tags and its `requires-python` take this interpreter; a malformed one takes all, as in pip."""
    try:
        allowed = SpecifierSet(artifact.requires_python).contains(python, prereleases=True)
    except InvalidSpecifier:
        allowed = True
    return allowed and (not artifact.is_wheel or any(tag in ranks for tag in artifact.tags))


def flavour_fits(artifact: Artifact, wish: Wish) -> bool:
    """Return whether a build is for what is wanted: CUDA or the processor alone."""
    local = Version(artifact.version).local
    is_cpu = local == "cpu" if local else wish.plain_is_cpu
    return wish.accelerated is None or is_cpu != wish.accelerated


def _of_version(fitting: list[Artifact], version: str) -> list[Artifact]:
    asked = Version(version)
    return [each for each in fitting if asked in ((has := Version(each.version)), Version(has.public))]


def _unpinned(fitting: list[Artifact], wish: Wish) -> list[Artifact]:
    kept = [each for each in fitting if each.yanked is None]
    if wish.nightly:
        return [each for each in kept if Version(each.version).is_devrelease]
    return [each for each in kept if not Version(each.version).is_prerelease] or kept


def _order(artifact: Artifact, wish: Wish, ranks: Mapping[Tag, int]) -> Any:
    """Return the sort key: the day, the version, and then the best fit as pip ranks it.

    For pip, the tag comes before the build's number.
    """
    version = Version(artifact.version)
    tag = max((ranks[tag] for tag in artifact.tags if tag in ranks), default=-len(ranks))
    flavour = (flavour_fits(artifact, wish), _toolkit(version.local, wish))
    return (
        day_of(version) or date.min,
        Version(version.public),
        *flavour,
        artifact.is_wheel,
        version,
        tag,
        artifact.build,
    )


def _toolkit(local: str | None, wish: Wish) -> tuple[bool, int]:
    """Return the newest CUDA that the driver runs; of those that it does not, or where no driver is known, the oldest.

    A build without label comes last: its CUDA version is unknown.
    """
    digits = (local or "").removeprefix("cu")
    if not (local or "").startswith("cu") or not digits.isdecimal():
        return False, -sys.maxsize
    runs = wish.driver is not None and (int(digits[:-1] or 0), int(digits[-1])) <= wish.driver
    return runs, int(digits) if runs else -int(digits)
