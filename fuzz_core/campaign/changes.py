"""Changes between two builds of a library: apis, seeds, and those of them that the tests of a project call."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from fuzz_core.campaign.session import Session
from fuzz_core.collect.sources import Request, collect
from fuzz_core.ir.catalogue import ITSELF, Api
from fuzz_core.ir.errors import UserError
from fuzz_core.store.records import SeedRecord
from fuzz_core.store.store import Store

KINDS = ("added", "removed", "moved", "signature", "deprecated", "docstring")
_ADDRESS = re.compile(r"(?<= at )0x[0-9a-f]+")
OUT_OF_TIME = "no time was left for it; give --time more"
OTHER_PYTHON = "to trace with the packages of an environment of your own, name its interpreter: --from python:PATH"


class ApiChange(NamedTuple):
    """Change of an api: one of KINDS, with its definition (or name, or deprecated parts) before and after."""

    api: str
    kind: str
    before: str = ""
    after: str = ""


class SeedChanges(NamedTuple):
    """How many seeds of a source are the same, have another content, are new, and are no longer there."""

    source: str
    unchanged: int
    changed: int
    new: int
    gone: int


class Changes(NamedTuple):
    """Differences of `target` from `since`; empty keys if there is no build to compare with."""

    target: str = ""
    since: str = ""
    apis: tuple[ApiChange, ...] = ()
    seeds: tuple[SeedChanges, ...] = ()

    def of(self, *kinds: str) -> list[ApiChange]:
        """Return the changes of these kinds."""
        return [change for change in self.apis if change.kind in kinds]

    @property
    def gone(self) -> set[str]:
        """Names that no longer exist, or are no longer an api's own."""
        return {c.api for c in self.of("removed")} | {c.before for c in self.of("moved")}

    @property
    def signatures(self) -> set[str]:
        """Apis that take other arguments."""
        return {change.api for change in self.of("signature")}

    @property
    def changed_apis(self) -> set[str]:
        """Apis of the target that are new or changed."""
        return {change.api for change in self.apis if change.kind != "removed"}


def changes_between(store: Store, since: str, target: str) -> Changes:
    """Return the changes from one target on record to another."""
    apis = compare(store.apis(since), store.apis(target), store.deprecated(since), store.deprecated(target))
    return Changes(target, since, tuple(apis), tuple(compare_seeds(store.seeds(since), store.seeds(target))))


def compare(
    before: Iterable[Api],
    after: Iterable[Api],
    deprecated_before: Mapping[str, frozenset[str]],
    deprecated_after: Mapping[str, frozenset[str]],
) -> list[ApiChange]:
    """Return the changes of apis, in the order of KINDS and by name.

    `doc` of an api may be a digest.

    Args:
        deprecated_before: the deprecated parts of each api of the old build; an api is missing if they are unknown.
        deprecated_after: the same of the new build.
    """
    old, new = {api.name: api for api in before}, {api.name: api for api in after}
    canonical = {alias: api.name for api in new.values() for alias in api.aliases}
    left = [name for name in old if name not in new]
    moved = {name: canonical[name] for name in left if name in canonical}
    fresh = new.keys() - old.keys() - set(moved.values())
    changes = [ApiChange(name, "added", "", new[name].definition) for name in fresh]
    changes += [ApiChange(name, "removed", old[name].definition) for name in left if name not in moved]
    changes += [ApiChange(now, "moved", was, now) for was, now in moved.items()]
    for name in old.keys() & new.keys():
        first, second = old[name], new[name]
        # Definitions are compared without addresses, which differ in every process.
        was, now = (_ADDRESS.sub("0x", api.definition) for api in (first, second))
        if (was, first.kind, first.params) != (now, second.kind, second.params):
            changes.append(ApiChange(name, "signature", was, now))
        if first.doc != second.doc:
            changes.append(ApiChange(name, "docstring", first.doc, second.doc))
        lately = deprecated_after.get(name, frozenset()) - deprecated_before.get(name, frozenset())
        if name in deprecated_before and lately:
            said = ", ".join("itself" if each == ITSELF else each for each in sorted(lately))
            changes.append(ApiChange(name, "deprecated", "", said))
    return sorted(changes, key=lambda change: (KINDS.index(change.kind), change))


def compare_seeds(before: Sequence[SeedRecord], after: Sequence[SeedRecord]) -> list[SeedChanges]:
    """Return the changes of seeds by source.

    Equal content is the same seed; changed seeds are found by name.
    """
    found = []
    for source in sorted({seed.source for seed in (*before, *after)}):
        old, new = ({seed.digest: seed.name for seed in seeds if seed.source == source} for seeds in (before, after))
        names = {*old.values()} & {*new.values()}
        same = len(old.keys() & new.keys())
        changed = sum(name in names for digest, name in new.items() if digest not in old)
        gone = sum(name not in names for digest, name in old.items() if digest not in new)
        found.append(SeedChanges(source, same, changed, len(new) - same - changed, gone))
    return found


class Untraced(NamedTuple):
    """A file with tests that did not run to their end, and the reason of the first."""

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
    """The tests of a project that ran, and the calls that they bring."""

    files: int  # files that ran
    tests: int  # tests that ran
    calls: frozenset[int]  # numbers of the invocations that the tests bring
    untraced: Sequence[Untraced]  # tests that did not run


def own_tests(session: Session, folders: Sequence[Path]) -> OwnTests:
    """Return the records of the test files in these folders, as the files are now.

    Raises:
        UserError: the files bring no call that the target accepts; the error has the reason of each file.
    """
    store, target = session.store, session.target
    problems: list[tuple[str, str]] = []
    request = Request(target.library, tests_dirs=folders, problems=problems)
    seeds = {seed.digest: seed.name for seed in collect(request, ["tests"])}
    records = [record for record in store.seeds(target.key) if record.digest in seeds]
    calls = store.invocations_of(target.key, seeds) & {row.id for row in store.bodies(target.key) if row.valid}
    untraced = [Untraced(name, 0, 0, reason) for name, reason in problems]
    untraced += untraced_seeds(store, target.key, seeds)
    if not calls:
        reasons = "; ".join(f"{each.file}: {each.reason}" for each in untraced)
        said = reasons or f"{target.key} accepts none of their calls"
        missing = any("ModuleNotFoundError" in each.reason for each in untraced)
        remedy = OTHER_PYTHON if missing else f"name a directory of tests that call {target.library}: --tests DIR"
        raise UserError(f"the tests in {', '.join(map(str, folders))} contain no call to compare: {said}", remedy)
    ran = [count for r in records if (count := r.statements - r.statements_failed) > 0]
    return OwnTests(len(ran), sum(ran), frozenset(calls), untraced)


def untraced_seeds(store: Store, target: str, seeds: Mapping[str, str]) -> list[Untraced]:
    """Return the seeds (name by digest) that a target did not run to their end, those without a record last."""
    records = [record for record in store.seeds(target) if record.digest in seeds]
    known = {record.digest for record in records}
    failed = [Untraced(r.name, r.statements, r.statements_failed, r.reason) for r in records if r.status != "ok"]
    return failed + [Untraced(name, 0, 0, OUT_OF_TIME) for digest, name in seeds.items() if digest not in known]


def dropped_apis(store: Store, target: str, baseline: str, calls: Collection[int]) -> list[Dropped]:
    """Return apis of these calls that are gone in `target`, then those newly deprecated."""
    numbers: dict[str, list[int]] = {}
    for row in store.bodies(baseline):
        if row.id in calls:
            numbers.setdefault(row.api, []).append(row.id)
    changes = changes_between(store, baseline, target)
    found = [each for kind in ("removed", "deprecated") for each in changes.of(kind) if each.api in numbers]
    return [
        Dropped(change.kind, change.api, change.after, _names(store, baseline, numbers[change.api])) for change in found
    ]


def _names(store: Store, target: str, numbers: Sequence[int]) -> list[str]:
    return sorted({name for number in numbers for name in store.seeds_of(number, target)})
