"""Tests of the structures of tensors that a layer takes, as read from recorded calls."""

from __future__ import annotations

from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.values import Invocation, Seq, Tensor, Then, Value, prim
from fuzz_core.modelgen.moco.knowledge.extraction import ApiEvidence, facts_of
from fuzz_core.modelgen.moco.knowledge.seen import Structure, layers_seen, structure_of

SMALL, LARGE = Tensor("float32", (2, 3)), Tensor("float32", (20, 30))
LABELS = Tensor("int64", (2,))


def listed(*items: Value, kind: str = "list") -> Seq:
    return Seq(kind, items)


def of(*calls: tuple[Value, ...], units: int = 4) -> Structure | None:
    made = [
        Invocation("a.Cell", (prim(units + place),), (), Then("__call__", args, (("training", prim(True)),)))
        for place, args in enumerate(calls)
    ]
    return structure_of(layers_seen(made, ["units"]))


def test_lists_of_tensors_types_and_the_states_of_cells_are_written_out() -> None:
    assert of((listed(SMALL, LABELS),)) == ({"units": prim(4)}, ("[((2, 3), 'float32'), ((2,), 'int64')]",))
    found = of((SMALL, listed(SMALL, listed(LABELS, kind="tuple"))))
    assert found is not None
    assert found.takes == ("((2, 3), 'float32')", "[((2, 3), 'float32'), [((2,), 'int64')]]")


def test_it_is_that_of_the_fewest_and_smallest_tensors_with_what_the_layer_was_made_with_then() -> None:
    found = of((listed(LARGE, LARGE),), (listed(SMALL, SMALL),), (listed(SMALL, SMALL, SMALL),))
    assert found is not None
    assert found == ({"units": prim(5)}, ("[((2, 3), 'float32'), ((2, 3), 'float32')]",))


def test_what_has_anything_else_in_it_says_nothing() -> None:
    assert of((SMALL, listed(prim(3))), (listed(),), (SMALL, prim(None)), ()) is None
    made = Invocation("a.Cell", (prim(4),), (), Then("build", (SMALL,)))
    assert structure_of(layers_seen([made, made._replace(then=None)], ["units"])) is None


def test_facts_have_it_where_no_call_has_plain_tensors_alone() -> None:
    api = Api("a.Cell", "class", params=("units",))
    states = Invocation("a.Cell", (prim(3),), (), Then("__call__", (SMALL, listed(SMALL))))
    plain = Invocation("a.Cell", (prim(4),), (), Then("__call__", (LARGE,)))
    found = facts_of(ApiEvidence(api, calls=[states], spell=lambda value: str(value.value)))  # type: ignore[union-attr]
    assert found.takes == ("((2, 3), 'float32')", "[((2, 3), 'float32')]") and found.example == {"units": "3"}
    found = facts_of(ApiEvidence(api, calls=[states, plain], spell=lambda value: str(value.value)))  # type: ignore[union-attr]
    assert found.takes == () and found.example == {"units": "4"}
