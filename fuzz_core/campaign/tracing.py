"""Seeds to invocations: list the apis, collect seeds, trace those no earlier build has, re-run what they brought."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from fuzz_core.campaign.carryover import TraceReport, recheck, take_over
from fuzz_core.campaign.planning import matching
from fuzz_core.campaign.session import MEMORY_BYTES, Session
from fuzz_core.collect.constraints.docstrings import from_docstring
from fuzz_core.collect.constraints.messages import from_message
from fuzz_core.collect.seed import Request, Seed
from fuzz_core.collect.sources import SOURCES, collect
from fuzz_core.execution.single import Job, Result, run_jobs
from fuzz_core.execution.zygote import Zygote
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.codec import decode_invocation
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.errors import CodecError, NightfuzzError
from fuzz_core.ir.values import Invocation
from fuzz_core.ir.wire import decode
from fuzz_core.store.records import SeedRecord
from fuzz_core.store.similarity import refresh_similarity

# Of the time for tracing; the rest is for running again what was traced.
SEEDS_SHARE = 2 / 3

INVENTORY_SECONDS = 120.0
_WORD = re.compile(r"[^\W\d]\w*")


@dataclass
class TraceOptions:
    """sources: names of seed sources. seconds: time limit per seed. deadline: clock time by which all is done;
    no seed starts in its last third, which is for running what was traced.

    own: without what comes with the library. patterns: of apis; only seeds that name one of these are traced, the
    others wait for a trace that asks for them. since: key of the target to take over from; None for the newest earlier
    one of the library, if there is one.
    """

    sources: Sequence[str] = tuple(SOURCES)
    docs_dirs: Sequence[Path] = ()
    tests_dirs: Sequence[Path] = ()
    models_dirs: Sequence[Path] = ()
    seconds: float = 60.0
    deadline: float | None = None
    own: bool = False
    patterns: Sequence[str] = ()
    since: str | None = None


class SeedEnd(NamedTuple):
    """What a worker says at the end of a seed: its parts and those that failed, and what was not recorded, by api."""

    parts: int = 0
    failed: int = 0
    reason: str = ""
    seconds: float = 0.0
    tracing_seconds: float = 0.0
    undescribed: tuple[tuple[str, str, int], ...] = ()
    dropped: tuple[tuple[str, int], ...] = ()


def trace(session: Session, options: TraceOptions) -> TraceReport:
    """Brings the value spaces of the session's target up to date."""
    report = TraceReport()
    began = session.clock()
    session.watch.phase("listing apis")
    with Zygote(session.target.python, session.target.library, "trace", None, session.stopped) as zygote:
        request = _inventory(session, zygote, options, report)
        session.watch.phase("collecting seeds")
        seeds = list(collect(request, options.sources))
        new = take_over(session, seeds, options.since, report.retraced)
        asked = naming(new, request.apis, options.patterns) if options.patterns else new
        report.seeds, report.unchanged, report.aside = len(seeds), len(seeds) - len(new), len(new) - len(asked)
        if asked:
            until = None if options.deadline is None else began + (options.deadline - began) * SEEDS_SHARE
            _trace_seeds(session, zygote, asked, options.seconds, report, until)
    recheck(session, report, options.deadline)
    learn_refusals(session)
    session.watch.phase("comparing definitions")
    refresh_similarity(session.store, session.target.key)
    return report


def _inventory(session: Session, zygote: Zygote, options: TraceOptions, report: TraceReport) -> Request:
    """Asks the target for its apis, and builds the request for the seed sources."""
    result = next(run_jobs(zygote, [Job("inventory", {}, INVENTORY_SECONDS)], 1, MEMORY_BYTES), None)
    if result is None or not result.complete:
        reason = result.outcome.text if result is not None else ""
        raise NightfuzzError(f"the target cannot list its apis: {reason}\n{zygote.log()}")

    def told(name: str) -> list[Any]:
        return [message[name] for message in result.messages if name in message]

    apis = [decode(Api, api) for api in told("api")]
    session.store.save_apis(session.target.key, apis)
    report.apis = len(apis)
    document(session, apis, told("constraint"))
    packages = {} if options.own else dict(told("package"))
    programs = [] if options.own else told("program")
    return Request(
        library=session.target.library,
        apis=apis,
        packages={str(name): Path(folder) for name, folder in packages.items()},
        docs_dirs=options.docs_dirs,
        tests_dirs=options.tests_dirs,
        models_dirs=options.models_dirs,
        database=[(str(name), str(code)) for name, code, *_ in programs],
        problems=report.problems,
    )


def _trace_seeds(
    session: Session, zygote: Zygote, seeds: list[Seed], seconds: float, report: TraceReport, until: float | None
) -> None:
    """Each for so many seconds at most; none starts after `until`."""
    session.watch.phase("tracing seeds", len(seeds))
    report.left = len(seeds)
    jobs = (
        Job("seed", {"seed": {"kind": seed.kind, "code": seed.code, "path": seed.path}}, seconds, tag=seed)
        for seed in takewhile(lambda _: until is None or session.clock() <= until, seeds)
    )
    for result in run_jobs(zygote, jobs, session.workers, MEMORY_BYTES, session.stopped):
        end = _end(result)
        record, new = _save(session, result, end)
        report.left -= 1
        report.new += new
        report.status[record.status] += 1
        report.seconds += end.seconds
        report.tracing_seconds += end.tracing_seconds
        failed = sum(report.status[status] for status in ("failed", "crashed", "timeout"))
        done = len(seeds) - report.left
        session.watch.advance(done, seed=record.name, invocations=report.new, failed=failed)


def _end(result: Result) -> SeedEnd:
    """The last message of a seed; zeros where it did not come to its end, or sent garbage."""
    try:
        return decode(SeedEnd, result.messages[-1]) if result.complete else SeedEnd()
    except CodecError:
        return SeedEnd()


def _save(session: Session, result: Result, end: SeedEnd) -> tuple[SeedRecord, int]:
    """Puts on record what a seed brought: its record, and how many invocations are new.

    Garbage counts as described in `reason`.
    """
    seed: Seed = result.job.tag
    brought: list[tuple[Invocation, str]] = []
    parts: dict[Invocation, str] = {}
    broken = result.garbage
    for message in result.messages:
        if "i" in message:
            try:
                brought.append((decode_invocation(message["i"]), "ok" if message.get("ok") is True else "exception"))
                parts.setdefault(brought[-1][0], str(message.get("by", ""))[:200])
            except CodecError:
                broken += 1
    status, kind, reason = _status(result, end)
    reason += f" ({broken} unreadable lines)" if broken else ""
    head = (seed.digest, seed.source, seed.name, status, reason[:500])
    record = SeedRecord(*head, end.seconds, end.parts, end.failed, kind)
    undescribed = {(api, why): count for api, why, count in end.undescribed}
    dropped = {(api, "more than a seed may bring"): count for api, count in end.dropped}
    return record, session.store.save_trace(session.target.key, record, brought, undescribed, dropped, parts)


def _status(result: Result, end: SeedEnd) -> tuple[str, str, str]:
    """Status, the kind of the outcome that ended the seed before its end, and the reason."""
    kind, name, said, *_ = result.outcome
    if kind == "timeout":
        return "timeout", kind, f"longer than {name}"
    if not result.complete:
        lines = said.strip().splitlines()
        return "crashed", kind, f"{kind} {name}: {lines[-1] if lines else ''}"
    if end.failed == 0:
        return "ok", "", ""
    return ("failed" if end.failed >= end.parts else "partly"), "", end.reason


def naming(seeds: Sequence[Seed], apis: Sequence[Api], patterns: Sequence[str]) -> list[Seed]:
    """The seeds whose code has the last part of a name of an api that is asked for, however it is spelled.

    `AlphaDropout` and `alpha_dropout` are one spelling: a layer calls the function of its name. An operator's method is
    called without its name, so that all seeds may have it, and what a helper file calls is not known. Raises as
    `matching` does.
    """
    asked = matching((api.name for api in apis), patterns, "api of this build")
    words = {name.rpartition(".")[2] for api in apis if api.name in asked for name in (api.name, *api.aliases)}
    if any(word.startswith("__") for word in words):
        return list(seeds)
    spelled = _plain(words)
    return [seed for seed in seeds if seed.needs or not spelled.isdisjoint(_plain(_WORD.findall(seed.code)))]


def _plain(words: Collection[str]) -> set[str]:
    return {word.replace("_", "").lower() for word in words}


def document(session: Session, apis: Sequence[Api], declared: Iterable[Any]) -> None:
    """Replaces what is on record of the target; `declared` are constraints as a worker sends them."""
    found: list[Constraint] = []
    for data in declared:
        try:
            found.append(Constraint.from_json(data))
        except CodecError as error:
            session.watch.note(f"unreadable constraint from a worker dropped: {error}")
    found += [constraint for api in apis for constraint in from_docstring(api)]
    session.store.save_constraints(session.target.key, found)


def learn_refusals(session: Session) -> None:
    """Adds what the library's own exceptions about recorded invocations say of all calls."""
    store, target = session.store, session.target.key
    params = {api.name: api.params for api in store.apis(target)}
    refusals = store.refusals(target)
    found = [c for api, message in refusals for c in from_message(api, params.get(api, ()), message)]
    store.save_constraints(target, [*store.constraints(target), *found])
