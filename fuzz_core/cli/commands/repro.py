"""`nightfuzz repro`: a bug's script, printed or run."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from fuzz_core.campaign.bench import Bench
from fuzz_core.campaign.planning import make_replay_plan
from fuzz_core.campaign.reproduce import case_of, sightings
from fuzz_core.campaign.session import Session
from fuzz_core.cli.errors import BUGS
from fuzz_core.cli.output import CommandOutput, Report
from fuzz_core.cli.settings import Settings
from fuzz_core.cli.state import read_state
from fuzz_core.execution.scratch import scratch
from fuzz_core.ir.errors import UserError
from fuzz_core.triage.process import Processes
from fuzz_core.triage.recheck import SHOWN, recognised


def repro(settings: Settings, output: CommandOutput, bug: int, run_now: bool) -> Report:
    """Prints a bug's script, or looks for the bug on its own target as `recheck` does."""
    with read_state(settings) as store, scratch() as folder:
        row = store.bug(bug)
        if not run_now:
            print(row.script)
            return Report()
        session = Session(store, store.target(row.target), settings.state)
        target, plan = session.target, folder / "plan.jsonl"
        if not Path(target.python).exists():
            raise UserError(f"the target {target.key} is gone", f"make it again: nightfuzz pull {target.spec}")
        make_replay_plan(session, plan)
        with closing(Bench(target, Processes(), settings.timeout, plan)) as bench:
            seen = sightings(bench, case_of(store, row), 1)
    outcome = seen[-1].outcome
    text = f"{outcome.kind} {outcome.name}\n{outcome.text.strip()[-1000:]}"
    if any(each.status == SHOWN for each in recognised(seen, seen[-1])):
        return Report(text=[text, "it reproduces"], code=BUGS)
    before = f"{row.outcome.kind} {row.outcome.name}" if row.outcome.kind != "ok" else "its assertion failed"
    return Report(text=[text, f"it does not reproduce: {before} before"])
