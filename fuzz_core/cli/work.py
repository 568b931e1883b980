"""What the commands that work share: target, store, session, and the phases in order."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from fuzz_core.campaign.carryover import TraceReport
from fuzz_core.campaign.examination import TriageOptions, TriageReport, examine
from fuzz_core.campaign.fuzzing import FuzzOptions, fuzz
from fuzz_core.campaign.listener import FuzzReport
from fuzz_core.campaign.moco.engine import MocoReport, fuzz_models
from fuzz_core.campaign.moco.knowledge import knowledge_of
from fuzz_core.campaign.moco.plot import MocoOptions
from fuzz_core.campaign.moco.seeds import Refused, Seed, seeds
from fuzz_core.campaign.moco.share import KNOWING_SHARE
from fuzz_core.campaign.scheduler import ranking_of
from fuzz_core.campaign.session import Session
from fuzz_core.campaign.tracing import TraceOptions, trace
from fuzz_core.cli.boundary import stopping
from fuzz_core.cli.config import Settings
from fuzz_core.cli.display import watch
from fuzz_core.cli.state import state_file, today
from fuzz_core.cli.targets import target_of
from fuzz_core.collect.sources import source_of
from fuzz_core.ir.errors import Interrupted
from fuzz_core.modelgen.moco.facts import Knowledge
from fuzz_core.mutation.registry import check_off
from fuzz_core.oracles.contract import oracle_of
from fuzz_core.store.opening import open_store
from fuzz_core.targets.compiler import make_ready
from fuzz_core.triage.known import load_registry

TRACE_SHARE = 0.4
# Of the time for growing models, at most so much goes to taking programs apart.
SOWING_SHARE = 0.25


@contextmanager
def session_of(settings: Settings, console: Console, as_json: bool = False) -> Iterator[Session]:
    """An open session with its progress display (on standard error beside JSON); signals ask it to stop."""
    check_names(settings)
    shown = Console(stderr=True) if as_json else console
    with stopping() as stopped, open_store(state_file(settings)) as store:
        target = target_of(store, settings)
        make_ready(target.library, Path(target.python), int(settings.compile_cache * 1e9))
        with watch(shown) as display:
            yield Session(store, target, settings.state, settings.workers, display, stopped)


def check_names(settings: Settings) -> None:
    """Before anything takes time: a misspelt name found after the tracing would have wasted it."""
    for source in settings.source:
        source_of(source)
    for oracle in settings.oracles:
        oracle_of(oracle)
    check_off(settings.disable)
    ranking_of(settings.schedule)
    load_registry(settings.known, today())


def trace_phase(session: Session, settings: Settings, own: bool = False, **extra: Any) -> TraceReport:
    """Traces what is new; of a user's own seeds all, whatever apis are asked for."""
    options = TraceOptions(
        sources=settings.source,
        docs_dirs=settings.docs,
        tests_dirs=settings.tests,
        models_dirs=settings.models,
        seconds=settings.seed_time,
        own=own,
        patterns=[] if own else settings.api,
        **extra,
    )
    return trace(session, options)


def fuzz_phase(
    session: Session, settings: Settings, seconds: float | None, examining: float | None = None
) -> FuzzReport:
    """Fuzzes; the seed is drawn where none was given, and is in the run's record. examining: see `FuzzOptions`."""
    options = FuzzOptions(
        seconds=seconds,
        tests=settings.tests_count,
        patterns=settings.api,
        seed=drawn_seed(settings),
        disabled=settings.disable,
        oracles=settings.oracles,
        timeout=settings.timeout,
        schedule=settings.schedule,
        grow=settings.grow,
        examining=examining,
        runs=settings.confirm_runs,
    )
    return fuzz(session, options)


def drawn_seed(settings: Settings) -> int:
    """The seed that was given, or one drawn by chance."""
    return secrets.randbelow(2**31) if settings.seed is None else settings.seed


def triage_phase(session: Session, settings: Settings, deadline: float | None) -> TriageReport:
    """Examines what is pending."""
    known = load_registry(settings.known, today())
    return examine(session, TriageOptions(deadline, runs=settings.confirm_runs, timeout=settings.timeout, known=known))


def grow_phase(session: Session, settings: Settings, seconds: float | None) -> MocoReport:
    """Grows derivation trees; knowledge is learnt first where there is none, in the same time."""
    began = session.clock()
    ground = prepare_ground(session, settings, seconds)
    return grow(session, settings, ground, rest(session, began, seconds))


def rest(session: Session, began: float, seconds: float | None) -> float | None:
    """What is left of so many seconds, one at least; None where they have no limit."""
    return None if seconds is None else max(seconds - (session.clock() - began), 1.0)


class Ground(NamedTuple):
    """What trees grow from."""

    programs: list[Seed]
    knowledge: Knowledge


def prepare_ground(session: Session, settings: Settings, seconds: float | None) -> Ground:
    """Learns what is not known yet and takes programs apart, in shares of the time."""
    knowledge = knowledge_of(session, None if seconds is None else seconds * KNOWING_SHARE)
    end = None if seconds is None else session.clock() + seconds * SOWING_SHARE
    return Ground(_sown(session, settings, end), knowledge)


def grow(session: Session, settings: Settings, ground: Ground, seconds: float | None) -> MocoReport:
    """Grows derivation trees."""
    options = MocoOptions(
        seconds=seconds,
        nodes=settings.tests_count,
        seed=drawn_seed(settings),
        oracles=settings.oracles,
        timeout=settings.timeout,
    )
    return fuzz_models(session, ground.programs, ground.knowledge, options)


def _sown(session: Session, settings: Settings, end: float | None) -> list[Seed]:
    """The programs that are taken apart until the clock says `end`, one at least."""
    found: list[Seed] = []
    session.watch.phase("taking programs apart")
    for each in seeds(session, settings.models):
        if isinstance(each, Refused):
            session.watch.note(f"{each.name}: {each.reason}")
            continue
        found.append(each)
        session.watch.advance(len(found), program=each.program.name)
        if session.stopped() or (end is not None and session.clock() >= end):
            break
    return found


def check(stopped: Callable[[], bool]) -> None:
    """Raises Interrupted between phases when the user has asked to stop."""
    if stopped():
        raise Interrupted("stopped by the user")
