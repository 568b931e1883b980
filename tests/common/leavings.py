"""Results of fuzz jobs, as files, without fuzzing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fuzz_core.campaign.document import RunFacts, result_of
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Invocation, Prim, TestCase
from fuzz_core.store.records import NewBug, TargetRecord
from fuzz_core.store.statefile import open_store
from fuzz_core.store.store import Store
from nightfuzz.bot.jobs.workspace import RESULTS
from nightfuzz.bot.state.place import pack
from nightfuzz.reports.results import Mode

KEY = "torch-2.13.0"


def add_bug(store: Store, api: str, text: str = "sizes differ", kind: str = "wrong-result", key: str = KEY) -> None:
    """Stores a confirmed bug of torch 2.13.0 with a cause of its own."""
    outcome = Outcome("exception", "AssertionError", f"{api}: {text}")
    test = TestCase(Invocation(api, (Prim("int", 1),), ()), 1)
    run = store.start_run(key, 1, {})
    finding = store.add_finding(key, run, test, Verdict("differential", kind), outcome)
    script = f"import torch\n\n{api}(1)\n"
    bug = NewBug(f"{api}: {outcome.text}", api, "differential", kind, test, script, outcome, 5, 5)
    store.settle_finding(finding or 0, "confirmed", hits=5, runs=5, bug=bug)


def leave(
    folder: Path, apis: list[str], mode: Mode = "nightly", text: str = "sizes differ", key: str = KEY, **ran: Any
) -> Path:
    """Makes the folder of a shard that has found a bug in each of these apis.

    Args:
        ran: further fields of `RunFacts`.
    """
    folder.mkdir(parents=True)
    path = folder.parent / f"{folder.name}.db"
    with open_store(path) as store:
        for name in filter(None, (ran.get("baseline"), key)):
            store.save_target(TargetRecord(name, "torch==2.13.0", "torch", "2.13.0", "/python", {"summary": "torch"}))
        for api in apis:
            add_bug(store, api, text, key=key)
        told = result_of(store, RunFacts(mode, key, **ran))
    for name, data in pack(path).items():
        (folder / name).write_bytes(data)
    (folder / RESULTS).write_text(told.to_json(), encoding="utf-8")
    return folder
