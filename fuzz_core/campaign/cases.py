"""Bugs with what triage says of them, as reports are made of them and as the registry of known findings has them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from typing import NamedTuple

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.adapters.quotes import MODE as DOCUMENTED
from fuzz_core.campaign.history import BAD, GOOD, BugHistory, came_with, histories, libraries, release
from fuzz_core.ir.constraints import Documentation
from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.kinds import kind_of
from fuzz_core.store.checks import FIXED, KNOWN, OPEN
from fuzz_core.store.records import BugRow, TargetRecord
from fuzz_core.store.store import Store
from fuzz_core.targets.facts import Environment, collect_env, environment_from_json
from fuzz_core.triage.assess import (
    DocumentationRuling,
    Rule,
    Severity,
    goes_alone,
    lacks_check,
    order,
    severity,
    validity,
    withheld,
)
from fuzz_core.triage.cluster import Cluster, clusters
from fuzz_core.triage.known import KnownEntry, Registry, RegistryQuery
from fuzz_core.triage.recheck import CLEAN, SHOWN
from nightfuzz.reports.case import COMPARED, DOES_NOT, NOT_CHECKED, SHOWS, Baseline, BugCase

ENVIRONMENT = "environment"
PROSE = ("docstring", "error message")


class JudgedBug(NamedTuple):
    """A bug with its triage and its status.

    Rows of one signature on several targets of a library are one bug: that of the first row.
    """

    row: BugRow
    severity: Severity
    cluster: Cluster[BugRow]
    standing: BugHistory
    first: int  # the number of the row that it is on record under


def judged(store: Store, rows: Sequence[BugRow], across: bool = False) -> list[JudgedBug]:
    """Return these bugs with their assessments, the most urgent first.

    Clusters are of one target, or with `across` of all builds of a library.
    """
    library = libraries(store)
    groups: dict[str, list[BugRow]] = defaultdict(list)
    for row in rows:
        groups[library[row.target] if across else row.target].append(row)
    rules = {target: [documented(store, target)] for target in {row.target for row in rows}}
    turned, later = histories(store), store.later_rows()
    found = []
    for same in groups.values():
        for row, cluster in [(row, each) for each in clusters(same) for row in each.members]:
            first = later.get(row.id, row.id)
            standing = turned.get(first, BugHistory())
            how = severity(row, validity(row, rules[row.target]), standing.regression)
            found.append(JudgedBug(row, how, cluster, standing, first))
    return sorted(found, key=lambda each: order(each.row, each.severity))


def documented(store: Store, target: str) -> Rule:
    """Return a rule that finds the first documented constraint that a test case breaks.

    Arguments are unknown if prose says no more than a list of dtypes. The dispatcher has checked definitions and types
    before any kernel runs, so that every crash keeps to them.
    """
    params = {api.name: api.params for api in store.apis(target)}
    documentation = Documentation(store.constraints(target), params)

    def ruling(test: TestCase) -> DocumentationRuling | None:
        invocation = test.invocation
        found = list(documentation.said(invocation))
        said = min(found, key=lambda said: said.holds, default=None)
        if said is None:
            return None
        known, given = params.get(invocation.api, ()), len(invocation.args)
        names = [*known[:given], *(name for name, _ in invocation.kwargs)]
        names += ["further arguments"] * (given > len(known))
        constraints = (each.constraint for each in found)
        told = {each.argument for each in constraints if each.source in PROSE and each.kind != "dtypes"}
        untold = tuple(name for name in names if name not in told)
        return DocumentationRuling(said.holds, said.constraint.text, said.constraint.source, untold)

    return ruling


def case(store: Store, each: JudgedBug, baseline: Baseline | None = None, output: str = "") -> BugCase:
    """Return the case of a bug, with the versions that are on record with its target."""
    bug, target = each.row, store.target(each.row.target)
    others = [api for api in each.cluster.apis if api != bug.api]
    modes = modes_tried(store, bug, target.library)
    environment = environment_from_json(target.info.get(ENVIRONMENT)) or Environment()
    first_bad = came_with(store, each.first).version
    shown, clean = _other_versions(store, each.first, target.version)
    return BugCase(bug, target, each.severity, environment, modes, output, baseline, first_bad, others, shown, clean)


def modes_tried(store: Store, bug: BugRow, library: str) -> dict[str, str]:
    """Return all modes of a bug's library, each with whether it shows the bug, does not, or was not checked."""
    # The plain call first; of what differs between modes, it is the side that is taken to be right.
    modes = {"cpu": DOES_NOT if bug.oracle in COMPARED else NOT_CHECKED}
    modes |= dict.fromkeys(dialect_of(library).ways, NOT_CHECKED)
    # Documentation that rules a call out is no way to make the call: the plain call returns.
    shown_in = {"cpu" if mode == DOCUMENTED else mode for mode in store.modes_that_show(bug.id)}
    return modes | dict.fromkeys(sorted(shown_in), SHOWS)


def _other_versions(store: Store, bug: int, own: str) -> tuple[list[str], list[str]]:
    """Return versions besides its own on which a bug was checked or probed: those that show it, those that do not."""
    versions = {target.key: target.version for target in store.targets()}
    seen = {
        versions[check.target]: check.status == SHOWN for check in store.checks(bug) if check.status in (SHOWN, CLEAN)
    }
    probes = [probe for probe in store.probes(bug).values() if probe.status in (BAD, GOOD)]
    seen |= {probe.build.rpartition("==")[2]: probe.status == BAD for probe in probes}
    ordered = sorted((version for version in seen if version != own), key=release)
    return [each for each in ordered if seen[each]], [each for each in ordered if not seen[each]]


def keep_environment(store: Store, target: TargetRecord) -> Environment:
    """Return the versions of the target's record, or gather and record them; a failure is in its `problem`."""
    kept = environment_from_json(store.target(target.key).info.get(ENVIRONMENT))
    if kept is not None:
        return kept
    made = collect_env(target.python, target.library)
    if not made.problem:
        store.save_target(target._replace(info={**store.target(target.key).info, ENVIRONMENT: asdict(made)}))
    return made


def with_privacy(store: Store, rows: Sequence[BugRow], across: bool = False) -> list[JudgedBug]:
    """Return these bugs, each as private as all bugs on record make it: see `withheld`."""
    reasons = withheld(store.bugs())
    return [
        each._replace(severity=each.severity._replace(grade="private", reason=reasons[each.row.id]))
        if each.row.id in reasons
        else each
        for each in judged(store, rows, across)
    ]


def batch(found: Sequence[JudgedBug]) -> list[JudgedBug]:
    """Return the simplest unknown public bug of each cluster that has no report of its own.

    Such bugs are failures on input that is not known to be valid, and checks that are missing: see `goes_alone`.
    """
    alone = {
        each.cluster.first.id
        for each in found
        if each.row.status != FIXED and goes_alone(each.row, each.severity.validity)
    }
    fitting = [
        each
        for each in found
        if is_for_umbrella(each)
        and each.row.status not in (KNOWN, FIXED)
        and each.cluster.first.id not in alone
        and not each.severity.private
    ]
    place = {id(member): rank for each in fitting for rank, member in enumerate(each.cluster.members)}
    simplest: dict[int, JudgedBug] = {}
    for each in sorted(fitting, key=lambda each: place[id(each.row)]):
        simplest.setdefault(each.cluster.first.id, each)
    return list(simplest.values())


def is_for_umbrella(each: JudgedBug) -> bool:
    """Return whether a bug is a missing check, or a failure on input that is not known to be valid."""
    return lacks_check(each.row) or (kind_of(each.row.kind).fails and not is_valid(each))


def is_valid(each: JudgedBug) -> bool:
    """Return whether the input is known to be one that the library allows."""
    return each.severity.validity.status == "valid"


def match(store: Store, registry: Registry, bug: BugRow) -> KnownEntry | None:
    """Return the entry that a bug is known by."""
    target = store.target(bug.target)
    what = (bug.signature_text, bug.api, bug.oracle, bug.kind)
    return registry.match(RegistryQuery(*what, store.modes_that_show(bug.id), target.library, target.version))


def should_report(store: Store, registry: Registry, number: int, findings: int, new: bool) -> bool:
    """Return whether a bug of which findings were just settled is to be reported: a known bug is counted instead.

    A bug is reported if it is new, or if the entry that it was known by no longer matches.
    """
    bug = store.bug(number)
    entry = match(store, registry, bug)
    if entry is not None:
        store.count_known(entry.name, number, findings)
        return False
    if bug.status == KNOWN:
        store.reopen_bug(number)
        return True
    return new


def review_known(store: Store, registry: Registry, target: str | None = None) -> list[int]:
    """Hold all bugs (of one target) against the registry as it is now.

    Returns:
        Those that speak again.
    """
    speaking = []
    for bug in store.bugs(target):
        entry = match(store, registry, bug) if bug.status in (KNOWN, OPEN) else None
        if bug.status == OPEN and entry is not None:
            store.count_known(entry.name, bug.id, bug.findings)
        elif bug.status == KNOWN and entry is None:
            store.reopen_bug(bug.id)
            speaking.append(bug.id)
    return speaking
