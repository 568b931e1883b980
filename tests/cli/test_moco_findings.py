"""Findings in model programs, as the commands show them: the change, its place, and the paper's kind of bug."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Invocation, TestCase
from fuzz_core.modelgen.moco.nodes import CHECKED, FINDING, GENERATED, OK, ROOT, TreeNode
from fuzz_core.store.records import NewBug, TargetRecord
from fuzz_core.store.statefile import open_store

Cli = Callable[..., Any]
DROP = TreeNode(
    2, 0, 1, 2, "lib.Drop", "lib.Drop(1)", GENERATED, "rate", "0.1", "1", 9, state=FINDING, why="crash crash: y"
)
NODES = (
    TreeNode(0, None, 0, None, "", "", ROOT, state=OK),
    DROP._replace(number=1, operator=CHECKED, new="2", positive=False, why="bounds bounds: x"),
    DROP,
)
ORIGIN = "net.py, line 9, block 2: RG changed rate of lib.Drop from 0.1 to 1 (implementation)"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    with open_store(tmp_path / "state" / "state.db") as store:
        store.save_target(TargetRecord("lib-1", "lib", "fakelib", "1", "python", {}))
        store.save_nodes(store.begin_tree("lib-1", "net.py", "d" * 32, 7, {}), NODES)
        test, outcome = TestCase(Invocation("lib.Drop"), 1), Outcome("signal", "SIGABRT")
        run = store.start_run("lib-1", 1, {})
        finding = store.add_finding("lib-1", run, test, Verdict("crash", "crash", "cpu"), outcome, ORIGIN)
        bug = NewBug("lib.Drop: SIGABRT", "lib.Drop", "crash", "crash", test, "import lib\n", outcome, 3, 3)
        assert finding is not None
        store.settle_finding(finding, "confirmed", bug=bug)
    return tmp_path / "state"


def test_a_tree_tells_its_findings_with_their_kinds(cli: Cli, state: Path) -> None:
    told = " ".join(cli("moco", "tree", "1", "--state", state).out.split())
    for part in ("boundary check", "implementation", "RG changed", "BC changed", "rate", "0.1"):
        assert part in told
    (row,) = cli("moco", "tree", "1", "--state", state, "--json").json
    assert row["kinds"] == {"boundary check": 1, "implementation": 1}


def test_a_bug_tells_where_in_a_program_it_was_made(cli: Cli, state: Path) -> None:
    assert f"\nin a model program: {ORIGIN}\n" in cli("show", "1", "--state", state).out
    assert cli("show", "1", "--state", state, "--json").json["origin"] == ORIGIN
