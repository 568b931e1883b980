"""Tests of the wheel cache: verified, shared, bounded; a cut download goes on at the place of the cut."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from zipfile import ZipFile

import pytest
from examples import examples
from fakeindex import Faults, faulty_index
from fakewheels import FakeWheel, write_wheel
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from fuzz_core.ir.errors import UserError
from fuzz_core.targets import index, wheels
from fuzz_core.targets.artifact import Artifact
from fuzz_core.targets.installer import IndexUnreachable
from fuzz_core.targets.record import lock_of
from fuzz_core.targets.wheels import TRIES, MissingFileError, cached, held, wheels_root

REPOSITORY = Path(__file__).resolve().parents[2]
FILLING = "filling = " + repr("x" * 500_000)


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Faults]]:
    """Yields an index with three versions of a library, of half a million bytes each."""
    monkeypatch.setenv("NIGHTFUZZ_CACHE", str(tmp_path / "cache"))
    for version in ("1.0", "1.1", "1.2"):
        write_wheel(tmp_path / "served", FakeWheel("lib", version, FILLING))
    with faulty_index(tmp_path / "served") as told:
        yield told


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Replaces waiting between tries; returns the list of the seconds."""
    seconds: list[float] = []
    monkeypatch.setattr(wheels, "sleep", seconds.append)
    return seconds


def listed(address: str, version: str = "1.0") -> Artifact:
    return next(each for each in index.listing(address, "lib") if each.version == version)


def served_file(tmp_path: Path, artifact: Artifact) -> Path:
    return tmp_path / "served" / artifact.filename


def get(artifact: Artifact, bound: int = wheels.BOUND_BYTES) -> bytes:
    with held(artifact, bound) as path:
        assert path.name == artifact.filename
        return path.read_bytes()


def left() -> list[str]:
    """Returns the names of all files in the cache, without the locks."""
    return sorted(path.name for path in wheels_root().glob("*/*") if path.parent.name != ".locks")


def test_a_wheel_is_downloaded_once_and_shared(served: tuple[str, Faults], tmp_path: Path) -> None:
    address, faults = served
    artifact = listed(address)
    assert get(artifact) == get(artifact) == served_file(tmp_path, artifact).read_bytes()
    assert faults.asked == [(artifact.filename, None)]
    assert cached() == [artifact]
    assert left() == [artifact.filename, "wheel.json"]


def test_a_cut_download_goes_on_where_it_stopped(
    served: tuple[str, Faults], waits: list[float], tmp_path: Path
) -> None:
    address, faults = served
    artifact = listed(address)
    faults.cut = [200_000, 170_000]
    assert get(artifact) == served_file(tmp_path, artifact).read_bytes()
    assert faults.asked[0][1] is None
    starts = [int(str(place).strip("bytes=-")) for _name, place in faults.asked[1:]]
    assert 100_000 < starts[0] <= 200_000 < starts[1] <= 370_000
    assert waits == [1.0, 2.0]


def test_a_cut_download_that_no_hash_checks_begins_again(served: tuple[str, Faults], tmp_path: Path) -> None:
    address, faults = served
    faults.unhashed = True
    artifact = listed(address)
    faults.cut = [200_000]
    assert get(artifact) == served_file(tmp_path, artifact).read_bytes()
    assert faults.asked == [(artifact.filename, None)] * 2


def test_a_server_without_ranges_sends_all_again(served: tuple[str, Faults], tmp_path: Path) -> None:
    address, faults = served
    artifact = listed(address)
    faults.cut, faults.deaf = [200_000], True
    assert get(artifact) == served_file(tmp_path, artifact).read_bytes()


def cut_off(address: str, faults: Faults) -> Artifact:
    """Returns a file whose download failed for good after two hundred thousand bytes."""
    artifact = listed(address)
    faults.cut = [200_000] + [0] * (TRIES - 1)
    with pytest.raises(IndexUnreachable, match="cannot be downloaded"):
        get(artifact)
    faults.asked.clear()
    return artifact


def test_the_next_run_goes_on_where_the_last_one_failed(served: tuple[str, Faults], tmp_path: Path) -> None:
    address, faults = served
    artifact = cut_off(address, faults)
    assert cached() == []
    assert get(artifact) == served_file(tmp_path, artifact).read_bytes()
    [(_name, place)] = faults.asked
    assert place is not None
    assert left() == [artifact.filename, "wheel.json"]


def test_a_file_that_was_replaced_since_is_not_joined_to_the_old_part(
    served: tuple[str, Faults], tmp_path: Path
) -> None:
    address, faults = served
    artifact = cut_off(address, faults)
    [part] = wheels_root().glob("*/*.part")
    part.write_bytes(b"y" * 100_000)
    assert get(artifact) == served_file(tmp_path, artifact).read_bytes()
    assert len(faults.asked) == 2


@pytest.mark.parametrize("extra", [b"", b"too much"])
@pytest.mark.parametrize("silent", [False, True])
def test_a_part_that_is_whole_or_longer_ends_well(
    served: tuple[str, Faults], tmp_path: Path, extra: bytes, silent: bool
) -> None:
    address, faults = served
    # If the index gives no hash and no size, a surplus in the part is not seen, and the part is not used.
    faults.html = faults.unhashed = silent
    artifact = cut_off(address, faults)
    content = served_file(tmp_path, artifact).read_bytes()
    [part] = wheels_root().glob("*/*.part")
    part.write_bytes(content + extra)
    assert get(artifact) == content


def test_a_wrong_hash_is_an_error_and_leaves_nothing(served: tuple[str, Faults]) -> None:
    address, faults = served
    faults.lies = True
    artifact = listed(address)
    with pytest.raises(UserError, match=r"lib-1\.0.* is damaged: the index says SHA-256"):
        get(artifact)
    assert (left(), cached()) == ([], [])


def test_a_truncated_wheel_is_an_error_and_leaves_nothing(served: tuple[str, Faults], tmp_path: Path) -> None:
    address, _faults = served
    artifact = listed(address)
    path = served_file(tmp_path, artifact)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(UserError, match="the index says 5"):
        get(artifact)
    assert left() == []
    # The wheel's form alone shows the damage here: the index lists hash and size of the truncated file.
    with pytest.raises(UserError, match="index itself has the damaged file"):
        get(listed(address))
    assert left() == []


def test_an_archive_that_is_no_wheel_is_an_error(served: tuple[str, Faults], tmp_path: Path) -> None:
    with ZipFile(tmp_path / "served" / "lib-2.0-py3-none-any.whl", "w") as archive:
        archive.writestr("readme", "nothing")
    with pytest.raises(UserError, match="no metadata"):
        get(listed(served[0], "2.0"))
    assert left() == []


def test_a_source_that_is_no_archive_is_an_error(served: tuple[str, Faults], tmp_path: Path) -> None:
    (tmp_path / "served" / "lib-2.0.tar.gz").write_bytes(b"not found")
    with pytest.raises(UserError, match="the file is not an archive"):
        get(listed(served[0], "2.0"))
    assert left() == []


@pytest.mark.parametrize("unhashed", [False, True])
def test_a_kept_file_that_rots_is_downloaded_anew(served: tuple[str, Faults], tmp_path: Path, unhashed: bool) -> None:
    address, faults = served
    faults.unhashed = unhashed
    artifact = listed(address)
    get(artifact)
    [kept] = wheels_root().glob("*/*.whl")
    kept.write_bytes(kept.read_bytes()[:-1] + b"!")
    assert get(artifact) == served_file(tmp_path, artifact).read_bytes()
    assert len(faults.asked) == 2


def test_what_is_gone_is_told(served: tuple[str, Faults]) -> None:
    address, faults = served
    artifact = listed(address)
    faults.gone = {artifact.filename}
    with pytest.raises(MissingFileError, match="HTTP 404"):
        get(artifact)


def test_a_server_in_trouble_is_asked_again(served: tuple[str, Faults], waits: list[float]) -> None:
    address, faults = served
    artifact = listed(address)
    faults.broken = 503
    with pytest.raises(IndexUnreachable, match="HTTP 503"):
        get(artifact)
    assert waits == [1.0, 2.0, 4.0, 8.0]


@pytest.mark.parametrize("order", list(permutations(("1.0", "1.1", "1.2"))))
def test_the_least_recently_used_goes_first(served: tuple[str, Faults], order: tuple[str, ...]) -> None:
    first, second, third = (listed(served[0], version) for version in order)
    for age, artifact in enumerate((first, second)):
        get(artifact)
        os.utime(wheels_root() / artifact.key / "wheel.json", (age, age))
    get(first)
    get(third, bound=1_200_000)
    assert {each.version for each in cached()} == {first.version, third.version}


def test_what_is_held_stays_and_so_does_what_is_larger_than_the_bound(served: tuple[str, Faults]) -> None:
    first, second = listed(served[0]), listed(served[0], "1.1")
    with held(first) as path:
        get(second, bound=1)
        assert path.exists()
    assert {each.version for each in cached()} == {"1.0", "1.1"}
    get(second, bound=1)
    assert {each.version for each in cached()} == {"1.1"}


@examples(20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(uses=st.lists(st.tuples(st.sampled_from(["1.0", "1.1", "1.2"]), st.integers(0, 2_000_000)), max_size=6))
def test_the_cache_keeps_to_its_bound_or_to_what_was_used_last(
    served: tuple[str, Faults], uses: list[tuple[str, int]]
) -> None:
    for version, bound in uses:
        get(listed(served[0], version), bound)
        kept = [each.version for each in cached()]
        assert version in kept
        assert len(kept) == 1 or sum(each.stat().st_size for each in wheels_root().glob("*/*")) <= bound


CHILD = """
import sys
from fuzz_core.targets import index, wheels
artifact = index.listing(sys.argv[1], "lib")[0]
with wheels.held(artifact) as path:
    print(len(path.read_bytes()))
"""


def test_two_processes_download_once(served: tuple[str, Faults], tmp_path: Path) -> None:
    address, faults = served
    artifact = index.listing(address, "lib")[0]
    env = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    with lock_of(wheels_root(), artifact.key):
        command = [sys.executable, "-c", CHILD, address]
        children = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    sizes = {int(child.communicate(timeout=120)[0]) for child in children}
    assert sizes == {served_file(tmp_path, artifact).stat().st_size}
    assert faults.asked == [(artifact.filename, None)]


def test_a_file_of_this_machine_is_used_where_it_lies_and_checked(tmp_path: Path) -> None:
    path = write_wheel(tmp_path / "folder", FakeWheel("lib", "1.0"))
    [artifact] = index.listing(path.parent.as_uri(), "lib", flat=True)
    with held(artifact) as file:
        assert file == path
    path.write_bytes(b"another file")
    with pytest.raises(UserError, match="is damaged: the index says SHA-256"), held(artifact):
        pass
    path.unlink()
    with pytest.raises(MissingFileError, match="but the file is gone from"), held(artifact):
        pass
