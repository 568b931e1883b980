"""The parts of the machine that a container sees: the interpreters of its targets and the user's tests."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fuzz_core.execution.scratch import remove
from fuzz_core.ir.errors import UserError

# Folders whose content belongs to the system: the image has its own.
SYSTEM = (Path("/"), Path("/usr"), Path("/usr/local"))
ROOT_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", "requirements.txt")
HOPS = 40
# Folders below a prefix that a Python needs.
PARTS = ("bin", "include", "lib")
# An environment's own packages lie less deep.
DEPTH = 64


@dataclass
class Interpreter:
    """The files that a Python needs to start in a container."""

    folders: list[Path] = field(default_factory=list)  # to be shown
    links: dict[Path, dict[str, str]] = field(default_factory=dict)  # to be there, by the folder that they lie in


def interpreter(python: str, instead: str = "") -> Interpreter:
    """Return the files that the interpreter of an environment needs.

    The files are the environment, the folders in its `.pth` files, and its base installation.

    The function reads files and runs no code of the target. If the base installation is the system's own, it is left
    out. If `instead` is given, the installation under that prefix of the image replaces another base.

    Raises:
        UserError: the environment itself is the system's.
    """
    place = Path(python).absolute().parent
    home = place.parent if place.name == "bin" else place
    if home in SYSTEM or _is_home(home):
        raise UserError(
            f"{python} is not in a virtual environment: the sandbox would have to see all of {home}, "
            "which is not allowed",
            f"run `{python} -m venv --system-site-packages DIR`, and name the target python:DIR/bin/python",
        )
    needed = Interpreter([home, *_named_by_pth(home)])
    hops = list(_hops(Path(python).absolute()))
    base = hops[-1].parent.parent
    if base not in SYSTEM and instead:
        needed.links = {each: {part: f"{instead}/{part}" for part in PARTS} for each in {base, base.resolve()}}
    elif base not in SYSTEM:
        needed.folders += [base, base.resolve()]
    for hop in hops[:-1]:
        if not any(hop.is_relative_to(folder) for folder in (*needed.folders, *needed.links, *SYSTEM[1:])):
            needed.links.setdefault(hop.parent, {})[hop.name] = os.readlink(hop)  # noqa: PTH115 - as it is written
    needed.folders = outermost(needed.folders)
    return needed


def version_of(python: str) -> str:
    """Return the minor version of an environment's Python, such as `3.11`.

    The environment's own record has the version. The result is empty if there is no record.
    """
    try:
        text = (Path(python).absolute().parent.parent / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    found = re.search(r"^version(?:_info)? *= *(\d+\.\d+)", text, re.MULTILINE)
    return found.group(1) if found else ""


def _hops(python: Path) -> Iterator[Path]:
    """Yield each link on the way to a file, and the file itself."""
    for _ in range(HOPS):
        yield python
        if not python.is_symlink():
            return
        python = Path(os.path.normpath(python.parent / python.readlink()))


def _named_by_pth(home: Path) -> Iterator[Path]:
    """Yield folders that the environment's files add to its path: for example, packages in development."""
    for packages in sorted(home.glob("lib/python*/site-packages")):
        for file in sorted(packages.glob("*.pth")):
            for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
                folder = packages / line.strip()
                if line.strip() and not line.startswith(("import ", "import\t", "#")) and folder.is_dir():
                    yield Path(os.path.normpath(folder))


def project(path: Path) -> Path:
    """Return the folder that tests may import from.

    It is the repository that a path lies in, else the project, else the folder.
    """
    path = path.absolute()
    folder = path if path.is_dir() else path.parent
    inside = [each for each in (folder, *folder.parents) if each not in SYSTEM and not _is_home(each)]
    for marks in ((".git",), ROOT_MARKS):
        for each in inside:
            if any((each / mark).exists() for mark in marks):
                return each
    return folder


def _is_home(folder: Path) -> bool:
    return folder == Path.home() or folder in Path.home().parents


def hidden(root: Path) -> list[Path]:
    """Return the private files of a project: hidden files at its top, and every repository's own folder.

    Credentials lie there: in `.git/config`, `.env`, `.netrc`, `.pypirc`.
    """
    found = []
    for folder, children, names in os.walk(root):
        top = Path(folder) == root
        concealed = [name for name in (*children, *names) if name == ".git" or (top and name.startswith("."))]
        paths = [Path(folder) / name for name in concealed]
        # The engine would follow a link; in the container its target is missing, or shown anyway.
        found += [path for path in paths if not path.is_symlink()]
        children[:] = [name for name in children if name not in concealed]
    return found


def outermost(paths: Iterable[Path]) -> list[Path]:
    """Return each path once, without paths that lie in another."""
    found: list[Path] = []
    for path in sorted(set(paths)):
        if not any(path.is_relative_to(each) for each in found):
            found.append(path)
    return found


@contextmanager
def lent(folder: Path, user: tuple[int, int]) -> Iterator[None]:
    """Give the folder to a user (uid, gid) for a while, if this process is root.

    Untrusted code can leave only harmless files there. Links and special files are removed, since a later reader may
    have more rights. Folders that are nested deeply are removed as well. No file stays set-user-id.

    Raises:
        UserError: the folder holds such a file at the start.
    """
    folder = folder.resolve()
    for path in _odd(folder):
        raise UserError(
            f"a sandbox cannot keep {path}: it is a link or a special file, or lies too deep",
            "remove it, replace a link by the file that the link names, or choose another directory with --state",
        )
    owner = (folder.stat().st_uid, folder.stat().st_gid)
    _hand(folder, user)
    try:
        yield
    finally:
        _hand(folder, owner)
        for path in list(_odd(folder)):
            remove(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _below(folder: Path) -> Iterator[tuple[Path, os.stat_result, int]]:
    """Yield a folder and its content, with state and depth, down to the deepest allowed level."""
    waiting = [(folder, folder.stat(), 0)]
    while waiting:
        path, state, depth = waiting.pop()
        # Yield the folder first: its caller may have to open it before its content can be read.
        yield path, state, depth
        if stat.S_ISDIR(state.st_mode) and depth < DEPTH:
            waiting += [(each, each.lstat(), depth + 1) for each in path.iterdir()]


def _odd(folder: Path) -> Iterator[Path]:
    for path, state, depth in _below(folder):
        if not (stat.S_ISREG(state.st_mode) or (stat.S_ISDIR(state.st_mode) and depth < DEPTH)):
            yield path


def _hand(folder: Path, user: tuple[int, int]) -> None:
    """Give the whole folder to a user, who can read and write it afterwards.

    No program in it runs with another user's rights.
    """
    for path, state, _ in _below(folder):
        if os.geteuid() == 0:
            os.chown(path, *user, follow_symlinks=False)
        if not stat.S_ISLNK(state.st_mode):
            path.chmod((state.st_mode & 0o777) | (0o700 if stat.S_ISDIR(state.st_mode) else 0o600))


def open_to(folder: Path, group: int) -> None:
    """Let a group read an environment of this user that is private so far.

    Further users cannot read it afterwards.
    """
    for path, state, _ in _below(folder):
        needed = 0o5 if stat.S_ISDIR(state.st_mode) or state.st_mode & 0o100 else 0o4
        if not stat.S_ISLNK(state.st_mode) and state.st_mode & needed != needed:
            os.chown(path, -1, group)
            path.chmod(stat.S_IMODE(state.st_mode) | needed << 3)
