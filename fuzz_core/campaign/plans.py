"""Which invocations a run is about, and the plan file for its workers."""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from fuzz_core.campaign.patterns import asked_apis
from fuzz_core.campaign.session import Session
from fuzz_core.execution.scratch import explained
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.codec import encode
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.signatures import NEIGHBOUR, SEARCH
from fuzz_core.mutation.registry import STRIDED_ONLY
from fuzz_core.oracles.contract import ORACLES
from fuzz_core.store.records import UndecodedInvocation
from fuzz_core.store.similarity import similarity
from fuzz_core.store.store import Store
from fuzz_core.worker.plan import Header, bases_of, write_plan

# The argument value space of a plan whose test cases are not mutated.
NO_SPACE: Mapping[str, Any] = {"values": {}, "apis": [], "tensors": {}}
# Apis that an error names at most.
NAMED = 5


def make_plan(
    session: Session,
    path: Path,
    rows: Iterable[UndecodedInvocation],
    *,
    seed: int,
    oracles: Sequence[str] = ("crash",),
    disabled: Sequence[str] = (),
    space: Mapping[str, Any] | None = None,
    alike: bool = True,
    few: bool = True,
    devices: bool = False,
) -> None:
    """Write the plan for these invocations.

    Args:
        space: the argument value space; None to read it from the state.
        alike: False leaves the similarities of apis out.
        few: see `worker.plan.Header`.
        devices: see `worker.plan.Header`.
    """
    store, target = session.store, session.target.key
    params = {api.name: list(api.params) for api in store.apis(target)}
    space = value_space(session) if space is None else space
    similar: Iterable[Any] = similarity(store, target) if alike and space is not NO_SPACE else ()
    off = sorted({*disabled, *(() if session.dialect.strided else STRIDED_ONLY)})
    documented = list(store.constraints(target)) if "bounds" in oracles else []
    rows = list(rows)
    calls: defaultdict[str, list[UndecodedInvocation]] = defaultdict(list)
    for row in rows:
        calls[row.api].append(row)
    header = Header(
        session.target.library,
        seed,
        list(oracles),
        off,
        params,
        dict(space),
        documented,
        few,
        devices,
        {api: _bases(found) for api, found in calls.items()},
        {name: encode(form) for name, form in session.dialect.forms.items()},
    )
    with explained(path.parent):
        write_plan(path, header, ((row.id, row.api, row.body) for row in rows), similar)


def value_space(session: Session) -> dict[str, Any]:
    """Return the argument value space. To read that of 200,000 calls takes 7 s."""
    store, target = session.store, session.target.key
    apis = sorted(api.name for api in store.apis(target))
    return {"values": store.argument_space(target), "apis": apis, "tensors": store.tensor_space(target)}


def _bases(calls: Sequence[UndecodedInvocation]) -> list[int]:
    """Return the places of the calls of an api that the sweep changes; no call that the library refuses."""
    accepted = [place for place, row in enumerate(calls) if row.expected != "exception"]
    return [accepted[place] for place in bases_of([(len(calls[place].body), calls[place].shown) for place in accepted])]


def make_replay_plan(session: Session, path: Path) -> None:
    """Write a plan without invocations, for workers that are given test cases and judge them by all oracles."""
    make_plan(session, path, (), seed=0, oracles=tuple(ORACLES), space=NO_SPACE)


class Shard(NamedTuple):
    """Shard of a run: several runs share the work; `number` counts from 1."""

    number: int
    of: int


def parse_shard(text: str) -> Shard:
    """Return the shard that a text such as `2/4` means.

    Raises:
        UserError: any other text.
    """
    number, _, of = text.partition("/")
    if number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of) <= 256:
        return Shard(int(number), int(of))
    raise UserError(f"--shard {text!r} is not a shard", "write 1/4 for the first of four shards; at most 256 shards")


def apis_to_fuzz(session: Session, patterns: Sequence[str], shard: Shard | None) -> list[str]:
    """Return the apis to fuzz of those that match.

    All shards of a state get the same division, in which each costs about as much.
    """
    apis = sorted({row.api for row in chosen(session, patterns)})
    if shard is None:
        return apis
    return divided(apis, costs(session.store, session.target.library), shard.of)[shard.number - 1]


def seeds_on_record(store: Store, library: str) -> set[str]:
    """Return digests of all seeds that were traced on any build of the library."""
    builds = [target.key for target in store.targets() if target.library == library]
    return {digest for build in builds for digest in store.traced(build)}


def costs(store: Store, library: str) -> dict[str, float]:
    """Return microseconds per test of each api, as the latest runs on any build of the library have measured them."""
    of_library = {target.key for target in store.targets() if target.library == library}
    found: dict[str, Any] = {}
    for run in store.runs():
        measured = run.summary.get("costs")
        if run.target in of_library and isinstance(measured, dict):
            found |= measured
    return {api: float(cost) for api, cost in found.items() if isinstance(cost, int | float) and 0 < cost < math.inf}


def divided(apis: Sequence[str], costs: Mapping[str, float], count: int) -> list[list[str]]:
    """Return the apis of each shard: the dearest api goes first, each to the cheapest shard (Graham's LPT rule).

    An api of unknown cost counts with the median.
    """
    usual = median(costs.values()) if costs else 1.0
    loads: list[tuple[float, int]] = [(0.0, number) for number in range(count)]
    shares: list[list[str]] = [[] for _ in range(count)]
    for api in sorted(apis, key=lambda api: (-costs.get(api, usual), api)):
        load, number = heapq.heappop(loads)
        shares[number].append(api)
        heapq.heappush(loads, (load + costs.get(api, usual), number))
    return [sorted(share) for share in shares]


def chosen(session: Session, patterns: Sequence[str], search: bool = True) -> list[UndecodedInvocation]:
    """Return valid invocations, and the developers' error inputs as starting points, of the apis that match.

    An error input that kills its process is no starting point: most mutants of it would die as well.

    Args:
        search: whether apis are among them that no seed calls: all their calls come from a search or from neighbours.

    Raises:
        UserError: there are none; further as `asked_apis` does.
    """
    bodies = session.store.bodies(session.target.key)
    rows = [r for r in bodies if r.valid or (r.expected == "exception" and r.outcome_kind != "signal")]
    if not search:
        coverage = session.store.coverage(session.target.key)
        synthetic = {each.api for each in coverage if each.sources and each.sources.keys() <= {NEIGHBOUR, SEARCH}}
        rows = [row for row in rows if row.api not in synthetic]
    if not rows:
        raise UserError(
            f"the state has no recorded call that {session.target.key} accepts, so fuzz has no call to change",
            f"run `nightfuzz trace --target {session.target.key}` first",
        )
    if not patterns:
        return rows
    listed = session.store.apis(session.target.key)
    names = asked_apis([*listed, *(Api(row.api, "") for row in rows)], patterns)
    found = [row for row in rows if row.api in names]
    if not found:
        asked = ", ".join(f"`{name}`" for name in sorted(names)[:NAMED])
        raise UserError(
            f"the state has no recorded call of {asked} that {session.target.key} accepts",
            "trace tests that call these apis (`nightfuzz trace --tests DIR`), "
            f"or fuzz all {len(rows)} calls without --api",
        )
    return found
