"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write a text file in UTF-8.

    An older file of that name stays as it is until the new one is complete.

    Raises:
        OSError: the file cannot be written; no part of the new file is left.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        # A pipe or a device can't be replaced. A directory refuses.
        path.write_text(text, encoding="utf-8")
        return
    made = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        made.write_text(text, encoding="utf-8")
        if path.exists():
            made.chmod(path.stat().st_mode & 0o777)
        made.replace(path)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
