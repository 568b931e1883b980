"""The text of shipped programs, by library."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from fuzz_core.programs.translation import translated

# Libraries whose programs are translated: from the programs of which library, and by which function.
_TRANSLATED = {"jittor": ("torch", translated)}


def traced_programs(library: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of each program that is traced, by name; none for a library without a set.

    Each trains a small model on made data.
    """
    return _programs("traced", library)


def grown_programs(library: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of each program that MoCo takes apart, by name; none for a library without a set.

    A name is the model's and the style's, such as `lenet_class` or `lenet_serial`. The nine models of table II (MoCo
    2024) are classes, three of them serial calls as well (III-B). Each makes data and a model; the harness of the
    library trains and evaluates it.
    """
    origin, translate = _TRANSLATED.get(library, (library, lambda name, source: source))
    harness = _text("harness", library)
    for name, source in _programs("grown", origin):
        yield name, f"{translate(name, source)}\n{harness}"


@cache
def fitted_class(library: str) -> str:
    """Return the text that defines the class `Fitted`; empty for a library without one."""
    return _text("fitted", library)


def _folder(kind: str) -> Traversable:
    return resources.files("fuzz_core.programs").joinpath(kind)


def _programs(kind: str, library: str) -> Iterator[tuple[str, str]]:
    folder = _folder(kind).joinpath(library)
    if folder.is_dir():
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
            if entry.name.endswith(".py"):
                yield entry.name.removesuffix(".py"), entry.read_text(encoding="utf-8")


def _text(kind: str, library: str) -> str:
    """Return the text of the library's file without its docstring, which is one paragraph; empty without a file."""
    file = _folder(kind).joinpath(f"{library}.py")
    return (file.read_text(encoding="utf-8") if file.is_file() else "").partition("\n\n")[2]
