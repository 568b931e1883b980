"""What a container prints, line by line, as bounded text."""

from __future__ import annotations

import codecs
import contextlib
from collections.abc import Callable, Iterable

LINE = 64 << 10
ALL = 256 << 20

Write = Callable[[str, bool], object]
"""Takes a line without its end, and whether it came over standard error."""


class _Lines:
    """One stream: whole lines, and pieces of those that are too long."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self.write = write
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.rest = ""

    def feed(self, data: bytes, final: bool = False) -> None:
        *lines, self.rest = (self.rest + self.decoder.decode(data, final)).split("\n")
        for line in lines:
            self.write(line)
        while len(self.rest) > LINE or (final and self.rest):
            piece, self.rest = self.rest[:LINE], self.rest[LINE:]
            self.write(piece)


def relay(stream: Iterable[tuple[bytes | None, bytes | None]], write: Write, most: int = ALL) -> None:
    """Passes on what comes, (standard output, standard error) at a time.

    Beyond `most` bytes, and where nobody takes it any more, it is only read: else who prints it would wait.
    """
    both = (_Lines(lambda line: write(line, False)), _Lines(lambda line: write(line, True)))
    left = most
    for parts in stream:
        for lines, data in zip(both, parts, strict=True):
            if data and left > 0:
                try:
                    lines.feed(data[:left])
                except OSError:
                    left = 0
                left -= len(data)
    if left > 0:
        for lines in both:
            lines.feed(b"", final=True)
    elif most > 0:
        with contextlib.suppress(OSError):
            write("… further output is left out", True)
