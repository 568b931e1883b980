"""A fuzz ends early where what it has found would take the rest of the time-box to be examined."""

from __future__ import annotations

from fuzz_core.campaign.due import Due
from fuzz_core.campaign.fuzzing import LEAST_SHARE, FuzzOptions, fuzz
from fuzz_core.campaign.session import Session


def test_what_takes_longer_to_examine_is_due_for_longer() -> None:
    exceptions, deaths = (Due(start_up=2.0, runs=5, workers=2, end=100.0) for _ in range(2))
    exceptions.add(["wrong-result"] * 10)
    deaths.add(["crash"] * 10)
    assert exceptions.seconds == 50.0 and deaths.seconds == 150.0
    assert not exceptions.fills(49.0) and exceptions.fills(50.0) and deaths.fills(0.0)


def test_a_fuzz_ends_early_where_its_findings_fill_the_time_that_is_kept_for_them(traced_session: Session) -> None:
    """The script of each is to be run so often that the first one fills it."""
    box = 20.0
    short = fuzz(traced_session, FuzzOptions(seconds=box, seed=1, examining=1.0, runs=10_000))
    assert short.findings and short.seconds < box * (1 + LEAST_SHARE) / 2


def test_what_is_pending_is_due_from_the_beginning(traced_session: Session) -> None:
    fuzz(traced_session, FuzzOptions(seconds=None, tests=2000, seed=1))
    assert traced_session.store.pending_findings(traced_session.target.key)
    again = fuzz(
        traced_session, FuzzOptions(seconds=10.0, seed=1, examining=1.0, runs=10_000, patterns=("fakelib.add",))
    )
    assert again.seconds < 9.0
