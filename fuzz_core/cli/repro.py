"""`nightfuzz repro`: a bug's script, printed or run."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from rich.console import Console

from fuzz_core.campaign.planning import make_replay_plan
from fuzz_core.campaign.reproduce import Bench, case_of
from fuzz_core.campaign.session import Session
from fuzz_core.cli.boundary import BUGS
from fuzz_core.cli.config import Settings
from fuzz_core.cli.state import state_file
from fuzz_core.execution.scratch import scratch
from fuzz_core.ir.errors import UserError
from fuzz_core.store.opening import open_store
from fuzz_core.triage.process import Processes
from fuzz_core.triage.recheck import SHOWN, recognised


def repro(settings: Settings, console: Console, number: int, run_now: bool) -> int:
    """Prints a bug's script, or looks for the bug on its own target as `recheck` does."""
    with open_store(state_file(settings), read_only=True) as store, scratch() as folder:
        bug = store.bug(number)
        if not run_now:
            print(bug.script)
            return 0
        session = Session(store, store.target(bug.target), settings.state)
        target, dialect, plan = session.target, session.dialect, folder / "plan.jsonl"
        if not Path(target.python).exists():
            raise UserError(f"the target {target.key} is gone", f"make it again: nightfuzz pull {target.spec}")
        make_replay_plan(session, plan)
        with closing(Bench(target, dialect, Processes(), settings.timeout, plan)) as bench:
            seen = bench.sightings(case_of(store, bug), 1)
    outcome = seen[-1].outcome
    console.print(f"{outcome.kind} {outcome.name}\n{outcome.text.strip()[-1000:]}", markup=False, soft_wrap=True)
    if any(each.status == SHOWN for each in recognised(seen, seen[-1])):
        console.print("it reproduces")
        return BUGS
    before = f"{bug.outcome.kind} {bug.outcome.name}" if bug.outcome.kind != "ok" else "its assertion failed"
    console.print(f"it does not reproduce: {before} before")
    return 0
