import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from moco_grounds import (
    BLOCKS,
    CALLS,
    CONV,
    KNOWLEDGE,
    LEAKY,
    LINEAR,
    SLOPED,
    call,
    known,
    program,
)

from fuzz_core.ir.rng import Rng
from fuzz_core.ir.values import Invocation, Prim, Ref, Seq, Tensor, prim
from fuzz_core.modelgen.expressions import Opaque, meaning, written
from fuzz_core.modelgen.moco.block_test import as_test
from fuzz_core.modelgen.moco.calls import fitted, parse_call, value
from fuzz_core.modelgen.moco.facts import Facts
from fuzz_core.modelgen.moco.names import ModuleNames
from fuzz_core.modelgen.moco.nodes import Arrival
from fuzz_core.modelgen.moco.operators import checks, generated, replaced
from fuzz_core.modelgen.moco.program import Call

seeds = st.integers(0, 2**32)
IMAGE = Arrival((2, 3, 8, 8))
blocks = st.sampled_from(BLOCKS)


class DescribeConstants:
    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            ("16 * 5 * 5", 400),
            ("-1", -1),
            ("(3, 2 + 1)", (3, 3)),
            ("[1e-5]", [1e-5]),
            ("float('-inf')", float("-inf")),
            ("{'a': None}", {"a": None}),
            ("'x'", "x"),
            ("torch.float32", Opaque("torch.float32")),
            ("nn.ReLU( )", Opaque("nn.ReLU()")),
            ("9 ** 9 ** 9", Opaque("9 ** 9 ** 9")),
            ("10 ** 60 ** 2", Opaque("10 ** 60 ** 2")),
            ("'a' * 10**9", Opaque("'a' * 10 ** 9")),
            ("1 / 0", Opaque("1 / 0")),
            ("__import__('os').system('x')", Opaque("__import__('os').system('x')")),
            ("not an expression", Opaque("not an expression")),
        ],
    )
    def test_an_expression_is_calculated_or_kept(self, source: str, expected: object) -> None:
        assert meaning(source) == expected

    integers = st.integers(-(2**128), 2**128) | st.builds(
        lambda bits, more: 2**bits + more, st.integers(1, 127), st.integers(-2, 2)
    )
    scalars = st.none() | st.booleans() | integers | st.floats() | st.text(max_size=9)

    @given(st.recursive(scalars, lambda each: st.lists(each, max_size=3) | st.lists(each, max_size=3).map(tuple)))
    def test_what_is_written_means_the_same(self, constant: object) -> None:
        assert written(meaning(written(constant))) == written(constant)


class DescribeParsedCalls:
    @given(blocks)
    def test_a_call_comes_back_from_its_text(self, each: Call) -> None:
        assert parse_call(each.written, each.api, each.applied) == each

    def test_arguments_stay_as_they_are_written(self) -> None:
        text = "nn.Sequential(*layers, 'a(\"' + ',', k = {'a' : 1}, **more)"
        found = parse_call(text, "torch.nn.Sequential", False)
        assert [argument.written for argument in found.arguments] == [
            "*layers",
            "'a(\"' + ','",
            "k={'a' : 1}",
            "**more",
        ]


class DescribeFitting:
    @given(blocks, st.lists(st.integers(1, 64), min_size=1, max_size=5).map(tuple))
    def test_bound_parameters_are_what_arrives_and_nothing_else_changes(
        self, each: Call, shape: tuple[int, ...]
    ) -> None:
        facts = known(each)
        made = fitted(each, facts, shape)
        for parameter in facts.parameters:
            place = parameter.binds
            if place is not None and -len(shape) <= place < len(shape):
                source = value(made, facts, parameter.name)
                assert source is not None and meaning(source) == shape[place]
            else:
                assert value(made, facts, parameter.name) == value(each, facts, parameter.name)

    def test_by_position_and_by_keyword(self) -> None:
        assert fitted(call("torch.nn.Linear", "16 * 4", "10"), LINEAR, (2, 9)).written == "nn.Linear(9, 10)"
        keyword = call("torch.nn.Linear", out_features="10", in_features="64")
        assert fitted(keyword, LINEAR, (2, 9)).written == "nn.Linear(out_features=10, in_features=9)"
        same = call("torch.nn.Linear", "9", "10")
        assert fitted(same, LINEAR, (2, 9)) is same

    def test_the_words_of_the_program_stay_where_nothing_changes(self) -> None:
        names = ModuleNames("torch", ast.parse("import torch.nn as nn\nWIDTH = 8"))
        block = call("torch.nn.Conv2d", "WIDTH * 4", "WIDTH * 2", "3", groups="WIDTH")
        assert fitted(block, CONV, (1, 32, 9, 9), names.resolved) is block
        assert fitted(block, CONV, (1, 48, 9, 9), names.resolved).written == "nn.Conv2d(48, WIDTH * 2, 3, groups=WIDTH)"
        assert fitted(block, CONV, (1, 5, 9, 9), names.resolved).written == "nn.Conv2d(5, WIDTH * 2, 3)"

    def test_a_relation_that_breaks_is_mended(self) -> None:
        depthwise = call("torch.nn.Conv2d", "32", "32", "3", groups="32")
        assert fitted(depthwise, CONV, (1, 10, 8, 8)).written == "nn.Conv2d(10, 32, 3)"
        assert fitted(depthwise, CONV, (1, 64, 8, 8)).written == "nn.Conv2d(64, 32, 3, groups=32)"


class DescribeTestCases:
    def test_a_layer_is_made_and_called(self) -> None:
        test = as_test(CALLS[2], CONV, (2, 6, 8, 8), "float32", 7)
        assert test is not None
        then = test.invocation.then
        assert then is not None and then.method == "__call__" and not then.kwargs
        (tensor,) = then.args
        assert isinstance(tensor, Tensor) and (tensor.dtype, tensor.shape) == ("float32", (2, 6, 8, 8))
        assert test.invocation._replace(then=None) == Invocation(
            "torch.nn.Conv2d",
            (prim(6), prim(16)),
            (("kernel_size", Seq("tuple", (prim(3), prim(3)))), ("padding_mode", prim("reflect"))),
        )

    def test_a_function_gets_the_tensor_where_its_activation_was(self) -> None:
        test = as_test(SLOPED, LEAKY, (2, 6), "float64", 7)
        assert test is not None and test.invocation.then is None
        tensor, slope = test.invocation.args
        assert isinstance(tensor, Tensor) and slope == Prim("float", 0.2)

    def test_names_and_nested_calls_are_described_by_public_paths(self) -> None:
        names = ModuleNames.of(program())
        block = call(
            "torch.nn.X", "nn.ReLU(inplace=True)", "F.gelu", "torch.float32", "slice(1, 2)", "float", a="{'k': -1}"
        )
        test = as_test(block, Facts(api="torch.nn.X"), (2,), "int64", 7, names.public)
        assert test is not None
        relu, gelu, dtype, cut, plain = test.invocation.args
        assert relu == Invocation("torch.nn.ReLU", (), (("inplace", prim(True)),))
        assert (gelu, dtype) == (Ref("name", "torch.nn.functional.gelu"), Ref("dtype", "float32"))
        assert plain == Ref("name", "float") and cut is not None

    @pytest.mark.parametrize(
        "source", ["width", "2 * width", "*sizes", "**more", "lambda x: x", "x[0]", "f'{1}'", "(", "os.sep"]
    )
    def test_none_where_an_argument_is_no_constant(self, source: str) -> None:
        block = call("torch.nn.X", source)
        assert as_test(block, Facts(api="torch.nn.X"), (2,), "float32", 7, ModuleNames.of(program()).public) is None

    def test_none_for_a_dtype_without_elements(self) -> None:
        assert as_test(CALLS[0], CONV, (2,), "qint8", 7) is None


class DescribeNames:
    def test_the_shortest_path_the_program_has(self) -> None:
        names = ModuleNames.of(program())
        assert names.spelled("torch.nn.Mish") == "nn.Mish"
        assert names.spelled("torch.nn.functional.gelu") == "F.gelu"
        assert names.spelled("torch.relu") == "torch.relu"
        assert (names.public("nn.Mish"), names.public("np.sum")) == ("torch.nn.Mish", None)

    def test_constants_of_the_program_take_the_place_of_their_names(self) -> None:
        source = "import torch.nn as nn\nWIDTH, DEPTH = 2 * 4, (3,)\nstep = 1\nstep = 2\nRATE: float = 0.5\nx = f()\n"
        own = program()
        names = ModuleNames.of(
            own._replace(template=own.template._replace(pieces=(source, "def f(RATE): pass\n")), blocks=())
        )
        block = call("torch.nn.X", "WIDTH * 2", "step", "DEPTH", p="RATE", q="x", r="'WIDTH'")
        assert names.resolved(block).written == "nn.X(8 * 2, step, (3,), p=RATE, q=x, r='WIDTH')"

    def test_a_variable_stands_for_an_api_only_if_its_value_is_a_path(self) -> None:
        source = "import torch.nn as nn\nLayer = nn.Linear\nweight = nn.Linear(3, 4).weight\n"
        names = ModuleNames("torch", ast.parse(source))
        assert (names.public("Layer"), names.public("weight")) == ("torch.nn.Linear", None)

    def test_an_import_line_where_there_is_no_path(self) -> None:
        names = ModuleNames.of(program())
        assert names.imports([call("torch.relu", "x", spelled="torch.relu")]) == "import torch\n"
        assert names.imports([call("torch.nn.X", dtype="torch.float32")]) == "import torch\n"
        assert names.imports(CALLS) == ""

    @pytest.mark.parametrize(
        ("library", "line", "path", "public"),
        [
            ("tensorflow", "import tensorflow as tf", "tf.keras.layers.Dense", "tf.keras.layers.Dense"),
            ("tensorflow", "from tensorflow.keras import layers", "layers.Dense", "tf.keras.layers.Dense"),
            ("tensorflow", "from tensorflow import keras", "keras.layers.Dense", "tf.keras.layers.Dense"),
            ("tensorflow", "import tensorflow", "tensorflow.nn.relu", "tf.nn.relu"),
            ("jittor", "import jittor as jt\nfrom jittor import nn", "nn.Conv", "jittor.nn.Conv"),
            ("jittor", "import jittor as jt", "jt.float32", "jittor.float32"),
            ("torch", "import torch.nn", "torch.nn.ReLU", "torch.nn.ReLU"),
            ("torch", "from torch.nn import ReLU as R", "R", "torch.nn.ReLU"),
        ],
    )
    def test_what_imports_bind(self, library: str, line: str, path: str, public: str) -> None:
        own = program()
        template = own.template._replace(pieces=(f"{line}\n", "x = 1\n"))
        assert ModuleNames.of(own._replace(library=library, template=template, blocks=())).public(path) == public

    @given(blocks, seeds)
    def test_every_mutant_can_be_parsed(self, each: Call, seed: int) -> None:
        facts = known(each)
        mutants = [generated(each, facts, Rng(seed)), replaced(each, KNOWLEDGE, IMAGE, Rng(seed))]
        for mutant in [*mutants, *checks(each, facts, Rng(seed))]:
            if mutant is not None:
                ast.parse(mutant.call.written, mode="eval")
                assert parse_call(mutant.call.written, mutant.call.api, mutant.call.applied) == mutant.call
