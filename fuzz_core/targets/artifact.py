"""One file of a package index, with the facts that the index, its name and its version give."""

from __future__ import annotations

import hashlib
import re
from datetime import date, datetime
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

from packaging.tags import Tag
from packaging.utils import BuildTag, parse_wheel_filename
from packaging.version import Version
from pydantic import StrictInt, field_serializer
from pydantic.dataclasses import dataclass

from fuzz_core.ir.errors import UserError

DatedBy = Literal["version", "upload time", "unknown"]
_DATED = re.compile(r"(\d{8})\d{0,6}")


@dataclass(frozen=True)
class Artifact:
    """A wheel, or the source archive of a version, as its index lists it.

    Records hide secrets in its addresses.
    """

    index: str  # URL of the index
    distribution: str
    version: str
    filename: str
    url: str
    sha256: str | None = None  # None where the index gives none
    size: StrictInt | None = None  # bytes, if known
    requires_python: str = ""
    uploaded: str = ""  # ISO 8601, or empty
    yanked: str | None = None  # the reason, which may be empty; None for a file that is not yanked

    @property
    def key(self) -> str:
        """Sixteen hexadecimal digits that name its content, or its place where the index gives no hash."""
        return (self.sha256 or hashlib.sha256(without_secrets(self.url).encode()).hexdigest())[:16]

    @property
    def is_wheel(self) -> bool:
        """Return whether the file is a wheel.

        Each other file is a source archive, which any Python may build.
        """
        return self.filename.endswith(".whl")

    @property
    def tags(self) -> frozenset[Tag]:
        """The tags in a wheel's name; none for a source archive."""
        return parse_wheel_filename(self.filename)[3] if self.is_wheel else frozenset()

    @property
    def build(self) -> BuildTag:
        """The build tag in a wheel's name: a second build of one version has a higher one."""
        return parse_wheel_filename(self.filename)[2] if self.is_wheel else ()

    def dated(self) -> tuple[date | None, DatedBy]:
        """Return the day of the build and its source: the version (`.dev20260424`), or the time of the upload."""
        if (day := day_of(Version(self.version))) is not None:
            return day, "version"
        try:
            return datetime.fromisoformat(self.uploaded).date(), "upload time"
        except ValueError:
            return None, "unknown"

    @field_serializer("index", "url")
    def _plain(self, url: str) -> str:
        return without_secrets(url)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def day_of(version: Version) -> date | None:
    """Return the day in a version such as `2.13.0.dev20260424+cpu`; a time of the day behind it is allowed."""
    found = _DATED.fullmatch(str(version.dev)) if version.dev is not None else None
    try:
        return datetime.strptime(found.group(1), "%Y%m%d").date() if found else None
    except ValueError:  # Eight digits that are no day
        return None


def without_secrets(url: str) -> str:
    """Return the address without user, password, query and fragment.

    Raises:
        UserError: the text is no address.
    """
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "") + (f":{parts.port}" if parts.port else "")
    except ValueError as error:
        raise UserError(
            f"the address of the package index is not a valid URL: {error}",
            "write --index https://HOST/PATH, or a target index:https://HOST/PATH#PACKAGE",
        ) from error
    host = f"[{parts.hostname}]{host.removeprefix(str(parts.hostname))}" if ":" in (parts.hostname or "") else host
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def check_address(url: str) -> str:
    """Return the address of an index without the slash at its end.

    Raises:
        UserError: the scheme is not http or https, or the address has a password: a spec ends up in records.
    """
    plain = without_secrets(url)
    if urlsplit(plain).scheme not in ("http", "https") or not urlsplit(plain).hostname:
        raise UserError(
            f"{plain!r} is not the address of a package index",
            "write --index https://HOST/PATH, or a target index:https://HOST/PATH#PACKAGE",
        )
    if urlsplit(url).username or urlsplit(url).query:
        raise UserError(
            f"the address of the index {plain} has a password or a query, which the records would keep",
            "write the address alone, and put user and password into ~/.netrc",
        )
    return plain.rstrip("/")
