"""Fetching one file over HTTP: a cut download goes on where it stopped."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import requests

from fuzz_core.ir.errors import UserError
from fuzz_core.targets import index
from fuzz_core.targets.artifact import Artifact, sha256_of
from fuzz_core.targets.installer import IndexUnreachable

TIMEOUT_S = 60.0
TRIES = 5
# What a cut connection loses of the download, at most.
_CHUNK = 1 << 16
# Some stores of files answer 403 for what is not there, so that nobody learns what is.
_GONE = (403, 404, 410)


class Vanished(UserError):  # noqa: N818 - says what happened, as UserError does
    """A file that its index lists can't be had any more."""


class _Cut(Exception):  # noqa: N818 - says what happened, as UserError does
    """What came is no use, or not all: the next try may get further."""


class Fetcher(NamedTuple):
    """session: what requests are made with. wait: sleeps so many seconds between tries."""

    session: requests.Session
    wait: Callable[[float], None] = time.sleep


def fetch(artifact: Artifact, path: Path, fetcher: Fetcher) -> str:
    """Downloads a file, going on with `path` + `.part` where an earlier try left one; returns its SHA-256.

    Raises Vanished where it is gone, IndexUnreachable where the network fails, UserError where the content is not what
    the index says (nothing is kept of it then).
    """
    part = path.with_name(f"{path.name}.part")
    resumed = part.exists()
    digest = _whole(artifact, part, fetcher)
    if resumed and mismatch(artifact, part, digest):
        # What an earlier try left may be of a file that has been replaced since: once from the start.
        _forget(part)
        digest = _whole(artifact, part, fetcher)
    if problem := mismatch(artifact, part, digest):
        _forget(part)
        raise UserError(f"{artifact.filename} is damaged: {problem}", "try again later, or choose another build")
    part.replace(path)
    _note_of(part).unlink(missing_ok=True)
    return digest


def mismatch(artifact: Artifact, part: Path, digest: str) -> str:
    """How a file differs from what its index says of it; empty where it does not."""
    size = part.stat().st_size
    if artifact.size is not None and size != artifact.size:
        return f"the index says {artifact.size} bytes, {size} came"
    if artifact.sha256 is not None and digest != artifact.sha256:
        return f"the index says SHA-256 {artifact.sha256[:12]}…, {digest[:12]}… came"
    return ""


def _whole(artifact: Artifact, part: Path, fetcher: Fetcher) -> str:
    for attempt in range(TRIES):
        try:
            _more(artifact, part, fetcher.session)
        except (_Cut, requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
            if attempt + 1 == TRIES:
                raise _unreachable(artifact, error) from error
            fetcher.wait(2.0**attempt)
        except requests.RequestException as error:
            raise _unreachable(artifact, error) from error
        else:
            break
    return sha256_of(part)


def _unreachable(artifact: Artifact, error: Exception) -> IndexUnreachable:
    why = index.reason(error) if isinstance(error, requests.RequestException) else "the server does not send it"
    return IndexUnreachable(
        f"{artifact.filename} can't be downloaded: {why}", "check the network; the next try goes on"
    )


def _more(artifact: Artifact, part: Path, session: requests.Session) -> None:
    """One request: for the rest where a part is there and its validator still holds, else for all."""
    have = part.stat().st_size if part.exists() else 0
    headers = {"Range": f"bytes={have}-"} if have else {}
    if have and (validator := _note_of(part).read_text(encoding="utf-8") if _note_of(part).exists() else ""):
        headers["If-Range"] = validator
    with session.get(artifact.url, headers=headers, stream=True, timeout=TIMEOUT_S) as answer:
        if answer.status_code == 416 and have:
            _settle_416(answer, part, have)
            return
        if answer.status_code in _GONE:
            raise Vanished(
                f"{artifact.filename} is listed, but gone (HTTP {answer.status_code})", "choose another build"
            )
        if answer.status_code >= 500:
            raise _Cut
        answer.raise_for_status()
        goes_on = answer.status_code == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        if answer.status_code == 206 and not goes_on:
            _forget(part)
            raise _Cut
        _keep_validator(part, answer)
        _write(part, answer, "ab" if goes_on else "wb")


def _settle_416(answer: requests.Response, part: Path, have: int) -> None:
    """Nothing is left to send: the part is the file, or it is longer than that and of no use."""
    if answer.headers.get("Content-Range", "").rpartition("/")[2] != str(have):
        _forget(part)
        raise _Cut


def _write(part: Path, answer: requests.Response, how: str) -> None:
    with part.open(how) as file:
        for chunk in answer.iter_content(_CHUNK):
            file.write(chunk)


def _note_of(part: Path) -> Path:
    return part.with_name(f"{part.name}.validator")


def _keep_validator(part: Path, answer: requests.Response) -> None:
    etag = answer.headers.get("ETag", "")
    # A weak one says that two files mean the same, not that they are the same bytes.
    validator = etag if etag and not etag.startswith("W/") else answer.headers.get("Last-Modified", "")
    _note_of(part).write_text(validator, encoding="utf-8")


def _forget(part: Path) -> None:
    part.unlink(missing_ok=True)
    _note_of(part).unlink(missing_ok=True)
