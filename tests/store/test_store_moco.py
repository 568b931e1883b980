import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_values import KEY

from fuzz_core.ir.errors import UserError
from fuzz_core.modelgen.moco.nodes import Arrival, TreeNode
from fuzz_core.store import Store, open_store
from fuzz_core.store.merge import merge
from fuzz_core.store.parts import PrivateRows, part

ROOT = TreeNode(0, None, 0, None, "", "", "root", equivalence="root", state="ok", kept=True)
arrivals = st.dictionaries(st.integers(0, 9), st.builds(Arrival, st.lists(st.integers(0, 99)).map(tuple), st.text()))
small = st.integers(0, 2**31)
nodes = st.builds(
    TreeNode,
    small,
    st.none() | small,
    small,
    st.none() | small,
    *[st.text(max_size=9)] * 6,
    small,
    st.booleans(),
    st.none() | small,
    *[st.text(max_size=9)] * 3,
    st.none() | st.booleans(),
    arrivals,
)


def begun(store: Store) -> int:
    return store.begin_tree(KEY, "lenet", "d" * 32, 7, {"times_mt": 4})


class DescribeStoredTrees:
    def test_a_tree_is_told_with_its_counts(self, store: Store) -> None:
        tree = begun(store)
        store.save_nodes(tree, [ROOT, ROOT._replace(number=1, parent=0, state="")])
        (row,) = store.trees(KEY)
        assert row == store.tree(tree)
        assert (row.program, row.digest, row.seed, row.options) == ("lenet", "d" * 32, 7, {"times_mt": 4})
        assert (row.nodes, row.pending, row.begun[:10]) == (2, 1, "2026-01-02")
        assert store.trees("torch-other") == [] and store.trees() == [row]

    def test_an_empty_tree_is_there(self, store: Store) -> None:
        assert (store.tree(begun(store)).nodes, store.tree_nodes(1)) == (0, [])

    def test_there_is_no_other_tree(self, store: Store) -> None:
        with pytest.raises(UserError, match="no tree 5"):
            store.tree(5)


class DescribeNodes:
    @given(st.lists(nodes, max_size=5, unique_by=lambda node: node.number))
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
    def test_nodes_come_back_as_they_were(self, store: Store, some: list[TreeNode]) -> None:
        tree = begun(store)
        store.save_nodes(tree, some)
        assert store.tree_nodes(tree) == sorted(some, key=lambda node: node.number)

    def test_a_later_version_of_a_node_takes_its_place(self, store: Store) -> None:
        tree = begun(store)
        pending = ROOT._replace(number=1, parent=0, state="", kept=None)
        store.save_nodes(tree, [ROOT, pending])
        told = pending._replace(state="ok", why="fine", arrives={3: Arrival((2, 3), "float64")})
        store.save_nodes(tree, [told])
        assert store.tree_nodes(tree) == [ROOT, told] and store.tree(tree).pending == 0

    def test_all_nodes_of_a_batch_or_none(self, store: Store) -> None:
        tree = begun(store)
        with pytest.raises(sqlite3.IntegrityError):
            store.save_nodes(tree, [ROOT, ROOT._replace(number=1, line=None)])  # type: ignore[arg-type]
        assert store.tree_nodes(tree) == []

    def test_they_survive_the_file_being_closed(self, store: Store, path: Path) -> None:
        tree = begun(store)
        store.save_nodes(tree, [ROOT])
        store.close()
        with open_store(path) as again:
            assert again.tree_nodes(tree) == [ROOT]


class DescribeTravelling:
    def test_trees_stay_where_they_were_grown(self, store: Store, path: Path, tmp_path: Path) -> None:
        store.save_nodes(begun(store), [ROOT])
        store.close()
        part(path, tmp_path / "public.db", tmp_path / "private.db", PrivateRows())
        with open_store(tmp_path / "public.db") as public:
            assert public.trees() == []
            merge(public, [path], cost=lambda test: 0)
            assert public.trees() == []
