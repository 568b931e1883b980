"""The runner's files and workflow commands. Every text that is written here is untrusted and escaped."""

from __future__ import annotations

import re
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from fuzz_core.ir.errors import UserError
from nightfuzz.reports.annotations import TITLE, command
from nightfuzz.reports.markdown import escaped
from nightfuzz.reports.text import bounded, code_blocks

SHORTEST = 4
"""A shorter line of a secret is no secret, and stars for it would hide the log."""
SUMMARY_BYTES = 1 << 20
_OUTPUT = re.compile(r"[a-z][a-z0-9-]*")
_CUT = "\n\n… The summary was cut at GitHub's limit of 1 MiB; the whole report is in the artifact.\n"


class Runner:
    """The channel from a step to its runner.

    Outside a runner there are no files, and writes to files are skipped.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        stream: TextIO | None = None,
        token: Callable[[], str] = lambda: secrets.token_hex(16),
    ) -> None:
        """Open the channel.

        Args:
            token: draws unpredictable text for delimiters.
        """
        self._outputs = _file(environment, "GITHUB_OUTPUT")
        self._summary = _file(environment, "GITHUB_STEP_SUMMARY")
        self._stream = stream or sys.stdout
        self._token = token

    def output(self, name: str, value: object) -> None:
        """Set an output of the step.

        Raises:
            ValueError: a name that is none.
        """
        if not _OUTPUT.fullmatch(name):
            raise ValueError(f"{name!r} is no name of an output")
        text, mark = str(value), f"nightfuzz-{self._token()}"
        if mark in text:
            raise ValueError("the value has the delimiter in it")
        _append(self._outputs, f"{name}<<{mark}\n{text}\n{mark}\n")

    def summary(self, markdown: str) -> bool:
        """Add to the job summary, cut at a line where the step's 1 MiB is full.

        Returns:
            Whether all of it fitted.
        """
        if self._summary is None:
            return True
        there = self._summary.stat().st_size if self._summary.exists() else 0
        text = markdown.rstrip("\n") + "\n"
        if there + len(text.encode()) <= SUMMARY_BYTES:
            _append(self._summary, text)
            return True
        _append(self._summary, _cut(text, SUMMARY_BYTES - there))
        return False

    @contextmanager
    def group(self, title: str) -> Iterator[None]:
        """Fold the lines that are printed inside, in the log of the job."""
        self._say(command("group", bounded(title, TITLE)))
        try:
            yield
        finally:
            self._say("::endgroup::")

    def fail(self, error: UserError) -> None:
        """Say why the step fails: as an annotation, and in the job's summary."""
        said = f"{error.problem}: {error.remedy}" if error.remedy else error.problem
        self._say(command("error", said, title="nightfuzz"))
        self.summary(f"**nightfuzz failed.** {escaped(said)}")

    def mask(self, secret: str) -> None:
        """Have the log show stars for a text from now on, for each line of it and for the whole."""
        for part in dict.fromkeys([secret, *secret.splitlines()]):
            if len(part.strip()) >= SHORTEST:
                self._say(f"::add-mask::{_data(part)}")

    @contextmanager
    def untrusted(self) -> Iterator[None]:
        """Keep the runner from taking lines that are printed within the context for commands."""
        mark = self._token()
        self._say(f"::stop-commands::{mark}")
        try:
            yield
        finally:
            # A mark starts a line of its own, after any unfinished output.
            self._say(f"\n::{mark}::")

    def _say(self, line: str) -> None:
        print(line, file=self._stream, flush=True)


def _file(environment: Mapping[str, str], name: str) -> Path | None:
    return Path(environment[name]) if environment.get(name) else None


def _append(file: Path | None, text: str) -> None:
    if file is not None:
        with file.open("a", encoding="utf-8", errors="replace", newline="\n") as stream:
            stream.write(text)


def _cut(markdown: str, room: int) -> str:
    """Return as many of the first lines as fit into `room` bytes with their closing marks; empty if no line fits."""
    head = markdown.encode()[: max(room, 0)].decode(errors="ignore")
    while head := head[: head.rfind("\n") + 1]:
        whole = f"{head}{_closing(head)}{_CUT}"
        over = len(whole.encode()) - room
        if over <= 0:
            return whole
        head = head[: -max(over, 1)]
    return ""


def _closing(markdown: str) -> str:
    """Return the text that closes a code block and the folds that a cut left open."""
    fence = "".join(block.fence for block in code_blocks(markdown)[-1:] if not block.closed)
    folds = max(markdown.count("<details>") - markdown.count("</details>"), 0)
    return f"{fence}\n{'</details>' * folds}\n" if fence or folds else ""


def _data(text: str) -> str:
    """Return the text in one line, otherwise as it is: the runner recognises no changed secret."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
