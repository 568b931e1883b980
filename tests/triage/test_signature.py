"""Tests of signatures: equal for one fault with any numbers, different for different faults."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.triage.signature import MAX_TEXT, corrupts_heap, normalised, signature
from fuzz_core.worker.stack import NULL_PAGE, WILD

CRASH = Verdict("crash", "crash")
GRAPH = (
    "Graph execution error:\n\nDetected at node Max defined at (most recent call last):\n"
    '  File "/a/r.py", line 12, in f\n\n{}\n\t [[{{{{node Max}}}}]] [Op:__inference_f_21]'
)
numbers = st.integers(-(2**70), 2**70).map(str) | st.floats().map(str)
addresses = st.integers(0, 2**64).map(hex)
names = st.text(string.ascii_letters + string.digits + "_.-+", min_size=1, max_size=9).filter(lambda s: s.strip("."))
paths = st.lists(names, min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts) + "/file.cpp")
shapes = st.lists(st.integers(0, 2**40), min_size=1, max_size=5).map(str)
values = st.text(string.ascii_letters + " ,.()[]0123456789", max_size=20).map(repr)


def text(outcome: Outcome, verdict: Verdict = CRASH, api: str = "torch.f") -> str:
    return signature(api, verdict, outcome).text


def failed(message: str) -> Outcome:
    return Outcome("exception", "RuntimeError", message)


class DescribeNormalised:
    @given(numbers, numbers, addresses, paths, shapes, values)
    def test_does_not_depend_on_what_varies(
        self, one: str, other: str, address: str, path: str, shape: str, value: str
    ) -> None:
        template = "got {} and {}, at {} in {}:12, size {} for {}; INTERNAL ASSERT FAILED"
        varied = template.format(one, other, address, path, shape, value)
        plain = template.format("1", "2", "0x1", "/a/file.cpp", "[3]", "'x'")
        assert normalised(varied) == normalised(plain)

    @pytest.mark.parametrize(
        ("message", "expected"),
        [
            (
                '!needs_check INTERNAL ASSERT FAILED at "/pytorch/aten/src/a.cpp":33, please report a bug',
                "!needs_check INTERNAL ASSERT FAILED at <value>:<number>, please report a bug",
            ),
            ("Sizes of tensors [2, 3] and (4,) at dim 1.5e-3", "Sizes of tensors <shape> and <shape> at dim <number>"),
            ("conv2d got tensor([[1., nan]], dtype=torch.float32)", "conv2d got <tensor>"),
            ("{{function_node __wrapped__Add_device_/job:x}} bad rank 3", "bad rank <number>"),
            ("Check failed: size >= 0 (-922 vs. 0)", "Check failed: size >= <number> (<number> vs. <number>)"),
            ("log1p of int32 failed", "log1p of int32 failed"),
            ("of 2j and 0J0", "of <number> and 0J0"),
        ],
    )
    def test_keeps_what_says_the_fault(self, message: str, expected: str) -> None:
        assert normalised(message) == expected

    @pytest.mark.parametrize(
        "end", ["", " [Op:Max]", " [Op:Max] name:", " [Op:Max] name: a/max", "\n\t [Op:f] name: x\ny"]
    )
    def test_is_one_whichever_way_leads_into_the_kernel(self, end: str) -> None:
        assert normalised("bad index" + end) == "bad index"
        assert normalised("bad [Op:Max] index" + end) == "bad [Op:Max] index"

    def test_is_that_of_the_node_where_a_graph_failed(self) -> None:
        assert normalised(GRAPH.format("bad index 3\nof x")) == "bad index <number> of x"
        assert normalised(GRAPH.format("a")) != normalised(GRAPH.format("b"))
        assert normalised("Graph execution error:\n\nno node") == "Graph execution error: no node"

    @given(st.text())
    def test_is_one_bounded_line(self, message: str) -> None:
        assert len(normalised(message)) <= MAX_TEXT
        assert len(normalised(message).splitlines()) <= 1

    def test_is_normal_where_it_is_cut(self) -> None:
        assert normalised("a" * (MAX_TEXT - 1) + " bad") == "a" * (MAX_TEXT - 1)
        assert normalised("a" * (MAX_TEXT - 4) + " 123A") == "a" * (MAX_TEXT - 4) + " <nu"

    @given(st.text() | st.lists(numbers | addresses | paths | shapes | values | st.text(max_size=9)).map(" ".join))
    def test_leaves_what_is_normal_as_it_is(self, message: str) -> None:
        once = normalised(message)
        assert normalised(once) == once

    def test_is_quick_on_hostile_messages(self) -> None:
        for hostile in (
            "tensor(" * 100_000,
            GRAPH * 1000,
            "[Op:a] name:" * 100_000,
            "a/" * 100_000,
            "[" + "1," * 100_000,
            "'" * 100_000,
            "{{" * 100_000,
        ):
            assert len(normalised(hostile)) <= MAX_TEXT


class DescribeSignature:
    def test_names_the_api_and_the_exception(self) -> None:
        found = signature("torch.add", CRASH, failed("index 5 is out of bounds"))
        assert found.text == "torch.add: RuntimeError: index <number> is out of bounds"
        assert len(found.digest) == 32

    def test_tells_apis_exceptions_and_messages_apart(self) -> None:
        base = text(failed("a"))
        assert base != text(failed("b"))
        assert base != text(failed("a"), api="torch.g")
        assert base != text(failed("a")._replace(name="SystemError"))

    @pytest.mark.parametrize(
        "said",
        [
            "malloc(): corrupted top size",
            "free(): invalid pointer",
            "double free or corruption (out)",
            "corrupted size vs.",
            "invalid fastbin entry (free)",
        ],
    )
    @pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGBUS"])
    def test_has_one_class_for_heap_corruption(self, said: str, name: str) -> None:
        assert text(Outcome("signal", name, said, ("at::native::f",))) == "torch.f: memory corruption"

    def test_takes_the_message_of_a_failed_check(self) -> None:
        said = "tensor_shape.cc:592] Check failed: size >= 0 (-5 vs. 0)"
        other = said.replace("592", "600").replace("-5", "-7")
        assert text(Outcome("signal", "SIGABRT", said)) == text(Outcome("signal", "SIGABRT", other))
        assert "SIGABRT: Check failed: size >=" in text(Outcome("signal", "SIGABRT", said))

    def test_takes_the_top_three_frames_of_a_crash(self) -> None:
        frames = ("a::f", "b::g", "c::h", "d::i")
        assert text(Outcome("signal", "SIGSEGV", "", frames)) == "torch.f: SIGSEGV in a::f < b::g < c::h"
        assert text(Outcome("signal", "SIGSEGV", "noise", ())) == "torch.f: SIGSEGV"

    def test_is_one_whichever_way_memory_is_missed(self) -> None:
        frames = ("a::f", "b::g")
        assert text(Outcome("signal", "SIGBUS", "", (*frames, WILD))) == text(Outcome("signal", "SIGSEGV", "", frames))
        assert text(Outcome("signal", "SIGSEGV", "", (NULL_PAGE,))) == "torch.f: SIGSEGV"

    def test_is_one_whichever_thread_meets_the_fault(self) -> None:
        pool = ("at::native::ctc", "at::internal::invoke_parallel")
        caller = (*pool, "at::native::ctc_loss_cpu", "at::native::ctc_loss")
        assert text(Outcome("signal", "SIGSEGV", "", pool)) == text(Outcome("signal", "SIGSEGV", "", caller))

    def test_does_not_count_a_function_and_its_copies(self) -> None:
        frames = ("a::f", "a::f", "a::f", "b::g", "c::h", "d::i")
        assert text(Outcome("signal", "SIGSEGV", "", frames)) == "torch.f: SIGSEGV in a::f < b::g < c::h"

    @given(addresses, addresses, paths, numbers)
    def test_of_a_message_does_not_depend_on_what_varies(self, one: str, other: str, path: str, number: str) -> None:
        said = "Check failed: size >= {} ({} vs. {}) at {} in {}"
        varied = Outcome("signal", "SIGABRT", said.format(number, number, one, other, path))
        plain = Outcome("signal", "SIGABRT", said.format("1", "2", "0x3", "0x4", "/a/file.cpp"))
        assert text(varied) == text(plain)

    def test_names_other_ends(self) -> None:
        assert text(Outcome("timeout", "timeout", "whatever")) == "torch.f: hang"
        assert text(Outcome("exit", "3")) == "torch.f: exit 3"
        wrong = Verdict("differential", "wrong-result", "cuda: 3 elements of 9 differ")
        assert text(Outcome("ok"), wrong) == "torch.f: wrong-result: cuda: <number> elements of <number> differ"


def test_modes_that_disagree_about_a_graph_are_told_apart_by_its_failure() -> None:
    def told(words: str) -> str:
        detail = "function: refuses what cpu accepts: InternalError: " + GRAPH.format(words)
        return text(Outcome("exception"), Verdict("differential", "inconsistent", detail))

    assert told("a") == "torch.f: inconsistent: function: refuses what cpu accepts: InternalError: a"
    assert told("a") != told("b")


def test_only_the_allocators_last_words_tell_of_a_corrupted_heap() -> None:
    assert corrupts_heap(Outcome("signal", "SIGABRT", "free(): invalid next size (fast)"))
    assert not corrupts_heap(Outcome("signal", "SIGABRT", "Check failed: rank == 2"))
    assert not corrupts_heap(Outcome("exception", "RuntimeError", "free(): invalid next size (fast)"))
