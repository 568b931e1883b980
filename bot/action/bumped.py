"""Which library a pull request bumps: read from what it changes in the project's dependency files."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.ir.errors import UserError
from fuzz_core.targets.spec import distributions, plugins
from nightfuzz.bot.action.pins import Pin, Worth, pins, reader_of
from nightfuzz.bot.git import git_in

LARGEST = 16 << 20
MOST_FILES = 200


class Bump(NamedTuple):
    """A distribution that goes from one version to another. old, new: as `nightfuzz pull` takes them; file: says so."""

    distribution: str
    library: str
    old: str
    new: str
    file: str


class Bumped(NamedTuple):
    """What a diff bumps, what is surest first, and the files that could not be read, a line for each."""

    bumps: tuple[Bump, ...]
    problems: tuple[str, ...]


def known_distributions() -> dict[str, str]:
    """The library that each distribution holds, those from outside the project included."""
    more = {name: library for library in reversed(plugins()) for name in dialect_of(library).distributions}
    return {**more, **distributions()}


def bumped(repository: Path, base: str, head: str) -> Bumped:
    """What changes from one commit to the other. One bump for each distribution: locked, then exact, then bounds.

    Raises UserError where a commit is not there.
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
    return Bumped(tuple(bump for _worth, bump in ordered), tuple(problems))


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
            f"no commit {name[:100]!r} in {repository}", "check out with `fetch-depth: 2`, or 0 for the whole history"
        )
    return answer.output.decode().strip()


def _files(repository: Path, before: str, after: str) -> tuple[list[str], list[str]]:
    """The changed files that name dependencies; of very many, the first."""
    answer = git_in(repository, "diff-tree", "-r", "-z", "--name-only", "--no-renames", before, after)
    names = [name.decode(errors="surrogateescape") for name in answer.output.split(b"\0") if name]
    wanted = [name for name in names if reader_of(name)]
    left = len(wanted) - MOST_FILES
    return wanted[:MOST_FILES], [f"{left} further files that name dependencies were not read"] if left > 0 else []


def _content(repository: Path, commit: str, file: str) -> str:
    """A file's text, empty where the commit has none. Raises ValueError for one that is too large or no text."""
    size = git_in(repository, "cat-file", "-s", f"{commit}:{file}")
    if size.code:
        return ""
    if int(size.output) > LARGEST:
        raise ValueError(f"it is larger than {LARGEST >> 20} MiB")
    return git_in(repository, "cat-file", "blob", f"{commit}:{file}").output.decode()
