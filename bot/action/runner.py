"""The runner's files and workflow commands. Whatever is written here came from elsewhere, so all of it is escaped."""

from __future__ import annotations

import re
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple, TextIO

from reports.text import clean

SHORTEST = 4
"""A shorter line of a secret is no secret, and stars for it would hide the log."""
SUMMARY_BYTES = 1 << 20
ANNOTATIONS = 10
"""GitHub shows so many of a level for each step."""
_OUTPUT = re.compile(r"[a-z][a-z0-9-]*")
_CUT = "\n\n… The rest did not fit into GitHub's limit of 1 MiB; the whole report is in the artifact.\n"
_MESSAGE = 4_000

Level = Literal["error", "warning", "notice"]


class Annotation(NamedTuple):
    """A note on a run, at a line of a file of the repository where it has one. line: from 1."""

    level: Level
    title: str
    message: str
    file: str = ""
    line: int = 0


class Runner:
    """What a step says to its runner. Outside a runner there are no files, and nothing is written into any."""

    def __init__(
        self,
        environment: Mapping[str, str],
        stream: TextIO | None = None,
        token: Callable[[], str] = lambda: secrets.token_hex(16),
    ) -> None:
        """token: draws what nobody can guess, for delimiters."""
        self._outputs = _file(environment, "GITHUB_OUTPUT")
        self._summary = _file(environment, "GITHUB_STEP_SUMMARY")
        self._stream = stream or sys.stdout
        self._token = token
        self._shown: dict[str, int] = {}

    def output(self, name: str, value: object) -> None:
        """Sets an output of the step. Raises ValueError for a name that is none."""
        if not _OUTPUT.fullmatch(name):
            raise ValueError(f"{name!r} is no name of an output")
        text, mark = str(value), f"nightfuzz-{self._token()}"
        if mark in text:
            raise ValueError("the value has the delimiter in it")
        _append(self._outputs, f"{name}<<{mark}\n{text}\n{mark}\n")

    def summary(self, markdown: str) -> bool:
        """Adds to the job summary, cut at a line where the step's 1 MiB is full. Returns whether all of it fitted."""
        if self._summary is None:
            return True
        there = self._summary.stat().st_size if self._summary.exists() else 0
        text = markdown.rstrip("\n") + "\n"
        if there + len(text.encode()) <= SUMMARY_BYTES:
            _append(self._summary, text)
            return True
        room = SUMMARY_BYTES - there - len(_CUT.encode())
        if room > 0:
            head = text.encode()[:room].decode(errors="ignore")
            _append(self._summary, _closed(head[: head.rfind("\n") + 1]) + _CUT)
        return False

    @contextmanager
    def group(self, title: str) -> Iterator[None]:
        """What is printed inside is folded in the log."""
        self._say(f"::group::{_data(clean(title))}")
        try:
            yield
        finally:
            self._say("::endgroup::")

    def mask(self, secret: str) -> None:
        """The log shows stars for it from now on, for each line of it and for the whole."""
        for part in dict.fromkeys([secret, *secret.splitlines()]):
            if len(part.strip()) >= SHORTEST:
                self._say(f"::add-mask::{_data(part)}")

    def annotate(self, note: Annotation) -> bool:
        """Writes one, as long as GitHub shows more of its level. Returns whether it was written."""
        if self._shown.get(note.level, 0) >= ANNOTATIONS:
            return False
        self._shown[note.level] = self._shown.get(note.level, 0) + 1
        where = {"title": note.title, "file": note.file, "line": str(note.line) if note.line and note.file else ""}
        told = ",".join(f"{key}={_property(value)}" for key, value in where.items() if value)
        self._say(f"::{note.level}{' ' if told else ''}{told}::{_data(clean(note.message[:_MESSAGE]))}")
        return True

    @contextmanager
    def untrusted(self) -> Iterator[None]:
        """No line that is printed inside is a command: for the output of code under test."""
        mark = self._token()
        self._say(f"::stop-commands::{mark}")
        try:
            yield
        finally:
            # On a line of its own, whatever was printed last.
            self._say(f"\n::{mark}::")

    def _say(self, line: str) -> None:
        print(line, file=self._stream, flush=True)


def _file(environment: Mapping[str, str], name: str) -> Path | None:
    return Path(environment[name]) if environment.get(name) else None


def _append(file: Path | None, text: str) -> None:
    if file is not None:
        with file.open("a", encoding="utf-8", errors="replace", newline="\n") as stream:
            stream.write(text)


def _closed(markdown: str) -> str:
    """The text, with the code block closed that a cut has left open."""
    fence = ""
    for line in markdown.splitlines():
        found = re.match(r" {0,3}(`{3,}|~{3,})", line)
        if found and not fence:
            fence = found.group(1)
        elif found and found.group(1).startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
    return f"{markdown}{fence}\n" if fence else markdown


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(clean(text)).replace(":", "%3A").replace(",", "%2C")
