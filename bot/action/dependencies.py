"""Which library a pull request bumps: the versions that dependency files name, before and after.

The files come from a pull request, so they are hostile data.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import IntEnum
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, Specifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.adapters.library import KNOWN_LIBRARIES
from fuzz_core.ir.errors import UserError
from fuzz_core.targets.spec import distributions, plugins
from nightfuzz.bot.git import git_in

CONDA_NAMES = {name: known for library in KNOWN_LIBRARIES.values() for name, known in library.conda.items()}
"""Packages of conda that have another name on PyPI."""
LARGEST_YAML = 1 << 20
_LISTS = re.compile(r"dependenc|^(constraints|requires)$")
_REQUIREMENTS = re.compile(r"(require|constraint).*\.(txt|in)$", re.IGNORECASE)
_CONDA = re.compile(r"(^|[-_.])(conda|environment|env)([-_.].*)?\.ya?ml$", re.IGNORECASE)
_OPTIONS = re.compile(r"\s(?:--?[A-Za-z]|#).*$")


class Worth(IntEnum):
    """The precision of a pin: a lower bound, an exact requested version, a version that a resolver has locked."""

    BOUND = 0
    EXACT = 1
    LOCKED = 2


class Pin(NamedTuple):
    """A version of a distribution (canonical name) that a file names."""

    distribution: str
    version: Version
    worth: Worth


def reader_of(path: str) -> Callable[[str], Iterator[Pin]] | None:
    """Return the reader for a file of this name; None for a file that names no dependencies."""
    pure = PurePosixPath(path)
    if pure.name in _NAMED:
        return _NAMED[pure.name]
    if re.fullmatch(r"pylock(\..+)?\.toml", pure.name):
        return _toml_lock
    if _CONDA.search(pure.name):
        return _conda
    in_folder = pure.parent.name in {"requirements", "constraints"} and pure.suffix in {".txt", ".in"}
    return _requirements if in_folder or _REQUIREMENTS.search(pure.name) else None


def pins(path: str, text: str) -> dict[str, Pin]:
    """Return the pins of a file by distribution; of several, the most precise, then the highest.

    Raises:
        ValueError: the file's content does not fit its name.
    """
    reader = reader_of(path)
    found: dict[str, Pin] = {}
    try:
        for pin in reader(text) if reader else ():
            before = found.get(pin.distribution)
            if before is None or (pin.worth, pin.version) > (before.worth, before.version):
                found[pin.distribution] = pin
    except (YAMLError, RecursionError, AttributeError, TypeError) as error:
        raise ValueError(str(error).partition("\n")[0] or type(error).__name__) from error
    return found


def _requirements(text: str) -> Iterator[Pin]:
    for line in text.replace("\\\n", " ").splitlines():
        yield from _requirement(_OPTIONS.sub("", f" {line}").strip())


def _requirement(text: str) -> Iterator[Pin]:
    """Yield a PEP 508 requirement that counts on this platform."""
    try:
        asked = Requirement(text)
        if asked.marker is None or asked.marker.evaluate({"extra": ""}):
            yield from _specified(asked.name, asked.specifier)
    except (InvalidRequirement, ValueError):
        return


def _specified(name: str, specifiers: Iterable[Specifier]) -> Iterator[Pin]:
    for one in specifiers:
        exact = one.operator in {"==", "==="} and not one.version.endswith(".*")
        if exact or one.operator in {"==", "~=", ">=", ">"}:
            yield from _pin(name, one.version.removesuffix(".*"), Worth.EXACT if exact else Worth.BOUND)


def _pin(name: str, version: str, worth: Worth) -> Iterator[Pin]:
    try:
        yield Pin(canonicalize_name(name), Version(version), worth)
    except InvalidVersion:
        return


def _pyproject(text: str) -> Iterator[Pin]:
    yield from _tables(tomllib.loads(text), False)


def _tables(node: Any, listing: bool) -> Iterator[Pin]:
    """Yield the tables and lists that may name dependencies.

    They are requirements in lists below a key that speaks of dependencies, and Poetry's tables of name and constraint.
    """
    if isinstance(node, str) and listing:
        yield from _requirement(node)
    elif isinstance(node, list):
        for each in node:
            yield from _tables(each, listing)
    elif isinstance(node, dict):
        for key, value in node.items():
            constraint = value.get("version") if isinstance(value, dict) else value
            if listing and isinstance(constraint, str):
                yield from _poetry(key, constraint)
            yield from _tables(value, listing or bool(_LISTS.search(key)))


def _poetry(name: str, constraint: str) -> Iterator[Pin]:
    """Yield the pin in Poetry's notation: `2.1.0` is exact, `^2.1` and `~2.1` have a lower bound."""
    for part in constraint.split(","):
        found = re.fullmatch(r"\s*([\^~]?)\s*(\d[\w.+!-]*)\s*", part)
        if found:
            yield from _pin(name, found[2], Worth.BOUND if found[1] else Worth.EXACT)
        else:
            try:
                yield from _specified(name, SpecifierSet(part))
            except InvalidSpecifier:
                continue


def _toml_lock(text: str) -> Iterator[Pin]:
    """Yield the pins of uv.lock, poetry.lock and pdm.lock (`package`) or pylock.toml (`packages`, PEP 751)."""
    data = tomllib.loads(text)
    for package in [*data.get("package", []), *data.get("packages", [])]:
        yield from _pin(str(package.get("name", "")), str(package.get("version", "")), Worth.LOCKED)


def _pipfile_lock(text: str) -> Iterator[Pin]:
    for section in json.loads(text).values():
        for name, entry in section.items() if isinstance(section, Mapping) else ():
            version = entry.get("version") if isinstance(entry, Mapping) else None
            if isinstance(version, str) and version.startswith("=="):
                yield from _pin(name, version.removeprefix("=="), Worth.LOCKED)


def _pipfile(text: str) -> Iterator[Pin]:
    data = tomllib.loads(text)
    for section in ("packages", "dev-packages"):
        yield from _tables({"dependencies": data.get(section, {})}, False)


def _conda(text: str) -> Iterator[Pin]:
    if len(text) > LARGEST_YAML:
        raise ValueError("it is longer than any list of dependencies")
    data = YAML(typ="safe", pure=True).load(text)
    for entry in data.get("dependencies", []) if isinstance(data, Mapping) else ():
        if isinstance(entry, str):
            yield from _conda_match(entry)
        elif isinstance(entry, Mapping):
            for line in entry.get("pip", ()):
                yield from _requirements(str(line))


def _conda_match(text: str) -> Iterator[Pin]:
    """Yield the pin in conda's notation: `channel::name=2.1.0=build`, `name==2.1.0`, `name >=2.1,<3`."""
    found = re.fullmatch(r"(?:[^\s:]+::)?([\w.-]+)\s*(.*)", text.strip())
    if not found:
        return
    name = CONDA_NAMES.get(canonicalize_name(found[1]), found[1])
    exact = re.fullmatch(r"={1,2}\s*(\d[\w.+!]*)(?:=.*)?", found[2])
    if exact:
        yield from _pin(name, exact[1], Worth.EXACT)
    else:
        yield from _requirement(f"{name}{found[2]}")


_NAMED: dict[str, Callable[[str], Iterator[Pin]]] = {
    "pyproject.toml": _pyproject,
    "uv.lock": _toml_lock,
    "poetry.lock": _toml_lock,
    "pdm.lock": _toml_lock,
    "Pipfile": _pipfile,
    "Pipfile.lock": _pipfile_lock,
}


LARGEST = 16 << 20
MOST_FILES = 200


class Bump(NamedTuple):
    """A distribution whose version changes."""

    distribution: str
    library: str
    old: str  # version in the form that `nightfuzz pull` takes
    new: str  # version in the form that `nightfuzz pull` takes
    file: str  # the file that pins the version


class BumpReport(NamedTuple):
    """Bumps in a diff, the surest first, and a line for each file that could not be read."""

    bumps: tuple[Bump, ...]
    problems: tuple[str, ...]


def known_distributions() -> dict[str, str]:
    """Return the library that each distribution holds, those from outside the project included."""
    more = {name: library for library in reversed(plugins()) for name in dialect_of(library).distributions}
    return {**more, **distributions()}


def find_bumps(repository: Path, base: str, head: str) -> BumpReport:
    """Find the dependencies whose version changes between two commits.

    A distribution gives one bump: a locked version counts most, then an exact one, then bounds.

    Raises:
        UserError: a commit does not exist.
    """
    before, after = (_commit(repository, name) for name in (base, head))
    files, problems = _files(repository, before, after)
    found: dict[str, tuple[Worth, Bump]] = {}
    for file in files:
        try:
            old, new = (pins(file, _content(repository, commit, file)) for commit in (before, after))
        except ValueError as error:
            problems.append(f"{file[:200]}: cannot be read: {str(error)[:200]}")
            continue
        for worth, bump in _changes(file, old, new):
            if bump.distribution not in found or found[bump.distribution][0] < worth:
                found[bump.distribution] = (worth, bump)
    ordered = sorted(found.values(), key=lambda each: (-each[0], each[1]))
    return BumpReport(tuple(bump for _worth, bump in ordered), tuple(problems))


def _changes(file: str, old: dict[str, Pin], new: dict[str, Pin]) -> list[tuple[Worth, Bump]]:
    return [
        (min(old[name].worth, new[name].worth), Bump(name, library, _spec(old[name]), _spec(new[name]), file))
        for name, library in known_distributions().items()
        if name in old and name in new and old[name].version != new[name].version
    ]


def _spec(pin: Pin) -> str:
    return f"{pin.distribution}=={pin.version}"


def _commit(repository: Path, name: str) -> str:
    answer = git_in(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if answer.code:
        raise UserError(
            f"the checkout {repository} has no commit {name[:100]!r}",
            "give actions/checkout the input `fetch-depth: 2`, or 0 for the whole history",
        )
    return answer.output.decode().strip()


def _files(repository: Path, before: str, after: str) -> tuple[list[str], list[str]]:
    """Return the changed files that name dependencies; of very many, the first."""
    answer = git_in(repository, "diff-tree", "-r", "-z", "--name-only", "--no-renames", before, after)
    names = [name.decode(errors="surrogateescape") for name in answer.output.split(b"\0") if name]
    wanted = [name for name in names if reader_of(name)]
    left = len(wanted) - MOST_FILES
    return wanted[:MOST_FILES], [f"{left} further files that name dependencies were not read"] if left > 0 else []


def _content(repository: Path, commit: str, file: str) -> str:
    """Return a file's text, empty if the commit has none.

    Raises:
        ValueError: the file is too large or no text.
    """
    size = git_in(repository, "cat-file", "-s", f"{commit}:{file}")
    if size.code:
        return ""
    if int(size.output) > LARGEST:
        raise ValueError(f"it is larger than {LARGEST >> 20} MiB")
    return git_in(repository, "cat-file", "blob", f"{commit}:{file}").output.decode()
