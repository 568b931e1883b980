"""Output of a command: its report as text or as JSON, and its progress, a live line on a terminal."""

from __future__ import annotations

import json
import os
import re
import textwrap
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import compress
from typing import Any, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from fuzz_core.cli.streams import discard_output

PLAIN_SECONDS, VERBOSE_SECONDS = 10.0, 1.0
# The first phase of every command.
STARTING = "starting"
# Cells of a table that are never cut, and the columns of a terminal that is too narrow for any table.
SHORT = 16
NARROW = 60
# Columns of a table in a file or a log, which have no width of their own.
WIDE = 160
# Variables of machines on which output goes to a log.
LOGS = ("CI", "GITHUB_ACTIONS")


class BarProgress:
    """A bar with figures, redrawn in place; a context manager."""

    def __init__(self, console: Console) -> None:
        self.is_narrow = console.width < NARROW
        wide = (
            [] if self.is_narrow else [BarColumn(bar_width=24), TimeElapsedColumn(), TimeRemainingColumn(compact=True)]
        )
        self.progress = Progress(
            SpinnerColumn(),
            TextColumn("[bold]{task.description}"),
            *([] if self.is_narrow else wide),
            TextColumn("{task.fields[figures]}", markup=False),
            console=console,
            transient=True,
        )
        self.task: TaskID | None = None

    def __enter__(self) -> BarProgress:
        self.progress.start()
        self.phase(STARTING)
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def phase(self, name: str, total: float = 0.0) -> None:
        """Begins a bar of its own for the phase."""
        if self.task is not None:
            self.progress.remove_task(self.task)
        self.task = self.progress.add_task(name, total=total or None, figures="")

    def advance(self, done: float, **figures: object) -> None:
        """Moves the bar."""
        if self.is_narrow:
            # There is room for two columns: the amount done, and its results.
            figures = {name: value for name, value in figures.items() if name in (next(iter(figures)), "bugs")}
        if self.task is not None:
            self.progress.update(self.task, completed=done, figures=_figures(figures))

    def note(self, text: str) -> None:
        """A line above the bar."""
        self.progress.console.print(printable(text), markup=False, highlight=False, emoji=False)


class LineProgress:
    """A line per phase, the notes, and never a longer silence than `every` seconds; each line begins with the time.

    Args:
        clock: monotonic seconds.
        wall: the time of day.
        beats: whether a thread prints while the phase does not advance.
    """

    def __init__(
        self,
        write: Callable[[str], object],
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], datetime] = datetime.now,
        every: float = PLAIN_SECONDS,
        beats: bool = False,
    ) -> None:
        self.write = write
        self.clock = clock
        self.wall = wall
        self.every = every
        self.name = STARTING
        self.total = self.done = 0.0
        self.figures: dict[str, object] = {}
        self.began = self.last = clock()
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep_beating, daemon=True) if beats else None

    def __enter__(self) -> LineProgress:
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def phase(self, name: str, total: float = 0.0) -> None:
        """Says that a phase begins."""
        with self._lock:
            self.name, self.total, self.done, self.figures = name, total, 0.0, {}
            self.began = self.clock()
            self._line(f"{name} …")

    def advance(self, done: float, **figures: object) -> None:
        """Says how far the phase is, now and then."""
        with self._lock:
            self.done, self.figures = done, figures
            self.beat()

    def beat(self) -> None:
        """Says how far the phase is, where the last line is long ago."""
        with self._lock:
            if self.clock() - self.last >= self.every:
                figures = _figures(self.figures)
                self._line(f"{self.name}: {self._far()}{f'  {figures}' * bool(figures)}")

    def note(self, text: str) -> None:
        """Says it."""
        with self._lock:
            self._line(printable(text))

    def _line(self, text: str) -> None:
        self.last = self.clock()
        self.write(f"{self.wall():%H:%M:%S} {text}")

    def _far(self) -> str:
        """How far the phase is and how long it will still take; how long it has taken if the end is not known."""
        spent = self.clock() - self.began
        if self.total and 0 < self.done <= self.total:
            left = spent * (self.total - self.done) / self.done
            return f"{self.done:.0f}/{self.total:g}, about {left:.0f} s left"
        return f"{f'{self.done:.0f}, ' * bool(self.done)}{spent:.0f} s so far"

    def _keep_beating(self) -> None:
        while not self._ended.wait(min(1.0, self.every)):
            self.beat()


def printable(text: object) -> str:
    """The text without what a terminal would obey: names and messages come from untrusted code."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else "\N{REPLACEMENT CHARACTER}" for sign in str(text))


def _figures(figures: dict[str, object]) -> str:
    return "  ".join(f"{name} {printable(value)}" for name, value in figures.items())


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
        """Prints a report, and returns its exit code."""
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
        """Prints a line on standard error, unless the user wants quiet."""
        if not self.quiet:
            _write(self.errors, text)

    def say(self, text: str) -> None:
        """Prints a line that is not part of the report: on standard error with JSON, nowhere if quiet."""
        if not self.quiet:
            _write(self.errors if self.as_json else self.console, text)

    def watch(self) -> BarProgress | LineProgress:
        """A display of progress that fits the console. In a job's log no bar is drawn, even if the log claims to be a
        terminal.
        """
        console = self.errors if self.as_json else self.console
        if self.quiet:
            return LineProgress(lambda text: None)
        is_log = any(os.environ.get(name) for name in LOGS) or not console.is_terminal
        if is_log or self.verbose:
            every = VERBOSE_SECONDS if self.verbose else PLAIN_SECONDS
            return LineProgress(lambda text: _write(console, text), every=every, beats=True)
        return BarProgress(console)


def _wrapped(text: str, width: int) -> str:
    """Returns the text with lines that end at words; what goes on is indented by two more cells."""
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
    """The first names, a line each, and how many there are besides."""
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
    """Returns the width of each column: the widest ones give way until all fit, but none below SHORT."""
    columns = zip(*rows, strict=True)
    widths = [max(cell_len(line) for cell in column for line in [*cell.splitlines(), ""]) for column in columns]
    while sum(widths) + 2 * (len(widths) - 1) > room and max(widths) > SHORT:
        widths[widths.index(max(widths))] -= 1
    return widths


def _fitted(text: str, width: int) -> str:
    """Returns the text with each word that is too long cut to the width."""
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
    """Returns the cells of a row without a head above it: a number, a rate and a version say what they are."""
    return [
        f"{column} {cell}" if place and re.fullmatch(r"[\d,]+(?:[smh]\d*m?)?|\d+/\d+|<=\S+", cell) else cell
        for place, (column, cell) in enumerate(zip(columns, row, strict=True))
    ]


def _stacked(row: Sequence[str], width: int) -> list[str]:
    """Returns the lines of a row: short cells stand side by side, long ones below, each line but the first indented."""
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
