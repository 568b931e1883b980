"""Space files that a release of nightfuzz offers: which one fits a build, and the file, downloaded and verified."""

from __future__ import annotations

import tomllib
from pathlib import Path

from packaging.version import InvalidVersion, Version
from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

from fuzz_core.ir.errors import UserError
from fuzz_core.targets.artifact import Artifact, sha256_of
from fuzz_core.targets.record import cache_folder, lock_of
from fuzz_core.targets.wheels import fetch

# Written by the release; this installation vouches for what it names.
INDEX = Path(__file__).with_name("spaces.toml")


@dataclass(frozen=True)
class OfferedSpace:
    """A space file of a release."""

    key: str  # of its build
    library: str
    version: str
    url: str
    sha256: str  # sha256, size: of the file
    size: int

    @property
    def artifact(self) -> Artifact:
        """The file as what is downloaded."""
        return Artifact(self.url, self.library, self.version, f"{self.key}.space", self.url, self.sha256, self.size)


def offered(key: str, library: str, version: str, index: Path | None = None) -> OfferedSpace | None:
    """Return the space file of a build, else that of the nearest earlier version of the library, else of the oldest.

    None where the release has none of the library.

    Args:
        index: the file that lists them, else INDEX.
    """
    listed = tomllib.loads((index or INDEX).read_text(encoding="utf-8")).get("space", [])
    found = [each for each in TypeAdapter(list[OfferedSpace]).validate_python(listed) if each.library == library]
    if exact := next((each for each in found if each.key == key), None):
        return exact
    found.sort(key=lambda each: (_number(each.version), each.key))
    earlier = [each for each in found if _number(each.version) <= _number(version)]
    return next(iter([*earlier[::-1], *found]), None)


def _number(version: str) -> Version:
    """Return a version without the label of its build: a CPU build and a CUDA build of one version are near."""
    try:
        return Version(Version(version).public)
    except InvalidVersion:
        return Version("0")


def kept(offer: OfferedSpace) -> Path | None:
    """Return the file of an offer where it is on this machine and has the hash that the release names."""
    path = _place(offer)
    return path if path.is_file() and sha256_of(path) == offer.sha256 else None


def keep(offer: OfferedSpace) -> Path:
    """Return the file of an offer, downloaded unless it is here.

    Raises:
        UserError: the file cannot be downloaded.
    """
    path = _place(offer)
    try:
        with lock_of(path.parent, path.stem):
            if kept(offer) is None:
                fetch(offer.artifact, path)
    except OSError as error:
        raise UserError(
            f"{path.name} cannot be kept in {path.parent}: {error.strerror}",
            "make the folder writable, or set NIGHTFUZZ_CACHE to another disk",
        ) from error
    return path


def _place(offer: OfferedSpace) -> Path:
    return cache_folder() / "spaces" / offer.sha256[:16] / f"{offer.key}.space"
