"""`nightfuzz fuzz`: fuzz and examine in a time-box, by the engine that was asked for."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from fuzz_core.campaign.carryover import check_calls
from fuzz_core.campaign.cases import keep_environment
from fuzz_core.campaign.document import write_report
from fuzz_core.campaign.engine import CallEngine, FuzzEngine, GandalfEngine, MocoEngine, fuzz_and_examine
from fuzz_core.campaign.examination import TriageReport
from fuzz_core.campaign.examiner import TriageOptions
from fuzz_core.campaign.fuzz import too_short
from fuzz_core.campaign.session import Session
from fuzz_core.cli.engines import calls_options, check_paper, graphs_options, trees_options
from fuzz_core.cli.errors import BUGS, INTERRUPTED
from fuzz_core.cli.output import CommandOutput, Report
from fuzz_core.cli.session import session_of, sessions_of
from fuzz_core.cli.settings import Settings
from fuzz_core.cli.state import today
from fuzz_core.modelgen.gandalf.table import Library
from fuzz_core.triage.known import load_registry


def fuzz(settings: Settings, output: CommandOutput) -> Report:
    """Fuzz and examine within the time-box."""
    check_paper(settings)
    if settings.engine == "gandalf":
        with sessions_of(settings, output) as sessions:
            first = next(iter(sessions.values()))
            return fuzz_libraries(sessions, settings, first.clock() + settings.time)
    with session_of(settings, output, timed=True) as session:
        end = session.clock() + settings.time
        check_calls(session, None if settings.tests_count is not None else end)
        report = fuzz_target(session, settings, end)
        require_tests(session, settings, report.data)
        return report


def require_tests(session: Session, settings: Settings, data: Mapping[str, Any]) -> None:
    """Raise UserError, with the least sensible time, where no engine ran a test and the user did not stop the run."""
    parts = (data, *(data.get(name, {}) for name in ("baseline", "libraries")))
    tests = sum(part.get("tests", 0) for part in parts)
    tests += sum(part.get(engine, {}).get("tests", 0) for part in parts for engine in ("fuzz", "models"))
    if not tests and not session.stopped():
        problem = f"no test ran on {session.target.key} in {settings.time:g} s, although there are apis to fuzz"
        # An engine without a start-up time in its report has spent the whole time-box before its first test.
        raise too_short(problem, data.get("fuzz", {}).get("start_up", settings.time))


def fuzz_target(session: Session, settings: Settings, end: float, share: float = 0.0) -> Report:
    """Fuzz and examine one target until the clock says `end`.

    A counted run has no deadline and grows no models: its result does not depend on the clock.

    Args:
        share: the part of the fuzzing time in which models grow.
    """
    seed = _seed(settings)
    models = MocoEngine(session, trees_options(settings, seed), settings.models)
    calls = calls_options(settings)
    engine = models if settings.engine == "moco" else CallEngine(session, calls, models, share)
    [triaged] = _worked(engine, settings, seed, end)
    if triaged.bugs and not session.stopped():
        # The machine that reports the bugs may be another than the one that has seen them.
        keep_environment(session.store, session.target)
    path = write_report(session.state_dir / "report.md", session)
    data = {"fuzz": engine.report.summary(), "triage": vars(triaged), "report": str(path)}
    grown = None
    if isinstance(engine, CallEngine):
        grown = engine.grown
        if grown is not None or engine.left_out:
            data["models"] = {"left_out": engine.left_out} if grown is None else grown.summary()
    figures = [engine.report] if grown is None else [engine.report, grown]
    seen, kept = sum(each.findings for each in figures), sum(each.kept for each in figures)
    text = [
        engine.report.headline,
        *([] if grown is None else [f"model programs: {grown.headline}"]),
        f"findings: {seen} seen, {kept} kept; examined: {_settled(triaged)}; {triaged.left} not examined yet",
        f"new bugs: {len(triaged.bugs)}; `nightfuzz bugs` lists all bugs; report: {path}",
    ]
    return Report(data, text, _code(session, settings, triaged.bugs))


def fuzz_libraries(sessions: Mapping[Library, Session], settings: Settings, end: float) -> Report:
    """Fuzz models that several libraries compute until the clock says `end`, and examine library by library."""
    engine = GandalfEngine(sessions, graphs_options(settings))
    triaged = dict(zip(sessions, _worked(engine, settings, _seed(settings), end), strict=True))
    paths, fuzzed = {}, engine.report
    for library, session in sessions.items():
        keep_environment(session.store, session.target)
        path = session.state_dir / f"report-{session.target.library}.md"
        paths[library] = str(write_report(path, session, fuzzed.lines))
    text = [
        fuzzed.headline,
        *fuzzed.lines,
        *(["data: generated, without the paper's datasets"] if settings.paper else []),
        f"findings: {fuzzed.findings} seen, {fuzzed.kept} kept; {fuzzed.rounded} graphs differ only by rounding",
        *(
            f"{library}: examined: {_settled(each)}; {each.left} wait; new bugs: {len(each.bugs)}; {paths[library]}"
            for library, each in triaged.items()
        ),
    ]
    for title, names in {
        "refused most often": [f"{name} ({times})" for name, times in fuzzed.refused.most_common(10)],
        "operators that these builds do not have": [f"{times} of {name}" for name, times in fuzzed.absent.items()],
        "operators switched off, because a library often refuses them or fails": sorted(
            fuzzed.operator_outcomes.left_out
        ),
    }.items():
        text += [f"{title}: {', '.join(names)}"] if names else []
    data = {
        "fuzz": fuzzed.summary(),
        "triage": {library: vars(each) for library, each in triaged.items()},
        "reports": paths,
    }
    bugs = [bug for each in triaged.values() for bug in each.bugs]
    return Report(data, text, _code(engine.sessions[0], settings, bugs))


def _seed(settings: Settings) -> int:
    """Return the seed that was given, or one drawn by chance."""
    return secrets.randbelow(2**31) if settings.seed is None else settings.seed


def _worked(engine: FuzzEngine, settings: Settings, seed: int, end: float) -> list[TriageReport]:
    known = load_registry(settings.known, today())
    options = TriageOptions(runs=settings.confirm_runs, timeout=settings.timeout, known=known)
    return fuzz_and_examine(engine, options, seed, settings.time, None if settings.tests_count is not None else end)


def _settled(triaged: TriageReport) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(triaged.settled.items())) or "none"


def _code(session: Session, settings: Settings, bugs: list[int]) -> int:
    return INTERRUPTED if session.stopped() else BUGS if settings.fail_on_bugs and bugs else 0
