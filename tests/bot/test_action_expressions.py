"""Our tests' stand-in for GitHub's expressions: it evaluates as GitHub does, and fails on unknown expressions."""

from __future__ import annotations

from typing import Any

import pytest
from expressions import condition, evaluate, substituted

CONTEXTS = {
    "inputs": {"a": "x", "empty": "", "yes": True, "two-words": "t"},
    "github": {"event": {"pull_request": {"number": 7, "head": {"repo": None}}}},
    "needs": {"plan": {"outputs": {"n": "3"}}},
}
FUNCTIONS = {"success": lambda: False, "always": lambda: True, "cancelled": lambda: False}


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("inputs.a", "x"),
        ("inputs.two-words", "t"),
        ("inputs['a']", "x"),
        ("inputs.missing", None),
        ("github.event.pull_request.head.repo.full_name", None),
        ("github.event.pull_request.number == 7", True),
        ("needs.plan.outputs.n == 3", True),
        ("inputs.a == 'X'", True),
        ("inputs.missing == ''", True),
        ("inputs.missing == null", True),
        ("inputs.a != 'x' || inputs.yes", True),
        ("inputs.empty || 'default'", "default"),
        ("inputs.a && inputs.empty || 'z'", "z"),
        ("!inputs.empty && !(inputs.a == 'y')", True),
        ("'it''s'", "it's"),
        ("null == 0", True),
        ("'a' == 1", False),
    ],
)
def test_values(source: str, value: Any) -> None:
    assert evaluate(source, CONTEXTS, FUNCTIONS) == value


@pytest.mark.parametrize("source", ["nothing.there", "unknown()", "a ==", "inputs.a inputs.a", "inputs.a ; x", "(1"])
def test_what_is_not_known_is_an_error(source: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        evaluate(source, CONTEXTS, FUNCTIONS)


def test_a_condition_asks_for_success_unless_it_asks_for_a_status() -> None:
    assert not condition("inputs.a == 'x'", CONTEXTS, FUNCTIONS)
    assert condition("always() && inputs.a == 'x'", CONTEXTS, FUNCTIONS)
    assert condition("${{ !cancelled() }}", CONTEXTS, FUNCTIONS)


def test_text_is_put_in_as_it_is() -> None:
    assert substituted("<${{ inputs.a }}|${{ inputs.yes }}|${{ inputs.no }}>", CONTEXTS, FUNCTIONS) == "<x|true|>"
