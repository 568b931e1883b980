"""Tests of clusters: one cluster per cause, for any name of the api and any kind of death; never two faults in one."""

from __future__ import annotations

import itertools
import random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import Invocation, Prim, TestCase, prim
from fuzz_core.oracles.kinds import RESIZED
from fuzz_core.triage.cluster import clusters
from fuzz_core.triage.place import plain_name

ASSERT = 'false INTERNAL ASSERT FAILED at "/build/{file}":{line}, please report a bug to PyTorch. {said}'
MACHINERY = (
    "c10::function_ref::callback_fn",
    "at::TensorIteratorBase::serial_for_each",
    "at::TensorIteratorBase::for_each",
)


class Row(NamedTuple):
    """The fields of a bug that triage reads."""

    id: int
    api: str
    outcome: Outcome
    kind: str = "crash"
    target: str = "torch-1"
    signature_text: str = ""
    minimised: bool = True
    arguments: int = 1
    oracle: str = "crash"
    script: str = ""
    keywords: tuple[tuple[str, Prim], ...] = ()

    @property
    def test(self) -> TestCase:
        """Returns a test case; more arguments make it less simple."""
        return TestCase(Invocation(self.api, tuple(map(prim, range(self.arguments))), self.keywords), 0)


def died(number: int, api: str, *frames: str, name: str = "SIGSEGV", said: str = "") -> Row:
    return Row(number, api, Outcome("signal", name, said, frames))


def raised(number: int, api: str, said: str, name: str = "RuntimeError", frames: tuple[str, ...] = ()) -> Row:
    return Row(number, api, Outcome("exception", name, said, frames), "internal-error")


def differs(number: int, api: str, mode: str = "strided", kind: str = "wrong-result") -> Row:
    return Row(number, api, Outcome("ok"), kind, signature_text=f"{api}: {kind}: {mode}: 3 elements differ")


def reshaped(
    number: int, api: str, actual: str, expected: str, mode: str = "vmap", blame: str = "", **keywords: object
) -> Row:
    """Returns a call for which two modes disagree about the shape."""
    kind = "wrong-metadata" if mode == "meta" else "wrong-result"
    said = f"The values for attribute 'shape' do not match: torch.Size({actual}) != torch.Size({expected})."
    text = f"another shape\n{said}{chr(10) * bool(blame)}{blame}"
    row = Row(number, api, Outcome("ok", "", text), kind, signature_text=f"{api}: {kind}: {mode}: another shape")
    return row._replace(keywords=tuple((name, prim(value)) for name, value in keywords.items()))


def grouped(*rows: Row) -> set[frozenset[int]]:
    return {frozenset(row.id for row in cluster.members) for cluster in clusters(rows)}


ONE, TWO = {frozenset((1, 2))}, {frozenset((1,)), frozenset((2,))}


class DescribeChecks:
    def test_one_under_a_hundred_operators_is_one_cluster(self) -> None:
        said = ASSERT.format(file="pybind.cpp", line=27, said="")
        rows = [raised(number, f"torch.op_{chr(97 + number % 26)}{number}", said) for number in range(100)]
        assert grouped(*rows) == {frozenset(range(100))}

    @pytest.mark.parametrize(("file", "line", "said"), [("b.cpp", 27, "lstsq"), ("a.cpp", 42, "Unknown error code 1")])
    def test_elsewhere_are_others(self, file: str, line: int, said: str) -> None:
        one = raised(1, "torch.lstsq", ASSERT.format(file="a.cpp", line=27, said="lstsq"))
        assert grouped(one, raised(2, "torch.lstsq", ASSERT.format(file=file, line=line, said=said))) == TWO

    def test_move_between_versions(self) -> None:
        one = raised(1, "torch.f", ASSERT.format(file="a.cpp", line=27, said="rank is wrong"))
        other = raised(2, "torch.f", ASSERT.format(file="a.cpp", line=31, said="rank is wrong"))
        assert grouped(one, other) == TWO
        assert grouped(one, other._replace(target="torch-2")) == ONE

    @pytest.mark.parametrize("other", ["Check failed: dims() < 9 (12 vs. 9)", "Check failed: dims() < 9 (10 vs. 9)"])
    def test_without_a_location_are_known_by_their_words(self, other: str) -> None:
        one = died(1, "tf.raw_ops.Max", name="SIGABRT", said="Check failed: dims() < 9 (10 vs. 9)")
        assert grouped(one, died(2, "tf.raw_ops.Einsum", name="SIGABRT", said=other)) == ONE

    def test_with_other_words_are_others(self) -> None:
        one = died(1, "tf.raw_ops.Max", name="SIGABRT", said="Check failed: d < dims() (1 vs. 1)")
        other = died(2, "tf.raw_ops.Max", name="SIGABRT", said="Check failed: in.dims() == perm.size() (4 vs. 5)")
        assert grouped(one, other) == TWO

    def test_in_a_function_that_many_kernels_call_are_told_apart_by_the_kernel(self) -> None:
        def failed(number: int, api: str, *callers: str) -> Row:
            said = "Check failed: d < dims() (1 vs. 1)"
            return died(number, api, "tf::Shape::dim_size", *callers, "tf::Loop::Run", name="SIGABRT", said=said)

        scatter = [
            failed(1, "tf.raw_ops.ScatterNd", "tf::ScatterOp::Compute"),
            failed(2, "tf.put", "tf::ScatterOp::Compute"),
        ]
        pools = [
            failed(3, "tf.MaxPool", "tf::PoolDims", "tf::MaxOp::Compute"),
            failed(4, "tf.Mean", "tf::PoolDims", "tf::MeanOp"),
        ]
        assert grouped(*scatter, *pools) == {frozenset((1, 2, 3, 4))}, "two callers: the check may be the fault"
        gather = failed(5, "tf.gather", "tf::GatherOp::Compute")
        assert grouped(*scatter, *pools, gather) == {frozenset((1, 2)), frozenset((3, 4)), frozenset((5,))}
        unknown = died(6, "tf.other", name="SIGABRT", said="Check failed: d < dims() (1 vs. 1)")
        assert sum(6 in group for group in grouped(*scatter, *pools, gather, unknown)) == 1

    def test_are_not_taken_from_warnings(self) -> None:
        warning = "UserWarning: beta state. (Triggered internally at /build/Context.cpp:816.)"
        one = died(1, "torch.lcm", "at::native::lcm_kernel", name="SIGFPE", said=warning)
        assert grouped(one, died(2, "torch.div", "at::native::div_kernel", name="SIGFPE", said=warning)) == TWO


class DescribeWords:
    def test_of_the_library_join_different_apis(self) -> None:
        said = "{{{{function_node __wrapped__{0}_device_/job:x}}}} JPEG encoding failed [Op:{0}]"
        one = raised(1, "tf.io.encode_jpeg", said.format("EncodeJpeg"), "InternalError")
        other = raised(2, "tf.image.adjust_quality", said.format("EncodeJpegVariableQuality"), "InternalError")
        assert grouped(one, other) == ONE

    @pytest.mark.parametrize("said", ["vector::_M_default_append", "what(): std::bad_cast", "basic_string::at"])
    def test_of_the_language_do_not(self, said: str) -> None:
        assert grouped(raised(1, "torch.chunk", said), raised(2, "torch.combinations", said)) == TWO
        assert grouped(raised(1, "torch.chunk", said), raised(2, "torch.Tensor.chunk", said)) == ONE

    def test_of_the_interpreter_count_with_their_frames(self) -> None:
        said = "cannot access local variable 'x' where it is not associated with a value"
        here, there = ("torch/a.py:f",), ("torch/b.py:g",)
        one = raised(1, "torch.stft", said, "UnboundLocalError", here)
        assert grouped(one, raised(2, "torch.istft", said, "UnboundLocalError", here)) == ONE
        assert grouped(one, raised(2, "torch.istft", said, "UnboundLocalError", there)) == TWO


class DescribeFrames:
    def test_two_in_common_order_are_one_cause(self) -> None:
        one = died(1, "torch.a", "at::native::inlined", "at::native::inner", "at::native::outer")
        other = died(2, "torch.b", "at::native::inner", "at::native::outer", "at::native::b")
        assert grouped(one, other) == ONE

    def test_in_another_order_are_not(self) -> None:
        one = died(1, "torch.a", "at::native::inner", "at::native::outer")
        assert grouped(one, died(2, "torch.b", "at::native::outer", "at::native::inner")) == TWO

    def test_of_machinery_join_nothing(self) -> None:
        one = died(1, "torch.lcm", *MACHINERY, "at::native::lcm_kernel", name="SIGFPE")
        assert grouped(one, died(2, "torch.gcd", *MACHINERY, "at::native::gcd_kernel", name="SIGFPE")) == TWO

    def test_that_unrelated_apis_share_join_nothing(self) -> None:
        """The frames in common are on no list; the data shows that they occur in all clusters."""
        kernels = ("sort", "gather", "einsum", "softmax", "cumsum")
        rows = [
            died(number, f"new.{kernel}", f"ns::{kernel}_body", "ns::Runner::go", "ns::Runner::start")
            for number, kernel in enumerate(kernels)
        ]
        assert len(grouped(*rows)) == len(kernels)

    def test_differ_by_dimensions_alone(self) -> None:
        one = died(1, "torch.nn.ReplicationPad2d", "at::native::replication_pad2d_kernel")
        assert grouped(one, died(2, "torch.nn.functional.pad", "at::native::replication_pad3d_kernel")) == ONE

    def test_of_other_signals_are_other_faults(self) -> None:
        frames = ("at::native::a", "at::native::b")
        one = died(1, "torch.f", *frames)
        assert grouped(one, died(2, "torch.f", *frames, name="SIGFPE")) == TWO
        assert grouped(one, died(2, "torch.f", *frames, name="SIGBUS")) == ONE


class DescribeMemoryCorruption:
    @pytest.mark.parametrize("name", ["SIGABRT", "SIGSEGV", "SIGBUS"])
    def test_is_one_cause_however_it_dies(self, name: str) -> None:
        one = died(1, "torch.lu_unpack", "at::native::unpack_pivots")
        other = died(2, "torch.lu_unpack", "at::native::free_it", name=name, said="free(): invalid pointer")
        assert grouped(one, other) == ONE

    def test_of_unrelated_apis_is_not_one_cause(self) -> None:
        frames = ("c10::TensorImpl::~TensorImpl", "THPVariable_dealloc")
        one = died(1, "torch.coalesce", *frames, name="SIGABRT", said="double free or corruption (out)")
        other = died(2, "torch.ldl_solve", *frames, name="SIGABRT", said="double free or corruption (out)")
        assert grouped(one, other) == TWO

    def test_in_a_function_is_that_of_the_api_of_its_name(self) -> None:
        one = died(1, "torch.Tensor.coalesce", name="SIGABRT", said="malloc(): corrupted top size")
        assert grouped(one, died(2, "torch.sparse.sum", "at::native::coalesce", "at::native::sparse_sum")) == ONE


class DescribeAliases:
    @pytest.mark.parametrize(
        "api", ["torch.nn.functional.conv2d", "torch.Tensor.conv1d", "torch.conv3d_", "torch.nn.Conv2d", "torch.conv"]
    )
    def test_without_frames_are_one_cluster(self, api: str) -> None:
        assert grouped(died(1, "torch.conv2d"), died(2, api)) == ONE

    def test_of_raw_operators_carry_the_module(self) -> None:
        assert grouped(died(1, "tf.sparse.reduce_sum"), died(2, "tf.raw_ops.SparseReduceSum")) == ONE

    def test_that_fall_over_elsewhere_are_two(self) -> None:
        one = died(1, "torch.embedding_bag", "at::native::embedding_bag_impl", "at::native::bag")
        assert grouped(one, died(2, "torch.nn.EmbeddingBag", "fbgemm::report", "embedding_bag_byte")) == TWO

    @pytest.mark.parametrize(
        ("api", "plain"),
        [
            ("torch.nn.BatchNorm1d", "batchnorm"),
            ("tf.raw_ops.Conv3DBackpropInputV2", "convbackpropinput"),
            ("torch.max_pool2d_with_indices", "maxpoolwithindices"),
            ("torch.Tensor.add_", "add"),
        ],
    )
    def test_share_a_plain_name(self, api: str, plain: str) -> None:
        assert plain_name(api) == plain

    def test_of_two_libraries_are_two(self) -> None:
        assert grouped(died(1, "torch.add"), died(2, "tf.add")) == TWO


class DescribeDisagreements:
    def test_are_one_by_api_kind_and_mode(self) -> None:
        assert grouped(differs(1, "torch.softmax"), differs(2, "torch.nn.functional.softmax")) == ONE
        assert grouped(differs(1, "torch.softmax"), differs(2, "torch.cumsum")) == TWO
        assert grouped(differs(1, "torch.softmax"), differs(2, "torch.softmax", "vmap")) == TWO
        assert grouped(differs(1, "torch.softmax"), differs(2, "torch.softmax", kind="nonfinite")) == TWO
        assert grouped(differs(1, "torch.softmax"), died(2, "torch.softmax")) == TWO

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("torch.Tensor.logical_or_", "torch.Tensor.logical_not_"),
            ("torch.Tensor.addbmm", "torch.baddbmm"),
            ("torch.Tensor.addmv", "torch.addbmm"),
            ("torch.nn.AlphaDropout", "torch.nn.FeatureAlphaDropout"),
        ],
    )
    def test_of_one_family_about_the_same_are_one(self, one: str, other: str) -> None:
        assert grouped(differs(1, one), differs(2, other)) == ONE
        assert grouped(differs(1, one), differs(2, other, "vmap")) == TWO
        assert grouped(differs(1, one), differs(2, other)._replace(signature_text="f: wrong-result: strided: b")) == TWO

    def test_with_documentation_are_one_by_family_and_words(self) -> None:
        said = 'label_smoothing = `-1`, documented: "A float in [0.0, 1.0]." (docstring)'
        one = raised(1, "torch.nn.CrossEntropyLoss", said, "RuledOut")._replace(kind="bounds")
        for argument, expected in (("label_smoothing", ONE), ("smoothing", TWO)):
            words = said.replace("label_smoothing", argument)
            for api in ("torch.nn.functional.cross_entropy", one.api):
                other = raised(2, api, words, "RuledOut")._replace(kind="bounds")
                assert grouped(one, other) == expected

    @pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
    def test_bounds_of_one_argument_in_one_module_are_one_in_any_order(self, order: tuple[int, ...]) -> None:
        """Before this rule, three losses of Keras were two or three causes, which depended on the order of the bugs."""
        losses = ("binary_crossentropy", "CategoricalFocalCrossentropy", "categorical_focal_crossentropy")
        words = ("Float in range [0, 1].", "Float in [0, 1].", "(Optional) Float in [0, 1].")
        bugs = [
            raised(
                number, f"tf.keras.losses.{losses[place]}", f'label_smoothing = `-1`, documented: "{words[place]}" (d)'
            )._replace(kind="bounds")
            for number, place in enumerate(order, 1)
        ]
        assert grouped(*bugs) == {frozenset({1, 2, 3})}
        other = bugs[0]._replace(outcome=bugs[0].outcome._replace(text='eps = `-1`, documented: "In [0, 1]." (d)'))
        elsewhere = bugs[0]._replace(api="tf.image.adjust_gamma")
        unlike = bugs[1]._replace(outcome=bugs[1].outcome._replace(text=bugs[1].outcome.text.replace("1].", "2].")))
        for one in (other, elsewhere):
            assert grouped(one, bugs[1]) == {frozenset({1}), frozenset({2})}
        assert grouped(bugs[0]._replace(api="tf.keras.losses.huber"), unlike) == {frozenset({1}), frozenset({2})}

    def test_of_one_shape_by_the_same_keywords_are_one_in_any_family(self) -> None:
        one = reshaped(1, "torch.argmax", "[1]", "[1, 1]", keepdim=True)
        assert grouped(one, reshaped(2, "torch.Tensor.aminmax", "[1]", "[1, 1]", keepdim=True)) == ONE
        assert grouped(one, reshaped(2, "torch.Tensor.aminmax", "[1]", "[1, 1]", keepdim=False)) == TWO
        assert grouped(one, reshaped(2, "torch.Tensor.aminmax", "[]", "[1, 1]", keepdim=True)) == TWO
        assert grouped(one._replace(keywords=()), reshaped(2, "torch.aminmax", "[1]", "[1, 1]")) == TWO

    def test_by_the_plain_call_are_one_in_whichever_mode_it_is_seen(self) -> None:
        blame = "wrong: cpu, by the call under torch.vmap"
        one = reshaped(1, "torch.addmv", "[1]", "[]", "meta", blame)
        assert grouped(one, reshaped(2, "torch.Tensor.addmv", "[1]", "[]", "vmap", blame)) == ONE
        # The cases without blame, or with another reason, are one fault if the function is the same, and two faults if
        # not.
        resized = f"wrong: cpu, by {RESIZED}"
        assert grouped(one, reshaped(2, "torch.Tensor.addbmm_", "[1, 0]", "[]", "vmap", resized)) == TWO
        unknown = reshaped(2, "torch.Tensor.addmv", "[0]", "[]", "meta")
        assert grouped(one, unknown) == ONE
        assert grouped(one, unknown._replace(api="torch.addmm")) == TWO
        assert grouped(one, reshaped(2, "torch.addmv", "[0]", "[]", "vmap")) == ONE
        in_place = reshaped(1, "torch.Tensor.addbmm_", "[1, 0]", "[]", "vmap", resized)
        assert grouped(in_place, differs(2, "torch.addbmm", "vmap")) == TWO

    def test_of_names_that_share_what_many_names_have_are_two(self) -> None:
        loss = differs(1, "torch.nn.HuberLoss", "meta", "wrong-metadata")
        assert grouped(loss, differs(2, "torch.nn.BCELoss", "meta", "wrong-metadata")) == TWO
        assert grouped(loss, differs(2, "torch.nn.functional.huber_loss", "meta", "wrong-metadata")) == ONE
        conv = differs(1, "torch.conv2d", "vmap")
        assert grouped(conv, differs(2, "torch.conv_transpose2d", "vmap")) == ONE

    def test_in_which_mode_a_call_is_refused_makes_no_difference(self) -> None:
        one = differs(1, "tf.raw_ops.Fill", "function", "inconsistent")
        assert grouped(one, differs(2, "tf.raw_ops.Fill", "xla", "inconsistent")) == ONE
        other = one._replace(id=2, signature_text="tf.raw_ops.Fill: inconsistent: xla: 2 elements")
        assert grouped(one, other) == TWO

    @pytest.mark.parametrize(
        ("words", "expected"), [("Must be one of the following types: float32, half.", ONE), ("Float.", TWO)]
    )
    def test_with_a_long_text_are_one_in_any_family(self, words: str, expected: set[frozenset[int]]) -> None:
        said = f'x = `tensor<1,bfloat16>`, documented: "{words}" (docstring)'
        one = raised(1, "tf.math.cumsum", said, "RuledOut")._replace(kind="bounds")
        other = raised(2, "tf.math.bincount", said.replace("16", "32"), "RuledOut")._replace(kind="bounds")
        assert grouped(one, other) == expected
        elsewhere = raised(2, "tf.math.bincount", said.replace("x =", "y ="), "RuledOut")._replace(kind="bounds")
        assert grouped(one, elsewhere) == TWO
        reworded = raised(2, "tf.math.bincount", said.replace("Must", "May"), "RuledOut")._replace(kind="bounds")
        assert expected == TWO or grouped(one, reworded) == TWO


class DescribeGraphs:
    def test_fail_where_their_node_does(self) -> None:
        graph = (
            'Graph execution error:\n\nDetected at node {0} defined at (most recent call last):\n  File "/a/r.py"\n\n'
            "{1}\n\t [[{{{{node {0}}}}}]] [Op:__inference_f_9]"
        )
        eager = raised(1, "tf.a", "{{function_node x}} JPEG encoding failed [Op:Jpeg] name: a/b", "InternalError")
        assert grouped(eager, raised(2, "tf.b", graph.format("a/J", "JPEG encoding failed"), "InternalError")) == ONE
        one = raised(1, "tf.c", graph.format("a/J", "JPEG encoding failed"), "InternalError")
        assert grouped(one, raised(2, "tf.c", graph.format("a/J", "no index of that name"), "InternalError")) == TWO


def test_the_simplest_comes_first_and_apis_are_listed_once() -> None:
    rows = [died(1, "torch.add")._replace(arguments=3), died(2, "torch.Tensor.add")._replace(arguments=2)]
    [found] = clusters([*rows, died(3, "torch.add")])
    assert ([row.id for row in found.members], found.first.id) == ([3, 2, 1], 3)
    assert found.apis == ("torch.add", "torch.Tensor.add")


def test_likeness_does_not_chain() -> None:
    """Neighbouring rows look alike; the first and the last row have no frame in common."""
    parts = [f"at::native::step{chr(97 + n) * 4}" for n in range(12)]
    rows = [died(n, f"torch.{'abcdefghijk'[n] * 5}", *parts[n : n + 3]) for n in range(10)]
    assert max(map(len, grouped(*rows))) <= 3


frames = st.lists(st.sampled_from(["at::native::f", "at::native::g", "at::_ops::f::call", "", "::~X"]), max_size=4)
outcomes = st.builds(
    Outcome,
    st.sampled_from(["signal", "exception", "timeout", "ok"]),
    st.sampled_from(["SIGSEGV", "SIGABRT", "RuntimeError", "KeyError"]),
    st.text(max_size=20)
    | st.sampled_from(["double free", "Check failed: a", ASSERT.format(file="a", line=1, said="")]),
    frames.map(tuple),
)
rows = st.builds(
    Row,
    st.integers(0, 99),
    st.sampled_from(["torch.f", "torch.Tensor.f_", "torch.g2d", "f", ""]),
    outcomes,
    st.sampled_from(["crash", "hang", "wrong-result", "internal-error"]),
    target=st.sampled_from(["torch-1", "torch-2"]),
    signature_text=st.text(max_size=20),
    arguments=st.integers(0, 2),
    keywords=st.just(()),
)


@given(st.lists(rows, max_size=12, unique_by=lambda row: row.id), st.integers(0, 9))
def test_every_bug_is_in_one_cluster_whatever_their_order(found: list[Row], seed: int) -> None:
    shuffled = random.Random(seed).sample(found, len(found))
    assert sorted(row.id for cluster in clusters(found) for row in cluster.members) == sorted(row.id for row in found)
    assert clusters(shuffled) == clusters(found)


def test_code_that_a_compiler_refuses_is_told_apart_by_the_complaint() -> None:
    runner = "\n[f 1121 17:01:05.984 40 log.cc:608] Check failed ret(256) == 0(0) Run cmd failed: g++ /a/key_op.cc"
    missing = f"compiler: \u2018op1_i\u2019 was not declared in this scope{runner}"
    other = f"compiler: \u2018op0_i15\u2019 was not declared in this scope{runner.replace('key', 'other')}"
    ambiguous = f"compiler: call of overloaded \u2018_erfinv(bool&)\u2019 is ambiguous{runner}"
    assert grouped(raised(1, "jittor.roll", missing), raised(2, "jittor.index", other)) == ONE
    assert grouped(raised(1, "jittor.roll", missing), raised(2, "jittor.erfinv", ambiguous)) == TWO


def test_code_that_a_compiler_refuses_is_told_apart_by_the_operator_that_made_it() -> None:
    """Operators of one kind have one template; of operators that are compiled as one, the complaint quotes one."""
    executed = (
        "compiler: {said}\n[f 1127 03:00:28 36 executor.cc:686] \nExecute fused operator(2/3) failed. \n"
        "[OP TYPE]: {ops}\n"
    )
    prepared = "compiler: {said}\nFailed reason:\nCompile fused operator(3/4)failed:[{ops},]\n\nReason: ..."
    lacks = "\u2018op{number}_i15\u2019 was not declared in this scope"
    alone = executed.format(said=lacks.format(number=0), ops="fused_op:( index,)")
    both = "Op(7:0:1:1:i1:o1:s0:g1,reindex->8),Op(9:0:1:1:i1:o1:s0:g1,reduce.mean->10)"
    first, second = (prepared.format(said=lacks.format(number=number), ops=both) for number in (0, 1))
    again = executed.format(said=lacks.format(number=0), ops="fused_op:( reindex, reduce.mean,)")
    assert grouped(raised(1, "jittor.index_var", alone), raised(2, "jittor.nn.pool", first)) == TWO
    assert grouped(raised(1, "jittor.pad", again), raised(2, "jittor.nn.pool", first)) == ONE
    assert grouped(raised(1, "jittor.pad", again), raised(2, "jittor.nn.pool", second)) == TWO

    def float_bits(ops: str) -> str:
        return executed.format(
            said="invalid operands of types \u2018float\u2019 and \u2018int\u2019 to binary", ops=ops
        )

    shift, either = (
        float_bits("fused_op:( binary.left_shift,)"),
        float_bits("fused_op:( broadcast_to, binary.bitwise_or,)"),
    )
    assert grouped(raised(1, "jittor.a", shift), raised(2, "jittor.b", either)) == ONE
    assert grouped(raised(1, "jittor.a", shift), raised(2, "jittor.b", float_bits("code "))) == TWO


def test_a_check_is_where_the_reason_says_and_not_where_the_library_runs_any_operator() -> None:
    runner = "Failed reason:[f 1127 02:52:47 48 parallel_compiler.cc:331] Error happend during compilation:\n"
    check = "\nReason: [f 1127 02:52:46 24 {}] Check failed: {}  Something wrong... Could you please report this issue?"

    def failed(number: int, api: str, where: str, said: str) -> Row:
        return raised(number, api, runner + check.format(where, said))

    first = failed(1, "jittor.index", "op_compiler.cc:832", "member.size() <= var_num")
    assert grouped(first, failed(2, "jittor.nn.fold", "expr.cc:90", "is_unary_op.count(op)")) == TWO
    assert grouped(first, failed(2, "jittor.upsample", "op_compiler.cc:832", "member.size() <= var_num")) == ONE
