"""Golden files: stored answers of the code, compared with its answers now."""

from __future__ import annotations

import difflib
import json
import os
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
WRITING = os.environ.get("NIGHTFUZZ_GOLDEN") == "write"
WIDTH = 160
SHOWN = 80


def check_golden(name: str, answers: Any) -> None:
    """Compares answers (JSON data) with the file of this name; `NIGHTFUZZ_GOLDEN=write` stores them instead."""
    file = FOLDER / name
    now = _rendered(answers) + "\n"
    if WRITING:
        file.write_text(now, encoding="utf-8")
        return
    stored = file.read_text(encoding="utf-8")
    if now == stored:
        return
    changed = [
        line.rstrip("\n")
        for line in difflib.unified_diff(stored.splitlines(), now.splitlines(), "stored", "now", n=2, lineterm="")
    ]
    more = f"\n… {len(changed) - SHOWN} more lines" if len(changed) > SHOWN else ""
    raise AssertionError(
        f"{name}: other answers than the stored ones; if they are meant, NIGHTFUZZ_GOLDEN=write pytest tests/golden "
        "stores them:\n" + "\n".join(changed[:SHOWN]) + more
    )


def _rendered(value: Any, indent: str = "") -> str:
    """Returns JSON with one line for each value that fits on a line, so that a difference shows its place."""
    line = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if len(line) + len(indent) <= WIDTH or not isinstance(value, list | dict):
        return line
    inner = indent + " "
    if isinstance(value, list) and all(isinstance(each, int) for each in value):
        rows = [", ".join(map(str, value[first : first + 20])) for first in range(0, len(value), 20)]
        return "[\n" + ",\n".join(inner + row for row in rows) + f"\n{indent}]"
    if isinstance(value, list):
        return "[\n" + ",\n".join(inner + _rendered(each, inner) for each in value) + f"\n{indent}]"
    rows = [f"{inner}{json.dumps(str(key))}: {_rendered(value[key], inner)}" for key in sorted(value)]
    return "{\n" + ",\n".join(rows) + f"\n{indent}}}"
