"""Tests that no message of untrusted code keeps the controller busy."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.triage.signature import normalised

_FORMER = re.compile(r"[\[(]\s*(?:[-+]?[\w.]*\d[\w.]*\s*,?\s*)+[\])]")
_PIECES = st.sampled_from(["(", "[", "]", ")", "1", "23", "4.5", "-6", "x", "_", ".", ", ", " ", "e5", "é"])


@pytest.mark.parametrize(
    "unit",
    [
        "216022481962818624 vs. ",
        "(",
        "((1, ",
        "tensor(",
        "[1" * 3,
        "/",
        "a/",
        "1.",
        "1 x ",
        "'",
        "0x",
        "<",
        "{{",
        "[Op:a]",
        " ",
    ],
)
@pytest.mark.parametrize("before", ["", "(", "[1, "])
def test_a_hostile_message_is_done_with_at_once(unit: str, before: str) -> None:
    assert len(normalised(before + unit * 2000 + "!")) <= 200


@given(st.lists(_PIECES, max_size=6).map(lambda pieces: f"({''.join(pieces)})"))
def test_shapes_are_what_they_were_before_the_pattern_became_linear(text: str) -> None:
    shown = normalised(text)
    if _FORMER.fullmatch(text):
        assert shown == "<shape>"
