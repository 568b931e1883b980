"""`nightfuzz oracles`: what tells right from wrong, how often it is asked, and what that costs."""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console

from fuzz_core.campaign.costs import Cost, measure
from fuzz_core.campaign.session import Session
from fuzz_core.cli.config import Settings
from fuzz_core.cli.display import table, watch
from fuzz_core.cli.state import state_file
from fuzz_core.cli.targets import target_of
from fuzz_core.ir.errors import UserError
from fuzz_core.oracles.contract import ORACLES, oracle_of
from fuzz_core.store.opening import open_store
from fuzz_core.store.store import Store

SUSPECTS = "suspects"


def oracles(settings: Settings, console: Console, as_json: bool) -> int:
    """Every oracle with its share, its switch, and its cost per test where there is a target to measure it on."""
    costs = {cost.oracle: cost for cost in _costs(settings, Console(stderr=True) if as_json else console)}
    if as_json:
        console.print_json(json.dumps([_plain(name, settings, costs.get(name)) for name in ORACLES]))
        return 0
    columns = ["oracle", "share", "on", "cost per test", "of the call", "finds"]
    table(console, columns, [_row(name, settings, costs.get(name)) for name in ORACLES])
    tests = sum(cost.tests for cost in costs.values())
    console.print(
        f"measured on {tests:,} tests; switched by `oracles` in nightfuzz.toml, as in oracles = "
        f"{json.dumps(settings.oracles)}",
        markup=False,
        soft_wrap=True,
    )
    return 0


def _costs(settings: Settings, console: Console) -> list[Cost]:
    if not state_file(settings).exists():
        return []
    with open_store(state_file(settings)) as store:
        if settings.target is None and not store.targets():
            return []
        return _measured(store, settings, console)


def _measured(store: Store, settings: Settings, console: Console) -> list[Cost]:
    target = target_of(store, settings)
    if not Path(target.python).exists():
        raise UserError(f"the target {target.key} is gone", f"make it again: nightfuzz pull {target.spec}")
    with watch(console) as display:
        return measure(Session(store, target, settings.state, 1, display), list(ORACLES))


def _plain(name: str, settings: Settings, cost: Cost | None) -> dict[str, object]:
    measured = {} if cost is None else cost._asdict()
    return {"oracle": name, "share": oracle_of(name).share, "on": name in settings.oracles, **measured}


def _row(name: str, settings: Settings, cost: Cost | None) -> list[object]:
    oracle = oracle_of(name)
    share = f"{oracle.share:.1%}" if oracle.share else SUSPECTS
    shown = ["", ""] if cost is None else [f"{cost.seconds * 1e6:.1f} µs", f"{cost.seconds / cost.executed:.1%}"]
    summary = (type(oracle).__doc__ or "").split("\n")[0]
    return [name, share, "on" if name in settings.oracles else "off", *shown, summary]
