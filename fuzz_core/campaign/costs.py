"""What each oracle costs per test of a target, measured now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fuzz_core.campaign.planning import make_plan
from fuzz_core.campaign.session import MEMORY_BYTES, Session
from fuzz_core.execution.scratch import scratch
from fuzz_core.execution.single import Job, Result, run_jobs
from fuzz_core.execution.zygote import Zygote
from fuzz_core.store.records import Body

SAMPLE = 200
BUDGET_SECONDS = 3.0
LIMIT_SECONDS = 60.0


class Cost(NamedTuple):
    """Seconds per test that an oracle adds to the `executed` ones of the call itself, over so many tests."""

    oracle: str
    seconds: float
    executed: float
    tests: int


def measure(session: Session, oracles: Sequence[str]) -> list[Cost]:
    """Costs on valid invocations from all over the target's apis; an oracle whose process died has none."""
    rows = _sample([row for row in session.store.bodies(session.target.key) if row.valid and row.expected == "ok"])
    if not rows:
        return []
    session.watch.phase("measuring", len(oracles))
    with scratch() as folder:
        path = folder / "plan.jsonl"
        make_plan(session, path, rows, seed=0, oracles=oracles, mutating=False)
        target = session.target
        with Zygote(target.python, target.library, "fuzz", path, session.stopped) as zygote:
            jobs = [Job("costs", {"oracle": name, "budget": BUDGET_SECONDS}, LIMIT_SECONDS) for name in oracles]
            results = run_jobs(zygote, jobs, 1, MEMORY_BYTES, session.stopped)
            return [cost for result in results if (cost := _cost(result)) is not None]


def _sample(rows: Sequence[Body]) -> list[Body]:
    """Evenly spread over the rows, which are in the order of their making."""
    step = max(len(rows) / SAMPLE, 1.0)
    return [rows[int(place * step)] for place in range(min(SAMPLE, len(rows)))]


def _cost(result: Result) -> Cost | None:
    if not result.complete:
        return None
    match result.messages[-1]:
        case {"spent": float(spent), "executed": float(executed), "tests": int(tests)}:
            return Cost(str(result.job.request["oracle"]), spent - executed, executed, tests)
    return None
