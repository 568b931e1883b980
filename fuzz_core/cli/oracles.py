"""`nightfuzz oracles`: what tells right from wrong, and how often it is asked."""

from __future__ import annotations

import json

from rich.console import Console

from fuzz_core.cli.config import Settings
from fuzz_core.cli.display import table
from fuzz_core.oracles.contract import ORACLES, oracle_of

SUSPECTS = "suspects"


def oracles(settings: Settings, console: Console, as_json: bool) -> int:
    """Every oracle with its share and its switch."""
    if as_json:
        rows = [{"oracle": name, "share": oracle_of(name).share, "on": name in settings.oracles} for name in ORACLES]
        console.print_json(json.dumps(rows))
        return 0
    table(console, ["oracle", "share", "on", "finds"], [_row(name, settings) for name in ORACLES])
    console.print(
        f"switched by `oracles` in nightfuzz.toml, as in oracles = {json.dumps(settings.oracles)}",
        markup=False,
        soft_wrap=True,
    )
    return 0


def _row(name: str, settings: Settings) -> list[object]:
    oracle = oracle_of(name)
    share = f"{oracle.share:.1%}" if oracle.share else SUSPECTS
    summary = (type(oracle).__doc__ or "").split("\n")[0]
    return [name, share, "on" if name in settings.oracles else "off", summary]
