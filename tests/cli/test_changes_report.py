"""`trace` reports the data reused from an earlier build, and `apis --changes` lists the differences."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fuzz_core.store.records import TargetRecord
from fuzz_core.store.statefile import open_store

Cli = Callable[..., Any]


@pytest.fixture
def second(traced: Path, fakelib_python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state with a second build, in which `scale` has another signature and is deprecated."""
    for name in ("fakelib", "nightfuzz_fakelib"):
        shutil.copytree(Path(os.environ["NIGHTFUZZ_PATH"]) / name, tmp_path / "build" / name)
    source = tmp_path / "build" / "fakelib" / "__init__.py"
    text = source.read_text().replace("by: float)", "by: float = 2.0)")
    source.write_text(text.replace("All elements times a number.", "All elements.\n\n    This function is deprecated."))
    monkeypatch.setenv("NIGHTFUZZ_PATH", str(tmp_path / "build"))
    with open_store(traced / "state.db") as store:
        store.save_target(TargetRecord("fakelib-2", "fakelib==2", "fakelib", "2", fakelib_python, {"summary": "fake"}))
    return traced


def test_what_changed_is_told_and_listed(cli: Cli, second: Path) -> None:
    done = cli("trace", "--state", second, "--target", "fakelib-2", "--source", "docs")
    assert done.code == 0, done
    assert "reused from fakelib-1: " in done.out
    assert "apis that changed since: 1 deprecated, 1 docstring, 1 signature" in done.out
    listed = cli("apis", "--changes", "--state", second, "--json").json
    assert (listed["target"], listed["since"]) == ("fakelib-2", "fakelib-1")
    assert [(change["api"], change["kind"]) for change in listed["apis"]] == [
        ("fakelib.scale", kind) for kind in ("signature", "deprecated", "docstring")
    ]
    signature = listed["apis"][0]
    assert "2.0" in signature["after"] and "2.0" not in signature["before"]
    (docs,) = listed["seeds"]
    assert (docs["source"], docs["changed"], docs["new"], docs["gone"]) == ("docs", 0, 0, 0)
    shown = cli("apis", "--since", "fakelib-1", "--state", second)
    assert shown.code == 0 and "3 api changes from fakelib-1 to fakelib-2" in shown.out
    assert cli("apis", "--changes", "--api", "*.add", "--state", second, "--json").json["apis"] == []


def test_the_figures_are_in_the_json_of_trace(cli: Cli, second: Path) -> None:
    told = cli(
        "trace", "--state", second, "--target", "fakelib-2", "--source", "docs", "--since", "fakelib-1", "--json"
    )
    retraced = told.json["retraced"]
    assert retraced["since"] == "fakelib-1"
    assert retraced["seeds"] == told.json["unchanged"] == told.json["seeds"]
    assert retraced["changes"] == {"deprecated": 1, "docstring": 1, "signature": 1}


def test_without_an_earlier_build_there_is_nothing_to_compare_with(cli: Cli, traced: Path) -> None:
    done = cli("apis", "--changes", "--state", traced)
    assert done.code == 2 and "no build from before fakelib-1" in done.err
    missing = cli("trace", "--since", "nowhere", "--state", traced, "--source", "docs")
    assert missing.code == 2 and "nowhere" in missing.err
