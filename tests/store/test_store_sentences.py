"""Tests that the store reads from a column how a call ended, and never from a text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import fuzz_core
from fuzz_core.ir.outcome import KINDS

ROOT = Path(fuzz_core.__file__).parent
_ASKS = re.compile(rf"(?:LIKE|GLOB|startswith\(|instr\([^)]*,)\s*\(?[\"'](?:{'|'.join(KINDS)})\b", re.IGNORECASE)


def test_no_prefix_of_a_text_decides_what_is_private_or_how_something_ended() -> None:
    rooms = ("store", "campaign", "triage", "worker")
    files = [path for room in rooms for path in sorted((ROOT / room).rglob("*.py"))]
    assert [path.name for path in files if _ASKS.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    "line",
    [
        "WHERE reason LIKE 'signal %'",
        "reason LIKE 'exception %: %'",
        'shown.startswith("ok ")',
        "x.startswith(('exit',",
    ],
)
def test_one_that_does_would_be_seen(line: str) -> None:
    assert _ASKS.search(line)
