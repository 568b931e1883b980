"""A bug with what triage says of it: severity, cluster, and where it stands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from fuzz_core.campaign.standing import Standing, standings
from fuzz_core.ir.constraints import Constraint, Documentation, Said
from fuzz_core.ir.values import Invocation, TestCase
from fuzz_core.store.records import BugRow
from fuzz_core.store.store import Store
from fuzz_core.triage.assess import Rule, Ruling, Severity, order, severity, validity
from fuzz_core.triage.cluster import Cluster, clusters

PROSE = ("docstring", "error message")


class Judged(NamedTuple):
    """A bug with what triage says of it, and where it stands. first: the number of the row that it is on record under.

    Rows of one signature on several targets of a library are one bug: that of the first.
    """

    row: BugRow
    severity: Severity
    cluster: Cluster[BugRow]
    standing: Standing
    first: int


def judged(store: Store, rows: Sequence[BugRow], across: bool = False) -> list[Judged]:
    """These bugs, the most urgent first; clusters are of one target, or `across` all builds of a library."""
    library = {target.key: target.library for target in store.targets()}
    groups: dict[str, list[BugRow]] = defaultdict(list)
    for row in rows:
        groups[library[row.target] if across else row.target].append(row)
    rules = {target: [documented(store, target)] for target in {row.target for row in rows}}
    turned, later = standings(store), store.later_rows()
    found = []
    for same in groups.values():
        for row, cluster in [(row, each) for each in clusters(same) for row in each.members]:
            first = later.get(row.id, row.id)
            standing = turned.get(first, Standing())
            how = severity(row, validity(row, rules[row.target]), standing.regression)
            found.append(Judged(row, how, cluster, standing, first))
    return sorted(found, key=lambda each: order(each.row, each.severity))


def documented(store: Store, target: str) -> Rule:
    """What the documentation on record says of a test case: what it breaks first."""
    params = {api.name: api.params for api in store.apis(target)}
    documentation = Documentation(store.constraints(target), params)

    def ruling(test: TestCase) -> Ruling | None:
        found = list(documentation.said(test.invocation))
        said = min(found, key=lambda said: said.holds, default=None)
        if said is None:
            return None
        untold = _untold(test.invocation, params.get(test.invocation.api, ()), found)
        return Ruling(said.holds, said.constraint.text, said.constraint.source, untold)

    return ruling


def _untold(invocation: Invocation, params: Sequence[str], found: Sequence[Said]) -> tuple[str, ...]:
    """The arguments of which prose says no more than a list of dtypes.

    What definitions and types say, the dispatcher has checked before any kernel runs: every crash of one keeps to it.
    """
    names = [*params[: len(invocation.args)], *(name for name, _ in invocation.kwargs)]
    beyond = ["further arguments"] * (len(invocation.args) > len(params))
    told = {said.constraint.argument for said in found if _tells(said.constraint)}
    return tuple(name for name in [*names, *beyond] if name not in told)


def _tells(constraint: Constraint) -> bool:
    return constraint.source in PROSE and constraint.kind != "dtypes"
