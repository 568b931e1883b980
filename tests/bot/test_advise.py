"""The advisory text of a private bug, chosen by number, for the library's security contact."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from leavings import KEY, add_bug
from typer.testing import CliRunner

from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Invocation, TestCase
from fuzz_core.store.records import NewBug, TargetRecord
from fuzz_core.store.statefile import open_store
from nightfuzz.bot.main import app


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Bug 1 may be published, bug 2 is private."""
    with open_store(tmp_path / "state" / "state.db") as store:
        store.save_target(TargetRecord(KEY, "torch==2.13.0", "torch", "2.13.0", "/no/python", {"summary": "torch"}))
        add_bug(store, "torch.alpha")
        test = TestCase(Invocation("torch.bravo", (), ()), 1)
        outcome = Outcome("signal", "SIGABRT", "free(): invalid pointer")
        finding = store.add_finding(KEY, store.start_run(KEY, 1, {}), test, Verdict("crash", "crash"), outcome)
        bug = NewBug("torch.bravo: x", "torch.bravo", "crash", "crash", test, "import torch\n", outcome, 5, 5)
        store.settle_finding(finding or 0, "confirmed", bug=bug)
    return tmp_path / "state"


def advise(state: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["advise", *arguments, "--state", str(state)], env=environment)
    return done.exit_code, done.output


def test_it_is_printed_with_what_to_do(state: Path) -> None:
    code, said = advise(state, "2")
    assert code == 0 and "Private: not for a public issue" in said
    assert "security/advisories/new" in said and "torch.bravo" in said


def test_its_json_has_the_report_and_the_place(state: Path) -> None:
    code, said = advise(state, "2", "--json")
    told = json.loads(said)
    assert (code, told["bug"], told["library"], told["sent"]) == (0, 2, "torch", None)
    assert "security/advisories/new" in told["place"] and "torch.bravo" in told["title"] + told["body"]


def test_what_may_be_told_has_a_command_of_its_own(state: Path) -> None:
    code, said = advise(state, "1")
    assert code == 2 and "bug 1 is not private" in said and "nightfuzz report 1" in said


def test_nothing_is_sent_without_a_token(state: Path) -> None:
    code, said = advise(state, "2", "--send", GITHUB_TOKEN="")
    assert code == 2 and "no way to log in" in said
