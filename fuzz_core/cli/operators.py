"""What `nightfuzz gandalf` does."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.console import Console

from fuzz_core.campaign.gandalf.engine import sides_of
from fuzz_core.campaign.gandalf.ordering import order_of
from fuzz_core.campaign.gandalf.verifying import Verified, comparable, verified
from fuzz_core.cli.boundary import BUGS, INTERRUPTED
from fuzz_core.cli.config import Settings
from fuzz_core.cli.display import table
from fuzz_core.cli.sides import sessions_of
from fuzz_core.ir.errors import UserError
from fuzz_core.modelgen.gandalf.table import LIBRARIES, Operator, load


def operators_command(console: Console, as_json: bool) -> int:
    """Lists them by family."""
    every = sorted(load().values(), key=lambda each: (each.family, each.name))
    if as_json:
        console.print_json(json.dumps([each.model_dump(mode="json") for each in every]))
    else:
        rows: list[list[object]] = [
            [each.family, each.name, *(_told(each, library) for library in LIBRARIES)] for each in every
        ]
        table(console, ["family", "operator", *LIBRARIES], rows)
    return 0


def _told(operator: Operator, library: str) -> str:
    for said, why in (("wrong", operator.wrong), ("not there", operator.excluded), ("single", operator.single)):
        for each, reason in why.items():
            if each == library:
                return f"{said}: {reason}"
    return "yes"


def verify_command(settings: Settings, console: Console, names: Sequence[str], draws: int, as_json: bool) -> int:
    """Lists what libraries do not agree on, or do not take. Raises UserError for an operator that there is not."""
    for name in names:
        _check(name)
    seed = settings.seed or 0
    with sessions_of(settings, console, as_json) as sessions, sides_of(sessions, load(), seed) as sides:
        operators, first = comparable(sides, names), next(iter(sessions.values()))
        if left_out := sorted(set(names) - {each.name for each in operators}):
            problem = f"not to be compared: {', '.join(left_out)}"
            raise UserError(problem, "a library lacks it or is known to do it wrong: see `nightfuzz gandalf operators`")
        first.watch.phase("verifying operators", len(operators))
        found: list[Verified] = []
        for number, operator in enumerate(operators):
            if first.stopped():
                break
            first.watch.advance(number, verified=len(found), complaints=sum(bool(each.complaints) for each in found))
            found += verified(sides, operator, draws, seed)
        stopped = first.stopped()
    wrong = _tell(console, found, as_json)
    return INTERRUPTED if stopped else BUGS if wrong else 0


def _tell(console: Console, found: Sequence[Verified], as_json: bool) -> int:
    """Lists the complaints; how many there are."""
    columns = ("operator", "data", "seed", "library", "says")
    rows: list[list[object]] = [
        [each.operator, each.kind, each.seed, *said] for each in found for said in each.complaints.items()
    ]
    operators = len({each.operator for each in found})
    if as_json:
        told = [dict(zip(columns, row, strict=True)) for row in rows]
        console.print_json(json.dumps({"operators": operators, "verified": len(found), "complaints": told}))
    else:
        table(console, list(columns), rows)
        console.print(f"{operators} operators, {len(found):,} draws of data, {len(rows)} complaints")
    return len(rows)


def order_command(settings: Settings, console: Console, name: str | None, as_json: bool) -> int:
    """Lists the pairs, those that are seen most often first. Raises UserError for an operator that there is not."""
    found = order_of(load(), LIBRARIES, settings.models)
    if name is not None:
        _check(name)
    pairs = [
        (before, after, seen.times, seen.programs)
        for before, followers in found.mined.items()
        for after, seen in followers.items()
        if name in (None, before)
    ]
    rows = sorted(pairs, key=lambda pair: (-pair[2], pair[0], pair[1]))
    if as_json:
        columns = ("operator", "followed by", "times", "programs")
        console.print_json(json.dumps([dict(zip(columns, row, strict=True)) for row in rows]))
    else:
        shown = [[before, after, times, _first(programs)] for before, after, times, programs in rows]
        table(console, ["operator", "followed by", "times", "programs"], shown)
    return 0


def _check(name: str) -> None:
    if name not in load():
        raise UserError(f"no operator {name!r}", "`nightfuzz gandalf operators` lists them")


def _first(programs: Sequence[str]) -> str:
    rest = len(programs) - 3
    return ", ".join(programs[:3]) + (f" and {rest} more" if rest > 0 else "")
