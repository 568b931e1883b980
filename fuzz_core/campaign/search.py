"""Search for a valid call of each api that tracing has found none of: once for each build, resumed if time ran out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from fuzz_core.campaign.carryover import TraceReport, recheck
from fuzz_core.campaign.neighbours import visit_neighbours
from fuzz_core.campaign.patterns import asked_apis
from fuzz_core.campaign.plans import make_plan, value_space
from fuzz_core.campaign.session import Session
from fuzz_core.execution.pool import Lease, Limits, Pool
from fuzz_core.execution.scratch import scratch
from fuzz_core.execution.zygote import Zygote
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.signatures import SEARCH
from fuzz_core.ir.values import Invocation
from fuzz_core.ir.wire import LeaseDone, Report, SearchReport
from fuzz_core.store.records import SeedRecord, search_digest
from fuzz_core.store.store import Store
from fuzz_core.worker.journal import READING

# Numbers of tries of an api. Every api has the first ones before any has more: an object that an api needs may be made
# by an api whose call was found before. Most calls that a search finds take at most 20 tries.
PORTIONS = (30, 200, 600, 2000)
CALL_SECONDS = 2.0
# Calls of an api that a search looks at.
MOST_CALLS = 64
# A call that kills or hangs its process counts as so many tries.
DEATH_COST, HANG_COST = 200, 700
# Share of the time until the end of tracing. A found call is run again like any other, which takes about a quarter of
# the time of its search.
SHARE = 0.75
# A pass of fewer seconds would do little more than import the library.
LEAST_SECONDS = 15.0


def search(session: Session, patterns: Sequence[str], deadline: float | None, report: TraceReport) -> None:
    """Look for a valid call of every api without one, and record it, or why there is none.

    Calls that others make inside come first: they need no search.

    Args:
        patterns: of the apis to look at; empty for all.
        deadline: clock time by which the search and the check of its calls end.
    """
    if not session.dialect.searched:
        return
    now = session.clock()
    end = None if deadline is None else now + (deadline - now) * SHARE
    visit_neighbours(session, patterns, end, report)
    recheck(session, report, deadline)
    space: dict[str, Any] = {}
    for last in PORTIONS:
        tries = missing(session.store, session.target.key, patterns, last)
        if not tries or session.is_over(end, LEAST_SECONDS):
            continue
        report.searched = max(report.searched, len(tries))
        # The calls that a search finds add few values.
        space = space or value_space(session)
        report.found += _pass(session, tries, last, end, space)
        recheck(session, report, deadline)
        visit_neighbours(session, patterns, end, report)
        recheck(session, report, deadline)


def missing(store: Store, target: str, patterns: Sequence[str], last: int) -> dict[str, int]:
    """Return the apis without a valid call for which fewer than `last` tries were made, with the number of tries."""
    apis = store.apis(target)
    asked = asked_apis(apis, patterns) if patterns else {api.name for api in apis}
    searched = {seed.name: seed for seed in store.seeds(target) if seed.source == SEARCH}
    tries = {name: searched[name].statements if name in searched else 0 for name in asked - store.called_apis(target)}
    # A call that was found, and is not valid in this build or in a fresh process, is searched again.
    done = {name for name, seed in searched.items() if seed.status == "failed"}
    return {name: count for name, count in sorted(tries.items()) if count < last and name not in done}


def _pass(session: Session, tries: Mapping[str, int], last: int, end: float | None, space: Mapping[str, Any]) -> int:
    """Search each api up to a number of tries; returns how many have a call now."""
    session.watch.phase("searching valid calls", len(tries), session.left(end))
    counts: Counter[str] = Counter()
    rows = []
    for row in session.store.bodies(session.target.key):
        if row.valid and row.expected == "ok" and counts[row.api] < MOST_CALLS:
            counts[row.api] += 1
            rows.append(row)
    with scratch() as folder:
        plan = folder / "plan.jsonl"
        make_plan(session, plan, rows, seed=0, oracles=("crash", "bounds"), space=space, alike=False)
        with Zygote(session.target.python, session.target.library, "search", plan, session.stopped) as zygote:
            listener = _Search(session, tries, last)
            pool = Pool(zygote, session.workers, Limits(timeout=CALL_SECONDS))
            pool.run(listener, lambda: session.is_over(end), listener.tick)
    return listener.found


class _Search:
    """Leases every api once; a death is a refusal, and the search goes on with other tries.

    The first call of each api that a signal ends is recorded too: no fuzz of valid calls may come across it. Since its
    process is dead, another one makes the same tries again up to this call, and sends it.
    """

    def __init__(self, session: Session, tries: Mapping[str, int], last: int) -> None:
        self.session = session
        self.last = last
        # Api, number of the first try, and the try that is only sent, if the lease is about that.
        self.waiting: list[tuple[str, int, int | None]] = [(api, tries[api], None) for api in reversed([*tries])]
        self.deaths: dict[str, list[Outcome]] = {}
        self.deadly: dict[str, Invocation] = {}
        self.reports: dict[int, SearchReport] = {}  # by number of the lease, until the lease ends
        self.number = self.done = self.found = 0

    def next_lease(self) -> Lease | None:
        """See `Listener`."""
        if not self.waiting:
            return None
        api, first, sent = self.waiting.pop()
        self.number += 1
        if sent is None:
            return Lease(self.number, api, first, self.last)
        return Lease(self.number, api, first, sent + 1, skip=(sent,))

    def message(self, lease: Lease, report: Report | None) -> None:
        """See `Listener`."""
        if isinstance(report, SearchReport) and report.searched == lease.api:
            self.reports[lease.number] = report
        elif isinstance(report, LeaseDone):
            found = self.reports.pop(lease.number, None)
            if lease.skip:
                if found is not None and found.test is not None and found.test.invocation.api == lease.api:
                    self.deadly[lease.api] = found.test.invocation
                self._go_on(lease.api, lease.skip[0])
            elif found is None:
                # The tries do not count, so that the next search makes them again.
                self._save(lease.api, lease.first, "partly", "its worker sent no report that can be read")
            else:
                self._settle(found)

    def _settle(self, report: SearchReport) -> None:
        tries, status, reason, ended = min(report.tries, self.last), "failed", report.reason or report.lacks, ""
        found: list[tuple[Invocation, str]] = []
        if report.test is not None and report.test.invocation.api == report.searched:
            found, status = [(report.test.invocation, "ok")], "ok"
        elif report.waits:
            reason, ended = f"needs an object that no known call makes: {report.waits}", "skipped"
            status, tries = "partly", self.last
        elif report.refused:
            reason = f"{tries} calls refused; the last new refusal: {reason}"
            # The time of a lease may end before its tries do.
            ended, tries, status = "exception", self.last, "partly" if self.last < PORTIONS[-1] else "failed"
        self._save(report.searched, tries, status, reason, found, ended)

    def death(self, lease: Lease, index: int, outcome: Outcome) -> None:
        """See `Listener`."""
        if lease.skip:
            # The library has not done the same again.
            self._go_on(lease.api, lease.skip[0])
            return
        deaths = self.deaths.setdefault(lease.api, [])
        deaths.append(outcome)
        # The call itself returns if only the reading of its result dies.
        is_of_call = outcome.kind == "signal" and lease.died_in != READING
        if is_of_call and [each.kind for each in deaths].count("signal") == 1:
            self.waiting.append((lease.api, lease.first, index))
        else:
            self._go_on(lease.api, index)

    def _go_on(self, api: str, index: int) -> None:
        """Lease the tries of an api after the one that it died in, if there are any."""
        deaths = self.deaths[api]
        following = index + (HANG_COST if deaths[-1].kind == "timeout" else DEATH_COST)
        if following < self.last:
            self.waiting.append((api, following, None))
            return
        ends = ", ".join(sorted({f"{each.kind} {each.name}".strip() for each in deaths}))
        reason = f"{len(deaths)} calls ended their process: {ends}"
        # A death by signal may be a bug that is private, so that its kind comes first.
        kind = max((each.kind for each in deaths), key=lambda kind: kind == "signal")
        self._save(api, following, "partly" if following < PORTIONS[-1] else "failed", reason, ended=kind)

    def _save(
        self,
        api: str,
        tries: int,
        status: str,
        reason: str,
        found: Sequence[tuple[Invocation, str]] = (),
        ended: str = "",
    ) -> None:
        self.done += 1
        self.found += bool(found)
        record = SeedRecord(search_digest(api), SEARCH, api, status, reason[:500], 0.0, tries, outcome_kind=ended)
        # A deadly call counts as an error input, because the library need not accept it.
        deadly = [(self.deadly.pop(api), "exception")] if api in self.deadly else []
        self.session.store.save_trace(self.session.target.key, record, [*found, *deadly], {}, {})

    def tick(self) -> None:
        """Show how far the search is."""
        self.session.watch.advance(self.done, found=self.found)
