"""The files of a package: in indexes (PEP 503 and 691), on pages of links, and in folders of this machine."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple
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
    PYPI_SIMPLE_ENDPOINT,
    DistributionPackage,
    Link,
    NoSuchProjectError,
    ProjectPage,
    PyPISimple,
    UnsupportedContentTypeError,
    UnsupportedRepoVersionError,
)
from requests.adapters import HTTPAdapter
from urllib3 import Retry

from fuzz_core.ir.errors import UserError
from fuzz_core.targets import installer
from fuzz_core.targets.artifact import Artifact, sha256_of, without_secrets

TIMEOUT_S = 30.0
RETRIES = 3
_CHECK = "check the network and the address of the index"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_YES = ("1", "true", "yes", "on", "t", "y")
_MAX_REASON = 200
# A build tag may hold anything else.
_SUSPECT = re.compile(r"[^A-Za-z0-9_.+!-]")


def session() -> requests.Session:
    """What everything is fetched with: proxies, certificates and passwords as the user's environment and pip say."""
    made, settings = requests.Session(), installer.pip_settings()
    # A compressed answer to a part of a file could not be joined to the rest.
    made.headers["Accept-Encoding"] = "identity"
    made.verify = settings.get("cert") or True
    made.proxies = dict.fromkeys(("http", "https"), settings["proxy"]) if settings.get("proxy") else {}
    return made


class PackageSource(NamedTuple):
    """Where packages are looked for. flat: a folder or page with files of many packages, no index."""

    address: str
    flat: bool = False


def sources() -> list[PackageSource]:
    """Where pip is set up to look, else the public index. Raises UserError if pip may look nowhere."""
    settings = installer.pip_settings()
    links = [PackageSource(_address(each), flat=True) for each in settings.get("find-links", "").split()]
    if settings.get("no-index", "").lower() not in _YES:
        indexes = [settings.get("index-url") or PYPI_SIMPLE_ENDPOINT, *settings.get("extra-index-url", "").split()]
        return [*(PackageSource(_address(each)) for each in indexes), *links]
    if not links:
        raise UserError("pip is set up to use no package index", "name one: --index https://HOST/PATH")
    return links


def _address(place: str) -> str:
    return place if urlsplit(place).scheme else Path(place).expanduser().absolute().as_uri()


def listed(places: Iterable[PackageSource], distribution: str, **how: Any) -> list[Artifact]:
    """The files of a package in all sources, as `listing` gives them. `how`: its timeout and retries.

    Raises as `listing` does, but only if no source has a file.
    """
    found, errors = [], []
    for address, flat in places:
        try:
            found += listing(address, distribution, flat, **how)
        except UserError as error:
            errors.append(error)
    if errors and not found:
        raise errors[0]
    return found


def listing(
    address: str, distribution: str, flat: bool = False, timeout: float = TIMEOUT_S, retries: int = RETRIES
) -> list[Artifact]:
    """Every wheel and source archive of a package that a source lists, in its order; empty if it lacks the package.

    `timeout` in seconds. Raises installer.IndexUnreachable where the index does not answer, UserError where the answer
    is none.
    """
    shown = without_secrets(address).rstrip("/")
    try:
        if address.startswith("file:"):
            packages = _local(address, distribution, flat)
        else:
            packages = _remote(address, distribution, flat, timeout, retries)
    except NoSuchProjectError:
        return []
    except (UnsupportedContentTypeError, UnsupportedRepoVersionError) as error:
        raise UserError(f"{shown} does not answer as a package index does: {error}", _CHECK) from error
    except requests.JSONDecodeError as error:
        raise UserError(f"{shown} does not answer as a package index does: it can't be read", _CHECK) from error
    except requests.RequestException as error:
        raise installer.IndexUnreachable(f"the index {shown} can't be reached: {reason(error)}", _CHECK) from error
    except ValueError as error:
        raise UserError(f"{shown} does not answer as a package index does: it can't be read", _CHECK) from error
    except OSError as error:
        raise UserError(f"{shown} can't be read: {error.strerror}", "check that folder") from error
    read = [_artifact(shown, distribution, package) for package in packages]
    return [artifact for artifact in read if artifact is not None]


def _remote(address: str, distribution: str, flat: bool, timeout: float, retries: int) -> Iterable[DistributionPackage]:
    again = Retry(retries, backoff_factor=0.2, status_forcelist=(429, 502, 503, 504), raise_on_status=False)
    with session() as made, PyPISimple(address, session=made) as client:
        for scheme in ("http://", "https://"):
            made.mount(scheme, HTTPAdapter(max_retries=again))
        if not flat:
            return client.get_project_page(distribution, timeout=timeout).packages
        answer = made.get(address, timeout=timeout)
        answer.raise_for_status()
        return ProjectPage.from_html(distribution, answer.content, answer.url).packages


def _local(address: str, distribution: str, flat: bool) -> Iterable[DistributionPackage]:
    place = Path(url2pathname(urlsplit(address).path))
    page = place if flat else place / canonicalize_name(distribution) / "index.html"
    if page.is_file():
        return ProjectPage.from_html(distribution, page.read_bytes(), page.as_uri()).packages
    files = sorted(place.iterdir()) if flat else []
    named = (path for path in files if (_named(path.name) or [""])[0] == canonicalize_name(distribution))
    links = (Link(path.name, f"{path.as_uri()}#sha256={sha256_of(path)}", {}) for path in named)
    return [DistributionPackage.from_link(link, distribution) for link in links]


def reason(error: requests.RequestException) -> str:
    """Why a request failed, in a few words and without the address, which may hold a password."""
    if error.response is not None:
        return f"HTTP {error.response.status_code}"
    words = {requests.Timeout: "no answer in time", requests.exceptions.SSLError: "its certificate is not trusted"}
    named = next((text for kind, text in words.items() if isinstance(error, kind)), None)
    known = re.search(
        r"Connection refused|Name or service not known|Temporary failure|Network is unreachable", str(error)
    )
    return named or (known.group(0) if known else type(error).__name__)


def _artifact(index: str, distribution: str, package: DistributionPackage) -> Artifact | None:
    """None for files of other kinds and packages, and for names that say nothing: some predate every rule."""
    named = _named(package.filename)
    if named is None or named[0] != canonicalize_name(distribution) or _SUSPECT.search(package.filename):
        return None
    found = package.digests.get("sha256", "").lower()
    details: dict[str, Any] = {
        "sha256": found if _SHA256.fullmatch(found) else None,
        "size": package.size,
        "requires_python": package.requires_python or "",
        "uploaded": package.upload_time.isoformat() if package.upload_time else "",
        "yanked": _plain(package.yanked_reason or "") if package.is_yanked else None,
    }
    return Artifact(index, distribution, named[1], package.filename, package.url, **details)


def _plain(text: str) -> str:
    """One line of what anyone may have written, without what steers a terminal."""
    return "".join(each if each.isprintable() else " " for each in text)[:_MAX_REASON].strip()


def _named(filename: str) -> tuple[str, str] | None:
    """The package and the version in the name of a file."""
    try:
        name, version = (parse_wheel_filename if filename.endswith(".whl") else parse_sdist_filename)(filename)[:2]
        return name, str(version)
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return None
