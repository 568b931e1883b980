"""Archives from strangers: their files land inside the folder, and no member leads out of it."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from nightfuzz.bot.jobs.archive import extract


def packed(*members: tuple[str, bytes | str, dict[str, object]]) -> bytes:
    """Returns an archive: a text is the target of a link, bytes are a file."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, content, more in members:
            info = tarfile.TarInfo(name)
            if isinstance(content, str):
                info.type, info.linkname = tarfile.SYMTYPE, content
            else:
                info.size = len(content)
            for key, value in more.items():
                setattr(info, key, value)
            archive.addfile(info, io.BytesIO(content) if isinstance(content, bytes) else None)
    return data.getvalue()


def unpacked(folder: Path, data: bytes) -> list[str]:
    folder.mkdir()
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        extract(archive, archive.getmembers(), folder)
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_files_folders_and_links_arrive(tmp_path: Path) -> None:
    data = packed(
        ("a/run.sh", b"#!", {"mode": 0o4755}), ("a/b/text", b"t", {"mode": 0o600}), ("link", "a/b", {}),
        ("a/up", "../link/text", {}), ("empty", b"", {"type": tarfile.DIRTYPE}),
    )  # fmt: skip
    folder = tmp_path / "in"
    assert unpacked(folder, data) == ["a", "a/b", "a/b/text", "a/run.sh", "a/up", "empty", "link"]
    assert [(folder / name).stat().st_mode & 0o7777 for name in ("a/run.sh", "a/b/text")] == [0o755, 0o644]
    assert (folder / "a/up").read_text() == "t"


@pytest.mark.parametrize(
    "members",
    [
        [("link", "/etc", {})],
        [("link", "..", {})],
        [("a/link", "../..", {})],
        [("here", ".", {}), ("link", "here/..", {})],
        [("x", "y", {}), ("y", "../..", {})],
        [("link", "link", {})],
        [("pipe", b"", {"type": tarfile.FIFOTYPE})],
        [("hard", "/etc/passwd", {"type": tarfile.LNKTYPE})],
        [("device", b"", {"type": tarfile.CHRTYPE})],
    ],
)
def test_nothing_leads_out(members: list[tuple[str, bytes | str, dict[str, object]]], tmp_path: Path) -> None:
    folder = tmp_path / "in"
    unpacked(folder, packed(*members, ("kept", b"k", {})))
    assert (folder / "kept").read_bytes() == b"k"
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    for path in folder.rglob("*"):
        assert os.path.realpath(path).startswith(f"{folder}")
        assert path.is_dir() or path.is_file()


@pytest.mark.parametrize("name", ["../out", "/out", "a/../../out"])
def test_a_path_that_leads_out_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(tarfile.TarError, match="leads out"):
        unpacked(tmp_path / "in", packed((name, b"x", {})))
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_no_file_is_written_through_a_link(tmp_path: Path) -> None:
    assert unpacked(tmp_path / "in", packed(("link", "..", {}), ("link/out", b"x", {}))) == ["link", "link/out"]
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_nothing_is_reached_through_a_link_of_the_archive(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").symlink_to("/etc/hostname")
    with pytest.raises(tarfile.TarError, match="'a/mine' leads out"):
        unpacked(tmp_path / "in", packed(("a", str(outside), {}), ("a/mine", "new", {}), ("a/other", "new", {})))
    assert [path.name for path in outside.iterdir()] == ["mine"]
    assert not (tmp_path / "in" / "a").is_symlink()
