"""Shards of about equal cost, and runs on changed seeds alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.campaign.fuzz import FuzzOptions, fuzz
from fuzz_core.campaign.plans import Shard, apis_to_fuzz, costs, divided, parse_shard
from fuzz_core.campaign.session import Session
from fuzz_core.ir.errors import UserError

NAMES = st.lists(st.text("abcdefgh", min_size=1, max_size=4), unique=True, max_size=40)
COSTS = st.dictionaries(st.text("abcdefgh", min_size=1, max_size=4), st.floats(0.1, 1e6), max_size=40)


@given(NAMES, COSTS, st.integers(1, 12))
def test_every_api_is_in_one_share_and_no_share_is_dearer_than_one_api_more(
    apis: list[str], measured: dict[str, float], count: int
) -> None:
    shares = divided(apis, measured, count)
    assert len(shares) == count and sorted(api for share in shares for api in share) == sorted(apis)
    usual = sorted(measured.values())[len(measured) // 2] if measured else 1.0
    loads = [sum(measured.get(api, usual) for api in share) for share in shares]
    dearest = max((measured.get(api, usual) for api in apis), default=0.0)
    assert max(loads) - min(loads) <= dearest * 2 + usual
    assert divided(list(reversed(apis)), measured, count) == shares


@pytest.mark.parametrize("text", ["", "1", "0/4", "5/4", "1/257", "-1/2", "a/b", "1/2/3", "¹/2"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="is not a shard"):
        parse_shard(text)


def test_a_timed_run_measures_what_apis_cost(traced_session: Session) -> None:
    fuzz(traced_session, FuzzOptions(seconds=6.0, seed=1))
    measured = costs(traced_session.store, traced_session.target.library)
    assert set(measured) <= {api.name for api in traced_session.store.apis(traced_session.target.key)}
    assert measured and min(measured.values()) > 0
    shares = [apis_to_fuzz(traced_session, [], Shard(number, 3)) for number in (1, 2, 3)]
    assert sorted(api for share in shares for api in share) == apis_to_fuzz(traced_session, [], None)
