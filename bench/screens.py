"""Pictures of what commands print, at several widths, dark and light: `python -m bench.screens FOLDER -- WORDS`."""

from __future__ import annotations

import shlex
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, SVG_EXPORT_THEME, TerminalTheme
from rich.text import Text

WIDTHS = (40, 80, 120)
THEMES: dict[str, TerminalTheme] = {"dark": SVG_EXPORT_THEME, "light": DEFAULT_TERMINAL_THEME}
# A picture shows the first lines; the later lines of a long text look the same.
LINES = 40


def picture(printed: str, title: str, width: int, theme: TerminalTheme) -> str:
    """Return what a terminal of that width shows of a text with its colours, as SVG."""
    console = Console(record=True, width=width, file=StringIO())
    for line in printed.splitlines()[:LINES]:
        text = Text.from_ansi(line)
        # A terminal goes on in the next line at its last column, in the middle of a word or not.
        for row in text.divide(range(width, len(text), width)):
            console.print(row, soft_wrap=True)
    return console.export_svg(title=title, theme=theme)


def screens(
    folder: Annotated[Path, typer.Argument(help="Folder for the pictures")],
    command: Annotated[list[str], typer.Argument(help="Command to run, without `nightfuzz`")],
    name: Annotated[
        str, typer.Option("--name", help="First part of the file names [default: the command's first word]")
    ] = "",
) -> None:
    """Run a command at each width in a terminal, and write a picture of it for each theme."""
    folder.mkdir(parents=True, exist_ok=True)
    for width in WIDTHS:
        size = f"stty cols {width} rows 50; exec"
        words = [sys.executable, "-c", "from nightfuzz.bot.main import main; main()", *command]
        # Each command gets a terminal of its own, because it draws tables for the terminal that it sees.
        line = ["script", "-qec", f"{size} {shlex.join(words)}", "/dev/null"]
        printed = subprocess.run(line, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
        for theme, colours in THEMES.items():
            text = picture(printed, f"nightfuzz {command[0]}", width, colours)
            (folder / f"{name or command[0]}-{width}-{theme}.svg").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    typer.run(screens)
