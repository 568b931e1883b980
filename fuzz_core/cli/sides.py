"""What `nightfuzz fuzz --engine gandalf` does: several libraries at work on the same models."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast, get_args

from rich.console import Console

from fuzz_core.campaign.cases import keep_environment
from fuzz_core.campaign.examination import TriageReport
from fuzz_core.campaign.gandalf.engine import fuzz_graphs
from fuzz_core.campaign.gandalf.figures import GandalfOptions, GandalfReport
from fuzz_core.campaign.session import Session
from fuzz_core.cli.boundary import BUGS, INTERRUPTED, stopping
from fuzz_core.cli.config import Settings
from fuzz_core.cli.display import watch
from fuzz_core.cli.rounds import rounds
from fuzz_core.cli.state import state_file
from fuzz_core.cli.targets import save_made, target_of
from fuzz_core.cli.work import check_names, triage_phase
from fuzz_core.ir.errors import UserError
from fuzz_core.modelgen.gandalf.guides import check_guidance
from fuzz_core.modelgen.gandalf.table import COMPARED, Library, load
from fuzz_core.store.opening import open_store
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.store import Store
from fuzz_core.targets.compiled import make_ready
from fuzz_core.targets.record import list_targets
from nightfuzz.reports.markdown import write_report

LIBRARIES: tuple[Library, ...] = get_args(Library)


def compare_command(settings: Settings, console: Console, as_json: bool) -> int:
    """Fuzzes for the larger share of the time-box and examines, library by library, in the rest."""
    with sessions_of(settings, console, as_json) as sessions:
        first = next(iter(sessions.values()))
        end = None if settings.tests_count is not None else first.clock() + settings.time
        compared = _compared(sessions, settings, end)
        stopped = first.stopped()
    if as_json:
        console.print_json(json.dumps(compared.as_json()))
    else:
        compared.print(console)
    if stopped:
        return INTERRUPTED
    return BUGS if settings.fail_on_bugs and compared.bugs else 0


def beside(session: Session, settings: Settings) -> dict[Library, Session]:
    """The run's own session, and one on a build of each library that it is compared with, in the same store.

    Raises UserError where there is nothing to compare: said before a run begins, and not when its time is over.
    """
    check_guidance(settings.guidance)
    if session.target.library not in LIBRARIES:
        raise UserError(f"nothing is known of models of {session.target.library}", f"libraries: {', '.join(LIBRARIES)}")
    found: dict[Library, Session] = {session.target.library: session}
    for record in (_record(session.store, settings, each) for each in settings.libraries):
        if record.library not in found:
            make_ready(record.library, Path(record.python), int(settings.compile_cache * 1e9))
            other = Session(session.store, record, session.state_dir, session.workers, session.watch, session.stopped)
            found[cast(Library, record.library)] = other
    if len(found) < 2:
        raise UserError(f"{session.target.library} is compared with itself alone", "name another one with --libraries")
    return found


def compare_beside(
    sessions: Mapping[Library, Session], settings: Settings, end: float, console: Console | None
) -> tuple[bool, Any]:
    """The share of a run in which its target's models are compared with those of the libraries that are named.

    Returns whether it brought new bugs, and all of it as JSON data.
    """
    compared = _compared(sessions, settings, end)
    if console is not None:
        compared.print(console)
    return bool(compared.bugs), compared.as_json()


class Compared(NamedTuple):
    """What came of comparing. reports: by library."""

    fuzzed: GandalfReport
    triaged: Mapping[Library, TriageReport]
    reports: Mapping[Library, Path]

    @property
    def bugs(self) -> list[int]:
        """New ones, of all libraries."""
        return [bug for each in self.triaged.values() for bug in each.bugs]

    def as_json(self) -> dict[str, Any]:
        """All of it as JSON data."""
        told = {library: {**vars(each), "settled": dict(each.settled)} for library, each in self.triaged.items()}
        reports = {library: str(path) for library, path in self.reports.items()}
        return {"fuzz": self.fuzzed.summary(), "triage": told, "reports": reports}

    def print(self, console: Console) -> None:
        """All of it in words."""
        _print(console, self.fuzzed, self.triaged, self.reports)


def _compared(sessions: Mapping[Library, Session], settings: Settings, end: float | None) -> Compared:
    """Rounds of comparing and examining, until the time-box is over."""
    fuzzed, triaged = GandalfReport(), {library: TriageReport() for library in sessions}
    for each, seconds in rounds(next(iter(sessions.values())), settings, end):
        fuzzed.add(fuzz_graphs(sessions, load(), _options(each, seconds)))
        for library, report in _examined(sessions, each, end).items():
            triaged[library].add(report)
        if any(report.left for report in triaged.values()):
            break
    return Compared(fuzzed, triaged, {library: _reported(each) for library, each in sessions.items()})


@contextmanager
def sessions_of(settings: Settings, console: Console, as_json: bool) -> Iterator[dict[Library, Session]]:
    """Open sessions on a build of each library, in one store. Raises UserError where a build is missing."""
    check_names(settings)
    check_guidance(settings.guidance)
    if settings.sandbox != "none":
        raise UserError("libraries are not compared in a container yet", "leave out --sandbox")
    shown = Console(stderr=True) if as_json else console
    with stopping() as stopped, open_store(state_file(settings)) as store:
        found = [_record(store, settings, each) for each in settings.libraries or COMPARED]
        records = {record.library: record for record in found}
        if len(records) < len(found):
            raise UserError("a library is named twice", "one build of each is compared: see `versions` for two builds")
        if settings.target is not None:
            named = target_of(store, settings)
            records[named.library] = named
        for record in records.values():
            make_ready(record.library, Path(record.python), int(settings.compile_cache * 1e9))
        with watch(shown) as display:
            yield {
                cast(Library, library): Session(store, record, settings.state, settings.workers, display, stopped)
                for library, record in records.items()
            }


def _record(store: Store, settings: Settings, name: str) -> TargetRecord:
    """The build that a name stands for: of a library, the one on record that was used last, or else one made before."""
    if name not in LIBRARIES:
        record = target_of(store, settings.model_copy(update={"target": name}))
        if record.library not in LIBRARIES:
            raise UserError(f"nothing is known of models of {record.library}", f"libraries: {', '.join(LIBRARIES)}")
        return record
    if known := [record for record in store.targets() if record.library == name]:
        return max(known, key=lambda record: record.made_at)
    made = [target for target in list_targets() if target.library == name]
    if not made:
        raise UserError(f"there is no build of {name} here", "name one in its place, torch==2.13.0 for instance")
    return save_made(store, made[-1])


def _options(settings: Settings, seconds: float | None) -> GandalfOptions:
    beta, gamma, delta = settings.reward
    return GandalfOptions(
        seconds=seconds,
        graphs=settings.tests_count,
        seed=secrets.randbelow(2**31) if settings.seed is None else settings.seed,
        domains=settings.domain,
        models=settings.models,
        guidance=settings.guidance,
        beta=beta,
        gamma=gamma,
        delta=delta,
    )


def _examined(
    sessions: Mapping[Library, Session], settings: Settings, end: float | None
) -> dict[Library, TriageReport]:
    """What is pending of each, those with the fewest first: what one leaves of its time is the others'."""
    left = {each: len(session.store.pending_findings(session.target.key)) for each, session in sessions.items()}
    found = dict[Library, TriageReport]()
    for number, library in enumerate(sorted(left, key=left.__getitem__)):
        session = sessions[library]
        if session.stopped():
            found[library] = TriageReport(left=left[library])
            continue
        now = session.clock()
        deadline = None if end is None else now + max(end - now, 1.0) / (len(left) - number)
        found[library] = triage_phase(session, settings, deadline)
    return found


def _reported(session: Session) -> Path:
    keep_environment(session.store, session.target)
    path = session.state_dir / f"report-{session.target.library}.md"
    return write_report(path, session.store, session.target)


def _print(
    console: Console, fuzzed: GandalfReport, triaged: Mapping[Library, TriageReport], paths: Mapping[Library, Path]
) -> None:
    lines = [fuzzed.told, f"findings: {fuzzed.findings} seen, {fuzzed.kept} kept; {fuzzed.rounded} graphs only rounded"]
    for library, each in triaged.items():
        settled = ", ".join(f"{count} {name}" for name, count in sorted(each.settled.items())) or "none"
        lines.append(f"{library}: examined: {settled}; {each.left} wait; new bugs: {len(each.bugs)}; {paths[library]}")
    refused = ", ".join(f"{name} ({times})" for name, times in fuzzed.refused.most_common(10))
    lines += [f"not taken, most often: {refused}"] if refused else []
    absent = ", ".join(f"{times} of {library}" for library, times in fuzzed.absent.items())
    lines += [f"operators that these builds do not have: {absent}"] if absent else []
    failing = ", ".join(sorted(fuzzed.takings.left_out))
    lines += [f"left out after a while, as a library refuses them or fails with them: {failing}"] if failing else []
    console.print("\n".join(lines), markup=False, soft_wrap=True)
