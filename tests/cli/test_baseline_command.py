"""`run --baseline`: the findings on a build compared with an older build, in one time-box."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Cli
from fakeedits import edited

from fuzz_core.store.statefile import open_store

# The older build does not die of an empty dimension, and `add` returns one more; the newer one is plain fakelib.
OLD = {"VERSION": "1.9.0", "    if 0 in x.shape:": "    if False:", "    return a + b": "    return a + b + 1"}
NEW = {"VERSION": "2.0.0"}
APIS = ("--api", "fakelib.row_sum", "--api", "fakelib.scale", "--api", "fakelib.add", "--api", "fakelib.version")


@pytest.fixture
def state(tmp_path: Path, fakelib_python: str) -> Path:
    """A state that knows two builds."""
    with open_store(tmp_path / "state" / "state.db") as store:
        store.save_target(edited(tmp_path, "old", OLD, fakelib_python))
        store.save_target(edited(tmp_path, "new", NEW, fakelib_python))
    return tmp_path / "state"


def test_bugs_and_test_cases_are_set_against_the_baseline(cli: Cli, state: Path) -> None:
    Path("nightfuzz.toml").write_text("tests_count = 900\n")
    named = ("--target", "new", "--baseline", "old", "--state", state, "--source", "docs", "--seed", 1)
    done = cli("run", *named, "--time", "10m", *APIS, "--json", "--fail-on-bugs")
    assert done.code == 1, done
    told = done.json
    assert told["triage"]["bugs"]
    assert {(each["api"], each["is"]) for each in told["baseline"]["bugs"]} == {
        ("fakelib.row_sum", "regression"),
        ("fakelib.scale", "pre-existing"),
    }
    assert {(each["api"], each["kind"]) for each in told["baseline"]["changes"]} == {
        ("fakelib.row_sum", "regression"),
        ("fakelib.add", "changed"),
    }
    listed = cli("changes", "--state", state, "--json").json
    assert (listed["target"], listed["baseline"]) == ("new", "old")
    assert [each["signature"] for each in listed["changes"]] == [
        each["signature"] for each in sorted(told["baseline"]["changes"], key=lambda each: each["kind"], reverse=True)
    ]
    urgent = {row["api"]: row["severity"]["regression"] for row in cli("bugs", "--state", state, "--json").json}
    assert urgent == {"fakelib.row_sum": True, "fakelib.scale": False}


def test_without_a_comparison_there_is_nothing_to_list(cli: Cli, state: Path) -> None:
    done = cli("changes", "--state", state)
    assert done.code == 2
    assert "has no comparison" in done.err
