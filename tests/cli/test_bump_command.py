"""`bump`: a project's own tests on two builds of a dependency."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from commands import Cli
from fakeedits import edited

from fuzz_core.campaign.document import RunFacts, result_of
from fuzz_core.store.statefile import open_store

PROJECT = Path(__file__).parents[1] / "fixtures" / "tinyfake"
# A sum of rows keeps its dimension and an empty row is fatal. Further changes are harmless: version, rounding, equal
# elements and error type.
PLANTED = {
    "return x.sum(-1)": "return x.sum(-1, keepdims=True)",
    "VERSION": "2.0.0",
    "return x.argmax()": "return x.size - 1 - x.ravel()[::-1].argmax()",
    "np.float32(1)": "np.float32(1 + 2**-22)",
    'raise ValueError(f"axis': 'raise IndexError(f"axis',
}
BEFORE = {"VERSION": "1.9.0", "    if 0 in x.shape:": "    if False:"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project, outside the directory of the command."""
    return Path(shutil.copytree(PROJECT, tmp_path / "project"))


@pytest.fixture
def state(tmp_path: Path, fakelib_python: str) -> Path:
    """A state that knows two builds."""
    with open_store(tmp_path / "state" / "state.db") as store:
        store.save_target(edited(tmp_path, "old", BEFORE, fakelib_python))
        store.save_target(edited(tmp_path, "new", PLANTED, fakelib_python))
        store.save_target(edited(tmp_path, "same", {**BEFORE, "VERSION": "1.9.1"}, fakelib_python))
    return tmp_path / "state"


def bump(cli: Cli, state: Path, tests: Path, *more: object, to: str = "new", count: int = 300) -> Any:
    named = ("--from", "old", "--to", to, "--tests", tests, "--state", state)
    return cli("bump", *named, "--seed", 1, "--tests-count", count, *more)


def test_what_changed_is_told_with_the_tests_that_reach_it_worst_first(cli: Cli, state: Path, project: Path) -> None:
    done = bump(cli, state, project / "tests", "--json", "--fail-on-bugs", count=1500)
    assert done.code == 1, done
    told = done.json
    assert told["traced"]["tests"] == 7
    assert [each["file"] for each in told["untraced"]] == ["tests/test_plots.py"]
    assert "No module named 'no_such_plotting_package'" in told["untraced"][0]["reason"]
    assert {(each["api"], each["kind"]) for each in told["changes"]} == {
        ("fakelib.row_sum", "regression"),
        ("fakelib.row_sum", "changed"),
        ("fakelib.concat", "changed"),
    }
    kinds = [each["kind"] for each in told["changes"]]
    assert kinds == sorted(kinds, key=["regression", "changed", "fixed"].index)
    assert not told["answer"]["safe"]
    assert told["answer"]["tests"] == ["tests/test_pipeline.py::TestRows::test_each_part_counts"]
    shape = next(each for each in told["changes"] if "another shape" in each["signature"])
    assert shape["seeds"] == ["tests/test_pipeline.py::TestRows::test_each_part_counts"]
    assert shape["test"][-1] == []
    assert [each["kind"] for each in told["changes"]].index("changed") == told["changes"].index(shape)


def test_a_table_for_people(cli: Cli, state: Path, project: Path) -> None:
    done = bump(cli, state, project, "-q")
    assert done.code == 0, done
    first, *_ = done.out.splitlines()
    assert first == (
        "1 of your 7 traced tests makes calls that change between 1.9.0 and 2.0.0: "
        "project/tests/test_pipeline.py::TestRows::test_each_part_counts."
    )
    assert "fakelib.row_sum(" in done.out.partition("\nchanged: fakelib.row_sum: another shape: ")[2]
    assert "7 tests of 2 files traced on old" in done.out
    assert "tests/test_plots.py: not traced: ModuleNotFoundError" in done.out
    assert "tests/test_pipeline.py::TestRows::test_each_part_counts" in done.out
    for noise in ("fakelib.draw", "fakelib.version", "fakelib.largest", "fakelib.rounded"):
        assert noise not in done.out


def test_two_flavours_are_said(cli: Cli, state: Path, project: Path) -> None:
    with open_store(state / "state.db") as store:
        for key, flavour in (("old", "cuda"), ("same", "cpu")):
            made = store.target(key)
            store.save_target(made._replace(info={**made.info, "flavour": flavour}))
    told = "1.9.1 is a CPU build, and 1.9.0 is a CUDA build: a difference may come from that alone"
    assert f"note: {told}" in bump(cli, state, project / "tests", to="same", count=20).out
    with open_store(state / "state.db") as store:
        ran = RunFacts("bump", "same", "old", problems=["another problem"])
        assert result_of(store, ran).problems == (told, "another problem")


def test_nothing_is_reported_between_two_equal_builds(cli: Cli, state: Path, project: Path) -> None:
    done = bump(cli, state, project / "tests", "--json", "--fail-on-bugs", to="same")
    assert (done.code, done.json["changes"], done.json["dropped_apis"]) == (0, [], [])
    assert done.json["notes"] == []
    assert done.json["tests"] >= 300
    answer = done.json["answer"]
    said = f"No call of your 7 traced tests changes between 1.9.0 and 1.9.1, in {done.json['tests']}"
    assert answer["safe"] and answer["text"] == f"{said} test cases."
    assert answer["compared_calls"] == done.json["traced"]["calls"]


def test_calls_that_were_not_compared_are_not_called_safe(cli: Cli, state: Path, project: Path) -> None:
    done = bump(cli, state, project / "tests", "--json", to="same", count=1)
    answer = done.json["answer"]
    assert not answer["safe"] and answer["text"].startswith("Unknown: ")


def test_an_api_that_is_gone_is_told_with_its_tests(
    cli: Cli, state: Path, project: Path, tmp_path: Path, fakelib_python: str
) -> None:
    with open_store(state / "state.db") as store:
        gone = {**BEFORE, '    "resize",\n': "", "def resize(": "def _resize("}
        store.save_target(edited(tmp_path, "gone", gone, fakelib_python))
    done = bump(cli, state, project / "tests", "--json", "--fail-on-bugs", to="gone")
    assert done.code == 1, done
    (gone_api,) = done.json["dropped_apis"]
    assert (gone_api["kind"], gone_api["api"]) == ("removed", "fakelib.resize")
    assert gone_api["seeds"] == ["tests/test_pipeline.py::test_fill"]


def test_only_calls_of_these_tests_are_compared(cli: Cli, state: Path, project: Path) -> None:
    assert cli("trace", "--state", state, "--target", "old", "--source", "docs").code == 0
    done = bump(cli, state, project / "tests" / "test_pipeline_again.py", "--json")
    assert done.json["traced"] == {"files": 1, "tests": 1, "calls": 2}
    assert done.json["changes"] == []


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "holds no usable test files"),
        ({"test_plots.py": "import no_such_module\n"}, "No module named 'no_such_module'"),
        ({"test_other.py": "def test_it():\n    assert True\n"}, "old accepts none of their calls"),
    ],
)
def test_without_a_call_to_compare_there_is_one_clear_error(
    cli: Cli, state: Path, tmp_path: Path, files: dict[str, str], said: str
) -> None:
    (tmp_path / "mine").mkdir()
    for name, text in files.items():
        (tmp_path / "mine" / name).write_text(text)
    done = bump(cli, state, tmp_path / "mine")
    assert done.code == 2, done
    assert said in done.err
    assert "contain no call to compare" in done.err


def test_without_tests_there_is_nothing_to_do(cli: Cli, state: Path) -> None:
    done = cli("bump", "--from", "old", "--to", "new", "--state", state)
    assert done.code == 2
    assert "--tests DIR" in done.err
