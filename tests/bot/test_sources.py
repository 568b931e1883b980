"""The caller's sources as the plan packs them: files that git tracks and that are checked out."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from actioninputs import inputs

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.jobs import sources
from nightfuzz.bot.jobs.note import PlanNote
from nightfuzz.bot.jobs.request import request_of
from nightfuzz.bot.jobs.sources import pack_base, pack_sources, unpack_sources
from nightfuzz.bot.jobs.workspace import SOURCES, work_of

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 3\n".format("a" * 64)
TEST = "import torch\n"


def git(folder: Path, *words: str) -> None:
    own = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *own, *words], cwd=folder, check=True, capture_output=True)


def commit(folder: Path, files: dict[str, str]) -> Path:
    """Makes a repository with these files in a commit."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    return folder


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return commit(tmp_path / "own", {"tests/test_it.py": TEST})


def packed(repository: Path, tmp_path: Path) -> tuple[dict[str, str], str]:
    """Returns the content of the packed files, as they are unpacked, and the notes."""
    notes = pack_sources(repository, tmp_path / "sources.tar")
    out = tmp_path / "out"
    shutil.rmtree(out, ignore_errors=True)
    with tarfile.open(tmp_path / "sources.tar") as archive:
        assert {member.uid for member in archive.getmembers()} <= {0}
        archive.extractall(out, filter="data")
    found = sorted(path for path in out.rglob("*") if path.is_file() or path.is_symlink())
    return {str(path.relative_to(out)): path.read_text() for path in found}, "\n".join(notes)


def test_what_is_tracked_goes_in_and_what_lies_about_does_not(repository: Path, tmp_path: Path) -> None:
    (repository / "left.env").write_text("TOKEN=secret\n")
    assert packed(repository, tmp_path) == ({"tests/test_it.py": TEST}, "")


def test_files_that_are_left_out_of_archives_go_in(repository: Path, tmp_path: Path) -> None:
    commit(repository, {".gitattributes": "tests/ export-ignore\n*.md export-ignore\n", "page.md": "text"})
    files, notes = packed(repository, tmp_path)
    assert files.keys() == {".gitattributes", "page.md", "tests/test_it.py"} and not notes


def test_files_of_a_submodule_go_in_and_one_that_is_not_checked_out_is_named(repository: Path, tmp_path: Path) -> None:
    inner = commit(tmp_path / "inner", {"test_inner.py": TEST})
    middle = commit(tmp_path / "middle", {"test_middle.py": TEST})
    git(middle, "submodule", "add", "-q", str(inner), "deep")
    git(middle, "commit", "-qm", "two")
    git(repository, "submodule", "add", "-q", str(middle), "more")
    git(repository, "commit", "-qm", "two")
    files, notes = packed(repository, tmp_path)
    assert "more/test_middle.py" in files and "more/deep: a submodule" in notes
    git(repository, "submodule", "update", "-q", "--init", "--recursive")
    files, notes = packed(repository, tmp_path)
    assert "more/deep/test_inner.py" in files and not notes
    assert not any(".git" in Path(name).parts for name in files)
    git(repository, "submodule", "deinit", "-q", "--all", "-f")
    files, notes = packed(repository, tmp_path)
    assert "tests/test_it.py" in files and "more: a submodule" in notes and "submodules: true" in notes


@pytest.mark.skipif(shutil.which("git-lfs") is None, reason="git-lfs is not installed")
def test_content_of_lfs_goes_in_and_a_pointer_is_named(repository: Path, tmp_path: Path) -> None:
    git(repository, "lfs", "install", "--local")
    git(repository, "lfs", "track", "*.npy")
    commit(repository, {"data/weights.npy": "content"})
    assert packed(repository, tmp_path)[0]["data/weights.npy"] == "content"
    environment = {**os.environ, "GIT_LFS_SKIP_SMUDGE": "1"}
    subprocess.run(["git", "clone", "-q", str(repository), "clone"], cwd=tmp_path, env=environment, check=True)
    files, notes = packed(tmp_path / "clone", tmp_path)
    assert files["data/weights.npy"].startswith("version https://git-lfs")
    assert "data/weights.npy" in notes and "lfs: true" in notes


def test_a_long_list_of_pointers_is_counted(repository: Path, tmp_path: Path) -> None:
    commit(repository, {f"data/{number}.bin": POINTER for number in range(9)})
    assert packed(repository, tmp_path)[1].startswith(
        "data/0.bin, data/1.bin, data/2.bin, data/3.bin, data/4.bin and 4"
    )


def test_no_link_leads_out(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    commit(repository, {"real.py": TEST})
    links = {
        "out": "../secret",
        "away": str(tmp_path / "secret"),
        "inside": "real.py",
        "own": str(repository / "real.py"),
    }
    for name, target in links.items():
        (repository / name).symlink_to(target)
    git(repository, "add", "-A")
    (repository / "tests" / "test_it.py").unlink()
    (repository / "tests").rmdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "test_it.py").write_text("secret")
    (repository / "tests").symlink_to(tmp_path / "elsewhere")
    files, notes = packed(repository, tmp_path)
    assert files == {"inside": TEST, "real.py": TEST}
    assert all(name in notes for name in ("out", "away", "own", "tests/test_it.py"))


def test_a_file_that_is_not_checked_out_is_named(repository: Path, tmp_path: Path) -> None:
    (repository / "tests" / "test_it.py").unlink()
    assert packed(repository, tmp_path) == ({}, "tests/test_it.py: tracked, but not checked out")


def test_two_names_of_one_file_are_two_files(repository: Path, tmp_path: Path) -> None:
    os.link(repository / "tests" / "test_it.py", repository / "tests" / "test_again.py")
    git(repository, "add", "-A")
    assert packed(repository, tmp_path)[0] == {"tests/test_again.py": TEST, "tests/test_it.py": TEST}


def merged(repository: Path) -> None:
    """Check the repository out as GitHub does for a pull request: the branch `change`, merged into its base."""
    git(repository, "checkout", "-q", "-")
    git(repository, "merge", "-q", "--no-ff", "-m", "merge", "change")


def test_the_base_of_a_pull_request_is_there_beside_its_sources(repository: Path, tmp_path: Path) -> None:
    inner = commit(tmp_path / "inner", {"test_inner.py": "before"})
    commit(repository, {"same.py": "same", "changed.py": "before", "gone.py": "before"})
    git(repository, "submodule", "add", "-q", str(inner), "sub")
    git(repository, "commit", "-qm", "base")
    git(repository, "checkout", "-qb", "change")
    commit(repository, {"changed.py": "after", "added.py": "after"})
    (repository / "gone.py").unlink()
    commit(repository / "sub", {"test_inner.py": "after"})
    git(repository, "commit", "-qam", "change")
    merged(repository)
    plan = tmp_path / "plan"
    plan.mkdir()
    assert (*pack_sources(repository, plan / SOURCES), *pack_base(repository, plan)) == ()
    job = inputs(mode="pr", target="torch==2.13.0", state="artifact", state_path=plan)
    work = work_of(job, {"RUNNER_TEMP": str(tmp_path / "temp")})
    unpack_sources(job, work)
    assert request_of(job, PlanNote(), work).base == work.base
    files = {str(path.relative_to(work.base)): path.read_text() for path in work.base.rglob("*.py")}
    assert files == {"same.py": "same", "changed.py": "before", "gone.py": "before", "tests/test_it.py": TEST}
    assert (work.sources / "changed.py").read_text() == "after"
    assert (work.sources / "sub" / "test_inner.py").is_file()


def test_a_checkout_that_is_no_merge_has_no_base(repository: Path, tmp_path: Path) -> None:
    commit(repository, {"added.py": TEST})
    (note,) = pack_base(repository, tmp_path)
    assert "no merge" in note and not (tmp_path / "changed.json").exists()


def test_too_large_a_checkout_is_refused(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "SOURCE_BYTES", 4)
    with pytest.raises(UserError, match=r"up to tests/test_it\.py, which is too large"):
        pack_sources(repository, tmp_path / "sources.tar")


def test_a_folder_without_a_repository_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be packed"):
        pack_sources(tmp_path, tmp_path / "sources.tar")
