"""The origin of a bug: the build that brought it."""

from __future__ import annotations

import pytest
from fakebuilds import found

from fuzz_core.campaign.history import came_with
from fuzz_core.campaign.session import Session
from fuzz_core.store.checks import BugTrial


@pytest.mark.parametrize(
    ("statuses", "version"),
    [
        ({}, ""),
        ({"1.0": "bad"}, ""),
        ({"1.0": "good", "1.10": "bad", "1.9": "good"}, "1.10"),
        ({"1.0": "good", "1.1": "broken", "1.2": "bad"}, "1.2"),
        ({"1.0": "bad", "1.1": "good"}, ""),
    ],
)
def test_the_first_bad_version_has_a_good_one_before_it(
    fakelib_session: Session, statuses: dict[str, str], version: str
) -> None:
    store = fakelib_session.store
    number = found(store, "fakelib-1")
    for build, status in statuses.items():
        store.save_probe(number, BugTrial(f"torch=={build}", status, 1, 1, {}))
    came = came_with(store, number)
    assert (came.version, came.tried) == (version, len(statuses))
