"""What a worker prints: kept in a file that has no name and is cut whenever it grows."""

from __future__ import annotations

import os
from pathlib import Path

KEPT_BYTES = 1 << 20
TAIL_BYTES = 4000


class Output:
    """Standard output and error of one process, written at the end of the file.

    A process may print for gigabytes. Its supervisor calls `trim` every few hundredths of a second, which keeps the
    last words and gives the disk back; in between, the process's limit on file sizes is the bound. Nobody ever reads
    more than the tail.
    """

    def __init__(self, path: Path) -> None:
        # Appending, so that writers go on at the new end of a file that was cut.
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_EXCL)
        path.unlink()
        self.said = b""

    def trim(self) -> None:
        """Empties the file where it has grown beyond a megabyte; its last words are remembered."""
        if os.fstat(self.descriptor).st_size > KEPT_BYTES:
            self.said = self._tail()
            os.ftruncate(self.descriptor, 0)

    def text(self) -> str:
        """The last 4,000 bytes, readable whatever they are."""
        return (self.said + self._tail())[-TAIL_BYTES:].decode("utf-8", "replace")

    def _tail(self) -> bytes:
        size = os.fstat(self.descriptor).st_size
        return os.pread(self.descriptor, TAIL_BYTES, max(0, size - TAIL_BYTES))

    def close(self) -> None:
        """Gives the file up; what still holds it, dies with the worker."""
        os.close(self.descriptor)
