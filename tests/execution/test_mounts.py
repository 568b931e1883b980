"""Tests of the files of the machine that a container sees; no container engine is needed."""

from __future__ import annotations

import os
import stat
import sys
import venv
from pathlib import Path

import pytest

from fuzz_core.execution.mounts import hidden, interpreter, lent, open_to, outermost, project
from fuzz_core.ir.errors import UserError


def made(folder: Path, *names: str) -> Path:
    """Makes files in a folder, and subfolders for names that end with a slash. Returns the folder."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir() if name.endswith("/") else path.write_text("")
    return folder


def linked(path: Path, target: str | Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
    return path


def test_an_environment_comes_with_its_base_and_what_it_names(tmp_path: Path) -> None:
    home = tmp_path / "env"
    venv.create(home, symlinks=True)
    packages = home / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    (tmp_path / "editable").mkdir()
    (packages / "named.pth").write_text(f"import os\n# {tmp_path}\n\n{tmp_path / 'editable'}\n{tmp_path / 'gone'}\n")
    needed = interpreter(str(home / "bin" / "python"))
    assert {home, tmp_path / "editable"} <= set(needed.folders)
    assert any((home / "bin" / "python").resolve().is_relative_to(each) for each in needed.folders) or (
        Path(sys.base_prefix) in (Path("/usr"), Path("/usr/local"))
    )


def test_links_between_are_made_anew_and_show_nothing_else(tmp_path: Path) -> None:
    made(tmp_path, "real-3.11.9/bin/python3.11", "shims/secret")
    linked(tmp_path / "real-3.11", "real-3.11.9")
    linked(tmp_path / "shims/python3.11", tmp_path / "real-3.11/bin/python3.11")
    linked(tmp_path / "env/bin/python", tmp_path / "shims/python3.11")
    needed = interpreter(str(tmp_path / "env/bin/python"))
    assert needed.folders == [tmp_path / "env", tmp_path / "real-3.11", tmp_path / "real-3.11.9"]
    assert needed.links == {tmp_path / "shims": {"python3.11": str(tmp_path / "real-3.11/bin/python3.11")}}


def test_the_base_of_the_system_is_the_images_own(tmp_path: Path) -> None:
    linked(tmp_path / "env/bin/python", "/usr/bin/python3")
    needed = interpreter(str(tmp_path / "env/bin/python"))
    assert needed.folders == [tmp_path / "env"] and needed.links == {}


@pytest.mark.parametrize("python", ["/usr/bin/python3", "/usr/local/bin/python3", "/bin/python3"])
def test_all_of_the_system_is_never_shown(python: str) -> None:
    with pytest.raises(UserError, match="is not in a virtual environment"):
        interpreter(python)


def test_all_of_a_home_is_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    made(tmp_path, "bin/python", ".git/config", "tests/test_it.py", "setup.cfg")
    with pytest.raises(UserError, match="is not in a virtual environment"):
        interpreter(str(tmp_path / "bin/python"))
    assert project(tmp_path / "tests") == tmp_path / "tests"


def test_a_project_is_the_repository_around(tmp_path: Path) -> None:
    made(tmp_path, "repo/.git/config", "repo/part/pyproject.toml", "repo/part/tests/test_it.py")
    made(tmp_path, "plain/setup.py", "plain/tests/deep/test_it.py", "alone/test_it.py")
    assert project(tmp_path / "repo/part/tests") == tmp_path / "repo"
    assert project(tmp_path / "repo/part/tests/test_it.py") == tmp_path / "repo"
    assert project(tmp_path / "plain/tests/deep") == tmp_path / "plain"
    assert project(tmp_path / "alone/test_it.py") == tmp_path / "alone"


def test_credentials_of_a_project_are_hidden(tmp_path: Path) -> None:
    made(tmp_path, ".git/config", ".env", ".ssh/id", "src/.git/config", "src/deep/.git", "src/.hidden", "src/code.py")
    linked(tmp_path / ".link", "/etc")
    found = {path.relative_to(tmp_path).as_posix() for path in hidden(tmp_path)}
    assert found == {".git", ".env", ".ssh", "src/.git", "src/deep/.git"}


def test_each_folder_is_shown_once() -> None:
    paths = [Path("/a/b"), Path("/a"), Path("/ab"), Path("/a"), Path("/c/d")]
    assert outermost(paths) == [Path("/a"), Path("/ab"), Path("/c/d")]


def test_a_lent_folder_comes_back_plain(tmp_path: Path) -> None:
    state = made(tmp_path / "state", "state.db")
    with lent(state, (os.getuid(), os.getgid())):
        linked(state / "report.md", "/etc/passwd")
        os.mkfifo(state / "pipe")
        (made(state, "deep/program") / "deep/program").chmod(0o6755)
    assert sorted(path.name for path in state.rglob("*")) == ["deep", "program", "state.db"]
    assert stat.S_IMODE((state / "deep/program").stat().st_mode) == 0o755


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_root_lends_to_another_user(tmp_path: Path) -> None:
    state = made(tmp_path / "state", "state.db")
    with lent(state, (10001, 10002)):
        assert [(path.stat().st_uid, path.stat().st_gid) for path in (state, state / "state.db")] == [
            (10001, 10002)
        ] * 2
    assert (state / "state.db").stat().st_uid == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another group")
def test_an_environment_is_opened_to_one_group_alone(tmp_path: Path) -> None:
    home = made(tmp_path / "env", "bin/python", "lib/module.py", "lib/open.py")
    for path, mode in ((home, 0o700), (home / "bin/python", 0o700), (home / "lib/module.py", 0o600)):
        path.chmod(mode)
    (home / "lib/open.py").chmod(0o644)
    open_to(home, 10001)
    modes = {path.name: (stat.S_IMODE(path.stat().st_mode), path.stat().st_gid) for path in (home, *home.rglob("*"))}
    assert modes["env"] == (0o750, 10001) and modes["python"] == (0o750, 10001) and modes["module.py"] == (0o640, 10001)
    assert modes["open.py"] == (0o644, 0)


def test_what_is_left_deep_down_is_removed(tmp_path: Path) -> None:
    state = made(tmp_path / "state", "state.db", "kept/a/b/c")
    with lent(state, (os.getuid(), os.getgid())):
        here = os.open(state, os.O_RDONLY)
        for _ in range(1500):
            os.mkdir("d", dir_fd=here)
            below = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        os.close(here)
    assert sum(1 for _ in state.rglob("d")) < 100
    assert (state / "kept/a/b/c").exists()


def test_a_state_that_is_a_link_is_lent(tmp_path: Path) -> None:
    made(tmp_path / "real", "state.db")
    state = linked(tmp_path / "state", "real")
    with lent(state, (os.getuid(), os.getgid())):
        linked(state / "left", "/etc/passwd")
    assert [path.name for path in (tmp_path / "real").iterdir()] == ["state.db"]
