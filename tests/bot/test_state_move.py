"""The move of the state from the branch of earlier versions to a ref of its own, in real repositories."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nightfuzz.bot.git import remote_of
from nightfuzz.bot.state.place import MARKER, README
from nightfuzz.bot.state.ref import BRANCH, REF, Chance, StateRef


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    path = tmp_path / "remote.git"
    git(tmp_path, "init", "--quiet", "--bare", str(path))
    return path


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True, text=True).stdout


def opened(bare: Path, ref: str = REF) -> StateRef:
    chance = Chance(lambda: datetime(2026, 1, 2, tzinfo=UTC), lambda seconds: None, lambda: 0.5)
    return StateRef(remote_of(bare.as_uri()), chance, ref)


def put(place: StateRef, **files: bytes) -> None:
    place.store(lambda before: {**(before.files if before else {}), **files}, "a message")


def kept(place: StateRef) -> Mapping[str, bytes] | None:
    snapshot = place.load()
    return snapshot and {name: data for name, data in snapshot.files.items() if name not in (README, MARKER)}


def refs(bare: Path) -> list[str]:
    return git(bare, "for-each-ref", "--format=%(refname)").split()


def test_the_first_write_moves_it_and_removes_the_branch(bare: Path) -> None:
    put(opened(bare, BRANCH), a=b"1")
    place = opened(bare)
    assert kept(place) == {"a": b"1"}
    put(place, b=b"2")
    assert kept(opened(bare)) == {"a": b"1", "b": b"2"}
    assert refs(bare) == [REF]


def test_it_is_moved_where_nothing_changes(bare: Path) -> None:
    put(opened(bare, BRANCH), a=b"1")
    put(opened(bare), a=b"1")
    assert refs(bare) == [REF]


def test_what_an_older_version_wrote_after_the_move_is_left_alone(bare: Path) -> None:
    put(opened(bare), a=b"new")
    put(opened(bare, BRANCH), a=b"old")
    put(opened(bare), b=b"2")
    assert kept(opened(bare)) == {"a": b"new", "b": b"2"}
    assert refs(bare) == [BRANCH, REF]


def test_a_branch_that_may_not_be_deleted_does_not_stop_the_move(bare: Path) -> None:
    put(opened(bare, BRANCH), a=b"1")
    git(bare, "config", "receive.denyDeletes", "true")
    put(opened(bare), b=b"2")
    assert kept(opened(bare)) == {"a": b"1", "b": b"2"}


def test_a_ref_of_another_name_takes_nothing_from_the_branch(bare: Path) -> None:
    put(opened(bare, BRANCH), a=b"1")
    assert opened(bare, "refs/nightfuzz/other").load() is None


def test_a_clone_does_not_fetch_it(bare: Path, tmp_path: Path) -> None:
    put(opened(bare), large=os.urandom(1 << 20))
    git(tmp_path, "clone", "--quiet", bare.as_uri(), "clone")
    assert sum(path.stat().st_size for path in (tmp_path / "clone").rglob("*") if path.is_file()) < 1 << 20
