"""`nightfuzz gandalf`: the operators of models that several libraries compute."""

from __future__ import annotations

from fuzz_core.campaign.gandalf import verify as fuzz
from fuzz_core.campaign.gandalf.engine import order_of
from fuzz_core.campaign.gandalf.sides import sides_of
from fuzz_core.cli.errors import BUGS, INTERRUPTED
from fuzz_core.cli.output import CommandOutput, Report, TextTable
from fuzz_core.cli.session import sessions_of
from fuzz_core.cli.settings import Settings
from fuzz_core.ir.errors import UserError
from fuzz_core.modelgen.gandalf.table import LIBRARIES, Library, Operator, load


def operators(settings: Settings, output: CommandOutput) -> Report:
    """List operators by family."""
    every = sorted(load().values(), key=lambda each: (each.family, each.name))
    rows = [[each.family, each.name, *(_said(each, library) for library in LIBRARIES)] for each in every]
    data = [each.model_dump(mode="json") for each in every]
    return Report(data, [TextTable(["family", "operator", *LIBRARIES], rows)])


def _said(operator: Operator, library: Library) -> str:
    words_and_reasons = {
        "wrong": operator.wrong,
        "loses precision": operator.loses,
        "missing": operator.excluded,
        "float32 only": operator.single,
    }
    for words, why in words_and_reasons.items():
        if library in why:
            return f"{words}: {why[library]}"
    return "yes"


def verify(settings: Settings, output: CommandOutput, names: list[str], draws: int) -> Report:
    """List what libraries do not agree on, or do not take.

    Raises:
        UserError: an operator that there is not.
    """
    for name in names:
        _check(name)
    seed = settings.seed or 0
    with sessions_of(settings, output) as sessions, sides_of(sessions, load(), seed) as sides:
        chosen, first = fuzz.comparable(sides, names), next(iter(sessions.values()))
        if left_out := sorted(set(names) - {each.name for each in chosen}):
            problem = f"these operators cannot be compared: {', '.join(left_out)}"
            raise UserError(
                problem,
                "leave these operators out; `nightfuzz gandalf operators` names each library that lacks an operator "
                "or has a fault in an operator",
            )
        first.watch.phase("verifying operators", len(chosen))
        found: list[fuzz.Draw] = []
        for number, operator in enumerate(chosen):
            if first.stopped():
                break
            first.watch.advance(number, verified=len(found), complaints=sum(bool(each.complaints) for each in found))
            found += fuzz.verify(sides, operator, draws, seed)
        stopped = first.stopped()
    columns = ("operator", "data", "seed", "library", "says")
    rows = [[each.operator, each.kind, each.seed, *words] for each in found for words in each.complaints.items()]
    seen = len({each.operator for each in found})
    complaints = [dict(zip(columns, row, strict=True)) for row in rows]
    return Report(
        {"operators": seen, "verified": len(found), "complaints": complaints},
        [TextTable(columns, rows), f"{seen} operators, {len(found):,} inputs, {len(rows)} problems"],
        INTERRUPTED if stopped else BUGS if rows else 0,
    )


def order(settings: Settings, output: CommandOutput, name: str | None) -> Report:
    """List pairs of operators that follow each other in programs, the most frequent first.

    Raises:
        UserError: an operator that there is not.
    """
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
    columns = ("operator", "followed by", "times", "programs")
    shown = [[*row[:3], ", ".join(row[3][:3]) + f" and {len(row[3]) - 3} more" * (len(row[3]) > 3)] for row in rows]
    return Report([dict(zip(columns, row, strict=True)) for row in rows], [TextTable(columns, shown)])


def _check(name: str) -> None:
    if name not in load():
        raise UserError(f"there is no operator {name!r}", "write a name that `nightfuzz gandalf operators` lists")
