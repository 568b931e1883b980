"""FreeFuzz as published: `--paper` finds planted faults of each kind of bug, by each mutation strategy."""

from __future__ import annotations

from dataclasses import replace

import pytest
from planted_faults import PLANTED
from test_planted_faults import TRIAGE, needed, shown

from fuzz_core.campaign.examination import examine
from fuzz_core.campaign.fuzz import fuzz
from fuzz_core.campaign.session import Session
from fuzz_core.cli.engines import calls_options
from fuzz_core.cli.settings import Settings

# By the kind of bug (section 3.4), and what has to be mutated (tables 1 and 2): functions of qualitylib.
FAULTS = {
    "crash, by the shape of a tensor": "row_max",
    "crash, by the dtype of a tensor": "codes",
    "crash, by a number": "window",
    "crash, by a text": "parse",
    "crash, by an internal error": "outer",
    "wrong computation, on the GPU": "remainder",
    "wrong computation, on the GPU in half precision": "summed",
    "performance, in half precision": "squares",
}


@pytest.mark.parametrize("name", FAULTS.values(), ids=list(FAULTS))
def test_a_planted_fault_is_found_confirmed_and_of_its_kind(name: str, quality_session: Session) -> None:
    (fault,) = [each for each in PLANTED if each.api == name]
    tests = needed(fault.oracle, fault.mode)
    settings = Settings(engine="freefuzz", paper=True, tests_count=tests, api=[f"qualitylib.{name}"])
    fuzz(quality_session, replace(calls_options(settings), seconds=None, seed=1, timeout=1.0))
    examine(quality_session, TRIAGE)
    assert {shown(bug, quality_session) for bug in quality_session.store.bugs()} == {fault[:4]}
