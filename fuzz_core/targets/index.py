"""Reading a package index: which files of a package there are (PEP 503 and 691), by a well-kept client."""

from __future__ import annotations

import os
import re
from pathlib import PurePath
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

from fuzz_core.ir.errors import UserError
from fuzz_core.targets import installer, process
from fuzz_core.targets.artifact import Artifact, without_secrets

TIMEOUT_S = 30.0
_CHECK = "check the network and the address of the index"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_INDEX_URL = re.compile(r"^(?::env:|global|install)\.index-url='(.*)'$", re.MULTILINE)


def session() -> requests.Session:
    """What everything is fetched with: proxies, certificates and passwords as the user's environment says."""
    made = requests.Session()
    # A compressed answer to a part of a file could not be joined to the rest.
    made.headers["Accept-Encoding"] = "identity"
    return made


def configured() -> str:
    """The index that pip is set up with, else the public one."""
    if chosen := os.environ.get("PIP_INDEX_URL"):
        return chosen
    listed = process.run([*installer.pip_command(), "config", "list"], 60, process.for_installer(os.environ))
    found = _INDEX_URL.findall(listed.stdout)
    return found[-1] if found else PYPI_SIMPLE_ENDPOINT


def listing(index: str, distribution: str, timeout: float = TIMEOUT_S) -> list[Artifact]:
    """Every wheel and source archive of a package that an index lists, in its order. `timeout` in seconds.

    Raises installer.IndexUnreachable where the index does not answer, UserError where the answer is none.
    """
    shown = without_secrets(index).rstrip("/")
    try:
        with PyPISimple(index, session=session()) as client:
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
    if version is None or PurePath(package.filename).name != package.filename:
        return None
    found = package.digests.get("sha256", "").lower()
    details: dict[str, Any] = {
        "sha256": found if _SHA256.fullmatch(found) else None,
        "size": package.size,
        "requires_python": package.requires_python or "",
        "uploaded": package.upload_time.isoformat() if package.upload_time else "",
        "yanked": (package.yanked_reason or "") if package.is_yanked else None,
    }
    return Artifact(index, distribution, version, package.filename, package.url, **details)


def _version_of(filename: str) -> str | None:
    try:
        if filename.endswith(".whl"):
            return str(parse_wheel_filename(filename)[1])
        return str(parse_sdist_filename(filename)[1])
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return None
