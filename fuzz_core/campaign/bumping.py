"""The tests of a project that depends on the library: what of them the old build has run, and what they call."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from fuzz_core.campaign.changed import changes_between
from fuzz_core.campaign.session import Session
from fuzz_core.collect.seed import Request
from fuzz_core.collect.sources import collect
from fuzz_core.ir.errors import UserError
from fuzz_core.store.store import Store

OUT_OF_TIME = "no time was left for it; give --time more"
OTHER_PYTHON = "to trace with the packages of an environment of your own, name its interpreter: --from python:PATH"


class Untraced(NamedTuple):
    """A file of which some tests (all, where they are as many) did not run to their end, and why the first did not."""

    file: str
    tests: int
    failed: int
    reason: str


class Dropped(NamedTuple):
    """An api that tests call and that the new build removes or calls deprecated: kind, what it says, which tests."""

    kind: str
    api: str
    said: str
    seeds: list[str]


@dataclass(frozen=True)
class OwnTests:
    """files, tests: that ran. calls: numbers of the invocations that they bring. untraced: what did not run."""

    files: int
    tests: int
    calls: frozenset[int]
    untraced: Sequence[Untraced]


def own_tests(session: Session, folders: Sequence[Path]) -> OwnTests:
    """What is on record of the test files in these folders, as they are now.

    Raises UserError where they bring no call that the target accepts, with the reason of each file.
    """
    problems: list[tuple[str, str]] = []
    request = Request(session.target.library, tests_dirs=folders, problems=problems)
    seeds = {seed.digest: seed.name for seed in collect(request, ["tests"])}
    known = {record.digest: record for record in session.store.seeds(session.target.key)}
    records = [known[digest] for digest in seeds if digest in known]
    accepted = {row.id for row in session.store.bodies(session.target.key) if row.valid}
    calls = session.store.brought(session.target.key, seeds) & accepted
    untraced = [
        *(Untraced(name, 0, 0, reason) for name, reason in problems),
        *(Untraced(r.name, r.statements, r.statements_failed, r.reason) for r in records if r.status != "ok"),
        *(Untraced(name, 0, 0, OUT_OF_TIME) for digest, name in seeds.items() if digest not in known),
    ]
    ran = [record for record in records if record.statements > record.statements_failed]
    if not calls:
        reasons = "; ".join(f"{each.file}: {each.reason}" for each in untraced)
        said = reasons or f"they make no call that {session.target.key} accepts"
        raise UserError(f"nothing to compare from these tests: {said}", _remedy(untraced))
    return OwnTests(len(ran), sum(r.statements - r.statements_failed for r in ran), frozenset(calls), untraced)


def dropped_apis(store: Store, target: str, baseline: str, calls: Collection[int]) -> list[Dropped]:
    """Apis of these calls that are gone in `target`, then those newly deprecated."""
    numbers: dict[str, list[int]] = {}
    for row in store.bodies(baseline):
        if row.id in calls:
            numbers.setdefault(row.api, []).append(row.id)
    changes = changes_between(store, baseline, target)
    return [
        Dropped(change.kind, change.api, change.after, _names(store, numbers[change.api]))
        for kind in ("removed", "deprecated")
        for change in changes.of(kind)
        if change.api in numbers
    ]


def _names(store: Store, numbers: Sequence[int]) -> list[str]:
    return sorted({name for number in numbers for name in store.seeds_of(number)})


def _remedy(untraced: Sequence[Untraced]) -> str:
    missing = any("ModuleNotFoundError" in each.reason for each in untraced)
    return OTHER_PYTHON if missing else "name the directory of tests that use the library: --tests DIR"
