"""Where a bug stands: open, fixed or back, out of its checks on the builds of its library."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from packaging.version import InvalidVersion, Version

from fuzz_core.store.checks import FIXED as FIXED_STATUS
from fuzz_core.store.known import OPEN
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.store import Store
from fuzz_core.triage.recheck import CLEAN, FIXED, Event, Mark, events


class Standing(NamedTuple):
    """The turns that a bug has taken; none: it is as it was found.

    clean_before: the last build before the one where it was found, of those it was run on, if it is clean there.
    """

    past: tuple[Event, ...] = ()
    clean_before: str = ""

    @property
    def status(self) -> str:
        """`fixed` or `open`."""
        return FIXED_STATUS if self.past and self.past[-1].kind == FIXED else OPEN

    @property
    def regression(self) -> bool:
        """Whether it was fixed and is back, or was not there before."""
        return bool(self.past or self.clean_before) and self.status == OPEN

    @property
    def build(self) -> str:
        """The build of the last turn: the first clean one, or the one that shows it again; empty without any."""
        return self.past[-1].build if self.past else ""


def ordered(targets: Iterable[TargetRecord], library: str) -> list[TargetRecord]:
    """The builds of a library, the oldest first: by version, then in the order in which they were made.

    Local labels (`+cpu`) tell flavours and checkouts apart, not what came later. A version that is none comes first.
    """
    return sorted((each for each in targets if each.library == library), key=_place)


def _place(target: TargetRecord) -> tuple[Version, str, str]:
    try:
        version = Version(Version(target.version).public)
    except InvalidVersion:
        version = Version("0.dev0")
    return version, target.made_at, target.key


class Lives:
    """All checks on record, with the order of builds that they are read in."""

    def __init__(self, store: Store) -> None:
        targets = store.targets()
        self.library = {target.key: target.library for target in targets}
        self.order = {name: [each.key for each in ordered(targets, name)] for name in set(self.library.values())}
        self.marks: dict[int, list[Mark]] = defaultdict(list)
        self.found: dict[int, str] = {}
        for check in store.checks():
            self.marks[check.bug].append(Mark(check.target, check.status))
            self.found[check.bug] = check.found

    def standing(self, bug: int, found: str, more: Sequence[Mark] = ()) -> Standing:
        """Where a bug stands that was found on this target, as if it had `more` checks."""
        marks = [*self.marks.get(bug, ()), *more]
        order = self.order[self.library[found]]
        newest = {mark.build: mark.status for mark in marks}
        earlier = [build for build in order[: order.index(found)] if build in newest]
        clean = earlier[-1] if earlier and newest[earlier[-1]] == CLEAN else ""
        return Standing(events(found, order, marks), clean)


def standings(store: Store) -> dict[int, Standing]:
    """Bugs that have checks, by number, with where they stand."""
    lives = Lives(store)
    return {number: lives.standing(number, found) for number, found in sorted(lives.found.items())}


def review_standings(store: Store) -> list[int]:
    """Brings the status of every bug up to its checks. Returns those that have come back with this."""
    back = []
    for number, standing in standings(store).items():
        before = store.bug(number).status
        if before in (OPEN, FIXED_STATUS) and before != standing.status:
            store.set_standing(number, standing.status)
            if standing.regression:
                back.append(number)
    return back
