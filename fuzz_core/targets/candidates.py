"""The builds of an index that a bug can be followed through, oldest first, and the environments to try them in."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from packaging.version import InvalidVersion, Version

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.adapters.library import library_of
from fuzz_core.ir.errors import UserError
from fuzz_core.targets import wheels
from fuzz_core.targets.artifact import day_of
from fuzz_core.targets.environment import ensure
from fuzz_core.targets.installer import IndexUnreachable
from fuzz_core.targets.record import Target, list_targets, lock_of, remove, targets_root
from fuzz_core.targets.resolve import Access, builds, kept_builds, wanted_flavour
from fuzz_core.targets.spec import Flavour, TargetSpec, parse_spec


@dataclass(frozen=True)
class Candidate:
    """A build that can be tried."""

    spec: str  # means it alone
    version: str
    day: str = ""  # ISO date, or empty
    wheel: str = ""  # the key of its file

    @property
    def age(self) -> tuple[date, Version]:
        """The sort key of builds: the day in the version, if there is one, then the version."""
        release = release_of(self.version)
        return day_of(release) or date.min, release


def release_of(version: str) -> Version:
    """Return a version without the label that names its flavour."""
    return Version(Version(version).public)


def package_of(own: str, library: str, spec: str | None, index: str | None) -> TargetSpec:
    """Return the package whose builds are meant: that of a spec, else of `own`, the spec that the target came from.

    Raises:
        UserError: a spec that names no package of an index.
    """
    text = own if spec is None or is_version(spec) else spec
    foreign = text.startswith("python:") or text.lower().endswith(".whl")
    if foreign and text == spec:
        raise UserError(
            f"{spec!r} is not a build of a package index",
            "name a version of a package, such as tensorflow-cpu==2.21.0",
        )
    if foreign:
        text = dialect_of(library).distributions[0]
    if index is not None and text == own and text.startswith("index:"):
        # The target's own index gives way to the one that is named now.
        text = text.partition("#")[2]
    package = parse_spec(text, library, index)
    bare = package.text.rpartition("==")[0] if package.version else package.text
    return replace(package, text=bare, version=None)


def is_version(text: str) -> bool:
    """Return whether the text is a version alone."""
    with suppress(InvalidVersion):
        return bool(Version(text))
    return False


def version_of(spec: str, library: str, index: str | None) -> str:
    """Return the version that a spec, or a version alone, means.

    Raises:
        UserError: the text has no version.
    """
    version = spec if is_version(spec) else parse_spec(spec, library, index).version
    if version is None:
        raise UserError(f"{spec!r} names no single build", f"name one version: {spec}==VERSION")
    return version


def candidates(package: TargetSpec, flavour: Flavour, access: Access) -> list[Candidate]:
    """List the builds in an index that fit this machine, one per version, the oldest first.

    The builds are releases, or all dated builds of a nightly package. If there is no network and the access allows
    cached wheels, the list holds the cached builds.

    Raises:
        UserError: as `targets.resolve.builds`.
    """
    # The flavour of a release is found, perhaps in another index, when it is made; here only its versions count.
    flavour = flavour if package.nightly or package.index else "auto"
    try:
        listed = builds(package, flavour)
    except IndexUnreachable:
        if not access.allow_cached:
            raise
        listed = kept_builds(package, flavour, targets_root())
    found: dict[str, Candidate] = {}
    for build in listed:
        day, _ = build.artifact.dated()
        spec = f"{package.text}=={build.version}"
        made = Candidate(spec, str(build.version), day.isoformat() if day else "", build.artifact.key)
        # The first of a version is the one that fits best.
        found.setdefault(build.version.public, made)
    return sorted(found.values(), key=lambda each: each.age)


def placed(listed: Sequence[Candidate], package: TargetSpec, version: str) -> list[Candidate]:
    """Return the same with a build of this version among them.

    Indexes forget nightly builds that are installed here.

    Indexes forget nightly builds that are installed here.
    """
    if any(release_of(each.version) == release_of(version) for each in listed):
        return list(listed)
    return sorted([*listed, Candidate(f"{package.text}=={version}", version)], key=lambda each: each.age)


class Environments:
    """Environments of candidates: those that are targets already, and others that are made for the time being.

    The latter lie in a folder of their own, so that what a killed run left is known for what it is.
    """

    def __init__(self, root: Path, flavour: Flavour, library: str, access: Access) -> None:
        self.root = root
        self.flavour = flavour
        self.access = access
        self.library = library
        # Targets that candidates are tried on, by spec. A caller may give a target for any candidate.
        self.given: dict[str, Target] = {}
        # Check this folder now: if it cannot be written to, every build would seem to be broken.
        lock_of(root, "environments")
        whole = {target.key for target in self.made()}
        for folder in root.iterdir():
            # Half of one, of a run that was killed.
            if folder.name not in whole and not folder.name.startswith("."):
                shutil.rmtree(folder, ignore_errors=True)

    def at_hand(self, candidate: Candidate) -> bool:
        """Return whether the candidate can be tried without a download."""
        return self.find(candidate) is not None or candidate.wheel in {each.key for each in wheels.cached()}

    def find(self, candidate: Candidate) -> Target | None:
        """Return the environment of a build, if one exists."""
        if candidate.spec in self.given:
            return self.given[candidate.spec]
        package = candidate.spec.rpartition("==")[0]
        for target in (*list_targets(), *self.made()):
            version = target.version == candidate.version and package == (
                target.spec.rpartition("==")[0] or target.spec
            )
            wheel = target.origin is not None and target.origin.artifact.key == candidate.wheel
            # Made of this build: by its spec, by another that came to this version, or from its wheel.
            if target.wanted == self._wanted(candidate) and (target.spec == candidate.spec or version or wheel):
                return target
        return None

    def _wanted(self, candidate: Candidate) -> str:
        return wanted_flavour(parse_spec(candidate.spec, self.library), self.flavour)

    def made(self) -> list[Target]:
        """Return the installed targets."""
        return list_targets(self.root)

    def make_room(self, wanted: Collection[Candidate], most: int) -> None:
        """Remove what is not wanted now until all of `wanted` has room among `most` environments, oldest first."""
        found = [self.find(each) for each in wanted]
        here, missing = {each.key for each in found if each is not None}, found.count(None)
        made = sorted(self.made(), key=lambda target: (self.root / target.key).stat().st_mtime)
        spare = [target.key for target in made if target.key not in here]
        for key in spare[: max(len(made) + missing - most, 0)]:
            remove(key, self.root)

    def get(self, candidate: Candidate) -> tuple[Target, bool]:
        """Return the environment of a build, and whether it had to be made.

        Raises:
            UserError: as `targets.environment.ensure`.
        """
        found = self.find(candidate)
        if found is not None:
            return found, False
        return ensure(parse_spec(candidate.spec, self.library), self.flavour, self.root, self.access), True

    def is_ours(self, error: UserError, candidate: Candidate) -> bool:
        """Return whether the network or this machine's lack of room caused an error.

        Any other error comes from the build.
        """
        needed = library_of(self.library).space.get(self._wanted(candidate), 0)
        return isinstance(error, IndexUnreachable) or shutil.disk_usage(self.root).free < needed

    def clear(self) -> None:
        """Remove all that was made."""
        shutil.rmtree(self.root, ignore_errors=True)
