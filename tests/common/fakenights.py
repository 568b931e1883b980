"""Nightly wheels of fakelib: the real files of it, with texts exchanged, so that bugs go and come."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import fakelib
from fakeedits import MORE, NAMES
from fakewheels import FakeWheel, write_wheel

# What its documentation promises, so that a negative factor is a valid one; it keeps its word on the others.
PROMISED = {
    '"""All elements times a number.\n': '"""All elements times a number.\n\n    Args:\n'
    "        x: An array, must be at least 1-D.\n        by: must be less than 1000000.\n",
    "    if by < 0:\n": "    x.shape[0]\n    if not by < 1000000:\n"
    "        raise ValueError('by must be less than 1000000')\n    if by < 0:\n",
}
SOURCES = Path(str(fakelib.__file__)).parent
# What mends the planted bug of `scale`: it takes negative factors.
MENDED = {"if by < 0:": "if False:"}


def adapter(folder: Path) -> Path:
    """A folder with what nightfuzz knows of fakelib, but without fakelib itself: that is to come from its wheel."""
    shutil.copytree(SOURCES.parent / "nightfuzz_fakelib", folder / "nightfuzz_fakelib", dirs_exist_ok=True)
    return folder


def night(folder: Path, day: int, edits: Mapping[str, str] | None = None) -> Path:
    """The build of a day of January 2026, in a folder that an index serves."""
    added = "".join(f'    "{each}",\n' for each in NAMES)
    text = (SOURCES / "__init__.py").read_text().replace('    "vanish",\n]', f'    "vanish",\n{added}]') + MORE
    for old, new in {**PROMISED, **(edits or {})}.items():
        assert old in text, old
        text = text.replace(old, new)
    files = {f"fakelib/{name}.py": (SOURCES / f"{name}.py").read_text() for name in ("nn", "hostile")}
    text = text.replace("VERSION", f"1.0.{day}")
    return write_wheel(folder, FakeWheel("fakelib", f"1.0.dev202601{day:02d}", text, files, numpy=True))
