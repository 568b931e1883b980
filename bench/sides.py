"""Sessions of several libraries in a state of their own, which is gone afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from fuzz_core.campaign.session import Session
from fuzz_core.ir.errors import UserError
from fuzz_core.modelgen.gandalf.table import Library
from fuzz_core.store.opening import open_store
from fuzz_core.store.records import TargetRecord
from fuzz_core.targets.compiler import make_ready
from fuzz_core.targets.record import list_targets

CACHE_BYTES = 1 << 34


@contextmanager
def sides(specs: Iterable[str], workers: int = 1) -> Iterator[dict[Library, Session]]:
    """By library, of targets that `nightfuzz pull` has made. Raises UserError for one that it has not."""
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "state.db") as store:
        found: dict[Library, Session] = {}
        for spec in specs:
            made = next((each for each in list_targets() if each.spec == spec), None)
            if made is None:
                raise UserError(f"there is no target {spec!r}", f"make it: nightfuzz pull {spec}")
            record = TargetRecord(made.key, made.spec, made.library, made.version, str(made.python), {})
            store.save_target(record)
            make_ready(made.library, made.python, CACHE_BYTES)
            found[cast(Library, made.library)] = Session(store, record, Path(folder), workers=workers)
        yield found
