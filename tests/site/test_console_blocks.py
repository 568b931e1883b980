"""A reader follows README, tutorial and how-to guides: each command works, and prints what its page shows."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import run
from fakewheels import FakeWheel, write_wheel
from pages import DOCS, SHELL, Block, ShownCommand, TypedCommand, blocks, shown_commands, typed

from fuzz_core.campaign import privacy
from fuzz_core.campaign.examination import examine
from fuzz_core.campaign.examiner import TriageOptions
from fuzz_core.campaign.fuzz import FuzzOptions, fuzz
from fuzz_core.campaign.session import Session
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.statefile import open_store
from fuzz_core.targets.record import cache_folder

GUIDES = [DOCS / "../README.md", DOCS / "tutorial.md", *sorted(DOCS.glob("how-to/*.md"))]
FAKELIB = Path(__file__).parents[1] / "common"
TRIAGE = TriageOptions(bug_seconds=600.0, runs=2, timeout=20.0)
# The page, and the fixture with all that its reader has before the first command.
READERS = [
    pytest.param("../README", "torch_python", marks=pytest.mark.timeout(1800)),
    pytest.param("tutorial", "torch_python", marks=pytest.mark.timeout(1800)),
    ("how-to/own-library", "folder_with_a_checkout"),
    ("how-to/own-wheel", "folder_with_a_wheel"),
    ("how-to/own-tests", "torch_python"),
    pytest.param("how-to/gpu", "torch_python", marks=pytest.mark.gpu),
    ("how-to/dashboard", "folder_with_bugs"),
    ("how-to/judge", "folder_with_bugs"),
    ("how-to/report", "folder_with_bugs"),
    ("how-to/known-findings", "folder_with_bugs"),
    ("how-to/private-bugs", "folder_with_bugs"),
    ("how-to/github", "empty_folder"),
    pytest.param("how-to/bump", "tensorflow_python", marks=pytest.mark.timeout(1800)),
    ("how-to/add-oracle", "folder_with_a_checkout"),
]


@pytest.fixture
def empty_folder(tmp_path: Path) -> Path:
    """A folder for the files of a page."""
    (tmp_path / "reader").mkdir()
    return tmp_path / "reader"


@pytest.fixture
def folder_with_a_checkout(empty_folder: Path) -> None:
    """A clone of nightfuzz with its environment."""
    (empty_folder / "nightfuzz").symlink_to(DOCS.parent)


@pytest.fixture
def folder_with_a_wheel(empty_folder: Path) -> None:
    """The folder `dist` with one wheel, which holds a library with planted bugs."""
    files = {str(path.relative_to(FAKELIB)): path.read_text() for path in (FAKELIB / "fakelib").glob("*.py")}
    source = files.pop("fakelib/__init__.py")
    write_wheel(empty_folder / "dist", FakeWheel("fakelib", "1.0", source, files, numpy=True))


@pytest.fixture(scope="module")
def state_with_bugs(
    tmp_path_factory: pytest.TempPathFactory, traced_template: Path, fakelib_target: TargetRecord
) -> Path:
    """A state directory with four bugs. The third is private, as if it might touch foreign memory."""
    state = tmp_path_factory.mktemp("bugs") / "state"
    shutil.copytree(traced_template, state)
    patterns = [f"fakelib.{api}" for api in ("row_sum", "outer", "scale", "resize")]
    with open_store(state / "state.db") as store, pytest.MonkeyPatch.context() as patch:
        patch.setattr(privacy, "suspicion", lambda kind, outcome, test: "SIGSEGV" if "row_sum" in str(test) else "")
        session = Session(store, fakelib_target, state, workers=1)
        fuzz(session, FuzzOptions(seconds=None, tests=800, seed=7, patterns=patterns, sweep=True))
        examine(session, TRIAGE)
    graded = {each["id"]: each["severity"]["grade"] for each in run("bugs", "--state", state, "--json").json}
    assert [number for number, grade in sorted(graded.items()) if grade == "private"] == [3]
    return state


@pytest.fixture
def folder_with_bugs(empty_folder: Path, state_with_bugs: Path) -> None:
    """A folder in which nightfuzz has found bugs."""
    shutil.copytree(state_with_bugs, empty_folder / ".nightfuzz")


@pytest.fixture
def environment(tmp_path: Path, part: str) -> Iterator[dict[str, str]]:
    """The environment of the reader's shell: a home of its own, and the targets of real libraries."""
    cache = cache_folder() if part.endswith("_python") else tmp_path / "cache"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    yield os.environ | {"PATH": path, "HOME": str(tmp_path), "NIGHTFUZZ_CACHE": str(cache)}


def test_every_page_with_commands_has_a_reader() -> None:
    pages = [str(page.relative_to(DOCS).with_suffix("")) for page in GUIDES if list(shown_commands(page))]
    named = [str(getattr(reader, "values", reader)[0]) for reader in READERS]
    assert sorted(named) == sorted(pages)


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_a_command_stands_in_a_block_that_is_typed(page: Path) -> None:
    """Every other block is a file of a language, not a list of commands."""
    assert [block for block in blocks(page) if block.language in ("", "sh", "bash", "shell")] == []
    assert [block for block in blocks(page) if block.language == SHELL and not block.text.startswith("$ ")] == []


@pytest.mark.slow
@pytest.mark.parametrize(("page", "part"), READERS)
def test_the_commands_of_a_page_do_what_it_shows(
    page: str, part: str, request: pytest.FixtureRequest, empty_folder: Path, environment: dict[str, str], wheel: Path
) -> None:
    request.getfixturevalue(part)
    published = {"git+https://github.com/nightfuzz/nightfuzz": str(wheel)}
    for done in typed(DOCS / f"{page}.md", empty_folder, environment, published):
        # `repro --run` ends with 1 if the bug shows itself.
        assert done.code == (1 if "--run" in done.command.text else 0), f"$ {done.command.text}\n{done.printed}"
        assert done.agrees, f"$ {done.command.text}\n{done.printed}\nis not\n{done.command.output}"


def test_shown_output_may_leave_text_out_and_have_other_numbers() -> None:
    shown = ShownCommand("run", "…\nnew bugs: 1; report: …")
    assert TypedCommand(shown, 0, "progress\nnew bugs: 22;  report: a.md\n").agrees
    assert not TypedCommand(shown, 0, "progress\nnew bug: 22; report: a.md\n").agrees
    assert not TypedCommand(ShownCommand("run", "one"), 0, "one\ntwo\n").agrees


def test_blocks_files_and_commands_are_read(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text('```python title="a/b.py"\nx = 1\n```\n\n```console\n$ cat \\\n  a/b.py\nx = 1\n$ exit\n```\n')
    assert blocks(page)[0] == Block("python", "a/b.py", "x = 1\n")
    assert list(shown_commands(page)) == [ShownCommand("cat \\\n  a/b.py", "x = 1"), ShownCommand("exit", "")]
    page.write_text(page.read_text().replace("exit", "false"))
    assert [(done.code, done.printed) for done in typed(page, tmp_path, os.environ, {})] == [(0, "x = 1\n"), (1, "")]
