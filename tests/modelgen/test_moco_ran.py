"""Tests that the encoded result of a program is read back as it was written, or refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.outcome import Outcome
from fuzz_core.worker.programs_ran import (
    ELSEWHERE,
    GRADIENTS,
    HOWS,
    MAKE,
    USE,
    BlockTensors,
    CompiledUse,
    FlowRecord,
    JoinRecord,
    ProgramResult,
    TensorKind,
    UseRecord,
)

KINDS = st.builds(TensorKind, st.lists(st.none() | st.integers(0, 9)).map(tuple), st.text(max_size=9))
NUMBERS = st.floats(allow_nan=False)
SAW = st.builds(BlockTensors, st.none() | KINDS, st.none() | KINDS | st.integers(0, 9), st.booleans())
NUMBER = st.integers(0, 9)
SITES = st.lists(NUMBER, max_size=3).map(tuple)
USES = st.builds(UseRecord, NUMBER, NUMBER, st.booleans(), NUMBER, st.booleans(), st.text(max_size=9), st.booleans())
JOINS = st.builds(JoinRecord, NUMBER, SITES, st.lists(SITES, max_size=3).map(tuple))
FLOWS = st.builds(FlowRecord, st.lists(USES, max_size=3).map(tuple), st.lists(JOINS, max_size=3).map(tuple))
RANS = st.builds(
    ProgramResult,
    st.builds(Outcome, st.sampled_from(("ok", "exception")), st.text(), st.text(), st.just(("f",)), st.floats(0, 9)),
    line=st.integers(0, 99),
    inside=st.none() | st.integers(0, 9),
    phase=st.sampled_from(("", MAKE, USE, ELSEWHERE)),
    how=st.sampled_from(HOWS),
    frames=st.lists(st.text(), max_size=5).map(tuple),
    saw=st.dictionaries(st.integers(0, 9), SAW),
    passed=st.dictionaries(st.integers(0, 9), st.none() | KINDS),
    losses=st.lists(st.floats(allow_nan=False), max_size=5).map(tuple),
    memory=st.tuples(*[st.integers(0, 9)] * 3),
    reused=st.booleans(),
    gradients=st.dictionaries(st.integers(0, 9), st.sampled_from(GRADIENTS)),
    compiled=st.none() | st.builds(CompiledUse, *[NUMBERS, st.text(), NUMBERS]),
    untrained=st.lists(st.text(), max_size=3).map(tuple),
    scales=st.tuples(NUMBERS, NUMBERS),
    burst=st.booleans(),
    flow=st.none() | FLOWS,
    spoilt=st.booleans(),
    disturbed=st.booleans(),
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda part: st.lists(part, max_size=4) | st.dictionaries(st.text(max_size=4), part, max_size=4),
    max_leaves=8,
)


@examples(30)
@given(RANS)
def test_what_is_told_is_read_back(ran: ProgramResult) -> None:
    assert ProgramResult.from_json(json.loads(json.dumps(ran._asdict()))) == ran


@examples(30)
@given(RANS, st.sampled_from(ProgramResult._fields), JUNK)
def test_what_a_hostile_process_tells_is_bounded_or_refused(ran: ProgramResult, field: str, junk: Any) -> None:
    try:
        read = ProgramResult.from_json(json.loads(json.dumps({**ran._asdict(), field: junk})))
    except CodecError:
        return
    assert ProgramResult.from_json(json.loads(json.dumps(read._asdict()))) == read or "NaN" in json.dumps(
        read._asdict()
    )


@pytest.mark.parametrize("data", [None, [], {}, {"outcome": ["ok", "", "", [], 0.0]}, 3, "x"])
def test_what_is_no_answer_is_refused(data: Any) -> None:
    with pytest.raises(CodecError):
        ProgramResult.from_json(data)
