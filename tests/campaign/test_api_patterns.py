"""Apis chosen by patterns, and the seeds that name one of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fuzz_core.campaign.patterns import asked_apis
from fuzz_core.campaign.plans import chosen
from fuzz_core.campaign.seed_order import seeds_naming
from fuzz_core.campaign.session import Session
from fuzz_core.campaign.trace import TraceOptions, trace
from fuzz_core.collect.sources import Seed
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.errors import UserError

APIS = [
    Api("lib.nn.AlphaDropout", "class"),
    Api("lib.nn.functional.alpha_dropout", "function"),
    Api("lib.absolute", "function", aliases=("lib.abs",)),
    Api("lib.Tensor.__add__", "method"),
]


def seed(code: str, needs: str = "") -> Seed:
    return Seed("docs", code, code, "snippet", needs=needs)


@pytest.mark.parametrize(
    ("pattern", "code", "named"),
    [
        ("lib.nn.AlphaDropout", "m = nn.AlphaDropout(0.2)", True),
        ("lib.nn.functional.*", "m = nn.AlphaDropout(0.2)", True),
        ("lib.nn.AlphaDropout", "m = nn.Dropout(0.2)", False),
        ("lib.absolute", "x.abs()", True),
        ("lib.absolute", "x.absent()", False),
        ("lib.Tensor.*", "x + y", True),
    ],
)
def test_a_seed_is_taken_where_it_names_an_api_in_any_spelling(pattern: str, code: str, named: bool) -> None:
    assert seeds_naming([seed(code)], APIS, [pattern]) == ([seed(code)] if named else [])


def test_what_a_helper_file_calls_is_not_known() -> None:
    assert seeds_naming([seed("helped()", needs="digest")], APIS, ["lib.absolute"])


def test_a_pattern_that_matches_nothing_is_an_error_that_names_what_is_near() -> None:
    with pytest.raises(UserError, match="no api of this build matches") as told:
        seeds_naming([], APIS, ["lib.absolute", "lib.nn.AlphaDropot"])
    assert "lib.nn.AlphaDropout" in str(told.value)
    assert asked_apis(APIS, ["lib.nn.*"]) == {"lib.nn.AlphaDropout", "lib.nn.functional.alpha_dropout"}


def test_an_alias_stands_for_its_api() -> None:
    assert asked_apis(APIS, ["lib.abs"]) == {"lib.absolute"}
    hidden = [*APIS, Api("lib.abs", "function")]
    assert asked_apis(hidden, ["lib.abs"]) == {"lib.abs"}, "an api's own name comes before another one's alias"


def test_an_api_without_a_call_on_record_is_an_error_that_names_it(fakelib_session: Session) -> None:
    trace(fakelib_session, TraceOptions(sources=["docs"], patterns=["fakelib.scale"]))
    with pytest.raises(UserError, match=r"no recorded call of `fakelib.concat` that"):
        chosen(fakelib_session, ["fakelib.concat"])
    assert {row.api for row in chosen(fakelib_session, ["fakelib.concat", "fakelib.scale"])} == {"fakelib.scale"}


def test_the_seeds_left_aside_are_traced_once_they_are_asked_for(fakelib_session: Session) -> None:
    docs = TraceOptions(sources=["docs"])
    some = trace(fakelib_session, replace(docs, patterns=["fakelib.scale"]))
    assert some.new and some.aside and some.seeds == some.aside + sum(some.status.values())
    assert "fakelib.scale" in {row.api for row in fakelib_session.store.bodies(fakelib_session.target.key)}
    rest = trace(fakelib_session, docs)
    assert sum(rest.status.values()) == some.aside and not rest.aside
