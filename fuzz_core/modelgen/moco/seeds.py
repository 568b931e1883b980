"""The seed programs that ship with nightfuzz: the nine models of table II (MoCo 2024), each in two styles (III-B)."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources


def shipped(library: str) -> Iterator[tuple[str, str]]:
    """Name and source of each seed program, by name; none for a library without a set.

    A name is the model's and the style's, such as `lenet_class` or `lenet_serial`.
    """
    folder = resources.files("fuzz_core.modelgen.moco").joinpath("programs", library)
    if not folder.is_dir():
        return
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(".py"):
            yield entry.name.removesuffix(".py"), entry.read_text(encoding="utf-8")
