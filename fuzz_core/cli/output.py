"""Output of a command: its report as text or as JSON, and its progress, a live line on a terminal."""

from __future__ import annotations

import json
import os
import re
import textwrap
from collections.abc import Iterable, Sequence
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fuzz_core.cli.lines import PLAIN_SECONDS, VERBOSE_SECONDS, LineProgress
from fuzz_core.cli.screen import NARROW, Screen
from fuzz_core.cli.status import Display, Status, StatusWatch
from fuzz_core.cli.streams import discard_output, printable

# Cells of a table that are never cut.
SHORT = 16
# Columns of a table in a file or a log, which have no width of their own.
WIDE = 160
# Variables of machines on which output goes to a log.
LOGS = ("CI", "GITHUB_ACTIONS")


class TextTable(NamedTuple):
    """Rows of cells; every cell is text from untrusted code."""

    columns: Sequence[str]
    rows: Iterable[Sequence[object]]


class Verbatim(str):
    """Text that is printed as it is, however narrow the terminal: a script or a document, which people copy."""

    __slots__ = ()


class Report(NamedTuple):
    """Result of a command."""

    data: Any = None  # printed as JSON if asked for; otherwise the text is printed
    text: Sequence[str | TextTable] = ()
    code: int = 0  # the exit code of the process


class _Terminal(Console):
    """A console whose reader may leave: the command goes on, and ends with the exit code of its own work."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        discard_output()


class CommandOutput:
    """Standard output: as wide as its terminal, or as tables need where it is a file or a log.

    If JSON is asked for, standard output has the report alone, and notes and progress go to standard error.

    Args:
        quiet: no progress and no notes.
        verbose: a line of progress every second.
    """

    def __init__(self, as_json: bool = False, quiet: bool = False, verbose: bool = False) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self.verbose = verbose
        self.console: Console = _Terminal()
        self.errors = Console(stderr=True)
        if not self.console.is_terminal:
            self.console.width = max(self.console.width, WIDE)

    def print(self, report: Report) -> int:
        """Print a report, and return its exit code."""
        if self.as_json:
            self.console.print_json(json.dumps(report.data))
        else:
            self.show(*report.text)
        return report.code

    def show(self, *parts: str | TextTable) -> None:
        """Print text and tables for a person; with JSON, print no line."""
        if not self.as_json:
            for part in parts:
                if isinstance(part, TextTable):
                    draw(self.console, part)
                elif isinstance(part, Verbatim) or not self.console.is_terminal:
                    _write(self.console, part)
                else:
                    _write(self.console, _wrapped(part, self.console.width))

    def note(self, text: str) -> None:
        """Print a line on standard error, unless the user wants quiet."""
        if not self.quiet:
            _write(self.errors, text)

    def say(self, text: str) -> None:
        """Print a line that is not part of the report: on standard error with JSON, nowhere if quiet."""
        if not self.quiet:
            _write(self.errors if self.as_json else self.console, text)

    def watch(self, title: str = "", box: float | None = None, file: Path | None = None) -> StatusWatch:
        """Return a watch whose display fits the console: a screen on a terminal, lines in a file or a job's log.

        The log of a job gets lines even if it claims to be a terminal.

        Args:
            title: the target, if one is named.
            box: seconds of the command's time-box.
            file: where the status is kept for `nightfuzz watch`.
        """
        status = Status(title or "nightfuzz", box)
        return StatusWatch(status, self._display(status), file)

    @property
    def is_live(self) -> bool:
        """Whether a person sees the report on a terminal.

        The log of a job may only claim to be one.
        """
        return not self.as_json and self._is_terminal(self.console)

    def _is_terminal(self, console: Console) -> bool:
        return console.is_terminal and not any(os.environ.get(name) for name in LOGS)

    def _display(self, status: Status) -> Display:
        console = self.errors if self.as_json else self.console
        if self.quiet:
            return LineProgress(lambda text: None)
        if self.verbose or not self._is_terminal(console):
            every = VERBOSE_SECONDS if self.verbose else PLAIN_SECONDS
            return LineProgress(lambda text: _write(console, text), every=every, beats=True)
        return Screen(console, status.snapshot)


def _wrapped(text: str, width: int) -> str:
    """Return the text with lines that end at words; what goes on is indented by two more cells."""
    lines = []
    for line in text.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        wrapped = textwrap.wrap(
            line, width, subsequent_indent=f"{indent}  ", break_long_words=False, break_on_hyphens=False
        )
        lines += wrapped or [""]
    return "\n".join(lines)


def _write(console: Console, text: str) -> None:
    console.print(printable(text), markup=False, highlight=False, emoji=False, soft_wrap=True)


def shorten(names: Sequence[str], most: int = 5) -> str:
    """Return the first names, a line each, and how many there are besides."""
    more = [f"and {len(names) - most} more"] if len(names) > most else []
    return "\n".join([*names[:most], *more])


def draw(console: Console, table: TextTable) -> None:
    """Print a table without its empty columns.

    Long cells continue on the next line at a word. A word that is too long is cut, a dotted name at its front. On a
    narrow terminal each row is a block of lines.
    """
    rows = [[printable(cell) for cell in row] for row in table.rows]
    columns = table.columns
    if rows:
        full = [any(cells) for cells in zip(*rows, strict=True)]
        columns = list(compress(columns, full))
        rows = [list(compress(row, full)) for row in rows]
    if console.width < NARROW:
        for row in rows:
            console.print(Text("\n".join(_stacked(_labelled(columns, row), console.width))))
        return
    drawing = Table(box=None, pad_edge=False, header_style="bold")
    widths = _widths([columns, *rows], console.width)
    for column, width in zip(columns, widths, strict=True):
        drawing.add_column(column, overflow="ellipsis", width=width)
    for row in rows:
        drawing.add_row(*(Text(_fitted(cell, width)) for cell, width in zip(row, widths, strict=True)))
    console.print(drawing)


def _widths(rows: Sequence[Sequence[str]], room: int) -> list[int]:
    """Return the width of each column: the widest ones give way until all fit, but none below SHORT."""
    columns = zip(*rows, strict=True)
    widths = [max(cell_len(line) for cell in column for line in [*cell.splitlines(), ""]) for column in columns]
    while sum(widths) + 2 * (len(widths) - 1) > room and max(widths) > SHORT:
        widths[widths.index(max(widths))] -= 1
    return widths


def _fitted(text: str, width: int) -> str:
    """Return the text with each word that is too long cut to the width."""
    return re.sub(r"\S+", lambda word: _cut(word[0], width), text)


def _cut(word: str, width: int) -> str:
    """Return a word of at most this width.

    A dotted name keeps its last parts, which say most. A dotted name that is called and the name of a test
    are cut in the same way.
    """
    if cell_len(word) <= width:
        return word
    mark = "::" if "::" in word else "."
    name, bracket, arguments = word.partition("(")
    parts = name.split(mark)
    if len(parts) > 2 and (mark == "::" or all(part.isidentifier() for part in parts)):
        ends = (mark.join(parts[first:]) + bracket + arguments for first in range(1, len(parts)))
        word = f"…{next((end for end in ends if cell_len(end) < width), parts[-1] + bracket + arguments)}"
    return word if cell_len(word) <= width else f"{set_cell_size(word, width - 1).rstrip()}…"


def _labelled(columns: Sequence[str], row: Sequence[str]) -> list[str]:
    """Return the cells of a row without a head above it: a number, a rate and a version say what they are."""
    return [
        f"{column} {cell}" if place and re.fullmatch(r"[\d,]+(?:[smh]\d*m?)?|\d+/\d+|<=\S+", cell) else cell
        for place, (column, cell) in enumerate(zip(columns, row, strict=True))
    ]


def _stacked(row: Sequence[str], width: int) -> list[str]:
    """Return the lines of a row: short cells stand side by side, long ones below, each line but the first indented."""
    lines = [""]
    for place, cell in enumerate(row):
        for line in cell.splitlines():
            if cell_len(lines[-1]) + 2 + cell_len(line) <= width and (
                len(cell) <= SHORT or " " not in cell or not place
            ):
                lines[-1] += f"  {line}" if lines[-1] else line
            else:
                lines += textwrap.wrap(_fitted(line, width - 2), width, initial_indent="  ", subsequent_indent="  ")
    return [line for line in lines if line]
