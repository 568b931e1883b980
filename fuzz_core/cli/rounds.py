"""Fuzzing and examining take turns: what an examination leaves of a time-box is worked in once more."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from fuzz_core.campaign.session import Session
from fuzz_core.cli.config import Settings
from fuzz_core.ir.rng import derive

# Of what is left of a time-box as a round begins.
TRIAGE_SHARE = 0.4
# A further round shorter than this share of the time-box is not worth its start.
LEAST_SHARE = 0.1


def rounds(session: Session, settings: Settings, end: float | None) -> Iterator[tuple[Settings, float | None]]:
    """The settings of each round, and the seconds that it may fuzz for; the caller examines in the rest.

    A further round has a seed of its own, made of the one given. end: of the time-box, by the clock; None for a counted
    run, which has a single round and no limit. There is no further one for who has asked to stop.
    """
    if end is None:
        yield settings, None
        return
    yield settings, fuzzing_time(end - session.clock())
    for number in count(2):
        left = end - session.clock()
        if session.stopped() or left < LEAST_SHARE * settings.time:
            return
        seed = None if settings.seed is None else derive(settings.seed, "round", number) % 2**31
        yield settings.model_copy(update={"seed": seed}), fuzzing_time(left)


def fuzzing_time(left: float) -> float:
    """What of the seconds that are left is for fuzzing, one at least."""
    return max(left * (1 - TRIAGE_SHARE), 1.0)
