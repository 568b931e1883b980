"""Tests of the engine on a library with known faults: it finds, confirms and minimises each fault and no other."""

from __future__ import annotations

import pytest
import qualitylib
from agreement import disagreements
from nightfuzz_qualitylib.dialect import DEVICES, MODES
from planted_faults import PLANTED, SOUND, Fault

from fuzz_core.campaign.examination import examine
from fuzz_core.campaign.examiner import TriageOptions
from fuzz_core.campaign.fuzz import FuzzOptions, fuzz
from fuzz_core.campaign.session import Session
from fuzz_core.oracles.contract import ORACLES, oracle_of
from fuzz_core.store.records import BugRow

TRIAGE = TriageOptions(bug_seconds=600.0, runs=2, timeout=1.0)
GROUPS = sorted({fault[1:4] for fault in PLANTED})
# Number of each function's tests that are judged by the oracle and in the mode that must find its fault.
JUDGED = 300
LEAST_TESTS, MOST_TESTS = 800, 4000
GENEROUS_SECONDS = 240.0
# Largest number of code lines of a script. The longest end, which says what each of two modes refuses, takes nine
# lines.
LINES = 14


def needed(oracle: str, mode: str) -> int:
    """Returns the number of tests that a function needs, by the share that the oracle and the mode take."""
    if oracle == "crash":
        return JUDGED
    share = (MODES | DEVICES)[mode].share if oracle == "differential" else oracle_of(oracle).share
    return min(max(int(JUDGED / share), LEAST_TESTS), MOST_TESTS)


def hunt(session: Session, faults: list[Fault]) -> None:
    """Fuzzes the functions of a group with every oracle; leaks are looked for in a time-boxed run alone."""
    patterns = [f"qualitylib.{fault.api}" for fault in faults]
    if faults[0].oracle != "leak":
        tests = len(faults) * needed(faults[0].oracle, faults[0].mode)
        fuzz(session, FuzzOptions(seconds=None, tests=tests, seed=1, timeout=1.0, patterns=patterns))
        return

    def all_suspected() -> bool:
        return {finding.api for finding in session.store.findings(session.target.key)} >= set(patterns)

    session.stopped = all_suspected
    fuzz(session, FuzzOptions(seconds=GENEROUS_SECONDS, seed=1, timeout=1.0, patterns=patterns))
    session.stopped = lambda: False


def shown(bug: BugRow, session: Session) -> tuple[str, str, str, str]:
    """Returns what the table says of a fault: the api, the oracle, the kind and the mode."""
    [*_, finding] = session.store.findings(session.target.key, bug=bug.id)
    mode = "cuda" if bug.oracle == "performance" else finding.verdict.mode.rstrip("*")
    return bug.api.removeprefix("qualitylib."), bug.oracle, bug.kind, mode


@pytest.mark.parametrize("group", GROUPS, ids=["-".join(group) for group in GROUPS])
def test_planted_faults_are_found_confirmed_and_minimised_and_nothing_else(
    group: tuple[str, str, str], quality_session: Session
) -> None:
    if group[0] not in ORACLES:
        pytest.skip(f"there is no oracle {group[0]}: it is not in {', '.join(ORACLES)}")
    faults = [fault for fault in PLANTED if fault[1:4] == group]
    hunt(quality_session, faults)
    examined = examine(quality_session, TRIAGE)
    assert examined.left == 0
    bugs = quality_session.store.bugs()
    assert {shown(bug, quality_session) for bug in bugs} == {fault[:4] for fault in faults}
    assert [bug.script for bug in bugs if code_lines(bug) > LINES] == []
    assert disagreements(quality_session, TRIAGE.timeout) == []


def code_lines(bug: BugRow) -> int:
    """Returns the number of a script's lines that are code."""
    return sum(bool(line) and not line.startswith("#") for line in bug.script.splitlines())


def test_nothing_is_found_in_sound_functions(quality_session: Session) -> None:
    patterns = [f"qualitylib.{name}" for name in SOUND]
    options = FuzzOptions(seconds=None, tests=len(SOUND) * 1500, seed=1, timeout=1.0, patterns=patterns)
    report = fuzz(quality_session, options)
    examine(quality_session, TRIAGE)
    assert report.deaths == 0
    assert [(bug.signature_text, bug.script) for bug in quality_session.store.bugs()] == []


def test_every_oracle_and_every_mode_has_faults_to_find() -> None:
    # The oracle that needs a second build has its faults in tests/campaign/test_comparison.py.
    assert set(ORACLES) - {fault.oracle for fault in PLANTED} == {"versions"}
    compared = {mode for mode, spec in MODES.items() if spec.share} | {"cpu-fp64", "cuda"}
    assert compared - {fault.mode for fault in PLANTED} == set()


def test_the_table_names_every_function_once() -> None:
    assert len(PLANTED) >= 40
    assert sorted([*(fault.api for fault in PLANTED), *SOUND]) == sorted(qualitylib.APIS)
