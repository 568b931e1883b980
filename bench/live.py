"""Pictures of the live screen of a real run, and how right its times were: `python -m bench.live FOLDER -- WORDS`.

A run keeps its screen in `status.json`, from which `nightfuzz watch` draws. The pictures are drawn from the same file.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from io import StringIO
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Annotated, NamedTuple

import typer
from rich.console import Console
from rich.terminal_theme import TerminalTheme

from bench.screens import THEMES
from fuzz_core.cli.screen import draw
from fuzz_core.cli.status import STATUS_FILE, StatusSnapshot, read_status
from fuzz_core.ir.errors import UserError

WIDTHS = (80, 140)
LOOK_SECONDS = 0.25
NOTES = 6
# The screen is drawn at this share of the phase with the most snapshots.
MOMENT = 0.6
# The error of the last second says how often the screen is drawn.
LEAST_LEFT = 1.0


class PhaseTimes(NamedTuple):
    """The times left that a screen showed during a phase, in seconds."""

    phase: str
    seconds: float
    told: int  # number of snapshots with a time
    untold: int  # number of snapshots without one
    errors: Sequence[float]  # |told - real| / real, of each snapshot with a time


def followed(words: Sequence[str], state: Path) -> list[StatusSnapshot]:
    """Run a command and return the snapshots of its screen.

    Raises:
        UserError: the command has no screen.
    """
    command = [sys.executable, "-c", "from nightfuzz.bot.main import main; main()", *words, "--state", str(state)]
    found: list[StatusSnapshot] = []
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.returncode is None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(LOOK_SECONDS)
            with suppress(UserError):
                status = read_status(state / STATUS_FILE)
                if not found or status.written != found[-1].written:
                    found.append(status)
    if not found:
        raise UserError(
            f"`nightfuzz {' '.join(words)}` wrote no status", "name a command that shows progress, such as `fuzz`"
        )
    return found


def phase_times(snapshots: Sequence[StatusSnapshot]) -> list[PhaseTimes]:
    """Compare the times left that the screen showed with the end of each phase."""
    groups = [list(group) for _, group in groupby(snapshots, key=lambda each: each.phase)]
    ends = [group[0].elapsed - group[0].spent for group in groups[1:]] + [snapshots[-1].elapsed]
    found = []
    for group, end in zip(groups, ends, strict=True):
        pairs = [(each.left, end - each.elapsed) for each in group if each.left is not None]
        errors = [abs(left - real) / real for left, real in pairs if left is not None and real >= LEAST_LEFT]
        seconds = end - group[0].elapsed + group[0].spent
        found.append(PhaseTimes(group[0].phase, seconds, len(pairs), len(group) - len(pairs), errors))
    return found


def picture(status: StatusSnapshot, width: int, theme: TerminalTheme) -> str:
    """Return the screen of a moment with the notes above it, as SVG."""
    console = Console(record=True, width=width, file=StringIO(), force_terminal=True)
    for note in status.notes[-NOTES:]:
        console.print(note, markup=False, highlight=False, emoji=False)
    console.print(draw(status, width))
    return console.export_svg(title=f"nightfuzz {status.title}", theme=theme)


def live(
    folder: Annotated[Path, typer.Argument(help="Folder for the pictures")],
    words: Annotated[list[str], typer.Argument(help="Command to run, without `nightfuzz`")],
    runs: Annotated[int, typer.Option(help="Number of runs, each with a state of its own")] = 1,
    begin: Annotated[
        Path | None, typer.Option(help="State directory to copy for each run (default: an empty state)")
    ] = None,
) -> None:
    """Run a command, draw its screen at each width and theme, and print the error of its times left."""
    folder.mkdir(parents=True, exist_ok=True)
    errors: list[float] = []
    for number in range(runs):
        with tempfile.TemporaryDirectory() as scratch:
            state = Path(scratch, "state")
            if begin is not None:
                shutil.copytree(begin, state)
            snapshots = followed(words, state)
        for times in phase_times(snapshots):
            errors += times.errors
            middle = f"{median(times.errors):.1%}" if times.errors else "-"
            said = f"{times.seconds:.1f} s, {times.told} times told, {times.untold} looks without a time"
            print(f"run {number + 1}: {times.phase}: {said}, error {middle}")
        if number == 0:
            # A phase that shows nothing new, such as an import, has one snapshot, however long it takes.
            liveliest, _ = Counter(each.phase for each in snapshots).most_common(1)[0]
            shown = [each for each in snapshots if each.phase == liveliest]
            status = shown[int(len(shown) * MOMENT)]
            for width in WIDTHS:
                for name, theme in THEMES.items():
                    (folder / f"live-{width}-{name}.svg").write_text(picture(status, width, theme), encoding="utf-8")
    print(f"median error of {len(errors)} times: {median(errors):.1%}" if errors else "no time was told")


if __name__ == "__main__":
    typer.run(live)
