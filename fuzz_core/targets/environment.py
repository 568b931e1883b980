"""Makes targets: one virtual environment per resolved build, made once, reused, complete or not there at all."""

from __future__ import annotations

import hashlib
import re
import shutil
import sysconfig
import tempfile
import zipfile
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.version import InvalidVersion, Version

from fuzz_core.adapters.dialect import COMPILED_FOLDER, compiled
from fuzz_core.adapters.library import library_of
from fuzz_core.ir.errors import UserError
from fuzz_core.targets import installer, wheels
from fuzz_core.targets.commits import origin_of
from fuzz_core.targets.facts import TargetInfo, compiles, probe
from fuzz_core.targets.lock import BuildLock, locked_builds, same_file
from fuzz_core.targets.record import Target, clear, list_targets, lock_of, read_record, targets_root, write_record
from fuzz_core.targets.resolve import (
    DEFAULT_ACCESS,
    Access,
    InstallPlan,
    NoBuildError,
    kept_builds,
    key_of,
    resolve,
    wanted_flavour,
)
from fuzz_core.targets.spec import Flavour, TargetSpec

# The message of an extension that was built for numpy 1.
_NUMPY_ABI = re.compile(
    r"_ARRAY_API not found|Numpy is not available|numpy\.(?:_?core\.)?\w+ failed to import|numpy\.\w+ size changed"
    r"|compiled using NumPy 1|compiled against (?:ABI|API) version|removed in the NumPy 2"
    r"|module 'numpy' has no attribute"
)
_OLD_NUMPY = "numpy<2"
# CUDA builds of PyTorch take up to 5 GB.
UNPACKED_BYTES = 20_000_000_000
COMPILER, _HEADER = "g++", "Python.h"
# The folder, at any depth, that such a library compiles operators into.
_OPERATORS = "**/jit/*"


@dataclass(frozen=True)
class _Order:
    """A target to make: its spec, and the place for its environment."""

    spec: TargetSpec
    flavour: Flavour
    home: Path
    access: Access

    @property
    def library(self) -> str:
        return str(self.spec.library)

    @property
    def wanted(self) -> str:
        """`cpu` or `cuda`."""
        return wanted_flavour(self.spec, self.flavour)


def ensure(
    spec: TargetSpec,
    flavour: Flavour = "auto",
    root: Path | None = None,
    access: Access = DEFAULT_ACCESS,
    lock: BuildLock | None = None,
) -> Target:
    """Return the target that the spec means.

    Make it if it isn't there yet (a download, half a minute or more).

    A pin that has been made is found again without a network; the newest is looked up every time. If there is a lock,
    one of its files is taken, and no index is asked. After an error only downloaded wheels stay on disk.

    Raises:
        UserError: the environment cannot be made.
        IndexUnreachable: the package index does not answer.
    """
    home = targets_root(root)
    if spec.kind == "python":
        return _existing(spec, home)
    order = _Order(spec, flavour, home, access)
    access.announce(f"looking for {spec.text}")
    if lock is not None:
        build = locked_builds(spec, flavour, lock)[0]
        return _first(order, [replace(build, artifact=same_file(spec, flavour, build.artifact))], ())
    if (made := _made(order)) is not None:
        return made
    return _newest(order)


def _newest(order: _Order) -> Target:
    """Return the newest build of an index.

    If the index cannot be reached, a build that is kept here stands for it, if that is allowed or the very build
    asked for.
    """
    try:
        return _first(order, resolve(order.spec, order.flavour), (wheels.MissingFileError,))
    except (installer.IndexUnreachable, NoBuildError, wheels.MissingFileError) as error:
        unreachable = isinstance(error, installer.IndexUnreachable)
        if order.spec.version is None and not (unreachable and order.access.allow_cached):
            hint = ", or add --allow-cached to use a build that is kept on this machine" if unreachable else ""
            raise type(error)(error.problem, error.remedy + hint) from error
        # The dependencies of a build that is kept only as a wheel may be out of reach. An older build may be installed.
        return _first(order, _kept(order, error), (wheels.MissingFileError, installer.IndexUnreachable))


def _kept(order: _Order, error: UserError) -> list[InstallPlan]:
    """Return the builds that are here although the index does not answer, newest first, with a note.

    Raises:
        UserError: `error`, if there are none.
    """
    try:
        found = kept_builds(order.spec, order.flavour, order.home)
    except NoBuildError:
        if not isinstance(error, installer.IndexUnreachable):
            raise error from None
        raise type(error)(
            error.problem, f"{error.remedy}; this machine has kept no build of {order.spec.text}"
        ) from error
    what = "that build, as it" if order.spec.version else "the newest build that"
    note = f"{error.problem.splitlines()[0]}: took {what} is kept here"
    return [replace(build, notes=(note, *build.notes)) for build in found]


def _first(order: _Order, listed: list[InstallPlan], passing: tuple[type[UserError], ...]) -> Target:
    """Return the first build that can be had.

    After an error of `passing` the next build is tried, unless one was pinned.
    """
    gone: tuple[str, ...] = ()
    for build in listed:
        try:
            with lock_of(order.home, build.key):
                # Looked at again under the lock: another run may have made it while this one waited.
                target = read_record(order.home, build.key)
                # The notes can differ each time: the index may have been out of reach.
                notes = build.notes + gone
                return replace(target, notes=notes) if target else _make(order, replace(build, notes=notes))
        except passing as error:
            if order.spec.version is not None:
                raise
            gone += (f"{error.problem.splitlines()[0]}: took the next newest",)
    raise wheels.MissingFileError(
        f"no build of {order.spec.text} can be downloaded: {gone[0].rpartition(': ')[0]}",
        "run the command again later, or name an exact version",
    )


def _existing(spec: TargetSpec, home: Path) -> Target:
    """Ask a user's interpreter anew every time: what is installed there changes behind our back."""
    assert spec.path is not None
    info = probe(spec.path, spec.library)
    place = hashlib.sha256(str(spec.path).encode()).hexdigest()[:8]
    key = key_of(info.library, info.version, info.tag, "python", place)
    target = Target(key, spec.text, info.library, spec.path, info.version, info.flavour, info)
    with lock_of(home, key):
        (home / key).mkdir(exist_ok=True)
        write_record(home, target)
    return target


def _made(order: _Order) -> Target | None:
    if order.spec.version is None or order.spec.kind == "wheel":
        return None
    for target in list_targets(order.home):
        # A TensorFlow of either flavour says that it was built for CUDA, so the wish decides its flavour.
        installed = target.info.flavour if library_of(target.library).own_index else target.wanted
        same = target.spec == order.spec.text and target.wanted == order.wanted
        if same and order.flavour in ("auto", installed):
            return target
    return None


def _make(order: _Order, build: InstallPlan) -> Target:
    home, library = order.home, order.library
    clear(home, build.key)
    needed, free = library_of(library).space.get(order.wanted, 0), shutil.disk_usage(home).free
    if free < needed:
        raise UserError(
            f"{library} ({order.wanted}) needs {needed / 1e9:.1f} GB under {home}, but {free / 1e9:.1f} GB are free",
            f"free some space, delete folders of old targets in {home}, or set NIGHTFUZZ_CACHE to another disk",
        )
    lacking = missing_compiler() if compiles(library) else {}
    if lacking:
        # Refuse at once, not after minutes.
        raise UserError(
            f"{library} has to compile code on this machine, which has {', '.join(lacking)}",
            "; ".join(lacking.values()),
        )
    try:
        (home / build.key).mkdir()
        # A name never used before: the installer of a run that was killed may still be writing into the old one.
        folder = Path(tempfile.mkdtemp(prefix="env-", dir=home / build.key))
        python = installer.make_environment(folder)
        announce, size = order.access.announce, build.artifact.size
        announce(f"downloading {build.artifact.filename}{f', {size / 1e6:.0f} MB' if size else ''}")
        with wheels.held(build.artifact, order.access.cache_bytes) as file:
            _refuse_bomb(file, home)
            requirement = f"{build.requirement} @ {file.as_uri()}"
            wanted = [requirement, *library_of(library).companions]
            announce(f"installing {library} {build.version} and its dependencies")
            installer.install(python, wanted, build.options, runs_code=file.suffix != ".whl")
        announce(f"importing {library}" + (", which compiles its core: up to 20 minutes" if compiles(library) else ""))
        target = _working(order, build, python)
        write_record(home, target)
    except OSError as error:
        clear(home, build.key)
        raise UserError(
            f"{order.spec.text} cannot be kept in {home}: {error.strerror}",
            "make the folder writable, or set NIGHTFUZZ_CACHE to another disk",
        ) from error
    except BaseException:
        # Ctrl-C too: half an environment would be taken for a whole one by whoever looks at the folder.
        clear(home, build.key)
        raise
    return target


def _refuse_bomb(file: Path, home: Path) -> None:
    """Refuse a wheel that would fill the disk.

    Raises:
        UserError: the wheel would fill the disk. The installer reports a damaged wheel.
    """
    size = 0
    with suppress(zipfile.BadZipFile), zipfile.ZipFile(file) as archive:
        # No archive unpacks to more than it says.
        size = sum(member.file_size for member in archive.infolist())
    if size > min(UNPACKED_BYTES, shutil.disk_usage(home).free):
        raise UserError(
            f"{file.name} would unpack to {size / 1e9:.1f} GB",
            f"free some space under {home}; above {UNPACKED_BYTES / 1e9:.0f} GB, name another build",
        )


def _working(order: _Order, build: InstallPlan, python: Path) -> Target:
    """Return the probed target; a build from before numpy 2 whose wheel does not say so is given an older numpy."""
    try:
        return _probed(order, build, python)
    except UserError as error:
        if not _NUMPY_ABI.search(error.problem):
            raise
        installer.install(python, [_OLD_NUMPY], runs_code=True)
        note = f"it does not work with the newest numpy: installed with {_OLD_NUMPY}"
        return _probed(order, replace(build, notes=(*build.notes, note)), python)


def _probed(order: _Order, build: InstallPlan, python: Path) -> Target:
    info = probe(python, order.library)
    _refuse_other_version(build, info)
    # Torch alone: TensorFlow has one build for both, and Jittor compiles for the devices that it finds.
    if library_of(info.library).own_index and order.flavour not in ("auto", info.flavour):
        raise UserError(
            f"asked for a {order.flavour} build of {info.library}, but {info.version} is a {info.flavour} build",
            f"name an index that has a {order.flavour} build (--index), or set --flavour auto",
        )
    named = (build.key, order.spec.text, order.library, python, info.version, order.wanted)
    return Target(*named, info, build.notes, origin_of(build.artifact, info))


def _refuse_other_version(build: InstallPlan, info: TargetInfo) -> None:
    try:
        version = Version(info.version)
    except InvalidVersion as error:
        raise UserError(
            f"{info.library} in {build.artifact.filename} has the invalid version {info.version!r}",
            "name another build",
        ) from error
    if not _is_called(build.version, version):
        raise UserError(
            f"asked for {info.library} {build.version}, but the installed library says that it is {info.version}",
            f"the file {build.artifact.filename} has a wrong name: name another version",
        )


def _is_called(build: Version, said: Version) -> bool:
    """Return whether a library that says it is this version may be that build.

    A plain build may add a label of its own once it is imported (2.13.0 says 2.13.0+cu130), never lose one. A
    post-release is packed anew, and its code may keep the old version (TensorFlow 2.15.0.post1 says 2.15.0).
    """
    if build.is_postrelease and not said.is_postrelease:
        build = Version(str(build).replace(f".post{build.post}", ""))
    return said == build if build.local else Version(said.public) == build


def missing_compiler() -> dict[str, str]:
    """Return the parts that a library which compiles itself lacks on this machine, with remedies."""
    lacking = {}
    if shutil.which(COMPILER) is None:
        lacking[f"no C++ compiler ({COMPILER})"] = "on Debian: apt install g++"
    if not Path(sysconfig.get_path("include"), _HEADER).is_file():
        lacking[f"no headers of this Python ({_HEADER})"] = "on Debian: apt install python3-dev"
    return lacking


def make_ready(library: str, python: Path, most: int) -> None:
    """Have the library compile its core if this compiler has not done so yet.

    Above `most` bytes, the oldest operators are dropped.

    A cache of the user's own, of an interpreter that was not made here, is left as it is.

    Raises:
        UserError: as `probe`.
    """
    if not compiles(library):
        return
    probe(python, library)
    folder = compiled(python)
    if COMPILED_FOLDER in folder.parts:
        prune(folder, most)


def prune(folder: Path, most: int) -> int:
    """Remove compiled operators, oldest first, until they take `most` bytes; how many files went.

    A missing operator is compiled again when it is needed.
    """
    states = [(path, path.stat()) for path in folder.glob(_OPERATORS) if path.is_file() and not path.is_symlink()]
    left, gone = sum(state.st_size for _, state in states), 0
    for path, state in sorted(states, key=lambda each: each[1].st_mtime):
        if left <= most:
            break
        with suppress(FileNotFoundError):
            path.unlink()
        left, gone = left - state.st_size, gone + 1
    return gone
