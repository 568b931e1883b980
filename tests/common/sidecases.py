"""Sessions on real libraries side by side, in one store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fuzz_core.campaign.session import Session
from fuzz_core.modelgen.gandalf.table import Library, Operator, Spelling
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.statefile import open_store


@contextmanager
def side_by_side(folder: Path, interpreters: Mapping[Library, Path]) -> Iterator[dict[Library, Session]]:
    """Yields a session with one worker for each interpreter."""
    with open_store(folder / "state.db") as store:
        found: dict[Library, Session] = {}
        for library, python in interpreters.items():
            info = {"summary": library, "notes": [], "devices": ["cpu"]}
            target = TargetRecord(f"{library}-1", f"python:{python}", library, "1", str(python), info)
            store.save_target(target)
            found[library] = Session(store, target, folder, workers=1)
        yield found


def with_faults(table: Mapping[str, Operator], faults: Mapping[str, tuple[Library, str]]) -> dict[str, Operator]:
    """Returns a table in which a library computes each operator with a fault by the given call."""
    found = dict(table)
    for name, (library, call) in faults.items():
        spelled = {**table[name].spelled, library: Spelling(call=call)}
        found[name] = table[name].model_copy(update={"spelled": spelled})
    return found
