"""The commands that list: tables for a person, JSON for a program."""

from __future__ import annotations

import fnmatch
import json
from dataclasses import asdict

from rich.console import Console

from fuzz_core.campaign.changes import ApiChange, changes_between
from fuzz_core.cli.config import Settings
from fuzz_core.cli.display import table
from fuzz_core.cli.state import state_file, target_key
from fuzz_core.ir.errors import UserError
from fuzz_core.store.findings import Operator
from fuzz_core.store.opening import open_store
from fuzz_core.store.records import Coverage
from fuzz_core.targets.doctor import checks


def doctor(settings: Settings, console: Console, as_json: bool) -> int:
    """Checks; exit code 2 where something that every run needs is missing."""
    found = checks(configured=settings.target)
    if as_json:
        console.print_json(json.dumps([asdict(check) for check in found]))
    else:
        rows: list[list[object]] = [["ok" if c.ok else "missing", c.name, c.detail, c.remedy] for c in found]
        table(console, ["", "what", "found", "remedy"], rows)
    return 2 if any(check.required and not check.ok for check in found) else 0


def apis(settings: Settings, console: Console, gaps: bool, as_json: bool) -> int:
    """Coverage of a target's apis."""
    with open_store(state_file(settings), read_only=True) as store:
        rows = store.coverage(target_key(store, settings.target))
    if settings.api:
        rows = [row for row in rows if any(fnmatch.fnmatch(row.api, pattern) for pattern in settings.api)]
    if gaps:
        rows = [row for row in rows if row.gap]
    if as_json:
        console.print_json(json.dumps([{**row._asdict(), "gap": row.gap} for row in rows]))
        return 0
    table(console, ["api", "invocations", "valid", "seeds", "gap"], [_api_row(row) for row in rows])
    valid = sum(1 for row in rows if row.valid)
    console.print(
        f"{valid} of {len(rows)} apis have a valid invocation; {sum(r.invocations for r in rows)} invocations"
    )
    return 0


def _api_row(row: Coverage) -> list[object]:
    why = max(row.undescribed, key=lambda name: row.undescribed[name], default="")
    gap = f"{row.gap}: {why}" if row.gap == "argument not describable" else row.gap
    return [row.api, row.invocations, row.valid, row.seeds, gap]


def operators(settings: Settings, console: Console, as_json: bool) -> int:
    """Operators that the target's apis have dispatched to while fuzzing, each with its dtypes."""
    with open_store(state_file(settings), read_only=True) as store:
        rows = store.operators(target_key(store, settings.target))
    if settings.api:
        rows = [row for row in rows if any(fnmatch.fnmatch(row.api, pattern) for pattern in settings.api)]
    if as_json:
        console.print_json(json.dumps([row._asdict() for row in rows]))
        return 0
    by_name: dict[str, list[Operator]] = {}
    for row in rows:
        by_name.setdefault(row.name, []).append(row)
    shown: list[list[object]] = [
        [name, len(found), " ".join(row.dtype for row in found), found[0].api] for name, found in by_name.items()
    ]
    table(console, ["operator", "dtypes", "of the first tensor", "reached by"], shown)
    console.print(f"{len(by_name)} operators, {len(rows)} with their dtypes")
    return 0


def changes(settings: Settings, console: Console, since: str | None, as_json: bool) -> int:
    """Apis that are not as in an earlier build of the library, and seeds by source."""
    with open_store(state_file(settings), read_only=True) as store:
        target = target_key(store, settings.target)
        before = store.since(target) or store.predecessor(target) if since is None else target_key(store, since)
        if not before:
            raise UserError(
                f"no earlier build than {target} is on record", "trace another one, or name one with --since"
            )
        found = changes_between(store, before, target)
    apis = found.apis
    if settings.api:
        apis = tuple(c for c in apis if any(fnmatch.fnmatch(c.api, pattern) for pattern in settings.api))
    if as_json:
        told = {"apis": [change._asdict() for change in apis], "seeds": [each._asdict() for each in found.seeds]}
        console.print_json(json.dumps({"target": target, "since": before, **told}))
        return 0
    table(console, ["api", "change", "before", "after"], [_change_row(change) for change in apis])
    table(console, ["seeds", "unchanged", "changed", "new", "gone"], [list(each) for each in found.seeds])
    console.print(f"{len(apis)} changes of apis from {before} to {target}", markup=False)
    return 0


def _change_row(change: ApiChange) -> list[object]:
    shown = change._replace(before="", after="") if change.kind == "docstring" else change
    return [shown.api, shown.kind, shown.before, shown.after]
