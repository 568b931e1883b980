"""The store: every table of one state file behind typed methods."""

from __future__ import annotations

from fuzz_core.store.apis import ApiTables
from fuzz_core.store.carrying import CarryTables
from fuzz_core.store.changes import ChangeTables
from fuzz_core.store.checks import CheckTables
from fuzz_core.store.facts import FactTables
from fuzz_core.store.findings import FindingTables
from fuzz_core.store.known import KnownTables
from fuzz_core.store.moco import MocoTables
from fuzz_core.store.news import NewsTables
from fuzz_core.store.probes import ProbeTables
from fuzz_core.store.runs import RunTables


class Store(
    ApiTables,
    CarryTables,
    RunTables,
    FindingTables,
    NewsTables,
    KnownTables,
    FactTables,
    ChangeTables,
    CheckTables,
    ProbeTables,
    MocoTables,
):
    """One open state file; a context manager. Made by `open_store`; used by one thread."""
