"""The files of a package: in indexes (PEP 503 and 691), on pages of links, and in folders of this machine."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import url2pathname

import requests
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion
from pypi_simple import (
    ACCEPT_ANY,
    PYPI_SIMPLE_ENDPOINT,
    DistributionPackage,
    Link,
    ProjectPage,
    UnsupportedContentTypeError,
    UnsupportedRepoVersionError,
)
from requests.adapters import HTTPAdapter
from urllib3 import Retry

from fuzz_core.ir.errors import UserError
from fuzz_core.targets import installer
from fuzz_core.targets.artifact import Artifact, sha256_of, without_secrets

# Seconds until the answer begins, and how often a request is repeated. If several indexes can be asked, one try is
# enough.
TIMEOUT_S, HASTY_S = 30.0, 10.0
RETRIES = 3
_LOG = logging.getLogger(__name__)
_CHECK = "check the network and the address of the index"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_YES = ("1", "true", "yes", "on", "t", "y")
_MAX_REASON = 200
# A build tag may hold any other character.
_SUSPECT = re.compile(r"[^A-Za-z0-9_.+!-]")


def session() -> requests.Session:
    """Open an HTTP session with the proxies, certificates and passwords of the user's environment and of pip."""
    made, settings = requests.Session(), installer.pip_settings()
    # A compressed answer to a part of a file could not be joined to the part that is here.
    made.headers["Accept-Encoding"] = "identity"
    made.verify = settings.get("cert") or True
    made.proxies = dict.fromkeys(("http", "https"), settings["proxy"]) if settings.get("proxy") else {}
    return made


class PackageSource(NamedTuple):
    """A source of packages."""

    address: str
    flat: bool = False  # a folder or page with files of many packages, no index


def sources() -> list[PackageSource]:
    """Return the sources that pip is set up with, else the public index.

    Raises:
        UserError: pip may look nowhere.
    """
    settings = installer.pip_settings()
    indexes = [settings.get("index-url") or PYPI_SIMPLE_ENDPOINT, *settings.get("extra-index-url", "").split()]
    if settings.get("no-index", "").lower() in _YES:
        indexes = []
    named = [(each, False) for each in indexes] + [(each, True) for each in settings.get("find-links", "").split()]
    if not named:
        raise UserError("pip is set up to use no package index", "name a package index: --index https://HOST/PATH")
    return [
        PackageSource(each if urlsplit(each).scheme else Path(each).expanduser().absolute().as_uri(), flat)
        for each, flat in named
    ]


def listed(places: Iterable[PackageSource], distribution: str, hasty: bool = False) -> list[Artifact]:
    """Return the files of a package in all sources, as `listing` gives them.

    If one source has files, a source that does not answer becomes a log record, which Python prints on standard error.

    Raises:
        UserError: as `listing`, but only if no source has a file.
    """
    found, errors = [], []
    for address, flat in places:
        try:
            found += listing(address, distribution, flat, hasty)
        except UserError as error:
            errors.append(error)
    if errors and not found:
        raise errors[0]
    for fault in errors:
        _LOG.warning("note: %s; builds that only this index has are left out", fault.problem)
    return found


def listing(address: str, distribution: str, flat: bool = False, hasty: bool = False) -> list[Artifact]:
    """Return every wheel and source archive of a package that a source lists, in the source's order.

    The result is empty if the source lacks the package.

    Args:
        hasty: one try, with a short timeout.

    Raises:
        IndexUnreachable: the index does not answer.
        UserError: the answer is no list of files.
    """
    shown = without_secrets(address).rstrip("/")
    page = address if flat else f"{address.rstrip('/')}/{canonicalize_name(distribution)}/"
    try:
        if page.startswith("file:"):
            packages = _local(Path(url2pathname(urlsplit(page).path)), distribution, flat)
        else:
            answer = _answer(page, shown, flat, hasty)
            packages = ProjectPage.from_response(answer, distribution).packages if answer else []
    except (ValueError, UnsupportedRepoVersionError) as error:
        says = isinstance(error, UnsupportedContentTypeError | UnsupportedRepoVersionError)
        why = str(error) if says else "the answer cannot be read"
        raise UserError(f"{shown} does not answer as a package index does: {why}", _CHECK) from error
    except OSError as error:
        raise UserError(
            f"the folder of packages {shown} cannot be read: {error.strerror}",
            "correct the path in pip's settings (`pip config list`) or in --index",
        ) from error
    read = [_artifact(shown, distribution, package) for package in packages]
    return [artifact for artifact in read if artifact is not None]


def _answer(page: str, shown: str, flat: bool, hasty: bool) -> requests.Response:
    """Return the response for a page.

    The answer is false if an index has no page of the package.
    """
    again = Retry(
        0 if hasty else RETRIES, backoff_factor=0.2, status_forcelist=(429, 502, 503, 504), raise_on_status=False
    )
    try:
        with session() as made:
            for scheme in ("http://", "https://"):
                made.mount(scheme, HTTPAdapter(max_retries=again))
            answer = made.get(page, headers={"Accept": ACCEPT_ANY}, timeout=HASTY_S if hasty else TIMEOUT_S)
        if flat or answer.status_code != 404:
            answer.raise_for_status()
    except requests.RequestException as error:
        raise installer.IndexUnreachable(f"the index {shown} cannot be reached: {reason(error)}", _CHECK) from error
    return answer


def _local(place: Path, distribution: str, flat: bool) -> list[DistributionPackage]:
    """Return the files of a package that a folder holds or a page of links lists.

    In an index, `place` is the package's own page.
    """
    page = place if flat else place / "index.html"
    if not flat and not page.exists():
        return []
    if page.is_file():
        return ProjectPage.from_html(distribution, page.read_bytes(), page.as_uri()).packages
    named = [each for each in sorted(place.iterdir()) if _named(each.name)[0] == canonicalize_name(distribution)]
    links = (Link(path.name, f"{path.as_uri()}#sha256={sha256_of(path)}", {}) for path in named)
    return [DistributionPackage.from_link(link, distribution) for link in links]


def reason(error: requests.RequestException) -> str:
    """Return why a request failed, in a few words and without the address, which may hold a password."""
    if error.response is not None:
        return f"HTTP {error.response.status_code}"
    words = {requests.Timeout: "no answer in time", requests.exceptions.SSLError: "its certificate is not trusted"}
    named = next((text for kind, text in words.items() if isinstance(error, kind)), None)
    known = re.search(
        r"Connection refused|Name or service not known|Temporary failure|Network is unreachable", str(error)
    )
    return named or (known.group(0) if known else type(error).__name__)


def _artifact(shown: str, distribution: str, package: DistributionPackage) -> Artifact | None:
    """Read one file of an index.

    None for files of other kinds and packages, and for file names that follow no rule: some names are older than the
    rules.
    """
    name, version = _named(package.filename)
    if name != canonicalize_name(distribution) or _SUSPECT.search(package.filename):
        return None
    found = package.digests.get("sha256", "").lower()
    return Artifact(
        shown,
        distribution,
        version,
        package.filename,
        package.url,
        sha256=found if _SHA256.fullmatch(found) else None,
        size=package.size,
        requires_python=package.requires_python or "",
        uploaded=package.upload_time.isoformat() if package.upload_time else "",
        yanked=_plain(package.yanked_reason or "") if package.is_yanked else None,
    )


def _plain(text: str) -> str:
    """Remove control characters from a line of untrusted text, so that it cannot steer a terminal."""
    return "".join(each if each.isprintable() else " " for each in text)[:_MAX_REASON].strip()


def _named(filename: str) -> tuple[str, str]:
    """Return the package and the version in the name of a file; empty in a name of another kind."""
    try:
        name, version = (parse_wheel_filename if filename.endswith(".whl") else parse_sdist_filename)(filename)[:2]
        return name, str(version)
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return "", ""
