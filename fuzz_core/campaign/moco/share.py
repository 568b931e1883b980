"""The share of a run in which model programs grow: where it is not worth while, single apis have its time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fuzz_core.campaign.moco.knowing import usual_seconds
from fuzz_core.campaign.moco.knowledge import is_kept
from fuzz_core.campaign.session import Session
from fuzz_core.programs.shipped import grown_programs

# Of the time for growing models, at most so much goes to what is not known yet.
KNOWING_SHARE = 0.5
# With less, programs have hardly been taken apart, and processes begun.
LEAST_SECONDS = 60.0
# Of what experiments take as a rule, so much has to fit as well: what is left is learnt in the nights that follow.
LEAST_KNOWING = 1 / 6


def hindrance(session: Session, models: Sequence[Path], seconds: float) -> str:
    """Why no model programs grow in a share of so many seconds; empty where they do. models: directories of yours."""
    library = session.target.library
    if not models and next(grown_programs(library), None) is None:
        return f"there is none for {library}"
    known = is_kept(session)
    least = LEAST_SECONDS if known else LEAST_SECONDS + usual_seconds(session) * LEAST_KNOWING
    if seconds >= least:
        return ""
    learning = "" if known else ", as its apis are to be learnt first (`nightfuzz moco knowledge` does it once)"
    return f"they would have {seconds:.0f} s and need {least:.0f}{learning}"
