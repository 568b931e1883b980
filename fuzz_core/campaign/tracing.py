"""Seeds to invocations: list the apis, collect seeds, trace those no earlier build has, re-run what they brought."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz_core.campaign.asked import naming
from fuzz_core.campaign.documenting import document, learn_refusals
from fuzz_core.campaign.retracing import Retraced, recheck, take_over
from fuzz_core.campaign.session import MEMORY_BYTES, Session
from fuzz_core.collect.seed import Request, Seed
from fuzz_core.collect.sources import SOURCES, collect
from fuzz_core.execution.single import Job, Result, run_jobs
from fuzz_core.execution.zygote import Zygote
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.codec import decode_invocation
from fuzz_core.ir.errors import CodecError, NightfuzzError
from fuzz_core.ir.values import Invocation
from fuzz_core.ir.wire import decode
from fuzz_core.store.freefuzz_import import read_dump
from fuzz_core.store.records import SeedRecord
from fuzz_core.store.similarity import refresh_similarity

# Of the time for tracing; the rest is for running again what was traced.
SEEDS_SHARE = 2 / 3

Brought = list[tuple[Invocation, str]]
INVENTORY_SECONDS = 120.0


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
    freefuzz: Path | None = None
    own: bool = False
    patterns: Sequence[str] = ()
    since: str | None = None


@dataclass
class TraceReport:
    """What a trace did: seeds by status, new invocations, problems of collection, and what recording cost."""

    seeds: int = 0
    unchanged: int = 0
    left: int = 0
    aside: int = 0
    status: Counter[str] = field(default_factory=Counter)
    new: int = 0
    imported: int = 0
    checked: int = 0
    valid: int = 0
    waiting: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)
    seconds: float = 0.0
    tracing_seconds: float = 0.0
    apis: int = 0
    retraced: Retraced = field(default_factory=Retraced)

    @property
    def overhead(self) -> float:
        """Share of the seeds' running time that went into recording, 0 to 1."""
        return self.tracing_seconds / self.seconds if self.seconds else 0.0


def trace(session: Session, options: TraceOptions) -> TraceReport:
    """Brings the value spaces of the session's target up to date."""
    report = TraceReport()
    began = session.clock()
    session.watch.phase("listing apis")
    with Zygote(session.target.python, session.target.library, "trace", None, session.stopped) as zygote:
        request = _inventory(session, zygote, options, report)
        seeds = _new_seeds(session, request, options, report)
        if seeds:
            _trace_seeds(session, zygote, seeds, options, report, _seeds_until(began, options.deadline))
    if options.freefuzz is not None:
        _import_freefuzz(session, options.freefuzz, report)
    recheck(session, report, report.retraced, options.deadline)
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
    apis = [decode(Api, message["api"]) for message in result.messages if "api" in message]
    session.store.save_apis(session.target.key, apis)
    report.apis = len(apis)
    document(session, apis, [message["constraint"] for message in result.messages if "constraint" in message])
    packages = dict(message["package"] for message in result.messages if "package" in message)
    return Request(
        library=session.target.library,
        apis=apis,
        packages={} if options.own else {str(name): Path(folder) for name, folder in packages.items()},
        docs_dirs=options.docs_dirs,
        tests_dirs=options.tests_dirs,
        models_dirs=options.models_dirs,
        database=[(str(m["program"][0]), str(m["program"][1])) for m in result.messages if "program" in m]
        if not options.own
        else (),
        problems=report.problems,
    )


def _new_seeds(session: Session, request: Request, options: TraceOptions, report: TraceReport) -> list[Seed]:
    session.watch.phase("collecting seeds")
    seeds = list(collect(request, options.sources))
    new = take_over(session, seeds, options.since, report.retraced)
    report.seeds, report.unchanged = len(seeds), len(seeds) - len(new)
    asked = naming(new, request.apis, options.patterns) if options.patterns else new
    report.aside = len(new) - len(asked)
    return asked


def _trace_seeds(
    session: Session,
    zygote: Zygote,
    seeds: list[Seed],
    options: TraceOptions,
    report: TraceReport,
    until: float | None,
) -> None:
    session.watch.phase("tracing seeds", len(seeds))
    done = 0
    jobs = _jobs(session, seeds, options, until)
    for result in run_jobs(zygote, jobs, session.workers, MEMORY_BYTES, session.stopped):
        done += 1
        record, brought, parts = _read_result(result)
        report.new += _save(session, result, record, brought, parts)
        report.status[record.status] += 1
        end = result.messages[-1] if result.complete else {}
        report.seconds += _number(end.get("seconds"))
        report.tracing_seconds += _number(end.get("tracing_seconds"))
        failed = report.status["failed"] + report.status["crashed"] + report.status["timeout"]
        session.watch.advance(done, seed=record.name, invocations=report.new, failed=failed)
    report.left = len(seeds) - done


def _seeds_until(began: float, deadline: float | None) -> float | None:
    return None if deadline is None else began + (deadline - began) * SEEDS_SHARE


def _jobs(session: Session, seeds: list[Seed], options: TraceOptions, until: float | None) -> Iterator[Job]:
    for seed in seeds:
        if until is not None and session.clock() > until:
            return
        request = {"seed": {"kind": seed.kind, "code": seed.code, "path": seed.path}}
        yield Job("seed", request, options.seconds, tag=seed)


def _read_result(result: Result) -> tuple[SeedRecord, Brought, dict[Invocation, str]]:
    """The seed's record, the invocations with what is expected of them, and the tests of it that they come from.

    Garbage counts as described in `reason`.
    """
    seed: Seed = result.job.tag
    brought: Brought = []
    parts: dict[Invocation, str] = {}
    broken = result.garbage
    for message in result.messages:
        if "i" in message:
            try:
                brought.append((decode_invocation(message["i"]), "ok" if message.get("ok") is True else "exception"))
                parts.setdefault(brought[-1][0], str(message.get("by", ""))[:200])
            except CodecError:
                broken += 1
    end = result.messages[-1] if result.complete else {}
    count, failed = int(_number(end.get("parts"))), int(_number(end.get("failed")))
    status, kind, reason = _status(result, count, failed, str(end.get("reason", "")))
    reason += f" ({broken} unreadable lines)" if broken else ""
    seconds = _number(end.get("seconds"))
    told = (seed.digest, seed.source, seed.name, status, reason[:500], seconds, count, failed, kind)
    return SeedRecord(*told), brought, parts


def _status(result: Result, parts: int, failed: int, reason: str) -> tuple[str, str, str]:
    """Status, the kind of the outcome that ended the seed before its end, and the reason."""
    kind, name, said, *_ = result.outcome
    if kind == "timeout":
        return "timeout", kind, f"longer than {name}"
    if not result.complete:
        lines = said.strip().splitlines()
        return "crashed", kind, f"{kind} {name}: {lines[-1] if lines else ''}"
    if failed == 0:
        return "ok", "", ""
    return ("failed" if failed >= parts else "partly"), "", reason


def _save(session: Session, result: Result, record: SeedRecord, brought: Brought, parts: dict[Invocation, str]) -> int:
    end = result.messages[-1] if result.complete else {}
    undescribed = {(str(row[0]), str(row[1])): int(row[2]) for row in _rows(end.get("undescribed"), 3)}
    dropped = {(str(row[0]), "more than a seed may bring"): int(row[1]) for row in _rows(end.get("dropped"), 2)}
    return session.store.save_trace(session.target.key, record, brought, undescribed, dropped, parts)


def _rows(data: Any, width: int) -> list[list[Any]]:
    rows = data if isinstance(data, list) else []
    return [row for row in rows if isinstance(row, list) and len(row) == width and isinstance(row[-1], int)]


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _import_freefuzz(session: Session, directory: Path, report: TraceReport) -> None:
    session.watch.phase("importing FreeFuzz's database")
    unmapped: Counter[tuple[str, str]] = Counter()
    names = {name: api.name for api in session.store.apis(session.target.key) for name in (api.name, *api.aliases)}
    brought = []
    for invocation in read_dump(directory, unmapped):
        if invocation.api in names:
            brought.append((invocation._replace(api=names[invocation.api]), "ok"))
        else:
            unmapped[invocation.api, "no api of this target"] += 1
    record = SeedRecord(f"freefuzz:{directory.resolve()}", "import", f"FreeFuzz dump {directory.name}", "ok")
    report.imported = session.store.save_trace(session.target.key, record, brought, unmapped, {})
