"""Runs programs in one process of a library: `python gandalf_runner.py LIBRARY PROGRAMS RESULTS`.

PROGRAMS is JSON, name -> source. RESULTS is JSON, name -> node -> {dtype, shape, values}, or name -> error.
"""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path
from typing import Any


def ran(source: str) -> Any:
    space: dict[str, Any] = {}
    try:
        exec(compile(source, "<program>", "exec"), space)
        return {str(node): told(value) for node, value in space["results"].items()}
    except Exception:  # noqa: BLE001 - whatever a library raises is what came of it
        return traceback.format_exc(limit=-1)


def told(value: Any) -> dict[str, Any]:
    # Text, because JSON has no infinities; repr of a double is exact.
    values = [repr(each) for each in value.reshape(-1).tolist()]
    return {"dtype": str(value.dtype), "shape": list(value.shape), "values": values}


def hasten_jittor() -> None:
    """Makes Jittor compile as it does under test; without this, each operator takes seconds."""
    import jittor

    from fuzz_core.adapters.jittor.compiler import hasten, settle

    hasten(jittor)
    settle(jittor)


def main() -> None:
    library, given, made = sys.argv[1:]
    if library == "jittor":
        hasten_jittor()
    programs = json.loads(Path(given).read_text())
    Path(made).write_text(json.dumps({name: ran(source) for name, source in programs.items()}))


main()
