"""Tracing for a pull request: the user's own changed seeds, then library seeds as value spaces for what these call."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from fuzz_core.campaign.carryover import TraceReport, recheck, take_over, validate
from fuzz_core.campaign.changes import Untraced, untraced_seeds
from fuzz_core.campaign.patterns import asked_apis
from fuzz_core.campaign.plans import seeds_on_record
from fuzz_core.campaign.seed_order import seeds_naming
from fuzz_core.campaign.session import Session
from fuzz_core.campaign.spaces import check_sample, take_space
from fuzz_core.campaign.trace import TraceOptions, finish_trace, list_apis, seeds_end, trace_seeds, tracer
from fuzz_core.collect.sources import Request, Seed, collect_own, collect_shipped
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.errors import UserError

# Files that an error names at most.
FILES = 5
PACKAGES = "use a target that has these packages, such as --target python:PATH with the interpreter of your environment"


class ChangedSeeds(NamedTuple):
    """Figures of a trace of changed seeds."""

    report: TraceReport
    seeds: int = 0  # number of the user's seeds that changed
    apis: Sequence[str] = ()  # names of the requested apis that these seeds call, sorted
    untraced: Sequence[Untraced] = ()  # changed files that did not run to their end
    unfuzzed: str = ""  # why no api is fuzzed; empty if apis are fuzzed


def trace_changed(session: Session, options: TraceOptions, end: float, base: Path | None = None) -> ChangedSeeds:
    """Trace the user's changed seeds, then library seeds that name what they call.

    If no seed has changed, no seed is traced. Library seeds end at the options' deadline.

    Args:
        options: only apis that match the patterns count.
        end: clock time by which the changed seeds are traced: they may take the whole time-box.
        base: the user's sources before the change; seeds that are not there have changed. None: seeds have changed
            that no build of the library has on record.

    Raises:
        UserError: a pattern matches no api, or no changed seed calls an api of the target.
    """
    report = TraceReport()
    with tracer(session) as zygote:
        request = list_apis(session, zygote, options, report)
        session.watch.phase("collecting changed seeds")
        own = list(collect_own(request, options.sources))
        if base is None:
            known = seeds_on_record(session.store, session.target.library)
        else:
            known = {seed.digest for seed in collect_own(_before(request, base), options.sources)}
        changed = {seed.digest: seed for seed in own if seed.digest not in known}
        report.seeds, report.unchanged = len(own), len(own) - len(changed)
        unread = [Untraced(name, 0, 0, reason) for name, reason in report.problems]
        if not changed:
            if unread and not own:
                raise _no_call(session, unread)
            return ChangedSeeds(report, unfuzzed="no seed of yours is new or changed: nothing to fuzz")
        trace_seeds(session, zygote, list(changed.values()), options.seconds, report, end)
        validate(session, report, end)
        names = {digest: seed.name for digest, seed in changed.items()}
        untraced = untraced_seeds(session.store, session.target.key, names)
        called = _called(session, changed)
        if not called and not session.stopped():
            raise _no_call(session, [*unread, *untraced])
        apis = sorted(called & asked_apis(request.apis, options.patterns) if options.patterns else called)
        found = ChangedSeeds(report, len(changed), apis, untraced)
        if not apis:
            return found._replace(
                unfuzzed="the changed seeds call none of the apis that are asked for: nothing to fuzz"
            )
        others = {seed.digest: seed for seed in (*own, *collect_shipped(request, options.sources))}
        since = take_space(session, options.space, report) if options.space else ""
        new = take_over(session, list(others.values()), options.since or since or None, report.retraced)
        report.seeds = len({*others, *changed})
        spaces = _value_spaces(new, request.apis, apis)
        report.unchanged, report.aside = report.seeds - len(changed) - len(new), len(new) - len(spaces)
        trace_seeds(session, zygote, spaces, options.seconds, report, seeds_end(session, options))
    check_sample(session, report, options.deadline)
    recheck(session, report, options.deadline)
    finish_trace(session)
    return found


def _before(request: Request, base: Path) -> Request:
    """Return the request for the same directories of the user as they are below `base`, as far as they are there."""

    def moved(folders: Sequence[Path]) -> list[Path]:
        places = (base / os.path.relpath(folder) for folder in folders)
        return [place for place in places if place.exists()]

    return replace(
        request,
        docs_dirs=moved(request.docs_dirs),
        tests_dirs=moved(request.tests_dirs),
        models_dirs=moved(request.models_dirs),
        problems=[],
    )


def _called(session: Session, seeds: Collection[str]) -> set[str]:
    """Return the apis that these seeds (by digest) call as the target accepts it, or as an error that they expect."""
    store, target = session.store, session.target.key
    brought = store.invocations_of(target, seeds)
    return {row.api for row in store.bodies(target) if row.id in brought and (row.valid or row.expected == "exception")}


def _value_spaces(seeds: Sequence[Seed], apis: Sequence[Api], called: Collection[str]) -> list[Seed]:
    """Return the seeds that name an api that is called.

    An operator's method has no name in code: it does not count.
    """
    named = [api for api in apis if api.name in called and not api.name.rpartition(".")[2].startswith("__")]
    return seeds_naming(seeds, named, [api.name for api in named]) if named else []


def _no_call(session: Session, untraced: Sequence[Untraced]) -> UserError:
    said = "; ".join(f"{each.file}: {each.reason}" for each in untraced[:FILES])
    said += f"; and {len(untraced) - FILES} more" if len(untraced) > FILES else ""
    problem = f"the changed seeds call no api that {session.target.key} accepts"
    if not untraced:
        return UserError(problem, f"name a directory of tests that call {session.target.library}: --tests DIR")
    missing = any("ModuleNotFoundError" in each.reason for each in untraced)
    return UserError(
        f"{problem}: {said}",
        PACKAGES if missing else "correct the errors that these lines name, and run the command again",
    )
