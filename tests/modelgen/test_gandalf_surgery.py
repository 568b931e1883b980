from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.campaign.gandalf.figures import diversity
from fuzz_core.modelgen.gandalf.generation import GraphOptions, generate, grammar
from fuzz_core.modelgen.gandalf.graph import Graph, GraphInput, GraphNode, shaped
from fuzz_core.modelgen.gandalf.public_names import api_of, is_formula
from fuzz_core.modelgen.gandalf.renderer import render, written
from fuzz_core.modelgen.gandalf.scripts import RESULT, Expected, asserting, printing
from fuzz_core.modelgen.gandalf.shapes import TensorShape
from fuzz_core.modelgen.gandalf.surgery import above, apart
from fuzz_core.modelgen.gandalf.table import LIBRARIES, Spelling, load

TABLE = load()
GRAMMAR = grammar(TABLE, ("torch", "tensorflow"), "cv")
seeds = st.integers(0, 2**32)


def drawn(seed: int) -> Graph:
    return generate(GRAMMAR, seed, None, GraphOptions(most=6))


class DescribeParts:
    @given(seeds, st.data())
    def test_a_node_with_all_that_it_depends_on_makes_the_same(self, seed: int, data: st.DataObject) -> None:
        graph = drawn(seed)
        place = data.draw(st.integers(0, len(graph.nodes) - 1))
        part = above(graph, place)
        assert shaped(part, TABLE)[-1].result == shaped(graph, TABLE)[place].result
        assert part.nodes[-1].operator == graph.nodes[place].operator
        assert part.leaves == [len(part.nodes) - 1]
        taken = {name for node in part.nodes for name in node.takes}
        assert {f"x{number}" for number in range(len(part.inputs))} <= taken

    @given(seeds)
    def test_nodes_on_data_of_their_own_make_the_same_shapes(self, seed: int) -> None:
        graph = drawn(seed)
        made = [each.result for each in shaped(graph, TABLE)]
        tensors = {f"x{n}": TensorShape(each.shape, each.dtype) for n, each in enumerate(graph.inputs)}
        tensors |= {f"n{n}": each for n, each in enumerate(made)}
        places = list(range(0, len(graph.nodes), 2))
        given_ = {name: (each, [1.0] * _size(each)) for name, each in tensors.items()}
        parts = apart(graph, places, given_)
        assert [each.result for each in shaped(parts, TABLE)] == [made[place] for place in places]
        assert all(name.startswith("x") for node in parts.nodes for name in node.takes)
        assert len(parts.inputs) == sum(len(node.takes) for node in parts.nodes)


def _size(tensor: TensorShape) -> int:
    size = 1
    for each in tensor.shape:
        size *= each
    return size


def test_given_elements_stand_in_the_program() -> None:
    each = GraphInput(shape=(2, 2), values=(1.0, 2.5, -3.0, 4.0))
    graph = Graph(inputs=(each,), nodes=(GraphNode(operator="relu", takes=("x0",)),))
    assert "np.array([1.0, 2.5, -3.0, 4.0]).reshape((2, 2))" in render(graph, TABLE, "torch")


class DescribeSurgeryPrograms:
    def test_what_a_library_has_in_single_precision_alone_is_computed_so(self) -> None:
        operator = next(
            each for each in TABLE.values() if "tensorflow" in each.single and each.name == "resize_bilinear"
        )
        node = GraphNode(operator=operator.name, parameters=dict.fromkeys(operator.parameters, 8), takes=("x0",))
        graph = Graph(inputs=(GraphInput(shape=(1, 2, 4, 4)),), nodes=(node,))
        program = render(graph, TABLE, "tensorflow", "float64")
        assert "tf.float32)" in program and "tf.float64)" in program
        assert "tf.cast" not in render(graph, TABLE, "tensorflow", "float32")
        assert "float32)" not in render(graph, TABLE, "torch", "float64").replace("'float32')", "")

    @pytest.mark.parametrize("value", [1.5, float("inf"), float("-inf"), -0.0])
    def test_a_script_asserts_one_element(self, value: float) -> None:
        graph = Graph(inputs=(GraphInput(shape=(2, 3)),), nodes=(GraphNode(operator="relu", takes=("x0",)),))
        script = asserting(
            written(graph, TABLE, "torch"), "n0.numpy()", RESULT, Expected((1, 2), value, 0.25, "jittor 1")
        )
        *_, found, comment, expected, check, _ = script.split("\n")
        assert found == "found = float(n0.numpy()[1, 2])" and comment == "# jittor 1" and RESULT in check
        scope = {"found": value}
        exec(f"{expected}\n{check}", scope)
        with pytest.raises(AssertionError, match=RESULT):
            exec(f"found = 7.0\n{expected}\n{check}", {})
        with pytest.raises(AssertionError, match="nan"):
            exec(f"found = float('nan')\n{expected}\n{check}", {})

    def test_or_prints_what_has_to_be_computed(self) -> None:
        assert printing(["n0 = f(x0)"], "n0.numpy()") == "n0 = f(x0)\n\nprint(n0.numpy())\n"

    def test_or_a_shape(self) -> None:
        graph = Graph(inputs=(GraphInput(shape=(2, 3)),), nodes=(GraphNode(operator="relu", takes=("x0",)),))
        script = asserting(
            written(graph, TABLE, "torch"), "n0.numpy()", RESULT, Expected((), 0.0, 0.0, "jittor 1", shape=(3, 2))
        )
        *_, found, _, expected, check, _ = script.split("\n")
        assert found == "found = n0.numpy().shape"
        exec(f"found = (3, 2)\n{expected}\n{check}", {})
        with pytest.raises(AssertionError, match=RESULT):
            exec(f"found = (2, 3)\n{expected}\n{check}", {})

    @pytest.mark.parametrize(
        ("call", "setup", "library", "api"),
        [
            ("F.relu(x)", "", "torch", "torch.nn.functional.relu"),
            ("tf.nn.relu(tf.abs(x))", "", "tensorflow", "tf.nn.relu"),
            ("layer(x)", "layer = keras.layers.Dense(2)", "tensorflow", "tf.keras.layers.Dense"),
            ("x.clamp(0)", "", "torch", "torch.Tensor.clamp"),
            ("layer(jt.flip(x, 1))[0]", "layer = nn.GRU(2, 3)\nlayer.w = w", "jittor", "jittor.nn.GRU"),
            ("layer.running_mean", "layer = nn.BatchNorm2d(2)\nlayer(x)", "torch", "torch.nn.BatchNorm2d"),
            ("x + y", "", "jittor", "jittor"),
            ("nn.one_hot(x, 3).float()", "", "jittor", "jittor.nn.one_hot"),
            ("layer(x).transpose(0, 1)", "layer = nn.GRU(2, 3)", "jittor", "jittor.nn.GRU"),
            ("torch.stft(x).transpose(1, 2).reshape(2, 3)", "", "torch", "torch.stft"),
            ("nn.embedding(x, w).max(1)", "", "jittor", "jittor.Var.max"),
            ("x.to(torch.get_default_dtype())", "", "torch", "torch.Tensor.to"),
            ("x.exp().log()", "", "torch", "torch.Tensor.log"),
            ("(x - torch.abs(y)).mean(-1)", "", "torch", "torch.Tensor.mean"),
            ("x * jt.array(np.hanning(4)).unsqueeze(0)", "", "jittor", "jittor.array"),
            ("np.log(2.0) * tf.sign(x)", "", "tensorflow", "tf.sign"),
        ],
    )
    def test_a_spelling_is_about_the_api_that_it_calls(self, call: str, setup: str, library: str, api: str) -> None:
        assert api_of(Spelling(call=call, setup=setup), next(each for each in LIBRARIES if each == library)) == api


class DescribeDiversity:
    @given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
    def test_the_distance_is_that_of_equation_2(self, one: list[str], other: list[str]) -> None:
        assert diversity([one, other]) == _recursive(tuple(one), tuple(other), {})

    def test_the_mean_over_all_pairs(self) -> None:
        assert diversity([("a",), ("a", "b"), ("c", "b")]) == pytest.approx((1 + 2 + 1) / 3)
        assert diversity([("a",)]) == 0.0
        assert drawn(1).operators == tuple(node.operator for node in drawn(1).nodes)


def _recursive(one: tuple[str, ...], other: tuple[str, ...], known: dict[tuple[int, int], int]) -> int:
    key = len(one), len(other)
    if key not in known:
        if not one or not other:
            known[key] = max(key)
        else:
            changed = _recursive(one[:-1], other[:-1], known) + (one[-1] != other[-1])
            shorter = min(_recursive(one[:-1], other, known), _recursive(one, other[:-1], known)) + 1
            known[key] = min(changed, shorter)
    return known[key]


@pytest.mark.parametrize(
    ("call", "formula"),
    [
        ("F.relu(x)", False),
        ("-F.cosine_similarity(a, b, dim=-1)", False),
        ("F.cross_entropy(a, abs(b.long()) % D, reduction='none')", False),
        ("nn.GRU(D, K)(x)[0]", False),
        ("torch.sort(x, dim=-1).values", False),
        ("torch.log(torch.cosh(a - b)).mean(-1)", True),
        ("x.exp().log()", True),
        ("x / (1 + torch.abs(x))", True),
    ],
)
def test_more_than_one_call_is_a_formula(call: str, formula: bool) -> None:
    assert is_formula(Spelling(call=call), "torch") is formula
