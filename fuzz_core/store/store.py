"""The store: every table of one state file behind typed methods."""

from __future__ import annotations

from fuzz_core.store.apis import ApiTables
from fuzz_core.store.cells import CellTables
from fuzz_core.store.checks import CheckTables
from fuzz_core.store.figures import FigureTables
from fuzz_core.store.findings import FindingTables
from fuzz_core.store.moco import MocoTables
from fuzz_core.store.transfer import CarryTables


class Store(
    ApiTables,
    CarryTables,
    CellTables,
    FigureTables,
    FindingTables,
    CheckTables,
    MocoTables,
):
    """An open state file; a context manager.

    Made by `open_store`; used by one thread.
    """
