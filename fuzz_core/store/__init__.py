"""The state of the bot in a SQLite file: targets, seeds, value spaces, runs, findings, bugs.

No code outside this package has SQL.
"""

from fuzz_core.store.records import (
    BugRow,
    Coverage,
    FindingRow,
    InvocationRow,
    NewBug,
    RunRow,
    SeedRecord,
    TargetRecord,
)
from fuzz_core.store.statefile import open_store
from fuzz_core.store.store import Store

__all__ = [
    "BugRow",
    "Coverage",
    "FindingRow",
    "InvocationRow",
    "NewBug",
    "RunRow",
    "SeedRecord",
    "Store",
    "TargetRecord",
    "open_store",
]
