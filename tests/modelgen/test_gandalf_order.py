"""Tests of the order of operators: read from programs, completed by review, and kept by generated graphs."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.campaign.gandalf.engine import order_of
from fuzz_core.ir.errors import UserError
from fuzz_core.modelgen.gandalf.flow import followings
from fuzz_core.modelgen.gandalf.generation import GraphOptions, generate, grammar
from fuzz_core.modelgen.gandalf.order import Order, PairCount, call_names, mined, pairs_of, recorded, reviewed
from fuzz_core.modelgen.gandalf.table import LIBRARIES, Library, load
from fuzz_core.programs.texts import grown_programs, traced_programs

TABLE = load()


def pairs(text: str) -> set[tuple[str, str]]:
    return set(followings(dedent(text)))


class DescribeFlow:
    def test_layers_are_followed_from_where_they_are_made_to_where_they_are_called(self) -> None:
        program = """
            class Net(nn.Module):
                def __init__(self):
                    self.first, self.second = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)
                    self.third: nn.Module = nn.ReLU()

                def forward(self, x):
                    x = self.second(self.first(x))
                    return self.third(x)
        """
        assert pairs(program) == {("conv2d", "batchnorm2d"), ("batchnorm2d", "relu")}

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("y = F.max_pool2d(F.relu(x), 2)", {("relu", "maxpool2d")}),
            ("y = torch.tanh(x)\nz = y.sum(1)", {("tanh", "sum")}),
            ("y = Dense(3)(Flatten()(x))", {("flatten", "dense")}),
            ("a = F.relu(x)\nb = torch.cat([a, torch.exp(x)], 1)", {("relu", "cat"), ("exp", "cat")}),
            ("a = F.relu(x)\na += torch.exp(x)\nb = torch.sin(a)", {("relu", "add"), ("exp", "add"), ("add", "sin")}),
            (
                "a, b = torch.split(x, 2)\nc = a @ torch.sin(b)",
                {("split", "sin"), ("split", "matmul"), ("sin", "matmul")},
            ),
            ("a = F.relu(x)\nif True:\n    b = torch.sin(a)", {("relu", "sin")}),
            (
                "m = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 3))",
                {("linear", "relu"), ("relu", "linear")},
            ),
            ("m = Sequential([Dense(1), Dropout(0.1)])\ny = tf.exp(m(x))", {("dense", "dropout"), ("dropout", "exp")}),
            ("def f(x):\n    return F.relu(x)\ny = torch.sin(f(x))", set()),
            ("a = F.relu(x)\na = 1\nb = torch.sin(a)", set()),
        ],
    )
    def test_data_flows_through_calls(self, text: str, expected: set[tuple[str, str]]) -> None:
        assert pairs(text) == expected

    @given(st.text(max_size=60))
    def test_any_text_can_be_mined(self, text: str) -> None:
        assert isinstance(mined([("any", pairs_of(text))], {}), dict)


class DescribeMining:
    def test_pairs_are_counted_and_their_programs_named(self) -> None:
        text = "y = torch.tanh(F.relu(x))\nz = torch.tanh(F.relu(y))"
        programs = {"one": text, "broken": "def (", "two": "jt.tanh(nn.relu(x))"}
        found = mined([(name, pairs_of(source)) for name, source in programs.items()], TABLE)
        assert found["relu"]["tanh"] == PairCount(3, ("one", "two"))

    def test_a_call_is_every_operator_that_it_is_all_of_in_any_library(self) -> None:
        (followers,) = mined([("one", pairs_of("keras.layers.GRU(2)(F.relu(x))"))], TABLE).values()
        assert {"gru", "gru_last"} <= set(followers)
        assert "softsign" not in mined([("one", pairs_of("F.relu(x.abs())"))], TABLE)

    def test_recorded_pairs_tell_of_most_kinds_of_operators(self) -> None:
        found = order_of(TABLE, LIBRARIES)
        assert "relu" in found.mined["conv2d"] and "linear" in found.mined["flatten"]
        seen = found.mined["conv2d"]["relu"]
        assert seen.times > 20 and seen.programs == LIBRARIES
        assert len({TABLE[name].family for name in found.mined}) >= 12

    @pytest.mark.parametrize("library", LIBRARIES)
    def test_what_shipped_programs_show_is_recorded(self, library: Library) -> None:
        named = set().union(*map(call_names, TABLE.values()))
        ((_, known),) = recorded([library])
        programs = (*grown_programs(library), *traced_programs(library))
        found = {pair for _, source in programs for pair in pairs_of(source) if named.issuperset(pair)}
        assert len(found) > 200 and found - set(known) == set()

    def test_a_directory_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(UserError):
            order_of(TABLE, (), [tmp_path / "none"])

    def test_programs_of_yours_count_as_well(self, tmp_path: Path) -> None:
        (tmp_path / "mine.py").write_text("import jittor as jt\nprint(jt.nn.gelu(jt.erf(x)))\n")
        assert order_of(TABLE, (), [tmp_path]).mined["erf"]["gelu"].times == 1


class DescribeOrder:
    def test_programs_go_before_review_and_review_before_shapes(self) -> None:
        before, candidates = TABLE["conv2d"], [TABLE[name] for name in ("relu", "tanh", "exp", "matmul_2d")]
        seen = {"conv2d": {"exp": PairCount(1, ("one",))}}
        allowed = {"convolution": frozenset(["activation"])}
        assert [each.name for each in Order(seen, allowed).among(before, candidates)] == ["exp"]
        assert {each.family for each in Order({}, allowed).among(before, candidates)} == {"activation"}
        assert Order().among(before, candidates) == candidates

    def test_every_family_is_reviewed_and_no_other(self) -> None:
        families = {each.family for each in TABLE.values()}
        found = reviewed()
        assert set(found) == families and set().union(*found.values()) <= families

    def test_what_is_no_review_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "x.yaml").write_text("linear: 3")
        with pytest.raises(UserError, match=r"x\.yaml"):
            reviewed(tmp_path / "x.yaml")

    @pytest.mark.parametrize(("share", "least", "most"), [(1.0, 0.9, 1.0), (0.0, 0.0, 0.8)])
    def test_as_often_as_is_asked_for(self, share: float, least: float, most: float) -> None:
        order = Order(families={family: frozenset([family]) for family in reviewed()})
        symbols = grammar(TABLE, ("torch",), "cv", order)
        options = GraphOptions(least=6, most=6, branch=0.0, start=0.0, ordered=share)
        graphs = [generate(symbols, seed, options=options) for seed in range(30)]
        steps = [
            (TABLE[graph.nodes[place].operator].family, TABLE[graph.nodes[place + 1].operator].family)
            for graph in graphs
            for place in range(5)
        ]
        assert least <= sum(one == other for one, other in steps) / len(steps) <= most
