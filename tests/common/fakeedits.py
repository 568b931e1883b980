"""Builds of fakelib that differ in lines of its source, each as an interpreter that finds it first."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import fakelib

from fuzz_core.store.records import TargetRecord

# Functions that both builds have, beside those of fakelib.
MORE = '''

def draw(x: Any) -> Any:
    """Random numbers, which no seed repeats.

    >>> import fakelib
    >>> fakelib.draw(np.ones(3))
    """
    return np.random.default_rng().random(x.shape)


def unwritten(x: Any) -> Any:
    """Memory that nobody has written to.

    >>> import fakelib
    >>> fakelib.unwritten(np.ones(3))
    """
    return np.empty(x.shape)


def version(x: Any) -> str:
    """The version.

    >>> import fakelib
    >>> fakelib.version(np.ones(3))
    """
    return "fakelib VERSION of 2026"


def largest(x: Any) -> Any:
    """The place of the largest element.

    >>> import fakelib
    >>> fakelib.largest(np.ones(3))
    """
    return x.argmax()


def rounded(x: Any) -> Any:
    """A sum in some order.

    >>> import fakelib
    >>> fakelib.rounded(np.ones(3, np.float32))
    """
    return x.sum(dtype=np.float32) * np.float32(1)
'''
NAMES = ("draw", "unwritten", "version", "largest", "rounded")


def edited(root: Path, name: str, edits: Mapping[str, str], interpreter: str) -> TargetRecord:
    """Makes a build of fakelib below `root`, with MORE in it and these texts replaced."""
    folder = root / name / "fakelib"
    shutil.copytree(Path(str(fakelib.__file__)).parent, folder)
    source = folder / "__init__.py"
    added = "".join(f'    "{each}",\n' for each in NAMES)
    text = source.read_text().replace('    "vanish",\n]', f'    "vanish",\n{added}]') + MORE
    for old, new in edits.items():
        assert old in text, old
        text = text.replace(old, new)
    source.write_text(text)
    python = root / name / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{folder.parent}:$PYTHONPATH" exec "{interpreter}" "$@"\n')
    python.chmod(0o755)
    info = {"summary": name, "notes": [], "devices": ["cpu"]}
    version = edits.get("VERSION", name)
    return TargetRecord(name, f"python:{python}", "fakelib", version, str(python), info)
