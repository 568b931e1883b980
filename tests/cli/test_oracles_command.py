"""`nightfuzz oracles`: shares and switches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz_core.oracles.contract import ORACLES

Cli = Callable[..., Any]


def test_every_oracle_has_a_share_and_a_switch(cli: Cli) -> None:
    done = cli("oracles", "--json")
    assert (done.code, [row["oracle"] for row in done.json]) == (0, list(ORACLES))
    assert all(0 <= row["share"] <= 1 and row["on"] is True for row in done.json)


def test_what_is_switched_off_in_the_settings_is_shown_so(cli: Cli) -> None:
    Path("nightfuzz.toml").write_text('oracles = ["crash"]\n')
    rows = cli("oracles", "--json").json
    assert {row["oracle"] for row in rows if row["on"]} == {"crash"}


def test_the_table_names_switch_and_suspects(cli: Cli) -> None:
    done = cli("oracles")
    assert done.code == 0
    assert "nightfuzz.toml" in done.out and "suspects" in done.out
