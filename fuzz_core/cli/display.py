"""Progress for a person: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

PLAIN_SECONDS = 10.0


# Cells of a table that are never folded.
SHORT = 16
# Columns of a table in a file or a log, which nobody has made narrower.
WIDE = 160


class Live:
    """A bar with figures, redrawn in place; a context manager."""

    def __init__(self, console: Console) -> None:
        self.progress = Progress(
            SpinnerColumn(),
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=24),
            TimeElapsedColumn(),
            TimeRemainingColumn(compact=True),
            TextColumn("{task.fields[figures]}", markup=False),
            console=console,
            transient=True,
        )
        self.task: TaskID | None = None

    def __enter__(self) -> Live:
        self.progress.start()
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
        if self.task is not None:
            self.progress.update(self.task, completed=done, figures=_figures(figures))

    def note(self, text: str) -> None:
        """A line above the bar."""
        self.progress.console.print(printable(text), markup=False, highlight=False)


class Plain:
    """A line per phase, one every ten seconds within it, and the notes."""

    def __init__(self, write: Callable[[str], object], clock: Callable[[], float] = time.monotonic) -> None:
        self.write = write
        self.clock = clock
        self.name = ""
        self.total = 0.0
        self.last = 0.0

    def __enter__(self) -> Plain:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held open."""

    def phase(self, name: str, total: float = 0.0) -> None:
        """Says that a phase begins."""
        self.name, self.total, self.last = name, total, self.clock()
        self.write(f"{name} …")

    def advance(self, done: float, **figures: object) -> None:
        """Says how far the phase is, now and then."""
        if self.clock() - self.last >= PLAIN_SECONDS:
            self.last = self.clock()
            of = f"/{self.total:g}" if self.total else ""
            self.write(f"{self.name}: {done:.0f}{of}  {_figures(figures)}")

    def note(self, text: str) -> None:
        """Says it."""
        self.write(printable(text))


def printable(text: object) -> str:
    """The text without what a terminal would obey: names and messages come from untrusted code."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else "\N{REPLACEMENT CHARACTER}" for sign in str(text))


def _figures(figures: dict[str, object]) -> str:
    return "  ".join(f"{name} {printable(value)}" for name, value in figures.items())


def watch(console: Console) -> Live | Plain:
    """What fits the console."""
    if console.is_terminal:
        return Live(console)
    return Plain(lambda text: console.print(text, markup=False, highlight=False, soft_wrap=True))


def output() -> Console:
    """Standard output: as wide as its terminal, or as tables need where it is a file or a log."""
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, WIDE)
    return console


def table(console: Console, columns: list[str], rows: list[list[object]]) -> None:
    """Prints rows; every cell is text from untrusted code."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for place, column in enumerate(columns):
        # Cut off, a key or a number could not be copied; a short word in two is not read.
        short = max((len(line) for row in rows for line in str(row[place]).splitlines()), default=0) <= SHORT
        made.add_column(column, overflow="fold", no_wrap=short)
    for row in rows:
        made.add_row(*(Text(printable(cell)) for cell in row))
    console.print(made)
