"""`nightfuzz bugs`: one line for each cause, on terminals of every kind."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fuzz_core.cli.commands.bugs import bugs
from fuzz_core.cli.output import CommandOutput, TextTable
from fuzz_core.cli.settings import Settings
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Invocation, TestCase, prim
from fuzz_core.store.records import NewBug, TargetRecord
from fuzz_core.store.statefile import open_store
from fuzz_core.store.store import Store
from fuzz_core.triage.signature import signature

DTYPES = "float32 on the meta device, bfloat16 on the CPU"
KEY = "torch-2.13.0+cpu-cp311"


def add(store: Store, api: str, verdict: Verdict, outcome: Outcome, script: str = "") -> None:
    test = TestCase(Invocation(api, (prim(1),)), 1, rules=("x",))
    finding = store.add_finding(KEY, store.start_run(KEY, 1, {}), test, verdict, outcome)
    text = signature(api, verdict, outcome).text
    bug = NewBug(text, api, verdict.oracle, verdict.kind, test, script or f"import torch\n\n{api}(1)\n", outcome, 5, 5)
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
    assert columns == ["bug", "severity", "what happened", "rate", "since"]
    assert lines == [
        [
            "4",
            "wrong-metadata",
            "torch.HuberLoss(1): dtype float32 on the meta device, bfloat16 on the CPU",
            "5/5",
            "<=2.13.0",
        ],
        ["5", "crash", "torch.k(1): floating point exception (SIGFPE)", "5/5", "<=2.13.0"],
        [
            "1 +2",
            "documentation",
            "3 apis of torch: values that the documentation forbids are taken: f(tau=-1), g(smoothing=-1), h(ratio=-1)",
            "",
            "",
        ],
    ]
    assert total == "5 bugs in 5 clusters; 1 finding not examined yet; --all lists every bug"


def test_all_lists_every_bug_and_the_data_always_has_them(state: Path) -> None:
    _, lines, total = listed(state, members=True)
    assert [line[0] for line in lines] == ["4", "5", "1", "2", "3"]
    assert lines[2][2] == 'torch.f(1): returns, though the documentation forbids tau=-1: "in [0, 1] for torch.f"'
    assert total == "5 bugs in 5 clusters; 1 finding not examined yet"
    data = bugs(Settings(state=state), CommandOutput(), None, False).data
    assert {bug["id"]: bug["contradiction"] for bug in json.loads(json.dumps(data))}.keys() == {1, 2, 3, 4, 5}


@pytest.mark.parametrize(
    ("script", "shown"),
    [
        ("x = torch.zeros(2, 3)\ntorch.var_mean(x, dim=())", "torch.var_mean(zeros(2, 3), dim=()): "),
        # The library's own name is dropped inside the brackets; arguments that are still too long are left out.
        (
            "torch.f(torch.zeros(()), torch.tensor([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]), 'torch.x', -1)",
            "torch.f(zeros(()), …, 'torch.x', -1): ",
        ),
        # A long call keeps the arguments that fit.
        (
            f"torch.f({', '.join(f'argument_{name}=torch.zeros(12345)' for name in 'abcdefgh')}, reduction='sum')",
            "torch.f(…, reduction='sum'): ",
        ),
    ],
)
def test_a_line_shows_the_call_with_the_arguments_that_decide(script: str, shown: str, tmp_path: Path) -> None:
    with open_store(tmp_path / "state.db") as store:
        store.save_target(TargetRecord(KEY, "torch==2.13.0", "torch", "2.13.0+cpu", "/python"))
        died = Verdict("crash", "crash", "cpu: x"), Outcome("signal", "SIGFPE")
        add(store, "torch.f", *died, script=f"import torch\n\n{script}\n")
    _, [line], _ = listed(tmp_path)
    assert line[2] == f"{shown}floating point exception (SIGFPE)"


def test_a_list_of_calls_ends_between_two_of_them(tmp_path: Path) -> None:
    with open_store(tmp_path / "state.db") as store:
        store.save_target(TargetRecord(KEY, "torch==2.13.0", "torch", "2.13.0+cpu", "/python"))
        for number in range(20):
            said = f'an_argument = `-{number}`, documented: "positive" (docstring)'
            verdict = Verdict("bounds", "bounds", "documented: x")
            add(store, f"torch.f{number}", verdict, Outcome("exception", "RuledOut", said))
    _, [line], _ = listed(tmp_path)
    assert re.search(r", f\d+\(an_argument=-\d+\) and 15 more$", str(line[2]))


def test_no_word_of_ours_stands_in_the_list(state: Path) -> None:
    assert "RuledOut" not in str(listed(state)) + str(listed(state, members=True))
