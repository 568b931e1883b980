"""`nightfuzz repro`: a bug's script, printed or run."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.campaign.reproduce import asserts
from fuzz_core.cli.boundary import BUGS
from fuzz_core.cli.config import Settings
from fuzz_core.cli.state import state_file
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.outcome import Outcome
from fuzz_core.store.opening import open_store
from fuzz_core.store.records import BugRow
from fuzz_core.triage.process import run_script

REPRO_SECONDS = 60.0


def repro(settings: Settings, console: Console, number: int, run_now: bool) -> int:
    """Prints a bug's script, or runs it in a fresh process of its target."""
    with open_store(state_file(settings), read_only=True) as store:
        bug = store.bug(number)
        target = store.target(bug.target)
    if not run_now:
        print(bug.script)
        return 0
    if not Path(target.python).exists():
        raise UserError(f"the target {target.key} is gone", f"make it again: nightfuzz pull {target.spec}")
    outcome = run_script(target.python, bug.script, dialect_of(target.library), REPRO_SECONDS)
    console.print(f"{outcome.kind} {outcome.name}\n{outcome.text.strip()[-1000:]}", markup=False, soft_wrap=True)
    again, before = _shown_again(bug, outcome)
    console.print("it reproduces" if again else f"it does not reproduce: {before} before")
    return BUGS if again else 0


def _shown_again(bug: BugRow, outcome: Outcome) -> tuple[bool, str]:
    """Whether a script ended as before, and how that was: where the call returns, by its assertion if it has one."""
    if bug.outcome.kind == "ok" and "assert" in bug.script:
        return asserts(outcome), "its assertion failed"
    return outcome[:2] == bug.outcome[:2], f"{bug.outcome.kind} {bug.outcome.name}"
