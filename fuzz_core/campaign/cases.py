"""Bugs as reports are made of them: nothing that gives a private one away, one for each cause."""

from __future__ import annotations

from collections.abc import Sequence

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.campaign.judging import Judged, judged
from fuzz_core.campaign.origins import came_with
from fuzz_core.oracles.kinds import kind_of
from fuzz_core.store.checks import FIXED
from fuzz_core.store.known import KNOWN
from fuzz_core.store.records import BugRow, TargetRecord
from fuzz_core.store.store import Store
from fuzz_core.targets.collect_env import Environment, collect_env, environment_from_json
from reports.case import COMPARED, DOES_NOT, NOT_CHECKED, SHOWS, Baseline, Case

ENVIRONMENT = "environment"


def case(store: Store, each: Judged, baseline: Baseline | None = None, output: str = "") -> Case:
    """The case of a bug, with the versions where they are on record with its target."""
    target = store.target(each.row.target)
    others = [api for api in each.cluster.apis if api != each.row.api]
    shown = _modes(each.row, target, store.modes_of(each.row.id))
    environment = environment_from_json(target.info.get(ENVIRONMENT)) or Environment()
    first_bad = came_with(store, each.first).version
    return Case(each.row, target, each.severity, environment, shown, output, baseline, first_bad, others)


def _modes(bug: BugRow, target: TargetRecord, shown: frozenset[str]) -> dict[str, str]:
    """The plain call first; of what differs between modes, it is the side that is taken to be right."""
    plain = DOES_NOT if bug.oracle in COMPARED else NOT_CHECKED
    known = {"cpu": plain} | dict.fromkeys(dialect_of(target.library).ways, NOT_CHECKED)
    return known | dict.fromkeys(sorted(shown), SHOWS)


def keep_environment(store: Store, target: TargetRecord) -> Environment:
    """The versions out of the target's record, or gathered and kept there; a failure is in its `problem`."""
    kept = environment_from_json(store.target(target.key).info.get(ENVIRONMENT))
    if kept is not None:
        return kept
    made = collect_env(target.python, target.library)
    if not made.problem:
        store.save_target(target._replace(info={**store.target(target.key).info, ENVIRONMENT: made.to_json()}))
    return made


def guarded(store: Store, rows: Sequence[BugRow], across: bool = False) -> list[Judged]:
    """These bugs; what looks like the cause of a private one would give that away, so it is private too."""
    found = judged(store, rows, across)
    private = {each.cluster.first.id: each.row.id for each in found if each.severity.private}
    return [
        each._replace(severity=each.severity._replace(grade="private", reason=f"looks like the cause of bug {number}"))
        if (number := private.get(each.cluster.first.id)) is not None and not each.severity.private
        else each
        for each in found
    ]


def batch(found: Sequence[Judged]) -> list[Judged]:
    """One per cluster: its simplest public crash on input that is not known to be valid and that no entry knows.

    A cause that valid input shows has a report of its own.
    """
    alone = {each.cluster.first.id for each in found if each.row.status != FIXED and is_valid(each)}
    fitting = [
        each
        for each in found
        if kind_of(each.row.kind).fails
        and each.row.status not in (KNOWN, FIXED)
        and each.cluster.first.id not in alone
        and not is_valid(each)
        and not each.severity.private
    ]
    place = {id(member): rank for each in fitting for rank, member in enumerate(each.cluster.members)}
    simplest: dict[int, Judged] = {}
    for each in sorted(fitting, key=lambda each: place[id(each.row)]):
        simplest.setdefault(each.cluster.first.id, each)
    return list(simplest.values())


def is_valid(each: Judged) -> bool:
    """Whether the input is known to be one that the library allows."""
    return each.severity.validity.status == "valid"
