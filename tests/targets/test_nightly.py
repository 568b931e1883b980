"""Tests of targets from an index: the newest available build is installed, and its version and day are reported."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakeindex import Faults, faulty_index, real_index
from fakewheels import FakeWheel, write_nightlies, write_source, write_wheel

from fuzz_core.ir.errors import UserError
from fuzz_core.targets.environment import ensure
from fuzz_core.targets.installer import IndexUnreachable
from fuzz_core.targets.record import Target, list_targets, read_record, targets_root
from fuzz_core.targets.resolve import Access
from fuzz_core.targets.spec import parse_spec
from fuzz_core.targets.wheels import MissingFileError

NIGHTS = ["1.0.dev20260101", "1.0.dev20260102", "1.0.dev20260104"]


@pytest.fixture
def wheels(tmp_path: Path, own_index: None) -> Path:
    """Returns a folder with three nightly builds of fakelib; there is a gap between 2 and 4 January."""
    folder = tmp_path / "served"
    write_nightlies(folder, "fakelib", 4, lambda night: None if night == 2 else f"night = {night}")
    return folder


@pytest.fixture
def served(wheels: Path) -> Iterator[str]:
    with real_index(wheels) as address:
        yield address


@pytest.fixture
def faulty(wheels: Path) -> Iterator[tuple[str, Faults]]:
    with faulty_index(wheels) as told:
        yield told


def made(address: str, package: str = "fakelib", access: Access | None = None) -> Target:
    return ensure(parse_spec(f"index:{address}#{package}"), access=access or Access())


def test_the_newest_night_of_a_real_index(served: str) -> None:
    target = made(served)
    assert (target.library, target.version, target.info.version) == ("fakelib", NIGHTS[-1], NIGHTS[-1])
    assert target.origin is not None
    assert (target.origin.day, target.origin.dated_by) == ("2026-01-04", "version")
    assert "built 2026-01-04, source commit unknown" in target.summary()
    assert read_record(targets_root(), target.key) == target == made(served)
    assert target.notes == ()


def test_a_pinned_night_is_found_again_without_the_index(wheels: Path) -> None:
    with real_index(wheels) as address:
        target = made(address, f"fakelib=={NIGHTS[1]}")
    assert target.version == NIGHTS[1]
    assert made(address, f"fakelib=={NIGHTS[1]}") == target


def test_a_pin_is_looked_up_in_the_index_that_is_configured(served: str) -> None:
    spec = parse_spec(f"fakelib=={NIGHTS[0]}", index=served)
    assert spec == parse_spec(f"index:{served}/#fakelib == {NIGHTS[0]}")
    assert ensure(spec).version == NIGHTS[0]


def test_a_version_that_the_index_lacks_names_the_newest(served: str) -> None:
    with pytest.raises(UserError) as caught:
        made(served, "fakelib==1.0.dev20260103")
    assert "no build of fakelib==1.0.dev20260103" in caught.value.problem
    assert NIGHTS[-1] in caught.value.remedy


def test_a_package_that_the_index_lacks_is_told(served: str) -> None:
    with pytest.raises(UserError, match="has no package torch"):
        made(served, "torch")


def test_the_next_newest_stands_in_for_a_vanished_one_and_it_is_said(faulty: tuple[str, Faults]) -> None:
    address, faults = faulty
    faults.gone = {f"fakelib-{NIGHTS[2]}-py3-none-any.whl"}
    target = made(address)
    assert target.version == NIGHTS[1]
    assert target.notes == (
        f"the index lists fakelib-{NIGHTS[2]}-py3-none-any.whl, but the file is gone (HTTP 404): took the next newest",
    )


def test_a_vanished_pin_is_an_error(faulty: tuple[str, Faults]) -> None:
    address, faults = faulty
    faults.gone = {f"fakelib-{NIGHTS[2]}-py3-none-any.whl"}
    with pytest.raises(MissingFileError, match=r"but the file is gone \(HTTP 404\)"):
        made(address, f"fakelib=={NIGHTS[2]}")
    assert list_targets() == []


def test_when_all_have_vanished_that_is_said(faulty: tuple[str, Faults]) -> None:
    address, faults = faulty
    faults.gone = {f"fakelib-{night}-py3-none-any.whl" for night in NIGHTS}
    with pytest.raises(MissingFileError, match=r"no build of .* can be downloaded: .*HTTP 404"):
        made(address)


def test_a_yanked_build_is_taken_only_by_its_version_and_that_is_said(faulty: tuple[str, Faults]) -> None:
    address, faults = faulty
    faults.yanked = {f"fakelib-{NIGHTS[2]}-py3-none-any.whl": "eats disks"}
    assert made(address).version == NIGHTS[1]
    target = made(address, f"fakelib=={NIGHTS[2]}")
    assert target.version == NIGHTS[2]
    assert "has been yanked: eats disks" in target.notes[0]


def test_an_index_of_yanked_builds_alone_says_so(faulty: tuple[str, Faults]) -> None:
    address, faults = faulty
    faults.yanked = {f"fakelib-{night}-py3-none-any.whl": "" for night in NIGHTS}
    with pytest.raises(UserError, match=r"every fakelib for .* has been yanked"):
        made(address)


def test_a_missing_hash_is_said(faulty: tuple[str, Faults]) -> None:
    address, faults = faulty
    faults.unhashed = True
    assert "gives no SHA-256" in made(address).notes[0]


def test_without_a_network_what_is_kept_is_used_only_if_allowed(wheels: Path) -> None:
    with real_index(wheels) as address:
        older = made(address, f"fakelib=={NIGHTS[1]}")
        made(address, f"fakelib=={NIGHTS[0]}")
    with pytest.raises(IndexUnreachable, match="cannot be reached: Connection refused") as caught:
        made(address)
    assert "a build that is kept on this machine" in caught.value.remedy
    target = made(address, access=Access(allow_cached=True))
    assert (target.key, target.version) == (older.key, NIGHTS[1])
    assert "took the newest build that is kept here" in target.notes[0]


def test_a_kept_wheel_is_installed_without_the_index(wheels: Path, tmp_path: Path) -> None:
    with real_index(wheels) as address:
        made(address)
    spec = parse_spec(f"index:{address}#fakelib")
    target = ensure(spec, root=tmp_path / "elsewhere", access=Access(allow_cached=True))
    assert target.version == NIGHTS[2]


def test_with_nothing_kept_permission_does_not_help(own_index: None) -> None:
    with pytest.raises(IndexUnreachable, match="Connection refused") as caught:
        made("http://127.0.0.1:9/simple", access=Access(allow_cached=True))
    assert "this machine has kept no build" in caught.value.remedy


def test_a_pinned_build_that_its_index_has_forgotten_is_taken_from_what_is_kept(wheels: Path, served: str) -> None:
    night = made(served)
    (wheels / f"fakelib-{NIGHTS[2]}-py3-none-any.whl").unlink()
    assert made(served).version == NIGHTS[1]
    target = made(served, f"fakelib=={NIGHTS[2]}")
    assert target.key == night.key
    assert "took that build, as it is kept here" in target.notes[0]


def test_a_pinned_build_that_has_vanished_is_taken_from_what_is_kept(
    faulty: tuple[str, Faults], tmp_path: Path
) -> None:
    address, faults = faulty
    made(address)
    faults.gone = {f"fakelib-{NIGHTS[2]}-py3-none-any.whl"}
    target = ensure(parse_spec(f"fakelib=={NIGHTS[2]}", index=address), root=tmp_path / "elsewhere")
    assert (target.version, target.notes) == (NIGHTS[2], ())


def test_an_upload_time_stands_in_for_a_date_in_the_version(wheels: Path, faulty: tuple[str, Faults]) -> None:
    address, faults = faulty
    release = write_wheel(wheels, FakeWheel("fakelib", "1.0"))
    faults.uploaded = {release.name: "2026-02-03T04:05:06.000000Z"}
    target = made(address)
    assert target.version == "1.0"
    assert target.origin is not None
    assert (target.origin.day, target.origin.dated_by) == ("2026-02-03", "upload time")
    assert "uploaded 2026-02-03" in target.summary()


def test_two_builds_of_one_version_are_two_targets(wheels: Path, served: str) -> None:
    first = made(served)
    write_wheel(wheels, FakeWheel("fakelib", NIGHTS[2], "second = True", build="2"))
    second = made(served)
    assert (first.version, second.version) == (NIGHTS[2], NIGHTS[2])
    assert first.key != second.key
    assert second.origin is not None and second.origin.artifact.build == (2, "")


def test_a_source_archive_is_built_where_there_is_no_wheel(wheels: Path, served: str) -> None:
    write_source(wheels, FakeWheel("fakelib", "1.0", "built = True"))
    target = made(served)
    assert target.version == "1.0"
    assert target.origin is not None and target.origin.artifact.filename == "fakelib-1.0.tar.gz"


def test_a_module_that_says_no_version_is_known_by_that_of_its_package(wheels: Path, served: str) -> None:
    write_wheel(wheels, FakeWheel("fakelib", "1.1", files={"fakelib/__init__.py": ""}))
    assert made(served).version == "1.1"


def test_the_commit_that_a_module_keeps_is_said(wheels: Path, served: str) -> None:
    body = f"class version:\n    git_version = {'c' * 40!r}"
    write_wheel(wheels, FakeWheel("fakelib", "1.1", body))
    target = made(served)
    assert target.origin is not None
    assert (target.origin.commit, target.origin.commit_by) == ("c" * 40, "its own version file")


def test_an_index_that_answers_with_something_else_is_told(faulty: tuple[str, Faults]) -> None:
    address, faults = faulty
    faults.broken = 503
    with pytest.raises(IndexUnreachable, match="HTTP 503"):
        made(address)
