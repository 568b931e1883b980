"""`nightfuzz bugs`: a line a cause, in whatever terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fuzz_core.cli.commands.bugs import bugs
from fuzz_core.cli.output import CommandOutput, TextTable
from fuzz_core.cli.settings import Settings
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Invocation, TestCase, prim
from fuzz_core.store.opening import open_store
from fuzz_core.store.records import NewBug, TargetRecord
from fuzz_core.store.store import Store
from fuzz_core.triage.signature import signature

DTYPES = "float32 on the meta device, bfloat16 on the CPU"
KEY = "torch-2.13.0+cpu-cp311"


def add(store: Store, api: str, verdict: Verdict, outcome: Outcome) -> None:
    test = TestCase(Invocation(api, (prim(1),)), 1, rules=("x",))
    finding = store.add_finding(KEY, store.start_run(KEY, 1, {}), test, verdict, outcome)
    text = signature(api, verdict, outcome).text
    bug = NewBug(text, api, verdict.oracle, verdict.kind, test, f"import torch\n\n{api}(1)\n", outcome, 5, 5)
    store.settle_finding(finding or 0, "confirmed", hits=5, runs=5, bug=bug)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    with open_store(tmp_path / "state.db") as store:
        store.save_target(TargetRecord(KEY, "torch==2.13.0", "torch", "2.13.0+cpu", "/python"))
        for api, argument in (("torch.f", "tau"), ("torch.g", "smoothing"), ("torch.h", "ratio")):
            said = f'{argument} = `-1`, documented: "in [0, 1] for {api}" (docstring)'
            add(store, api, Verdict("bounds", "bounds", "documented: x"), Outcome("exception", "RuledOut", said))
        differs = Outcome("ok", text="another dtype\ntorch.float32, expected torch.bfloat16")
        add(store, "torch.HuberLoss", Verdict("differential", "wrong-metadata", "meta: another dtype"), differs)
        add(store, "torch.k", Verdict("crash", "crash", "cpu: x"), Outcome("signal", "SIGFPE"))
        store.add_finding(
            KEY, 1, TestCase(Invocation("torch.m"), 1), Verdict("crash", "crash"), Outcome("signal", "SIGFPE")
        )
    return tmp_path


def listed(state: Path, members: bool = False) -> tuple[list[str], list[list[object]], str]:
    table, total = bugs(Settings(state=state), CommandOutput(), None, members).text
    assert isinstance(table, TextTable) and isinstance(total, str)
    return list(table.columns), [list(row) for row in table.rows], total


def test_a_line_says_the_contradiction_and_the_documentation_s_bugs_share_one(state: Path) -> None:
    columns, lines, total = listed(state)
    assert columns == ["bug", "severity", "api", "what happened", "rate", "since"]
    assert lines == [
        [
            "4",
            "wrong-metadata",
            "torch.HuberLoss",
            "dtype float32 on the meta device, bfloat16 on the CPU",
            "5/5",
            "<=2.13.0",
        ],
        ["5", "crash", "torch.k", "floating point exception (SIGFPE)", "5/5", "<=2.13.0"],
        [
            "1 +2",
            "documentation",
            "3 apis of torch",
            "values that the documentation forbids are taken: f(tau=-1), g(smoothing=-1), h(ratio=-1)",
            "",
            "",
        ],
    ]
    assert total == "5 bugs in 5 clusters; 1 finding not examined yet; --all lists every bug"


def test_all_lists_every_bug_and_the_data_always_has_them(state: Path) -> None:
    _, lines, total = listed(state, members=True)
    assert [line[0] for line in lines] == ["4", "5", "1", "2", "3"]
    assert lines[2][3] == 'returns, though the documentation forbids tau=-1: "in [0, 1] for torch.f"'
    assert total == "5 bugs in 5 clusters; 1 finding not examined yet"
    data = bugs(Settings(state=state), CommandOutput(), None, False).data
    assert {bug["id"]: bug["contradiction"] for bug in json.loads(json.dumps(data))}.keys() == {1, 2, 3, 4, 5}


def test_no_word_of_ours_stands_in_the_list(state: Path) -> None:
    assert "RuledOut" not in str(listed(state)) + str(listed(state, members=True))
