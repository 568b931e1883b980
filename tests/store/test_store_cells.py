"""Cells of the sweep: kept once, taken over by a new build, merged from shards, and private where a call dies."""

from __future__ import annotations

from pathlib import Path

import pytest
from store_values import KEY, TARGET

from fuzz_core.ir.catalogue import Api
from fuzz_core.store import Store
from fuzz_core.store.cells import CellRow, Effort
from fuzz_core.store.merge import merge
from fuzz_core.store.parts import PrivateRows, part
from fuzz_core.store.statefile import open_store

NEW = "torch-2.14.0+cpu-cp311"
VALID = CellRow("torch.add", "alpha", "Boundary Integer -1", "valid")
DIES = CellRow("torch.add", "input", "Empty Dimension 0", "crashed")
LATE = CellRow("torch.ones", "size", "Boundary Integer 2147483647", "postponed", "2 cells took 1.00 s on average")
HUNG = LATE._replace(result="hung", reason="")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


def filled(path: Path, *cells: CellRow, efforts: tuple[Effort, ...] = ()) -> Path:
    with open_store(path) as store:
        store.save_target(TARGET)
        store.save_cells(KEY, cells, efforts)
    return path


def cells(path: Path) -> set[CellRow]:
    with open_store(path) as store:
        return set(store.cells(KEY))


def test_a_later_result_takes_the_place_of_a_postponed_cell(path: Path) -> None:
    filled(path, VALID, LATE)
    assert cells(filled(path, HUNG)) == {VALID, HUNG}


def test_tests_and_seconds_of_an_api_add_up_and_its_size_is_the_newest(path: Path) -> None:
    filled(path, efforts=(Effort("torch.add", 3, 50, 10, 0.5),))
    filled(path, efforts=(Effort("torch.add", 0, 0, 5, 0.25),))
    filled(path, efforts=(Effort("torch.add", 4, 60),))
    with open_store(path) as store:
        assert store.efforts(KEY) == [Effort("torch.add", 4, 60, 15, 0.75)]


def new_build(store: Store, *apis: str) -> None:
    store.save_target(TARGET._replace(key=NEW))
    store.save_apis(NEW, [Api(name, "function") for name in apis])


def test_a_new_build_takes_over_the_cells_of_unchanged_apis_once(path: Path) -> None:
    filled(
        path,
        VALID,
        LATE,
        CellRow("torch.gone", "", "Drop Argument", "refused"),
        efforts=(Effort("torch.add", 3, 50, 9, 1.0),),
    )
    with open_store(path) as store:
        new_build(store, "torch.add", "torch.ones")
        assert store.carry_cells(NEW, KEY, {"torch.ones"}) == 1
        assert store.cells(NEW) == [VALID] and store.efforts(NEW) == [Effort("torch.add", 3, 50, 0, 0.0)]
        assert store.carry_cells(NEW, KEY, set()) == 0


def test_shards_merge_in_any_order(tmp_path: Path) -> None:
    shards = [filled(tmp_path / "1.db", VALID, LATE), filled(tmp_path / "2.db", HUNG, DIES)]
    for order in (shards, shards[::-1]):
        into = filled(tmp_path / f"{order[0].stem}-into.db")
        with open_store(into) as store:
            merge(store, order, cost=repr)
        assert cells(into) == {VALID, DIES, HUNG}


def test_a_cell_whose_call_dies_is_in_the_private_part_alone(tmp_path: Path, path: Path) -> None:
    public, private = tmp_path / "public.db", tmp_path / "private.db"
    assert part(filled(path, VALID, DIES), public, private, PrivateRows())
    assert (cells(public), cells(private)) == ({VALID}, {DIES})
