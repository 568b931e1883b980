"""Faults of a night as data, and the procedure that tries each: the night with it, its repair, the next night.

`hold` asserts the rules for all faults. No finding is lost and no bug is filed twice. The check is red if the night is
incomplete, and the summary gives the reason.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from nightinjections import Injection
from nightstage import KILLED, NightStage, StepResult

FOUND = (("torch.alpha",), ("torch.beta", "torch.gamma"))
ALL = tuple(api for shard in FOUND for api in shard)
LATER = "torch.delta"
OUR_BUG = 3


def nothing(stage: NightStage) -> None:
    """Repairs no fault."""


class NightFault(NamedTuple):
    """A fault, and its allowed effects on the night."""

    name: str
    inject: Injection  # called before the report job
    is_red: bool = True  # the report job fails
    says: str = ""  # part of the job's summary
    is_red_again: bool = False  # the job also fails when it runs again, because a missing part stays missing
    keeps: Sequence[str] = ALL  # apis of the bugs in the state after the second run
    mend: Injection = nothing  # a person's repair before the second run
    is_mute: bool = False  # the runner can write no summary, so the log has to say it

    def __str__(self) -> str:
        return self.name


def hold(stage: NightStage, fault: NightFault) -> None:
    """Tries a fault, asserts the rules, and prints the line of the table (`pytest -rP`)."""
    assert stage.plan("1").code == 0
    stage.shards("1", *FOUND)
    fault.inject(stage)
    first = stage.report("1")
    assert stage.strikes or stage.proxy.injected, "the fault has not happened"
    assert first.code != OUR_BUG, first.log
    assert (first.code != 0) == fault.is_red, first.said
    if first.code != KILLED:
        assert fault.says in (first.log if fault.is_mute else _plain(first.summary)), first.said
    stage.heal()
    fault.mend(stage)
    again = _rerun(stage, fault) if fault.is_red else None
    assert set(fault.keeps) <= set(stage.bugs)
    _next_night(stage)
    code = "killed" if first.code == KILLED else first.code
    print(f"| {fault.name} | {code} | {'' if again is None else again} | {_line(first, fault.says)} |")


def _rerun(stage: NightStage, fault: NightFault) -> int:
    """Runs the report job again, as a person does with "Re-run failed jobs"."""
    again = stage.report("1")
    assert (again.code != 0) == fault.is_red_again, again.said
    return again.code


def _next_night(stage: NightStage) -> None:
    """Runs the next night, without any action of a person: it has no fault and finds one bug more."""
    stage.time.now += timedelta(days=1)
    assert stage.plan("2").code == 0
    stage.shards("2", FOUND[0], (*FOUND[1], LATER))
    done = stage.report("2")
    assert done.code == 0, done.said
    assert set(stage.bugs) == {*ALL, LATER}
    assert stage.issues == dict.fromkeys((*ALL, LATER), 1)
    assert stage.claims == []
    status = stage.filings.status
    assert status is not None and status.left == ()


def _line(done: StepResult, says: str) -> str:
    lines = _plain(done.summary + done.log).splitlines()
    found = next((line.strip("-* ") for line in lines if says and says in line), "")
    return found[max(found.find(says) - 40, 0) :][:120].replace("|", "/") if found else ""


def _plain(markdown: str) -> str:
    """Returns the text without the signs that escape Markdown's own."""
    return re.sub(r"\\([^\w\s])", r"\1", markdown)
