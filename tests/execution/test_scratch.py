"""Tests of scratch folders: removed by their owner, and by the next run if the owner was killed."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fuzz_core.execution.scratch import (
    LOCK,
    PREFIX,
    UNLOCKED_SECONDS,
    NoSpace,
    Scratch,
    explained,
    remove,
    scratch,
    sweep,
    usage,
)
from fuzz_core.ir.errors import UserError


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def abandoned(folder: Path, seconds: float = 0.0) -> Path:
    """Returns a folder that a killed process left the given seconds ago."""
    code = "import os, signal; from fuzz_core.execution.scratch import Scratch; Scratch(); os.kill(os.getpid(), 9)"
    before = set(folder.iterdir())
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(folder)}, check=False)
    (made,) = set(folder.iterdir()) - before
    then = made.stat().st_mtime - seconds
    os.utime(made, (then, then))
    return made


def test_a_folder_lasts_as_long_as_its_block(temporary: Path) -> None:
    with scratch() as path:
        (path / "plan").write_text("x")
        assert path.parent == temporary and path.name.startswith(PREFIX)
    assert list(temporary.iterdir()) == []


def test_what_a_killed_owner_left_is_swept_and_what_is_in_use_is_not(temporary: Path) -> None:
    left = abandoned(temporary)
    (left / "child-1").mkdir()
    kept = Scratch()
    (temporary / "of-somebody-else").mkdir()
    assert sweep() == 1
    assert not left.exists()
    assert {path.name for path in temporary.iterdir()} == {kept.path.name, "of-somebody-else"}
    kept.close()
    assert sweep() == 0


def test_a_folder_that_is_just_being_made_is_left_alone(temporary: Path) -> None:
    for seconds, swept in ((0.0, 0), (UNLOCKED_SECONDS + 60, 1)):
        left = abandoned(temporary)
        (left / LOCK).unlink()
        then = left.stat().st_mtime - seconds
        os.utime(left, (then, then))
        assert sweep() == swept
        remove(left)


def test_a_link_with_our_name_is_not_followed(temporary: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "precious").write_text("x")
    (temporary / f"{PREFIX}link").symlink_to(other)
    assert sweep() == 0
    assert (other / "precious").exists()


def test_what_untrusted_code_left_is_removed_whatever_it_is(temporary: Path) -> None:
    folder = temporary / "left"
    (folder / "closed").mkdir(parents=True)
    (folder / "closed" / "file").write_text("x")
    (folder / "closed").chmod(0)
    (folder / "away").symlink_to("/")
    deep = os.open(folder, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("d", dir_fd=deep)
        deep, above = os.open("d", os.O_RDONLY, dir_fd=deep), deep
        os.close(above)
    os.close(deep)
    remove(folder)
    assert not folder.exists() and Path("/").exists()


def test_what_holds_the_folder_keeps_its_mode(temporary: Path) -> None:
    temporary.chmod(0o1777)
    remove(temporary / "gone")
    assert stat.S_IMODE(temporary.stat().st_mode) == 0o1777


def test_usage_counts_what_is_on_disk_and_stops_when_it_is_enough(temporary: Path) -> None:
    assert usage(temporary / "absent", 1) == 0
    (temporary / "a").mkdir()
    (temporary / "a" / "b").write_bytes(b"x" * 100_000)
    with (temporary / "sparse").open("wb") as file:
        file.truncate(1 << 30)
    assert 100_000 <= usage(temporary, 1 << 30) < 1 << 20
    assert usage(temporary, 1000) >= 1000


@pytest.mark.parametrize(
    ("number", "kind", "says"),
    [
        (errno.ENOSPC, NoSpace, "no space left in the temporary directory /tmp/x"),
        (errno.EDQUOT, NoSpace, "TMPDIR"),
        (errno.EROFS, UserError, "cannot be written"),
        (errno.EBADF, OSError, "Bad file descriptor"),
    ],
)
def test_what_a_user_can_mend_is_said(number: int, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says), explained(Path("/tmp/x")):
        raise OSError(number, os.strerror(number))
