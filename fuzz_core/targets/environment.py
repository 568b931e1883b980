"""Makes targets: one virtual environment per resolved build, made once, reused, complete or not there at all."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from packaging.version import InvalidVersion, Version

from fuzz_core.ir.errors import UserError
from fuzz_core.targets import installer
from fuzz_core.targets.build import Build, Flavour, key_of, resolve, wanted_flavour
from fuzz_core.targets.download import Vanished
from fuzz_core.targets.nightly import DEFAULT_ACCESS, Access, builds, kept_builds, origin_of, requirement_of
from fuzz_core.targets.probe import TargetInfo, probe
from fuzz_core.targets.record import Target, clear, list_targets, lock_of, read_record, targets_root, write_record
from fuzz_core.targets.spec import TargetSpec

COMPANIONS: dict[str, tuple[str, ...]] = {
    "torch": ("numpy", "expecttest", "scipy", "pyyaml", "pytest"),
    "tensorflow": ("pytest",),
}
"""What the seeds of a library need beside it."""

# Environment and cached wheels together, rounded up: torch 2.13.0 takes 1.2 GB (CPU), TensorFlow 2.21.0 1.6 GB.
NEEDED_BYTES: dict[tuple[str, str], int] = {
    ("torch", "cpu"): 2_000_000_000,
    ("torch", "cuda"): 10_000_000_000,
    ("tensorflow", "cpu"): 2_500_000_000,
    ("tensorflow", "cuda"): 8_000_000_000,
    ("jittor", "cpu"): 1_000_000_000,
    ("jittor", "cuda"): 1_000_000_000,
}


def ensure(
    spec: TargetSpec, flavour: Flavour = "auto", root: Path | None = None, access: Access = DEFAULT_ACCESS
) -> Target:
    """The target that the spec means, made if it isn't there yet (a download, half a minute or more).

    A pin that has been made is found again without a network; the newest is looked up every time. Raises UserError,
    of its kind installer.IndexUnreachable where the package index does not answer; nothing is left behind then but
    downloaded wheels.
    """
    home = targets_root(root)
    if spec.kind == "python":
        return _existing(spec, home)
    wanted = wanted_flavour(spec, flavour)
    if (made := _made(spec, flavour, wanted, home)) is not None:
        return made
    if spec.kind == "index":
        return _newest(spec, flavour, home, access)
    return _of_build(spec, resolve(spec, flavour), flavour, home, access)


def _of_build(spec: TargetSpec, build: Build, flavour: Flavour, home: Path, access: Access) -> Target:
    with lock_of(home, build.key):
        # Looked at again under the lock: another run may have made it while this one waited.
        target = read_record(home, build.key)
        # What is to be known of it may be another thing each time: this time, the index may have been out of reach.
        return replace(target, notes=build.notes) if target else _make(spec, build, flavour, home, access)


def _newest(spec: TargetSpec, flavour: Flavour, home: Path, access: Access) -> Target:
    try:
        return _first(spec, builds(spec, flavour), flavour, home, access)
    except installer.IndexUnreachable as error:
        if not access.allow_cached:
            raise installer.IndexUnreachable(error.problem, f"{error.remedy}, or allow what is kept here") from error
        kept = _kept(spec, flavour, home, error)
        # Of what is kept as a wheel alone, the dependencies may be out of reach; an older build may be installed.
        return _first(spec, kept, flavour, home, access, (Vanished, installer.IndexUnreachable))


def _kept(spec: TargetSpec, flavour: Flavour, home: Path, error: UserError) -> list[Build]:
    """What is here of the index that can't be reached, newest first; the note says what that means."""
    found = kept_builds(spec, flavour, home)
    note = f"{error.problem.splitlines()[0]}: took the newest build that is kept here, there may be newer ones"
    return [replace(build, notes=(note, *build.notes)) for build in found]


def _first(
    spec: TargetSpec,
    listed: list[Build],
    flavour: Flavour,
    home: Path,
    access: Access,
    passing: tuple[type[UserError], ...] = (Vanished,),
) -> Target:
    """The first that can be had: `passing` are the errors after which the next is tried, unless one was pinned."""
    gone: tuple[str, ...] = ()
    for build in listed:
        try:
            return _of_build(spec, replace(build, notes=(*build.notes, *gone)), flavour, home, access)
        except passing as error:
            if spec.version is not None:
                raise
            gone += (f"{error.problem.splitlines()[0]}: took the next newest",)
    raise Vanished(f"no build of {spec.text} can be had: {gone[0].rpartition(': ')[0]}", "ask the index later")


def _existing(spec: TargetSpec, home: Path) -> Target:
    """Asks a user's interpreter anew every time: what is installed there changes behind our back."""
    assert spec.path is not None
    info = probe(spec.path, spec.library)
    place = hashlib.sha256(str(spec.path).encode()).hexdigest()[:8]
    key = key_of(info.library, info.version, info.tag, "python", place)
    target = Target(key, spec.text, info.library, spec.path, info.version, info.flavour, info)
    with lock_of(home, key):
        (home / key).mkdir(exist_ok=True)
        write_record(home, target)
    return target


def _made(spec: TargetSpec, flavour: Flavour, wanted: str, home: Path) -> Target | None:
    if spec.version is None or spec.kind not in ("pin", "index"):
        return None
    for target in list_targets(home):
        if target.spec == spec.text and target.wanted == wanted and flavour in ("auto", _installed(target)):
            return target
    return None


def _installed(target: Target) -> str:
    """A TensorFlow of either flavour says that it was built for CUDA: there the wish is what tells them apart."""
    return target.info.flavour if target.library == "torch" else target.wanted


def _make(spec: TargetSpec, build: Build, flavour: Flavour, home: Path, access: Access) -> Target:
    library, wanted = str(spec.library), wanted_flavour(spec, flavour)
    clear(home, build.key)
    _check_disk(home, library, wanted)
    try:
        (home / build.key).mkdir()
        # A name never used before: the installer of a run that was killed may still be writing into the old one.
        folder = Path(tempfile.mkdtemp(prefix="env-", dir=home / build.key))
        python = installer.make_environment(folder)
        with requirement_of(build, access) as requirement:
            installer.install(python, [requirement, *COMPANIONS.get(library, ())], build.options)
        info = probe(python, library)
        _refuse_other_version(build, info)
        _refuse_other_flavour(flavour, info)
        origin = origin_of(build, info)
        target = Target(build.key, spec.text, library, python, info.version, wanted, info, build.notes, origin)
        write_record(home, target)
    except OSError as error:
        clear(home, build.key)
        raise UserError(f"{spec.text} could not be kept under {home}: {error.strerror}", "check that disk") from error
    except BaseException:
        # Ctrl-C too: half an environment would be taken for a whole one by whoever looks at the folder.
        clear(home, build.key)
        raise
    return target


def _check_disk(home: Path, library: str, wanted: str) -> None:
    needed = NEEDED_BYTES.get((library, wanted), 0)
    free = shutil.disk_usage(home).free
    if free < needed:
        raise UserError(
            f"{library} ({wanted}) needs {needed / 1e9:.1f} GB under {home}, {free / 1e9:.1f} GB are free",
            "free some space, remove a target, or set NIGHTFUZZ_CACHE to another disk",
        )


def _refuse_other_version(build: Build, info: TargetInfo) -> None:
    try:
        version = Version(info.version)
    except InvalidVersion as error:
        raise UserError(f"{info.library} says that its version is {info.version!r}", "that is none") from error
    # A plain build may add a label of its own once it is imported (2.13.0 says 2.13.0+cu130), never lose one.
    same = version == build.version if build.version.local else Version(version.public) == build.version
    if not same:
        raise UserError(
            f"asked for {info.library} {build.version}, but the installed one says {info.version}: refused",
            "that wheel is mislabelled, or the index fell back to another one: pin another version",
        )


def _refuse_other_flavour(flavour: Flavour, info: TargetInfo) -> None:
    # Torch alone: TensorFlow has one build for both, and a jittor compiles for what it finds.
    if info.library == "torch" and flavour not in ("auto", info.flavour):
        raise UserError(
            f"asked for a {flavour} build of torch, but {info.version} is a {info.flavour} build: refused",
            "configure an index that has one, or take the flavour auto",
        )
