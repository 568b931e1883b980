"""Nightly wheels of fakelib: its real files with texts replaced, so that bugs come and go."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import fakelib
from fakeedits import MORE, NAMES
from fakewheels import FakeWheel, write_wheel

# Bounds in the documentation of `scale`, so that a negative factor is valid. The function keeps to them except
# for negative factors.
PROMISED = {
    '"""All elements times a number.\n': '"""All elements times a number.\n\n    Args:\n'
    "        x: An array, must be at least 1-D.\n        by: must be less than 1000000.\n",
    "    if by < 0:\n": "    x.shape[0]\n    if not by < 1000000:\n"
    "        raise ValueError('by must be less than 1000000')\n    if by < 0:\n",
}
SOURCES = Path(str(fakelib.__file__)).parent
# The fix of the planted bug of `scale`: it accepts negative factors.
MENDED = {"if by < 0:": "if False:"}


def adapter(folder: Path) -> Path:
    """Returns a folder with the adapter of fakelib but without fakelib itself, which comes from its wheel."""
    shutil.copytree(SOURCES.parent / "nightfuzz_fakelib", folder / "nightfuzz_fakelib", dirs_exist_ok=True)
    return folder


def night(folder: Path, day: int, edits: Mapping[str, str] | None = None) -> Path:
    """Writes the build of a day of January 2026 into a folder that an index serves."""
    added = "".join(f'    "{each}",\n' for each in NAMES)
    text = (SOURCES / "__init__.py").read_text().replace('    "vanish",\n]', f'    "vanish",\n{added}]') + MORE
    for old, new in {**PROMISED, **(edits or {})}.items():
        assert old in text, old
        text = text.replace(old, new)
    files = {f"fakelib/{name}.py": (SOURCES / f"{name}.py").read_text() for name in ("nn", "hostile")}
    text = text.replace("VERSION", f"1.0.{day}")
    return write_wheel(folder, FakeWheel("fakelib", f"1.0.dev202601{day:02d}", text, files, numpy=True))
