"""The live screen of a command: its phase, figures, novelty and workers, drawn anew four times a second."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from fuzz_core.cli.status import Display, StatusSnapshot
from fuzz_core.cli.streams import printable

# A narrower terminal has no panel, and its figures are those of one line.
NARROW = 60
REFRESH = 4.0
# The sides of the panel and the space inside of them.
FRAME = 4
LABEL = 10  # columns of the names at the left
PAIR = 24  # least columns of a figure with its name
MOST_WORKERS = 4
PART = re.compile(r"(\d+)/(\d+)")
# The figures that a narrow terminal shows beside the amount done.
TOLD = ("bugs", "findings")
BARS, ASCII_BARS = " ▁▂▃▄▅▆▇█", " .:-=+*#@"


class Sparkline:
    """Amounts as a row of bars over the whole width, the largest at full height."""

    def __init__(self, amounts: Sequence[float]) -> None:
        self.amounts = amounts

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        bars = ASCII_BARS if options.ascii_only else BARS
        most = max(self.amounts, default=0.0) or 1.0
        text = ""
        for column in range(options.max_width):
            first, last = (len(self.amounts) * each // options.max_width for each in (column, column + 1))
            # An amount above nothing is seen, however small it is.
            text += bars[math.ceil(max(self.amounts[first : max(last, first + 1)]) / most * (len(bars) - 1))]
        yield Segment(text, console.get_style("cyan"))


class Screen(Display):
    """A display that is drawn anew in place, with notes as lines above it; a context manager.

    Args:
        source: returns the snapshot to draw.
    """

    def __init__(self, console: Console, source: Callable[[], StatusSnapshot]) -> None:
        self.console = console
        self.live = Live(
            console=console,
            get_renderable=lambda: draw(source(), console.width),
            refresh_per_second=REFRESH,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Screen:
        self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.live.stop()

    def note(self, text: str) -> None:
        """Print a line that stays."""
        self.console.print(printable(text), markup=False, highlight=False, emoji=False)


def described(status: StatusSnapshot) -> list[str]:
    """Return a snapshot in lines, for a reader without a terminal."""
    box = f" of {_clock(status.box)}" if status.box else ""
    state = "ended" if status.ended else f"{status.phase}: {_far(status)}"
    figures = ", ".join(f"{name} {value}" for name, value in status.figures.items())
    return [f"{status.title}: {state}; {_clock(status.elapsed)}{box}", *([figures] if figures else []), *status.notes]


def draw(status: StatusSnapshot, width: int) -> RenderableType:
    """Return a panel as wide as the terminal; on a narrow one some plain lines."""
    if width < NARROW:
        return _narrow(status)
    parts: list[RenderableType] = [_phase(status)]
    counts = {name: value for name, value in status.figures.items() if not PART.fullmatch(value)}
    if counts:
        parts.append(_columns(counts, width - FRAME))
    rows = _rows(status)
    if rows.row_count:
        parts.append(rows)
    return Panel(
        Group(*parts),
        title=Text(status.title, "bold"),
        title_align="left",
        subtitle=Text(f"{_clock(status.elapsed)}{f' of {_clock(status.box)}' if status.box else ''}"),
        subtitle_align="right",
        border_style="dim",
        width=width,
    )


def _phase(status: StatusSnapshot) -> Table:
    grid = Table.grid(padding=(0, 2), expand=True)
    for ratio in (None, 1, None):
        grid.add_column(ratio=ratio, no_wrap=True)
    grid.add_row(Text(status.phase, "bold"), _bar(status.done, status.total, status.spent), Text(_far(status)))
    return grid


def _bar(done: float, total: float, spent: float = 0.0) -> ProgressBar:
    """Return a bar whose rest is pale on a light and on a dark terminal; a bar without a total moves."""
    return ProgressBar(
        total=total or None,
        completed=done,
        pulse=not total,
        animation_time=spent,
        style="dim bright_black",
        complete_style="cyan",
        finished_style="green",
        pulse_style="cyan",
    )


def _far(status: StatusSnapshot) -> str:
    """Return how far the phase is, and the time left, if it is known."""
    share = f"{min(status.done / status.total, 1.0):.0%}, " if status.total else ""
    return f"{share}{_clock(status.spent) + ' so far' if status.left is None else f'about {_clock(status.left)} left'}"


def _columns(figures: dict[str, str], room: int) -> Table:
    """Return figures beside their names, in as many columns as there is room for."""
    longest = max(cell_len(name) + cell_len(value) + 4 for name, value in figures.items())
    across = max(room // max(PAIR, longest), 1)
    pairs = list(figures.items())
    deep = -(-len(pairs) // across)
    grid = Table.grid(padding=(0, 2), expand=True)
    for _ in range(across):
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(ratio=1, no_wrap=True)
    columns = [pairs[start : start + deep] for start in range(0, len(pairs), deep)]
    for row in zip_longest(*columns, fillvalue=("", "")):
        grid.add_row(*(Text(text) for pair in row for text in pair))
    return grid


def _rows(status: StatusSnapshot) -> Table:
    """Return shares as bars, new behaviour as a sparkline, and the workers that are longest at their work."""
    grid = Table.grid(padding=(0, 2), expand=True)
    grid.add_column(style="dim", min_width=LABEL, no_wrap=True)
    grid.add_column(ratio=1, no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    for name, value in status.figures.items():
        if part := PART.fullmatch(value):
            done, total = int(part[1]), int(part[2])
            grid.add_row(Text(name), _bar(done, total or 1), Text(f"{done:,} of {total:,}"))
    if any(status.novelty):
        interval = f"{status.interval:g} s" if status.interval < 60 else _clock(status.interval)
        told = f"{status.novelty[-1]:,.0f} in the last {interval}"
        grid.add_row(Text("new"), Sparkline(status.novelty), Text(told))
    for number, worker in enumerate(sorted(status.workers, key=lambda each: -each.seconds)[:MOST_WORKERS]):
        what = Text(worker.what, overflow="ellipsis")
        grid.add_row(Text("workers" if not number else ""), what, Text(f"{worker.seconds:.0f} s"))
    return grid


def _narrow(status: StatusSnapshot) -> Text:
    first = next(iter(status.figures), "")
    figures = [f"{name} {value}" for name, value in status.figures.items() if name in (first, *TOLD)]
    return Text("\n".join([status.phase, _far(status), "  ".join(figures)]).strip())


def _clock(seconds: float) -> str:
    """Return `0:07`, `12:31` or `1:02:03`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
