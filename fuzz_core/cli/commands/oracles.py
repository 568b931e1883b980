"""`nightfuzz oracles`: the oracles, and how often each one is asked."""

from __future__ import annotations

import json

from fuzz_core.cli.output import CommandOutput, Report, TextTable
from fuzz_core.cli.settings import Settings
from fuzz_core.oracles.contract import ORACLES, oracle_of


def oracles(settings: Settings, output: CommandOutput) -> Report:
    """Return every oracle with its share and its switch."""
    data, rows = [], []
    for name in ORACLES:
        oracle, on = oracle_of(name), name in settings.oracles
        data.append({"oracle": name, "share": oracle.share, "on": on})
        share = f"{oracle.share:.1%}" if oracle.share else "suspects"
        rows.append([name, share, "on" if on else "off", (type(oracle).__doc__ or "").split("\n")[0]])
    switch = (
        f"to switch oracles on or off, list those to use in nightfuzz.toml: oracles = {json.dumps(settings.oracles)}"
    )
    return Report(data, [TextTable(["oracle", "share", "on", "finds"], rows), switch])
