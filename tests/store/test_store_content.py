"""Tests that the description of the tables covers the schema: missing parts would be lost in a merge or split."""

from __future__ import annotations

import pytest

from fuzz_core.store import Store
from fuzz_core.store.content import TABLES, Table

# Tables with working data of one file, which are neither merged nor split.
LOCAL = {"moco_trees", "moco_nodes", "similarity"}


class DescribeTables:
    def test_every_table_of_the_schema_is_described_once(self, store: Store) -> None:
        there = [name for name in store._db.table_names() if not name.startswith(("sqlite_", "_sqlite_"))]
        assert sorted(table.name for table in TABLES) == sorted(set(there) - LOCAL)

    @pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
    def test_every_column_of_a_table_is_described_once(self, store: Store, table: Table) -> None:
        there = [column.name for column in store._db[table.name].columns]
        assert sorted([*table.stored, *table.counted, *["id"] * table.numbered]) == sorted(there)
        assert {*table.masked, *table.fold, *table.shown} <= {*table.stored}

    @pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
    def test_a_table_comes_after_those_that_it_refers_to(self, store: Store, table: Table) -> None:
        before = {each.name for each in TABLES[: TABLES.index(table)]}
        keys = store._db[table.name].foreign_keys
        assert {key.other_table for key in keys} | {each.parent for each in table.references} <= before
        numbers = {key.column for key in keys if key.other_column == "id"}
        assert numbers - {"invocation", "argument"} == {each.column for each in table.references}
