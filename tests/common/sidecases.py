"""Sessions on real libraries side by side, in one store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fuzz_core.campaign.session import Session
from fuzz_core.modelgen.gandalf.table import Library
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
