"""`nightfuzz dashboard`: the site of a state, and what it refuses."""

from __future__ import annotations

from pathlib import Path

from commands import Cli

from bench.made_state import StateSize, make_state


def test_a_site_is_written_as_a_folder_or_as_one_file(cli: Cli, tmp_path: Path) -> None:
    make_state(tmp_path / "state.db", StateSize(bugs=6, builds=2, findings=12, apis=8, checks=6, judged=2))
    before = (tmp_path / "state.db").read_bytes()
    done = cli("dashboard", "site", "--state", tmp_path)
    assert done.code == 0, done
    assert "6 public bugs, 2 builds and 8 apis" in done.out and (Path("site") / "data" / "index.js").exists()
    done = cli("dashboard", "one", "--single", "--state", tmp_path, "--json")
    assert done.json == {"page": str(Path("one", "index.html")), "bugs": 6}
    assert [path.name for path in Path("one").iterdir()] == ["index.html"]
    assert (tmp_path / "state.db").read_bytes() == before


def test_a_dashboard_without_a_state_or_over_other_files_is_an_error_of_the_user(cli: Cli, tmp_path: Path) -> None:
    done = cli("dashboard", "site", "--state", tmp_path / "none")
    assert (done.code, "there is no state file" in done.err) == (2, True), done
    make_state(tmp_path / "state.db", StateSize(bugs=1, builds=1, findings=1, apis=2, checks=0, judged=0))
    Path("mine").mkdir()
    Path("mine", "index.html").write_text("mine")
    done = cli("dashboard", "mine", "--state", tmp_path)
    assert (done.code, "holds files that do not belong to a dashboard" in done.err) == (2, True), done
    assert not Path("site").exists() and Path("mine", "index.html").read_text() == "mine"
