"""The commands that compare two builds of a library."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

from rich.console import Console

from fuzz_core.campaign.changes import changes_between
from fuzz_core.campaign.comparison import CompareOptions, CompareReport, by_cause, compare, worst_first
from fuzz_core.campaign.session import Session
from fuzz_core.cli.config import Settings
from fuzz_core.cli.display import table
from fuzz_core.cli.state import state_file
from fuzz_core.ir.codec import encode_test
from fuzz_core.ir.errors import UserError
from fuzz_core.store.checks import Change
from fuzz_core.store.opening import open_store
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.store import Store

SHOWN_APIS = 6
SHOWN_SEEDS = 5


def compare_phase(
    session: Session,
    settings: Settings,
    baseline: TargetRecord,
    end: float | None,
    traced: TargetRecord | None = None,
    calls: Collection[int] | None = None,
    most: int | None = None,
) -> CompareReport:
    """Test cases on both builds until the clock says `end`; calls, most: as in `CompareOptions`."""
    options = CompareOptions(
        deadline=end,
        runs=settings.confirm_runs,
        timeout=settings.timeout,
        seed=settings.seed or 0,
        disabled=settings.disable,
        patterns=settings.api,
        calls=calls,
        most=most,
        first=sorted(changes_between(session.store, baseline.key, session.target.key).stirred),
    )
    return compare(session, baseline, traced or session.target, options)


def changes(settings: Settings, console: Console, as_json: bool) -> int:
    """What the latest comparison on record (or that of the target named) has found."""
    with open_store(state_file(settings), read_only=True) as store:
        pairs = [pair for pair in store.compared() if settings.target in (None, pair[0])]
        pairs = [pair for pair in pairs if settings.baseline in (None, pair[1])]
        if not pairs:
            raise UserError("no comparison is on record", "run `nightfuzz run --target NEW --baseline OLD`")
        target, baseline = pairs[-1]
        found = store.changes(target, baseline)
        print_changes(store, console, found, as_json, (store.target(target), store.target(baseline)))
    return 0


def print_changes(
    store: Store,
    console: Console,
    found: Sequence[Change],
    as_json: bool,
    builds: tuple[TargetRecord, TargetRecord],
    report: CompareReport | None = None,
) -> None:
    """A table with a line for each cause, worst first; as JSON, every change in full."""
    if as_json:
        console.print_json(json.dumps(changes_json(store, found, builds, report)))
        return
    rows = [_line(store, cause) for cause in by_cause(worst_first(found)).values()]
    if rows:
        table(console, ["kind", "api", "what differs", "reached from"], rows)
    new, old = (build.key for build in builds)
    console.print(f"changes from {old} to {new}: {len(found)}, causes: {len(rows)}", markup=False, soft_wrap=True)
    if report is not None:
        left = ", ".join(f"{count} {why}" for why, count in sorted(report.dropped.items())) or "none"
        console.print(
            f"{report.tests:,} test cases of {report.apis} apis on both; differences that mean nothing: {left}",
            markup=False,
            soft_wrap=True,
        )


def changes_json(
    store: Store,
    found: Sequence[Change],
    builds: tuple[TargetRecord, TargetRecord],
    report: CompareReport | None = None,
) -> dict[str, Any]:
    """Every change in full, with the builds and, of a comparison just made, its figures."""
    figures = {} if report is None else {"tests": report.tests, "dropped": dict(report.dropped)}
    told = [_plain(store, change) for change in worst_first(found)]
    return {"target": builds[0].key, "baseline": builds[1].key, **figures, "changes": told}


def _line(store: Store, cause: Sequence[Change]) -> list[object]:
    first = cause[0]
    apis = list(dict.fromkeys(change.api for change in cause))
    more = [f"and {len(apis) - SHOWN_APIS} more"] if len(apis) > SHOWN_APIS else []
    cells = [*apis[:SHOWN_APIS], *more], [_said(first)], _seeds(store, cause)
    return [first.kind, *("\n".join(cell) for cell in cells)]


def _said(change: Change) -> str:
    fault = change.signature.partition(": ")[2].partition("baseline: ")[2]
    return fault if change.before.kind != "ok" or change.after.kind != "ok" else f"{fault}: {_shown(change)}"


def _shown(change: Change) -> str:
    return f"{change.before.text[:80]} before, now {change.after.text[:80]}"


def _seeds(store: Store, cause: Sequence[Change]) -> list[str]:
    return shortened(list(dict.fromkeys(name for change in cause for name in store.seeds_of(change.test.origin))))


def shortened(names: Sequence[str]) -> list[str]:
    """The first few, and how many there are besides."""
    more = [f"and {len(names) - SHOWN_SEEDS} more"] if len(names) > SHOWN_SEEDS else []
    return [*names[:SHOWN_SEEDS], *more]


def _plain(store: Store, change: Change) -> dict[str, Any]:
    return {**change._asdict(), "test": encode_test(change.test), "seeds": store.seeds_of(change.test.origin)}
