"""The builds that a state has seen, and on which of them bugs turned up, went and came back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

from fuzz_core.campaign.standing import ordered, standings
from fuzz_core.store.checks import BuildRow
from fuzz_core.store.store import Store
from fuzz_core.triage.recheck import FIXED, REGRESSED


class Build(NamedTuple):
    """A build with what was done there. day: when it was built or uploaded, ISO, and commit; both empty where unknown.

    fixed, regressed: bugs that were first clean there for good, and fixed ones that it shows again.
    """

    row: BuildRow
    day: str
    commit: str
    fixed: tuple[int, ...]
    regressed: tuple[int, ...]

    @property
    def date(self) -> str:
        """The day of the build, or else the one on which it became a target."""
        return self.day or self.row.made_at[:10]

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON data."""
        more = {"day": self.day or None, "commit": self.commit or None}
        return {**self.row._asdict(), **more, "fixed": list(self.fixed), "regressed": list(self.regressed)}


def history(store: Store) -> list[Build]:
    """All builds, library by library, in the order of `ordered`."""
    turns: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, standing in standings(store).items():
        for event in standing.past:
            turns[event.build, event.kind].append(number)
    rows = {row.target: row for row in store.builds()}
    targets = store.targets()
    in_order = [each for name in sorted({each.library for each in targets}) for each in ordered(targets, name)]
    return [
        Build(
            rows[each.key],
            *origin_of(each.info),
            tuple(turns[each.key, FIXED]),
            tuple(turns[each.key, REGRESSED]),
        )
        for each in in_order
    ]


def origin_of(info: Mapping[str, Any]) -> tuple[str, str]:
    """The day and the commit of a build, as its record says; empty where it does not."""
    origin = info.get("origin")
    told = origin if isinstance(origin, Mapping) else {}
    return str(told.get("day") or ""), str(told.get("commit") or info.get("commit") or "")
