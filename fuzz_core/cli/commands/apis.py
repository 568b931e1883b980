"""`nightfuzz apis`: what of a library is covered, what it has reached, and what differs from an earlier build."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fuzz_core.campaign.changes import changes_between
from fuzz_core.campaign.patterns import asked_apis
from fuzz_core.cli.output import CommandOutput, Report, TextTable
from fuzz_core.cli.settings import Settings
from fuzz_core.cli.state import read_state, target_key
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.errors import UserError
from fuzz_core.store.findings import OperatorRow
from fuzz_core.store.records import Coverage
from fuzz_core.store.store import Store


def apis(
    settings: Settings, output: CommandOutput, gaps: bool, coverage: bool, changes: bool, since: str | None
) -> Report:
    """Coverage of a target's apis, operators that they have reached, or what changed since an earlier build."""
    with read_state(settings) as store:
        target = target_key(store, settings.target)
        if changes or since is not None:
            return _changes(store, settings, target, since)
        listed = store.apis(target)
        if coverage:
            return _operators(_chosen(settings, listed, store.operators(target)))
        return _coverage([row for row in _chosen(settings, listed, store.coverage(target)) if row.gap or not gaps])


def _chosen(settings: Settings, listed: Sequence[Api], rows: Sequence[Any]) -> list[Any]:
    """The rows whose api the settings ask for, of a build with these apis. Raises as `asked_apis` does."""
    if not settings.api:
        return list(rows)
    names = asked_apis([*listed, *(Api(row.api, "") for row in rows)], settings.api)
    return [row for row in rows if row.api in names]


def _coverage(rows: list[Coverage]) -> Report:
    shown = []
    for row in rows:
        why = max(row.undescribed, key=lambda name: row.undescribed[name], default="")
        gap = f"{row.gap}: {why}" if row.gap == "argument not describable" else row.gap
        shown.append([row.api, row.invocations, row.valid, row.seeds, gap])
    valid, invocations = sum(1 for row in rows if row.valid), sum(row.invocations for row in rows)
    total = f"{valid} of {len(rows)} apis have a valid invocation; {invocations} invocations"
    table = TextTable(["api", "invocations", "valid", "seeds", "gap"], shown)
    return Report([{**row._asdict(), "gap": row.gap} for row in rows], [table, total])


def _operators(rows: list[OperatorRow]) -> Report:
    by_name: dict[str, list[OperatorRow]] = {}
    for row in rows:
        by_name.setdefault(row.name, []).append(row)
    shown = [[name, len(found), " ".join(row.dtype for row in found), found[0].api] for name, found in by_name.items()]
    table = TextTable(["operator", "dtypes", "of the first tensor", "reached by"], shown)
    total = f"{len(by_name)} operators, {len(rows)} with their dtypes"
    return Report([row._asdict() for row in rows], [table, total])


def _changes(store: Store, settings: Settings, target: str, since: str | None) -> Report:
    before = store.since(target) or store.predecessor(target) if since is None else target_key(store, since)
    if not before:
        raise UserError(f"no earlier build than {target} is on record", "trace another one, or name one with --since")
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
    total = f"{len(changed)} changes of apis from {before} to {target}"
    return Report({"target": target, "since": before, **details}, [*tables, total])
