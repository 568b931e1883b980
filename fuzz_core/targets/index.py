"""Reading a package index: which files of a package there are (PEP 503 and 691), by a well-kept client."""

from __future__ import annotations

import os
import re
from typing import Any

import requests
from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename
from packaging.version import InvalidVersion
from pypi_simple import (
    PYPI_SIMPLE_ENDPOINT,
    DistributionPackage,
    NoSuchProjectError,
    PyPISimple,
    UnsupportedContentTypeError,
    UnsupportedRepoVersionError,
)
from requests.adapters import HTTPAdapter
from urllib3 import Retry

from fuzz_core.ir.errors import UserError
from fuzz_core.targets import installer, process
from fuzz_core.targets.artifact import Artifact, without_secrets

TIMEOUT_S = 30.0
_CHECK = "check the network and the address of the index"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_INDEX_URL = re.compile(r"^(?::env:|global|install)\.index-url='(.*)'$", re.MULTILINE)
_NO_INDEX = re.compile(r"^(?::env:|global|install)\.no-index='(?:1|true|yes|on|t|y)'$", re.MULTILINE | re.IGNORECASE)
_RETRIES = Retry(3, backoff_factor=0.2, status_forcelist=(429, 502, 503, 504), raise_on_status=False)
_MAX_REASON = 200
# A build tag may hold anything else.
_SUSPECT = re.compile(r"[^A-Za-z0-9_.+!-]")


def session() -> requests.Session:
    """What everything is fetched with: proxies, certificates and passwords as the user's environment says."""
    made = requests.Session()
    # A compressed answer to a part of a file could not be joined to the rest.
    made.headers["Accept-Encoding"] = "identity"
    made.verify = os.environ.get("PIP_CERT") or True
    return made


def configured() -> str:
    """The index that pip is set up with, else the public one. Raises UserError where pip may use none."""
    listed = process.run([*installer.pip_command(), "config", "list"], 60, process.for_installer(os.environ)).stdout
    if _NO_INDEX.search(listed):
        raise UserError("pip is set up to use no package index", "name one: --index https://HOST/PATH")
    # Pip lists what counts most last: its variables.
    found = _INDEX_URL.findall(listed)
    return found[-1] if found else PYPI_SIMPLE_ENDPOINT


def _patient(made: requests.Session) -> requests.Session:
    for scheme in ("http://", "https://"):
        made.mount(scheme, HTTPAdapter(max_retries=_RETRIES))
    return made


def listing(index: str, distribution: str, timeout: float = TIMEOUT_S) -> list[Artifact]:
    """Every wheel and source archive of a package that an index lists, in its order. `timeout` in seconds.

    Raises installer.IndexUnreachable where the index does not answer, UserError where the answer is none.
    """
    shown = without_secrets(index).rstrip("/")
    try:
        with PyPISimple(index, session=_patient(session())) as client:
            page = client.get_project_page(distribution, timeout=timeout)
    except NoSuchProjectError as error:
        raise UserError(f"the index {shown} has no package {distribution}", "check its name and the address") from error
    except (UnsupportedContentTypeError, UnsupportedRepoVersionError) as error:
        raise UserError(f"{shown} does not answer as a package index does: {error}", _CHECK) from error
    except (requests.JSONDecodeError, UnicodeDecodeError, ValueError) as error:
        raise _unreadable(error, shown) from error
    except requests.RequestException as error:
        raise installer.IndexUnreachable(f"the index {shown} can't be reached: {reason(error)}", _CHECK) from error
    read = [_artifact(shown, distribution, package) for package in page.packages]
    return [artifact for artifact in read if artifact is not None]


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


def _unreadable(error: Exception, shown: str) -> UserError:
    # Requests' own errors about addresses are ValueErrors too.
    if isinstance(error, requests.RequestException) and not isinstance(error, requests.JSONDecodeError):
        return installer.IndexUnreachable(f"the index {shown} can't be reached: {reason(error)}", _CHECK)
    return UserError(f"{shown} does not answer as a package index does: it can't be read", _CHECK)


def _artifact(index: str, distribution: str, package: DistributionPackage) -> Artifact | None:
    """None for files of other kinds and for names that say nothing: an index may carry what predates every rule."""
    version = _version_of(package.filename)
    if version is None or _SUSPECT.search(package.filename):
        return None
    found = package.digests.get("sha256", "").lower()
    details: dict[str, Any] = {
        "sha256": found if _SHA256.fullmatch(found) else None,
        "size": package.size,
        "requires_python": package.requires_python or "",
        "uploaded": package.upload_time.isoformat() if package.upload_time else "",
        "yanked": _plain(package.yanked_reason or "") if package.is_yanked else None,
    }
    return Artifact(index, distribution, version, package.filename, package.url, **details)


def _plain(text: str) -> str:
    """One line of what anyone may have written, without what steers a terminal."""
    return "".join(each if each.isprintable() else " " for each in text)[:_MAX_REASON].strip()


def _version_of(filename: str) -> str | None:
    try:
        if filename.endswith(".whl"):
            return str(parse_wheel_filename(filename)[1])
        return str(parse_sdist_filename(filename)[1])
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return None
