"""`nightfuzz repro`: a bug's script, printed or run."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from fuzz_core.campaign.bench import Bench
from fuzz_core.campaign.plans import make_replay_plan
from fuzz_core.campaign.reproduce import case_of, sightings
from fuzz_core.campaign.session import Session
from fuzz_core.cli.errors import BUGS
from fuzz_core.cli.output import CommandOutput, Report
from fuzz_core.cli.settings import Settings
from fuzz_core.cli.state import read_state
from fuzz_core.execution.scratch import scratch
from fuzz_core.ir.errors import UserError
from fuzz_core.triage.process import Processes
from fuzz_core.triage.recheck import SHOWN, UNRUNNABLE, with_own_failure
from nightfuzz.reports.contradiction import contradiction, seen_again


def repro(settings: Settings, output: CommandOutput, bug: int, run_now: bool) -> Report:
    """Print a bug's script, or look for the bug on its own target as `recheck` does."""
    with read_state(settings) as store, scratch() as folder:
        row = store.bug(bug)
        if not run_now:
            print(row.script)
            return Report()
        session = Session(store, store.target(row.target), settings.state)
        target, plan = session.target, folder / "plan.jsonl"
        if not Path(target.python).exists():
            raise UserError(
                f"the interpreter {target.python} of the target {target.key} is gone",
                f"make the target again: `nightfuzz pull {target.spec}`",
            )
        make_replay_plan(session, plan)
        with closing(Bench(target, Processes(), settings.timeout, plan)) as bench:
            seen = sightings(bench, case_of(store, row), 1)
    known = with_own_failure(seen, seen[-1])
    shown = next((each for each in known if each.status == SHOWN), None)
    if shown is not None:
        return Report(text=[f"reproduces: {seen_again(row, shown.outcome, True)}"], code=BUGS)
    last = known[-1]
    now = f"the call cannot be made: {last.said}" if last.status == UNRUNNABLE else seen_again(row, last.outcome, False)
    return Report(text=[f"does not reproduce: {now}; when it was found: {contradiction(row)}"])
