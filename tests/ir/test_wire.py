"""Tests that messages between processes are read by their annotations and within bounds, or refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fuzz_core.execution
from fuzz_core.execution.replay import read_results
from fuzz_core.ir.codec import encode
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import prim
from fuzz_core.ir.wire import MOST_ITEMS, Executions, ModeRun, Replayed, among, answer, below, cut, decode, most, parse

OK = ["ok", "", "", [], 0.0]
DEEP = b"[" * 100_000


class Inner(NamedTuple):
    """A record within a record."""

    sizes: Annotated[tuple[Annotated[int, below(10)] | None, ...], most(2)]
    word: Annotated[str, among(("a", "b"))] = "a"


class Outer(NamedTuple):
    """A tuple with one field of each kind."""

    inner: Inner | None
    pair: tuple[int, float]
    text: Annotated[str, cut(3)]
    whether: bool
    by_number: Mapping[int, str]
    by_name: Mapping[str, Inner | None]


GOOD: dict[str, Any] = {
    "inner": [[1, None], "b"],
    "pair": [-5, 2],
    "text": "longer",
    "whether": True,
    "by_number": {"7": "seven"},
    "by_name": {"x": [[], "a"], "y": None},
}
READ = Outer(Inner((1, None), "b"), (-5, 2.0), "lon", True, {7: "seven"}, {"x": Inner(()), "y": None})
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda part: st.lists(part, max_size=4) | st.dictionaries(st.text(max_size=4), part, max_size=4),
    max_leaves=8,
)


def test_a_record_is_an_object_with_its_fields_or_a_list_of_them() -> None:
    assert decode(Outer, {**GOOD, "more": 1}) == decode(Outer, list(GOOD.values())) == READ


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("inner", [[10], "a"]),
        ("inner", [[-1], "a"]),
        ("inner", [[True], "a"]),
        ("inner", [[1.0], "a"]),
        ("inner", [[1, 2, 3], "a"]),
        ("inner", [[1], "c"]),
        ("inner", [[1], ["a"]]),
        ("inner", [[1]]),
        ("inner", [[1], "a", 0]),
        ("inner", "ab"),
        ("pair", [1]),
        ("pair", [1, 2, 3]),
        ("pair", [1, "2"]),
        ("pair", [1, True]),
        ("pair", [1, 10**400]),
        ("pair", {"0": 1, "1": 2}),
        ("text", None),
        ("text", ["a"]),
        ("by_number", {"x": "y"}),
        ("by_number", {"-1": "y"}),
        ("by_number", {"\u0663": "y"}),
        ("by_number", {"1": 1}),
        ("by_number", [["1", "y"]]),
        ("by_number", {str(n): "" for n in range(MOST_ITEMS + 1)}),
        ("by_name", {"x": 1}),
    ],
)
def test_what_does_not_fit_is_refused(field: str, bad: Any) -> None:
    with pytest.raises(CodecError):
        decode(Outer, {**GOOD, field: bad})


@pytest.mark.parametrize("bad", [None, 1, "", [], {}, {"inner": None}, [None] * 6])
def test_what_is_no_record_is_refused(bad: Any) -> None:
    with pytest.raises(CodecError):
        decode(Outer, bad)


@given(st.sampled_from(Outer._fields), JUNK)
def test_junk_is_refused_or_read_within_bounds(field: str, junk: Any) -> None:
    try:
        read = decode(Outer, {**GOOD, field: junk})
    except CodecError:
        return
    assert len(read.text) <= 3 and type(read.whether) is bool
    assert all(type(number) is int for number in (*read.by_number, read.pair[0]))


@pytest.mark.parametrize("line", [b"", b"[]", b"1", b"{", b"\xff", DEEP, b'{"a":' * 100_000, b"9" * 10_000])
def test_what_is_no_message_is_none(line: bytes) -> None:
    assert parse(line) is None
    assert answer(line, 1, lambda message: message) is None


class DescribeAnswers:
    def told(self, **fields: Any) -> bytes:
        return json.dumps({"replayed": 3, **fields}).encode()

    def test_are_read_as_they_were_told(self) -> None:
        verdict, seen = Verdict("crash", "crash", "d"), Outcome("signal", "SIGSEGV", "t", ("f",), 1.0)
        line = self.told(outcome=OK, verdicts=[[list(verdict), seen]], spoilt=True)
        read = answer(line, 3, lambda message: decode(Replayed, message))
        assert read == Replayed(Outcome("ok"), ((verdict, seen),), True)
        assert answer(line, 4, lambda message: decode(Replayed, message)) is None

    def test_of_executions_have_values_where_they_are_ok(self) -> None:
        raised = ["exception", "E", "", [], 0.0]
        message = {"told": {"cpu": [[OK, encode(prim(2))], [raised, ["garbage"]]]}}
        told = decode(Executions, message).told
        assert told == {"cpu": (ModeRun(Outcome("ok"), prim(2)), ModeRun(Outcome("exception", "E")))}

    @pytest.mark.parametrize(
        "fields",
        [
            {},
            {"outcome": OK},
            {"outcome": None, "verdicts": [], "spoilt": False},
            {"outcome": ["new", "", "", [], 0.0], "verdicts": [], "spoilt": False},
            {"outcome": OK, "verdicts": {}, "spoilt": False},
            {"outcome": OK, "verdicts": [["crash", OK]], "spoilt": False},
            {"outcome": OK, "verdicts": [[["crash", "crash", "", ""], OK]], "spoilt": False},
            {"outcome": OK, "verdicts": [[["crash", "crash", ""]]], "spoilt": False},
        ],
    )
    def test_of_a_replay_that_are_malformed_are_garbage(self, fields: dict[str, Any]) -> None:
        assert answer(self.told(**fields), 3, lambda message: decode(Replayed, message)) is None

    @pytest.mark.parametrize("told", [None, [], {"cpu": None}, {"cpu": [OK]}, {"cpu": [[OK]]}, {"cpu": [[OK, ["?"]]]}])
    def test_of_executions_that_are_malformed_are_garbage(self, told: Any) -> None:
        assert answer(self.told(told=told), 3, lambda message: decode(Executions, message)) is None

    def test_have_arrays_of_so_many_nodes(self) -> None:
        results = {str(node): ["<f8", [0], ""] for node in range(2000)}
        read = answer(self.told(came=OK, results=results, spoilt=1), 3, read_results)
        assert read is not None and isinstance(read.came, dict) and len(read.came) == 1000 and not read.spoilt


def test_messages_of_workers_are_parsed_in_one_place() -> None:
    folder = Path(fuzz_core.execution.__file__).parent
    assert [path.name for path in folder.glob("*.py") if "json.load" in path.read_text()] == []
