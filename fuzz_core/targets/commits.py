"""The source commit of a build: what a library says of itself, and PyTorch's nightly releases on GitHub."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any, NamedTuple

import requests
from packaging.version import Version

from fuzz_core.adapters.library import library_of
from fuzz_core.targets import index
from fuzz_core.targets.artifact import Artifact
from fuzz_core.targets.facts import TargetInfo
from fuzz_core.targets.record import BuildOrigin

API_VARIABLE = "NIGHTFUZZ_GITHUB_API"
_API = "https://api.github.com"
_TIMEOUT_S = 20.0
_SUBJECT = re.compile(r"(\d{4}-\d{2}-\d{2}) nightly release \(([0-9a-f]{40})\)")
# A whole hash, or the end of what `git describe` prints: v2.21.0-rc1-14-g0123abc.
_HASH = re.compile(r"(?:^|-g|[+.]g?)([0-9a-f]{7,40})$")


class Commit(NamedTuple):
    """A source commit in hexadecimal digits, empty if it is unknown, and its source in words."""

    text: str
    by: str


class NightlyRelease(NamedTuple):
    """A commit of PyTorch's branch `nightly`."""

    own: str  # its hash
    day: date  # day, source: of its subject; source is of `main`
    source: str


def origin_of(artifact: Artifact, info: TargetInfo) -> BuildOrigin | None:
    """Return date and source commit of an installed build; None for a wheel that the user gave."""
    if not artifact.index:
        return None
    day, dated_by = artifact.dated()
    if library_of(info.library).own_index and day is not None and Version(artifact.version).is_devrelease:
        with index.session() as session:
            commit = of_torch_nightly(day, info.commit, session)
    else:
        commit = said_by_library(info.commit)
    return BuildOrigin(artifact, day.isoformat() if day else "", dated_by, *commit)


def said_by_library(said: str | None, called: str = "its own version file") -> Commit:
    """Return the commit in what a library calls its source revision, which need not hold one."""
    found = _HASH.search(said or "")
    return Commit(found.group(1), called) if found else Commit("", "")


def of_torch_nightly(day: date, git_version: str | None, session: requests.Session) -> Commit:
    """Return the commit of PyTorch's `main` that the nightly build of a day was made from.

    `git_version` is the commit of the branch `nightly` that the build names. If GitHub does not know the commit of
    `main`, `git_version` stands in and is called a fallback. NIGHTFUZZ_GITHUB_API names another server of its API.
    """
    try:
        releases = nightly_releases(day, session)
    except requests.RequestException as error:
        return _fallback(git_version, f"GitHub could not be asked: {index.reason(error)}")
    except ValueError:
        return _fallback(git_version, "GitHub's answer can't be read")
    return _chosen(releases, day, git_version)


def nightly_releases(day: date, session: requests.Session) -> list[NightlyRelease]:
    """Return the nightly releases around a day.

    Raises:
        requests.RequestException, ValueError: the index has no answer.
    """
    address = f"{os.environ.get(API_VARIABLE, _API).rstrip('/')}/repos/pytorch/pytorch/commits"
    around = {"since": f"{day - timedelta(days=2)}T00:00:00Z", "until": f"{day + timedelta(days=2)}T00:00:00Z"}
    asked = {"sha": "nightly", "per_page": "100", **around}
    with session.get(address, params=asked, timeout=_TIMEOUT_S) as answer:
        answer.raise_for_status()
        data = json.loads(answer.content)
    if not isinstance(data, list):
        raise ValueError("no list of commits")
    return [release for entry in data if (release := _release(entry)) is not None]


def _release(entry: Any) -> NightlyRelease | None:
    """Return the release in a commit of GitHub's API; None if the commit is not a release."""
    try:
        found = _SUBJECT.fullmatch(entry["commit"]["message"].split("\n")[0].strip())
        return NightlyRelease(str(entry["sha"]), date.fromisoformat(found[1]), found[2]) if found else None
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _chosen(releases: Sequence[NightlyRelease], day: date, git_version: str | None) -> Commit:
    own = {release.source for release in releases if release.own == git_version}
    # The build's own commit separates two releases of one day.
    sources = own or {release.source for release in releases if release.day == day}
    if len(sources) == 1:
        return Commit(sources.pop(), "the nightly release's subject")
    return _fallback(git_version, f"GitHub has {len(sources) or 'no'} nightly releases of {day}")


def _fallback(git_version: str | None, why: str) -> Commit:
    return said_by_library(git_version, f"git_version, a fallback ({why})")
