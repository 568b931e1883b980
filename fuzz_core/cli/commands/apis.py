"""`nightfuzz apis`: what of a library is covered, what it has reached, and what differs from an earlier build."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from fuzz_core.campaign.changes import changes_between
from fuzz_core.campaign.coverage import coverage_by_api, coverage_by_argument, total
from fuzz_core.campaign.gaps import gap_line
from fuzz_core.campaign.patterns import asked_apis
from fuzz_core.cli.output import CommandOutput, Report, TextTable
from fuzz_core.cli.settings import Settings
from fuzz_core.cli.state import read_state, target_key
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.errors import UserError
from fuzz_core.store.cells import CELL_RESULTS
from fuzz_core.store.findings import OperatorRow
from fuzz_core.store.records import Coverage
from fuzz_core.store.store import Store

# Reasons why cells are out of reach or postponed that are listed, the most frequent ones.
REASONS = 10
CELL = "cell: one kind of boundary value for one argument of an api"


def apis(
    settings: Settings, output: CommandOutput, gaps: bool, coverage: bool, changes: bool, since: str | None
) -> Report:
    """Return coverage of a target's apis, operators that they have reached, or what changed since an earlier build."""
    with read_state(settings) as store:
        target = target_key(store, settings.target)
        if changes or since is not None:
            return _changes(store, settings, target, since)
        listed = store.apis(target)
        if coverage:
            return _reached(settings, store, target, listed)
        return _coverage([row for row in _chosen(settings, listed, store.coverage(target)) if row.gap or not gaps])


def _chosen(settings: Settings, listed: Sequence[Api], rows: Sequence[Any]) -> list[Any]:
    """Return the rows whose api the settings ask for, of a build with these apis.

    Raises:
        UserError: as `asked_apis`.
    """
    if not settings.api:
        return list(rows)
    names = asked_apis([*listed, *(Api(row.api, "") for row in rows)], settings.api)
    return [row for row in rows if row.api in names]


def _coverage(rows: list[Coverage]) -> Report:
    shown = []
    for row in rows:
        why = max(row.undescribed, key=lambda name: row.undescribed[name], default="")
        gap = f"{row.gap}: {why}" if row.gap == "argument not describable" else row.gap
        shown.append([row.api, row.invocations, row.valid, row.seeds, " ".join(row.sources), gap])
    valid, invocations = sum(1 for row in rows if row.valid), sum(row.invocations for row in rows)
    total = f"{valid} of {len(rows)} apis have a valid invocation; {invocations} invocations"
    table = TextTable(["api", "invocations", "valid", "seeds", "from", "gap"], shown)
    return Report([{**row._asdict(), "gap": row.gap} for row in rows], [table, total, *filter(None, [gap_line(rows)])])


def _reached(settings: Settings, store: Store, target: str, listed: Sequence[Api]) -> Report:
    """Report what the sweep has tried, by argument if apis are asked for, and the operators that tests have reached."""
    by_api = _chosen(settings, listed, coverage_by_api(store, target)) if store.efforts(target) else []
    names = {row.api for row in by_api}
    rows = [row for row in coverage_by_argument(store, target) if row.api in names] if settings.api else by_api
    shown = [
        [row.api, *([row.argument or "(whole call)"] if settings.api else []), row.cells]
        + [row.results[name] or "" for name in CELL_RESULTS]
        + [row.untried or ""]
        for row in rows
    ]
    columns = ["api", *(["argument"] if settings.api else []), "cells", *CELL_RESULTS, "untried"]
    whole = total(by_api)
    reasons = Counter((row.result, row.reason) for row in store.cells(target) if row.reason and row.api in names)
    operators = _operators(_chosen(settings, listed, store.operators(target)) if store.operators(target) else [])
    data = {
        "cells": {"total": whole.cells, "tried": whole.tried, **whole.results},
        "pairs": {"total": whole.pairs, "tried": whole.paired},
        "apis": [{"api": row.api, "cells": row.cells, "results": row.results} for row in by_api],
        "results": [row._asdict() for row in store.cells(target) if row.api in names],
        "operators": operators.data,
    }
    text: list[str | TextTable] = []
    if by_api:
        common = [[*reason, count] for reason, count in reasons.most_common(REASONS)]
        text = [TextTable(columns, shown), TextTable(["result", "reason", "cells"], common), CELL, whole.summary]
    return Report(data, [*text, *operators.text])


def _operators(rows: list[OperatorRow]) -> Report:
    by_name: dict[str, list[OperatorRow]] = {}
    for row in rows:
        by_name.setdefault(row.name, []).append(row)
    shown = [[name, len(found), " ".join(row.dtype for row in found), found[0].api] for name, found in by_name.items()]
    table = TextTable(["operator", "dtypes", "of the first tensor", "reached by"], shown)
    total = f"{len(by_name)} operators reached, {len(rows)} pairs of operator and dtype"
    return Report([row._asdict() for row in rows], [table, total])


def _changes(store: Store, settings: Settings, target: str, since: str | None) -> Report:
    before = store.since(target) or store.predecessor(target) if since is None else target_key(store, since)
    if not before:
        raise UserError(
            f"the state has no build from before {target} to compare with",
            "trace an older build with `nightfuzz trace --target VERSION`, or name a build on record with --since",
        )
    found = changes_between(store, before, target)
    changed = _chosen(settings, [*store.apis(before), *store.apis(target)], found.apis)
    # A docstring is too long for a table.
    shown = [
        [each.api, each.kind, *(("", "") if each.kind == "docstring" else (each.before, each.after))]
        for each in changed
    ]
    details = {"apis": [each._asdict() for each in changed], "seeds": [each._asdict() for each in found.seeds]}
    tables = [
        TextTable(["api", "change", "before", "after"], shown),
        TextTable(["seeds", "unchanged", "changed", "new", "gone"], [list(each) for each in found.seeds]),
    ]
    total = f"{len(changed)} api changes from {before} to {target}"
    return Report({"target": target, "since": before, **details}, [*tables, total])
