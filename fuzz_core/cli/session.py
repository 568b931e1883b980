"""Sessions for commands that fuzz or trace: the target, made if need be, and open sessions with a progress display."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from fuzz_core.campaign.carryover import TraceReport
from fuzz_core.campaign.gandalf.experience import check_guidance
from fuzz_core.campaign.plans import parse_shard
from fuzz_core.campaign.scheduler import ranking_of
from fuzz_core.campaign.session import Session
from fuzz_core.campaign.spaces import SpaceFile
from fuzz_core.campaign.trace import TraceOptions, trace
from fuzz_core.cli.errors import stop_requests
from fuzz_core.cli.output import CommandOutput
from fuzz_core.cli.settings import Settings
from fuzz_core.cli.state import open_state, read_state, today
from fuzz_core.cli.status import STATUS_FILE
from fuzz_core.collect.sources import check_source
from fuzz_core.ir.errors import Interrupted, UserError
from fuzz_core.modelgen.gandalf.table import COMPARED, LIBRARIES, Library
from fuzz_core.mutation.registry import check_off
from fuzz_core.oracles.contract import oracle_of
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.store import Store
from fuzz_core.targets.environment import ensure, make_ready
from fuzz_core.targets.lock import BuildLock
from fuzz_core.targets.record import Target, list_targets
from fuzz_core.targets.resolve import Access
from fuzz_core.targets.spaces import keep, kept, offered
from fuzz_core.targets.spec import parse_spec
from fuzz_core.triage.known import load_registry

TRACE_SHARE = 0.4


def access_of(settings: Settings) -> Access:
    """Return how package indexes are reached, and how much of what they give is kept."""
    return Access(settings.allow_cached, int(settings.wheel_cache * 1e9))


def make_target(
    settings: Settings, spec: str, lock: BuildLock | None = None, announce: Callable[[str], object] = lambda text: None
) -> Target:
    """Make a target by the settings, or by its lock if there is one.

    Args:
        announce: called with the name of each step that begins.

    Raises:
        UserError: as `parse_spec` and `ensure`.
    """
    parsed = parse_spec(spec, settings.library, settings.index)
    made = ensure(parsed, settings.flavour, access=replace(access_of(settings), announce=announce), lock=lock)
    if (offer := offered(made.key, made.library, made.version)) is not None and kept(offer) is None:
        announce(f"downloading the value space of {offer.key}, {offer.size / 1e6:.0f} MB")
        try:
            keep(offer)
        except UserError as error:
            announce(f"{error.problem}; nightfuzz traces the target instead")
    return made


def space_of(session: Session, settings: Settings) -> SpaceFile | None:
    """Return the space file to take over.

    It is the file of the settings, or the release's file if no call of the library is traced.
    """
    store, target = session.store, session.target
    if settings.space is not None:
        return SpaceFile(settings.space)
    if store.traced(target.key) or store.predecessor(target.key):
        return None
    path = kept_space(target)
    return None if path is None else SpaceFile(path, vouched=True)


def kept_space(target: TargetRecord) -> Path | None:
    """Return the space file that the release offers for a build, where it is on this machine and is that very file."""
    offer = offered(target.key, target.library, target.version)
    return None if offer is None else kept(offer)


def save_made(store: Store, made: Target) -> TargetRecord:
    """Put a made target on record."""
    record = TargetRecord(made.key, made.spec, made.library, made.version, str(made.python), made.facts())
    store.save_target(record)
    return record


def target_of(store: Store, settings: Settings, spec: str | None = None) -> TargetRecord:
    """Return the target of a spec, made if need be.

    The default is the spec of the settings; without a spec, the target used last.
    """
    spec = settings.target if spec is None else spec
    known = store.targets()
    if spec is None:
        if not known:
            raise UserError(
                "no target is named, and the state holds no target",
                "name a target, such as --target torch==2.13.0",
            )
        return max(known, key=lambda record: record.made_at)
    named = next((record for record in known if record.key == spec), None)
    return named or save_made(store, make_target(settings, spec))


def targets_of(store: Store, settings: Settings, *specs: str | None) -> list[TargetRecord]:
    """Return the targets of several specs, each as `target_of` gives it.

    All specs are read before the first target is made.

    Raises:
        UserError: two specs mean one build.
    """
    _check_specs(settings, store, specs)
    found = [target_of(store, settings, spec) for spec in specs]
    if len({record.key for record in found}) < len(found):
        raise UserError(
            f"{found[0].key} is compared with itself",
            "name two builds that differ, such as torch==2.12.0 and torch==2.13.0",
        )
    return found


def check_specs(settings: Settings, specs: Sequence[str]) -> None:
    """Raise UserError for a spec that is none: before the state is made, or found to be in use."""
    if specs:
        with ExitStack() as stack:
            store = None
            # The command that opens a missing or unreadable state reports the error.
            with suppress(UserError):
                store = stack.enter_context(read_state(settings))
            _check_specs(settings, store, specs)


def _check_specs(settings: Settings, store: Store | None, specs: Iterable[str | None]) -> None:
    known = set() if store is None else {record.key for record in store.targets()}
    for spec in specs:
        if spec is not None and spec not in known:
            parse_spec(spec, settings.library, settings.index)


@contextmanager
def open_sessions(
    settings: Settings, output: CommandOutput, choose: Callable[[Store], list[TargetRecord]], timed: bool = False
) -> Iterator[list[Session]]:
    """Open one store, and sessions in it on the targets that are chosen.

    Args:
        timed: whether the command ends with the time-box of the settings.
    """
    check_names(settings)
    box = settings.time if timed and settings.tests_count is None else None
    file = settings.state / STATUS_FILE
    with (
        stop_requests() as stopped,
        open_state(settings) as store,
        output.watch(settings.target or "", box, file) as watch,
    ):
        records = choose(store)
        for record in records:
            make_room(settings, record)
        try:
            yield [Session(store, each, settings.state, settings.workers, watch, stopped) for each in records]
        except KeyboardInterrupt:
            # A second Ctrl-C, which leaves a run no time to record its own end.
            store.interrupt_runs()
            raise


@contextmanager
def session_of(settings: Settings, output: CommandOutput, timed: bool = False) -> Iterator[Session]:
    """Open a session on the target of the settings."""
    with open_sessions(settings, output, lambda store: [target_of(store, settings)], timed) as [session]:
        yield session


def make_room(settings: Settings, record: TargetRecord) -> None:
    """Make room for what the library of a target compiles."""
    make_ready(record.library, Path(record.python), int(settings.compile_cache * 1e9))


def check_names(settings: Settings) -> None:
    """Check names and paths before any slow step: a later error would waste the tracing."""
    for source in settings.source:
        check_source(source)
    for oracle in settings.oracles:
        oracle_of(oracle)
    check_off(settings.disable)
    ranking_of(settings.schedule)
    load_registry(settings.known, today())
    if settings.shard is not None:
        parse_shard(settings.shard)
    for name in ("docs", "tests", "models"):
        for folder in getattr(settings, name):
            if not folder.exists():
                raise UserError(
                    f"--{name} {folder}: there is no such folder or file", f"correct the path, or leave out --{name}"
                )
    if settings.base is not None and not settings.base.exists():
        raise UserError(
            f"--base {settings.base}: there is no such folder or file", "correct the path, or leave out --base"
        )


def check_stop(session: Session) -> None:
    """Raise Interrupted between phases when the user has asked to stop."""
    if session.stopped():
        raise Interrupted("stopped by the user")


def trace_phase(session: Session, settings: Settings, own: bool = False, **extra: Any) -> TraceReport:
    """Trace new seeds; from a user's own seeds all calls, whichever apis are asked for."""
    options = trace_options(session, settings, own=own, **extra)
    return trace(session, replace(options, patterns=[], space=None) if own else options)


def trace_options(session: Session, settings: Settings, **extra: Any) -> TraceOptions:
    """Return the options for tracing that the settings ask for. extra: fields that no setting has."""
    return TraceOptions(
        sources=settings.source,
        docs_dirs=settings.docs,
        tests_dirs=settings.tests,
        models_dirs=settings.models,
        seconds=settings.seed_time,
        patterns=settings.api,
        space=space_of(session, settings),
        **extra,
    )


@contextmanager
def sessions_of(settings: Settings, output: CommandOutput) -> Iterator[dict[Library, Session]]:
    """Open sessions on a build of each library, in one store.

    Raises:
        UserError: a build is missing.
    """
    check_guidance(settings.guidance)
    if settings.sandbox != "none":
        problem = f"--sandbox {settings.sandbox}: libraries cannot be compared in a container"
        raise UserError(problem, "leave out the setting sandbox, or write --sandbox none")

    def choose(store: Store) -> list[TargetRecord]:
        found = [_build(store, settings, each) for each in settings.libraries or COMPARED]
        records = {record.library: record for record in found}
        if len(records) < len(found):
            raise UserError(
                f"--libraries names two builds of one library: {', '.join(record.key for record in found)}",
                "name each library once; `nightfuzz bump` compares two builds of one library",
            )
        if settings.target is not None:
            named = target_of(store, settings)
            records[named.library] = named
        return list(records.values())

    with open_sessions(settings, output, choose) as sessions:
        yield {cast(Library, each.target.library): each for each in sessions}


def compared_sessions(session: Session, settings: Settings) -> dict[Library, Session]:
    """Return the run's own session, and one on a build of each library that it is compared with, in the same store.

    Raises:
        UserError: there is no second library to compare with; raised before the run begins.
    """
    check_guidance(settings.guidance)
    found = {_known_library(session.target): session}
    for name in settings.libraries:
        record = _build(session.store, settings, name)
        library = _known_library(record)
        if library not in found:
            make_room(settings, record)
            found[library] = replace(session, target=record)
    if len(found) < 2:
        raise UserError(
            f"--libraries names no second library to compare {session.target.library} with",
            f"name another library: {', '.join(each for each in LIBRARIES if each not in found)}",
        )
    return found


def _known_library(record: TargetRecord) -> Library:
    if record.library not in LIBRARIES:
        raise UserError(
            f"models of {record.library} cannot be compared with other libraries",
            f"name builds of these libraries: {', '.join(LIBRARIES)}",
        )
    return record.library


def _build(store: Store, settings: Settings, name: str) -> TargetRecord:
    """Return the build that a name stands for.

    A library stands for its build on record that was used last, or else for a build made before.
    """
    if name not in LIBRARIES:
        record = target_of(store, settings, name)
        _known_library(record)
        return record
    if known := [record for record in store.targets() if record.library == name]:
        return max(known, key=lambda record: record.made_at)
    made = [target for target in list_targets() if target.library == name]
    if not made:
        raise UserError(
            f"no build of {name} is installed",
            "name an exact build instead of the library, such as torch==2.13.0",
        )
    return save_made(store, made[-1])
