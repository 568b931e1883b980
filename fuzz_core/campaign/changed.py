"""What is not the same in two builds of a library: apis by what happened to them, seeds by source."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.notices import ITSELF
from fuzz_core.ir.rng import derive
from fuzz_core.store.records import SeedRecord
from fuzz_core.store.store import Store

KINDS = ("added", "removed", "moved", "signature", "deprecated", "docstring")
# Of every api, so many of the invocations carried over are re-run, and this share where that is more.
SAMPLE = 3
SAMPLE_SHARE = 0.05
# From this share on, what the sample shows to be no longer valid makes all of the api doubtful.
DOUBTFUL_SHARE = 0.25
_ADDRESS = re.compile(r"(?<= at )0x[0-9a-f]+")


class ApiChange(NamedTuple):
    """What happened to an api: one of KINDS, with its definition (or name, or what is deprecated) before and after."""

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
    """All that is not the same in `target` as in `since`; empty keys where there is nothing to compare with."""

    target: str = ""
    since: str = ""
    apis: tuple[ApiChange, ...] = ()
    seeds: tuple[SeedChanges, ...] = ()

    def of(self, *kinds: str) -> list[ApiChange]:
        """The changes of these kinds."""
        return [change for change in self.apis if change.kind in kinds]

    @property
    def gone(self) -> set[str]:
        """Names that mean nothing any more, or are no longer an api's own."""
        return {c.api for c in self.of("removed")} | {c.before for c in self.of("moved")}

    @property
    def signatures(self) -> set[str]:
        """Apis that take other arguments."""
        return {change.api for change in self.of("signature")}

    @property
    def stirred(self) -> set[str]:
        """Apis of the target that are new, or of which anything is another."""
        return {change.api for change in self.apis if change.kind != "removed"}


def changes_between(store: Store, since: str, target: str) -> Changes:
    """The changes from one target on record to another."""
    apis = compare(store.apis(since), store.apis(target), store.deprecated(since), store.deprecated(target))
    return Changes(target, since, tuple(apis), tuple(compare_seeds(store.seeds(since), store.seeds(target))))


def compare(
    before: Iterable[Api],
    after: Iterable[Api],
    deprecated_before: Mapping[str, frozenset[str]],
    deprecated_after: Mapping[str, frozenset[str]],
) -> list[ApiChange]:
    """The changes of apis, in the order of KINDS and by name. `doc` of an api may be a digest.

    deprecated_before, deprecated_after: by api, what is deprecated of it; where an api is missing that is not known.
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
        changes += _within(old[name], new[name])
        if name in deprecated_before and (lately := deprecated_after.get(name, frozenset()) - deprecated_before[name]):
            changes.append(ApiChange(name, "deprecated", "", _spelled(lately)))
    return sorted(changes, key=lambda change: (KINDS.index(change.kind), change))


def _within(old: Api, new: Api) -> list[ApiChange]:
    found = []
    if (_signature(old)) != _signature(new):
        found.append(ApiChange(new.name, "signature", _plain(old), _plain(new)))
    if old.doc != new.doc:
        found.append(ApiChange(new.name, "docstring", old.doc, new.doc))
    return found


def _signature(api: Api) -> tuple[str, tuple[str, ...], str]:
    return api.kind, api.params, _plain(api)


def _plain(api: Api) -> str:
    """The definition without addresses, which are others in every process."""
    return _ADDRESS.sub("0x", api.definition)


def _spelled(deprecated: Iterable[str]) -> str:
    return ", ".join("itself" if name == ITSELF else name for name in sorted(deprecated))


def compare_seeds(before: Sequence[SeedRecord], after: Sequence[SeedRecord]) -> list[SeedChanges]:
    """The changes of seeds by source. A seed is the same by its content; one of another content changed by its name."""
    found = []
    for source in sorted({seed.source for seed in (*before, *after)}):
        old = {seed.digest: seed.name for seed in before if seed.source == source}
        new = {seed.digest: seed.name for seed in after if seed.source == source}
        old_names, new_names = set(old.values()), set(new.values())
        fresh = Counter(name in old_names for digest, name in new.items() if digest not in old)
        gone = sum(name not in new_names for digest, name in old.items() if digest not in new)
        found.append(SeedChanges(source, len(old.keys() & new.keys()), fresh[True], fresh[False], gone))
    return found


def sample(invocations: Mapping[str, Sequence[int]], seed: object) -> list[int]:
    """Of the invocations of every api (ids), those to run again: three or a twentieth, drawn by the seed."""
    chosen: list[int] = []
    for api, numbers in sorted(invocations.items()):
        count = max(SAMPLE, round(len(numbers) * SAMPLE_SHARE))
        # By place, not by id: the same in a state of which another target was traced first.
        places = sorted(range(len(numbers)), key=lambda place: derive(seed, api, place))
        chosen += sorted(numbers[place] for place in places[:count])
    return chosen


def doubtful(rechecked: Counter[str], lost: Counter[str]) -> list[str]:
    """Apis of whose sample (re-run, and no longer valid, by api) a large share is lost."""
    return sorted(api for api, count in lost.items() if count >= DOUBTFUL_SHARE * rechecked[api])
