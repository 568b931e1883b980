"""Which apis a run is about: those of changed seeds, and of these one shard's share."""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from fuzz_core.campaign.fuzzing import chosen
from fuzz_core.campaign.session import Session
from fuzz_core.ir.errors import UserError
from fuzz_core.store.store import Store


class Shard(NamedTuple):
    """One of several runs that share the work: `number` counts from 1."""

    number: int
    of: int


def parse_shard(text: str) -> Shard:
    """The shard that a text such as `2/4` means. Raises UserError for any other."""
    number, _, of = text.partition("/")
    if number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of) <= 256:
        return Shard(int(number), int(of))
    raise UserError(f"{text!r} is no shard", "write 1/4 for the first of four; there may be 256")


def portion(
    session: Session, patterns: Sequence[str], shard: Shard | None, known: Collection[str] | None = None
) -> list[str]:
    """The apis to fuzz of those that match. known: digests of seeds that are not new; None where that is not asked.

    All shards of a state get the same division, in which each costs about as much.
    """
    rows = chosen(session, patterns)
    if known is not None:
        fresh = session.store.traced(session.target.key) - set(known)
        brought = session.store.brought(session.target.key, fresh)
        rows = [row for row in rows if row.id in brought]
    apis = sorted({row.api for row in rows})
    if shard is None:
        return apis
    return divided(apis, costs(session.store, session.target.library), shard.of)[shard.number - 1]


def seeds_on_record(store: Store, library: str) -> set[str]:
    """Digests of all seeds that were traced on any build of the library."""
    builds = [target.key for target in store.targets() if target.library == library]
    return {digest for build in builds for digest in store.traced(build)}


def costs(store: Store, library: str) -> dict[str, float]:
    """Microseconds per test of each api, as the latest runs on any build of the library have measured them."""
    of_library = {target.key for target in store.targets() if target.library == library}
    found: dict[str, float] = {}
    for run in store.runs():
        if run.target in of_library:
            measured = run.summary.get("costs")
            found.update(measured if isinstance(measured, dict) else {})
    return {api: float(cost) for api, cost in found.items() if isinstance(cost, int | float) and 0 < cost < math.inf}


def divided(apis: Sequence[str], costs: Mapping[str, float], count: int) -> list[list[str]]:
    """The dearest first, each to whoever has least (Graham's LPT rule); of unknown cost: the median."""
    usual = median(costs.values()) if costs else 1.0
    loads: list[tuple[float, int]] = [(0.0, number) for number in range(count)]
    shares: list[list[str]] = [[] for _ in range(count)]
    for api in sorted(apis, key=lambda api: (-costs.get(api, usual), api)):
        load, number = heapq.heappop(loads)
        shares[number].append(api)
        heapq.heappush(loads, (load + costs.get(api, usual), number))
    return [sorted(share) for share in shares]
