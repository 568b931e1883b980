"""A target against its baseline: ordinary test cases on both, and what differs, small and confirmed."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from fuzz_core.campaign.differing import CompareOptions, Sides, Turn
from fuzz_core.campaign.fuzzing import chosen
from fuzz_core.campaign.parallel import results_of
from fuzz_core.campaign.planning import make_plan
from fuzz_core.campaign.session import Session
from fuzz_core.execution.scratch import scratch
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.rng import derive
from fuzz_core.oracles.kinds import CHANGES
from fuzz_core.store.changes import Change
from fuzz_core.store.records import TargetRecord
from fuzz_core.triage.signature import normalised
from fuzz_core.worker.plan import Plan

# So many tests of an api at a time, the more the longer nothing else is new.
TURN = 8


@dataclass
class CompareReport:
    """tests that both builds have executed; changes that are on record now; what was seen and not confirmed, by why."""

    tests: int = 0
    apis: int = 0
    changes: list[Change] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)


def compare(session: Session, baseline: TargetRecord, traced: TargetRecord, options: CompareOptions) -> CompareReport:
    """Executes test cases from the valid invocations of the one `traced` on both builds, and keeps what differs.

    Raises UserError where the two are not of one library.
    """
    if baseline.library != session.target.library:
        raise UserError(f"{baseline.key} is no baseline for {session.target.key}", "name a build of the same library")
    report = CompareReport()
    rows = chosen(replace(session, target=traced), options.patterns)
    if options.calls is not None:
        rows = [row for row in rows if row.id in options.calls]
    with scratch() as folder, ExitStack() as stack:
        path = folder / "plan.jsonl"
        make_plan(replace(session, target=traced), path, rows, seed=options.seed, disabled=options.disabled)
        plan = Plan(path)
        session.watch.phase(f"comparing with {baseline.key}", _seconds_left(session, options))
        sides = Sides(session, baseline, path, options, stack)
        threads = stack.enter_context(ThreadPoolExecutor(session.workers, "compare"))
        stack.callback(sides.close)
        report.apis = len(plan.places)
        _run(session, options, plan, sides, threads, baseline, report)
    return report


def _seconds_left(session: Session, options: CompareOptions) -> float:
    return 0.0 if options.deadline is None else max(options.deadline - session.clock(), 0.0)


def _turns(plan: Plan, options: CompareOptions) -> Iterator[tuple[str, range]]:
    """(api, range of tests) in rounds: each api in turn, in an order drawn from the seed; some apis first."""
    early = set(options.first)
    apis = sorted(plan.places, key=lambda api: (api not in early, derive(options.seed, api)))
    done = dict.fromkeys(apis, 0)
    if options.calls is not None:
        for api in apis:
            done[api] = plan.count(api)
            yield api, range(done[api])
    while apis:
        for api in apis:
            done[api] += TURN
            yield api, range(done[api] - TURN, done[api])


def _run(
    session: Session,
    options: CompareOptions,
    plan: Plan,
    sides: Sides,
    threads: ThreadPoolExecutor,
    baseline: TargetRecord,
    report: CompareReport,
) -> None:
    began = session.clock()
    lock = threading.Lock()

    def work(part: tuple[str, range]) -> Turn:
        api, indices = part
        with lock:
            tests = [plan.test(api, index) for index in indices]
        return sides.mine().turn(iter(tests))

    def may_begin(_: object) -> bool:
        return not sides.over() and (options.most is None or report.tests < options.most)

    for _, done in results_of(session.workers, threads, _turns(plan, options), work, may_begin):
        report.tests += done.tests
        report.dropped.update(done.dropped)
        for change in done.changes:
            session.store.save_change(session.target.key, baseline.key, change)
            session.watch.note(f"{change.kind}: {change.signature}")
        report.changes += done.changes
        session.watch.advance(session.clock() - began, tests=report.tests, changes=len(report.changes))


def worst_first(changes: Sequence[Change]) -> list[Change]:
    """Regressions first; of one kind, what a traced call itself shows first, and last what both builds refuse."""

    def badness(change: Change) -> tuple[int, bool, int, str, str]:
        refused = (change.before.kind != "ok") + (change.after.kind != "ok")
        return CHANGES.index(change.kind), bool(change.test.rules), refused, change.api, change.signature

    return sorted(changes, key=badness)


def by_cause(changes: Sequence[Change]) -> Mapping[str, list[Change]]:
    """Changes by what their signatures say after the api: one message under many apis is one cause.

    Of what the target refuses, only its own message counts, all of it: one new check stands before many old ones.
    """
    found: dict[str, list[Change]] = {}
    for change in changes:
        said = change.signature.partition(": ")[2]
        after = change.after
        cause = f"{after.name}: {normalised(after.text)}" if after.kind == "exception" else said
        found.setdefault(f"{change.kind} {cause}", []).append(change)
    return found
