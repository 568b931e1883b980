"""The share of a run in which model programs grow. If it would be too short, single apis have its time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fuzz_core.campaign.moco.knowledge import is_kept
from fuzz_core.campaign.moco.study import usual_seconds
from fuzz_core.campaign.session import Session
from fuzz_core.programs.texts import grown_programs

# The largest share of the time for growing models that learning about apis may take.
KNOWING_SHARE = 0.5
# A shorter time is too short to take programs apart and to begin processes.
LEAST_SECONDS = 60.0
# The share of the usual time for experiments that has to fit as well; the following nights learn the remaining apis.
LEAST_KNOWING = 1 / 6


def hindrance(session: Session, models: Sequence[Path], seconds: float) -> str:
    """Return why no model programs grow in a share of so many seconds; empty if they do.

    Args:
        models: directories of the user's programs.
    """
    library = session.target.library
    if not models and next(grown_programs(library), None) is None:
        return f"there is none for {library}"
    known = is_kept(session)
    least = LEAST_SECONDS if known else LEAST_SECONDS + usual_seconds(session) * LEAST_KNOWING
    if seconds >= least:
        return ""
    learning = "" if known else ", as its apis are to be learnt first (`nightfuzz moco knowledge` does it once)"
    return f"they would have {seconds:.0f} s and need {least:.0f}{learning}"
