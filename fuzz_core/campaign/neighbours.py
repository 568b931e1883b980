"""Calls that recorded calls make inside when they run in further ways: with derivatives, in training, in evaluation."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from fuzz_core.campaign.carryover import TraceReport
from fuzz_core.campaign.patterns import asked_apis
from fuzz_core.campaign.session import GRACE_SECONDS, Session
from fuzz_core.execution.zygote import Job, JobResult, Zygote, run_jobs
from fuzz_core.ir.codec import dumps
from fuzz_core.ir.signatures import NEIGHBOUR
from fuzz_core.ir.values import Invocation
from fuzz_core.ir.wire import calls_in
from fuzz_core.store.records import SeedRecord, neighbour_digest

# So many calls of an api are run, from the shortest description to the longest, for so many seconds.
CALLS = 4
SECONDS = 5.0
# Share of the time for the search, and the least of it: to import the library takes most of so few seconds. A second of
# the search finds more apis' first call than a second of this.
SHARE, LEAST_SECONDS = 0.25, 15.0
# An api gets no further calls from neighbours when it has so many.
ENOUGH = 8


def visit_neighbours(session: Session, patterns: Sequence[str], deadline: float | None, report: TraceReport) -> None:
    """Run valid calls of each api in further ways, once for each build, and record the calls inside.

    Args:
        patterns: of the apis whose calls run; empty for all.
        deadline: clock time by which the search ends. Neighbours take a share of the time until then, and the next
            call goes on.
    """
    if not session.dialect.neighbours:
        return
    store, target = session.store, session.target.key
    rows = [row for row in store.bodies(target) if row.valid and row.expected == "ok"]
    bodies = defaultdict[str, list[str]](list)
    for row in rows:
        bodies[row.api].append(row.body)
    asked, done = asked_apis(store.apis(target), patterns) if patterns else {*bodies}, store.traced(target)
    new = sorted(api for api in bodies if api in asked and neighbour_digest(api) not in done)
    waiting = {api: spread(bodies[api]) for api in new}
    now = session.clock()
    deadline = None if deadline is None else now + (deadline - now) * SHARE
    if not waiting or session.is_over(deadline, LEAST_SECONDS):
        return
    session.watch.phase("recording inner calls", len(waiting), session.left(deadline))
    counts = Counter({api: len(known) for api, known in bodies.items()})
    kept = {body for known in bodies.values() for body in known}
    jobs = (
        Job("seed", {"seed": {"kind": NEIGHBOUR, "code": f"[{','.join(calls)}]"}}, SECONDS, tag=api)
        for api, calls in waiting.items()
    )
    with Zygote(session.target.python, session.target.library, "trace", None, session.stopped) as zygote:
        results = run_jobs(zygote, jobs, session.workers, stop=lambda: session.is_over(deadline, -GRACE_SECONDS))
        for number, result in enumerate(results, 1):
            report.neighbours += _save(session, result, counts, kept)
            session.watch.advance(number, invocations=report.neighbours)


def spread(bodies: Sequence[str]) -> Sequence[str]:
    """Return a few of the calls: the shortest, the longest, and some in between."""
    ordered = sorted(bodies, key=len)
    if len(ordered) <= CALLS:
        return ordered
    return [ordered[number * (len(ordered) - 1) // (CALLS - 1)] for number in range(CALLS)]


def _save(session: Session, result: JobResult, counts: Counter[str], kept: set[str]) -> int:
    """Record what the calls of an api have brought, and return how many calls are new."""
    api: str = result.job.tag
    found: list[tuple[Invocation, str]] = []
    calls, _ = calls_in(result.messages)
    for call in (traced.call for traced in calls if traced.ok):
        body = dumps(call)
        if call.api != api and counts[call.api] < ENOUGH and body not in kept:
            counts[call.api] += 1
            kept.add(body)
            found.append((call, "ok"))
    kind = "" if result.complete else result.outcome.kind
    status = {"": "ok", "timeout": "timeout"}.get(kind, "crashed")
    seed = SeedRecord(neighbour_digest(api), NEIGHBOUR, api, status, outcome_kind=kind)
    return session.store.save_trace(session.target.key, seed, found, {}, {})
