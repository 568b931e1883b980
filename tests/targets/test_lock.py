"""Tests of locks: a target is made of the build that a spec meant when the run was planned, for any later index."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakeindex import Faults, faulty_index
from fakewheels import FakeWheel, write_wheel
from packaging.tags import platform_tags

from fuzz_core.ir.errors import UserError
from fuzz_core.targets import resolve
from fuzz_core.targets.artifact import without_secrets
from fuzz_core.targets.lock import BuildLock, aligned, lock_build, locked_builds, read_lock, same_file, to_json
from fuzz_core.targets.resolve import NoBuildError
from fuzz_core.targets.spec import parse_spec

PLATFORM = next(iter(platform_tags()))
OWN = resolve.own_python()
OTHER = "3.13" if OWN == "3.12" else "3.12"
Build = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the folder that an index serves. pip has no other index, and the machine has no GPU."""
    monkeypatch.setenv("NIGHTFUZZ_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(resolve, "has_gpu", lambda: False)
    (tmp_path / "served").mkdir()
    return tmp_path / "served"


@pytest.fixture
def build(folder: Path) -> Build:
    def write(version: str, python: str = OWN, name: str = "torch", platform: str = PLATFORM) -> Path:
        tag = f"cp{python.replace('.', '')}"
        return write_wheel(folder, FakeWheel(name, version, tag=f"{tag}-{tag}-{platform}"))

    return write


@pytest.fixture
def index(folder: Path) -> Iterator[tuple[str, Faults]]:
    with faulty_index(folder) as served:
        yield served


def locked(address: str, package: str, flavour: str = "auto", python: str = "") -> BuildLock:
    made = lock_build(parse_spec(f"index:{address}#{package}"), flavour, python)  # type: ignore[arg-type]
    assert made is not None and read_back(made) == made
    return made


def read_back(lock: BuildLock) -> BuildLock:
    path = Path("lock.json")
    path.write_text(to_json(lock))
    try:
        return read_lock(path)
    finally:
        path.unlink()


def files(lock: BuildLock) -> list[str]:
    """Returns version and Python of each file."""
    return sorted(f"{each.version} {each.filename.split('-')[2]}" for each in lock.artifacts)


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.smoke
def test_a_newer_night_does_not_change_what_is_taken(build: Build, index: tuple[str, Faults]) -> None:
    planned = build("2.13.0.dev20260424+cpu")
    spec = parse_spec(f"index:{index[0]}#torch-nightly")
    lock = lock_build(spec, "auto")
    build("2.13.0.dev20260425+cpu")
    assert lock is not None
    assert str(resolve.resolve(spec, "auto")[0].version) == "2.13.0.dev20260425+cpu"
    (taken,) = locked_builds(spec, "auto", lock)
    assert (taken.artifact.filename, taken.artifact.sha256) == (planned.name, lock.artifacts[0].sha256)
    assert lock.artifact_of(taken.key) == lock.artifacts[0]
    # The lock is enough: no index is asked.
    index[1].broken = 503
    assert locked_builds(spec, "auto", read_back(lock)) == [taken]


def test_a_machine_with_and_one_without_a_gpu_get_one_version(
    build: Build, index: tuple[str, Faults], monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("23+cpu", "23+cu128", "23+cu130", "24+cpu"):
        build(f"2.13.0.dev202604{version}")
    lock = locked(index[0], "torch-nightly")
    assert (lock.version, lock.flavours) == ("2.13.0.dev20260423", {"cpu", "cuda"})
    spec = parse_spec(f"index:{index[0]}#torch-nightly")
    found = {}
    for gpu in (True, False):
        monkeypatch.setattr(resolve, "has_gpu", lambda gpu=gpu: gpu)
        monkeypatch.setattr(resolve, "_driver", lambda: (12, 9))
        found[gpu] = locked_builds(spec, "auto", lock)[0]
    assert [str(found[gpu].version.local) for gpu in (True, False)] == ["cu128", "cpu"]
    assert all(lock.artifact_of(each.key) for each in found.values())


@pytest.mark.parametrize(
    ("package", "flavour", "labels"),
    [
        ("torch-nightly/cpu", "auto", ["cpu"]),
        ("torch-nightly/cu130", "auto", ["cu130"]),
        ("torch-nightly", "cpu", ["cpu"]),
        ("torch-nightly", "cuda", ["cu128", "cu130"]),
        ("torch-nightly==2.13.0.dev20260423", "cpu", ["cpu"]),
    ],
)
def test_only_what_is_asked_for_is_locked(
    build: Build, index: tuple[str, Faults], package: str, flavour: str, labels: list[str]
) -> None:
    for label in ("cpu", "cu128", "cu130"):
        build(f"2.13.0.dev20260423+{label}")
    lock = locked(index[0], package, flavour)
    assert sorted(each.version.partition("+")[2] for each in lock.artifacts) == labels


def test_a_flavour_that_is_missing_is_an_error_of_the_plan(build: Build, index: tuple[str, Faults]) -> None:
    build("2.13.0.dev20260423+cu130")
    with pytest.raises(UserError, match="no CPU build of torch"):
        locked(index[0], "torch-nightly", "cpu")
    assert locked(index[0], "torch-nightly").notes[0].startswith("no CPU build of torch")


def test_the_machine_that_fuzzes_may_have_another_index(
    build: Build, index: tuple[str, Faults], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An example is a mirror with a password. The mirror must serve the same file."""
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    build("1.3.11.0", name="jittor")
    spec = parse_spec("jittor")
    monkeypatch.setenv("PIP_INDEX_URL", index[0])
    lock = lock_build(spec, "auto")
    assert lock is not None
    with faulty_index(tmp_path / "served") as (mirror, faults):
        monkeypatch.setenv("PIP_INDEX_URL", mirror.replace("//", "//someone:s3cr3t@"))
        found = same_file(spec, "auto", lock.artifacts[0])
        assert (found.key, found.index) == (lock.artifacts[0].key, mirror)
        assert "someone:s3cr3t@" in found.url
        faults.lies = True
        assert same_file(spec, "auto", lock.artifacts[0]) == lock.artifacts[0]
        faults.broken = 503
        assert same_file(spec, "auto", lock.artifacts[0]) == lock.artifacts[0]


class DescribePythons:
    def test_without_one_each_runner_takes_the_file_for_its_own(self, build: Build, index: tuple[str, Faults]) -> None:
        for python in (OWN, OTHER):
            build("2.13.0+cpu", python)
        build("2.13.0+cpu", platform="win_amd64")
        lock = locked(index[0], "torch")
        assert files(lock) == sorted(f"2.13.0+cpu cp{python.replace('.', '')}" for python in (OWN, OTHER))
        assert "the Python of each runner" in lock.summary()

    def test_one_that_was_given_is_the_only_one(self, build: Build, index: tuple[str, Faults]) -> None:
        build("2.13.0+cpu", OTHER)
        build("2.14.0+cpu", OWN)
        lock = locked(index[0], "torch", python=OTHER)
        assert (lock.python, files(lock)) == (OTHER, [f"2.13.0+cpu cp{OTHER.replace('.', '')}"])
        with pytest.raises(UserError, match=f"planned for Python {OTHER}, but this runner has Python {OWN}") as caught:
            locked_builds(parse_spec(f"index:{index[0]}#torch"), "auto", lock)
        assert "python-version" in caught.value.remedy

    def test_a_runner_whose_python_has_no_file_says_so(self, build: Build, index: tuple[str, Faults]) -> None:
        build("2.13.0+cpu", OTHER)
        lock = locked(index[0], "torch", python=OTHER)
        with pytest.raises(NoBuildError, match="the plan has no torch for"):
            locked_builds(parse_spec(f"index:{index[0]}#torch"), "auto", replace(lock, python=""))


@pytest.mark.parametrize(
    ("package", "library"),
    [("tensorflow-cpu", "tensorflow"), ("tf-nightly-cpu", "tensorflow"), ("jittor==1.3.11.0", "jittor")],
)
def test_libraries_with_one_build_for_all_are_locked_too(
    build: Build, index: tuple[str, Faults], package: str, library: str
) -> None:
    name = package.partition("=")[0]
    build("1.3.11.0.dev20260424" if "nightly" in name else "1.3.11.0", name=name)
    lock = locked(index[0], package)
    spec = parse_spec(f"index:{index[0]}#{package}")
    assert (lock.library, lock.flavours) == (library, frozenset())
    assert lock.artifact_of(locked_builds(spec, "auto", lock)[0].key)
    assert lock.artifact_of(locked_builds(spec, "auto", lock)[0].key.replace("1.3", "1.4")) is None


def test_a_release_is_locked_with_what_the_librarys_own_index_has(
    build: Build, index: tuple[str, Faults], folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", index[0])
    own = tmp_path / "own" / "cpu" / "torch"
    monkeypatch.setenv(resolve.TORCH_INDEX_VARIABLE, (tmp_path / "own").as_uri())
    build("2.13.0")
    own.mkdir(parents=True)
    name = f"torch-2.13.0+cpu-cp{OWN.replace('.', '')}-cp{OWN.replace('.', '')}-{PLATFORM}.whl"
    (own / "index.html").write_text(f'<a href="{name}#sha256={"a" * 64}">{name}</a>')
    lock = lock_build(parse_spec("torch==2.13.0"), "auto")
    assert lock is not None
    assert sorted(each.version for each in lock.artifacts) == ["2.13.0", "2.13.0+cpu"]
    assert str(locked_builds(parse_spec("torch==2.13.0"), "auto", lock)[0].version) == "2.13.0+cpu"


class DescribeBuildsOfThisMachine:
    def test_a_wheel_file_is_locked_by_its_content(self, build: Build) -> None:
        path = build("2.13.0+cpu")
        spec = parse_spec(str(path))
        lock = lock_build(spec, "auto")
        assert lock is not None and lock.artifact_of(locked_builds(spec, "auto", lock)[0].key)
        write_wheel(path.parent, FakeWheel("torch", "2.13.0+cpu", "other = 1", tag=path.stem.split("-", 2)[2]))
        with pytest.raises(UserError, match="has changed since the plan job locked it"):
            locked_builds(spec, "auto", lock)

    def test_a_wheel_of_another_python_can_be_planned_here(self, build: Build) -> None:
        lock = lock_build(parse_spec(str(build("2.13.0+cpu", OTHER))), "auto")
        assert lock is not None and lock.version == "2.13.0+cpu"

    def test_an_interpreter_is_no_build(self) -> None:
        assert lock_build(parse_spec(f"python:{sys.executable}"), "auto") is None


class DescribeComparedBuilds:
    def test_they_have_one_flavour_where_there_is_one(self, build: Build, index: tuple[str, Faults]) -> None:
        for version in ("2.12.0+cu130", "2.13.0+cpu", "2.13.0+cu130"):
            build(version)
        old, new = aligned([locked(index[0], f"torch=={version}") for version in ("2.12.0", "2.13.0")])
        assert (old.flavours, new.flavours) == ({"cuda"}, {"cuda"})
        assert (
            str(locked_builds(parse_spec(f"index:{index[0]}#torch==2.13.0"), "auto", new)[0].version) == "2.13.0+cu130"
        )

    def test_they_stay_as_they_are_where_there_is_none(self, build: Build, index: tuple[str, Faults]) -> None:
        for version in ("2.12.0+cu130", "2.13.0+cpu"):
            build(version)
        locks = [locked(index[0], f"torch=={version}") for version in ("2.12.0", "2.13.0")]
        assert aligned(locks) == locks


def test_a_lock_holds_no_secret(build: Build, index: tuple[str, Faults], monkeypatch: pytest.MonkeyPatch) -> None:
    build("2.13.0+cpu")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", index[0].replace("//", "//someone:s3cr3t@"))
    monkeypatch.setenv(resolve.TORCH_INDEX_VARIABLE, "file:///none")
    lock = lock_build(parse_spec("torch"), "cpu")
    assert lock is not None
    assert "s3cr3t" not in to_json(lock) and without_secrets(index[0]) in to_json(lock)


def test_a_file_that_is_no_lock_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{")
    for name in ("x.json", "none.json"):
        with pytest.raises(UserError, match=f"{name} is not a lock file|cannot read .*{name}"):
            read_lock(tmp_path / name)
