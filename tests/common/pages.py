"""Pages of the documentation: their fenced blocks, and a reader who types their commands."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

DOCS = Path(__file__).resolve().parents[2] / "docs"
SHELL = "console"
# Each command stands between two lines of this form, the second with its exit code.
_MARK = "@@ shown"


class Block(NamedTuple):
    """A fenced block: its language, the name of the file that it is or empty, and its text."""

    language: str
    file: str
    text: str


class ShownCommand(NamedTuple):
    """A command of a page, and the output below it: empty if the page shows none. `…` stands for any text."""

    text: str
    output: str


class TypedCommand(NamedTuple):
    """A command of a page after its execution: its exit code, and its output."""

    command: ShownCommand
    code: int
    printed: str

    @property
    def agrees(self) -> bool:
        """Whether the output is that of the page, apart from numbers."""
        parts = [re.escape(_plain(part)) for part in self.command.output.split("…")]
        return not self.command.output or re.fullmatch(".*".join(parts), _plain(self.printed), re.DOTALL) is not None


def _plain(text: str) -> str:
    return re.sub(r"\d+", "0", " ".join(text.split()))


def blocks(page: Path) -> list[Block]:
    """Returns the fenced blocks of a page, in order."""
    fences = [token for token in MarkdownIt().parse(page.read_text()) if token.type == "fence"]
    named = [re.search(r'title="(.+)"', token.info) for token in fences]
    return [
        Block(token.info.split(" ")[0], name[1] if name else "", token.content)
        for token, name in zip(fences, named, strict=True)
    ]


def shown_commands(page: Path) -> Iterator[ShownCommand]:
    """Yields the commands of a page. A line that ends with a backslash goes on in the next line."""
    for block in blocks(page):
        for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:] if block.language == SHELL else ():
            command = re.findall(r"\A(?:.*\\\n)*.*", part)[0]
            yield ShownCommand(command, part[len(command) :].strip())


def typed(page: Path, folder: Path, environment: Mapping[str, str], replaced: Mapping[str, str]) -> list[TypedCommand]:
    """Writes the files of a page into a folder, and types its commands there, all into one shell.

    Args:
        replaced: words that a command gets instead of its own, such as a wheel in place of an address.
    """
    for block in blocks(page):
        if block.file:
            (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.file).write_text(block.text)
    given = list(shown_commands(page))
    lines = [line for shown in given for line in (f"echo '{_MARK}'", shown.text, f'echo "{_MARK} $?"')]
    script = "\n".join(lines)
    for old, new in replaced.items():
        script = script.replace(old, new)
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    parts = re.findall(rf"^{_MARK}\n(.*?)^{_MARK} (\d+)$", done.stdout, re.MULTILINE | re.DOTALL)
    assert len(parts) == len(given), done.stdout
    return [TypedCommand(shown, int(code), printed) for shown, (printed, code) in zip(given, parts, strict=True)]
