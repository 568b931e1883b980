"""Nightly wheels of fakelib: the real files of it, with texts exchanged, so that bugs go and come."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import fakelib
from fakewheels import FakeWheel, write_wheel

SOURCES = Path(str(fakelib.__file__)).parent
# What mends the planted bug of `scale`: it takes negative factors.
MENDED = {"if by < 0:": "if False:"}


def night(folder: Path, day: int, edits: Mapping[str, str] | None = None) -> Path:
    """The build of a day of January 2026, in a folder that an index serves."""
    text = (SOURCES / "__init__.py").read_text()
    for old, new in (edits or {}).items():
        assert old in text, old
        text = text.replace(old, new)
    files = {f"fakelib/{name}.py": (SOURCES / f"{name}.py").read_text() for name in ("nn", "hostile")}
    return write_wheel(folder, FakeWheel("fakelib", f"1.0.dev202601{day:02d}", text, files, numpy=True))
