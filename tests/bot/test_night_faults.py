"""Faults of GitHub's API, of the kept state and of the runner: a table of end-to-end nights with one fault each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from githubserver import Repository
from nightfaults import ALL, NightFault, hold
from nightinjections import (
    always,
    answers,
    both,
    clock,
    damages,
    deleted,
    dies,
    foreign,
    full,
    git_says,
    moves,
    second,
    some,
    unset,
    without,
)
from nightstage import NightStage, night_stage

from nightfuzz.bot.state.place import FILINGS, STATE

pytestmark = pytest.mark.slow
KEPT = "the state of this night is kept"
RERUN = "Re-run failed jobs"
LATER_VERSION = json.dumps({"schema": "nightfuzz-filings/9"}).encode()
# Faults of the API.
API = [
    NightFault("API answers 500 now and then", some("5xx-before"), is_red=False),
    NightFault("API does it and answers 502", some("5xx-after"), is_red=False),
    NightFault("API is down: 5xx to everything", always("5xx-before"), says=KEPT),
    NightFault("API is down: no connection", always("cut-before"), says=KEPT),
    NightFault("connection cut after the write took effect", some("cut-after"), is_red=False),
    NightFault("secondary limit: 403 with Retry-After", some("secondary"), is_red=False),
    NightFault("secondary limit that does not end", always("secondary"), says=KEPT),
    NightFault("primary limit: 403, nothing remains", some("primary"), is_red=False),
    NightFault("429", some("429"), is_red=False),
    NightFault("429 that does not end", always("429"), says=KEPT),
    NightFault("answers cut short", some("truncated"), is_red=False),
    NightFault("an error page instead of JSON", always("html"), says=KEPT),
    NightFault("writes take effect late", some("late"), is_red=False),
    NightFault("old listings", some("stale"), is_red=False),
    NightFault("410: Issues are disabled", answers(410, "Issues are disabled", path="/issues"), says="are disabled in"),
    NightFault("422 to each new issue", answers(422, "Validation Failed", "POST", "/issues"), says="left for the next"),
    NightFault("401: the token has expired", answers(401, "Bad credentials"), says="expired"),
    NightFault("403: no permission", answers(403, "Resource not accessible", "POST"), says="issues: write"),
    NightFault("no token", unset("INPUT_GITHUB_TOKEN"), says="needs a token"),
    NightFault("no event file", unset("GITHUB_EVENT_PATH"), is_red=False),
]
# Faults of the state's repository.
STATES = [
    NightFault("git cannot be reached", git_says("cut"), says=RERUN),
    NightFault("git answers 503 four times", git_says("503", most=4), is_red=False),
    NightFault("push refused", git_says("403", "git-receive-pack"), says="contents: write"),
    NightFault("the answer to the push is lost", git_says("lose", "git-receive-pack", skip=1, most=1), is_red=False),
    NightFault("another run moves the ref, three times", moves, is_red=False),
    NightFault("two reports at once", second, is_red=False),
    NightFault("the ref is somebody else's", foreign, says="has not written it", mend=deleted),
    NightFault("kept state damaged", damages(STATE, b"rubbish"), says="kept as refs/nightfuzz/broken"),
    NightFault(
        "filings.json damaged", damages(FILINGS, b"{"), says="is damaged or has another format", mend=without(FILINGS)
    ),
    NightFault(
        "filings.json is newer", damages(FILINGS, LATER_VERSION), says="a later nightfuzz", mend=without(FILINGS)
    ),
]
# Faults of the runner of the report job.
RUNNER = [
    NightFault("killed before the state", git_says("cut", "git-receive-pack", kills=True)),
    NightFault("killed when the state was pushed", git_says("lose", "git-receive-pack", skip=1, kills=True)),
    NightFault("killed between state and filing", dies("GET", "/user", has_effect=False)),
    NightFault("killed before the second issue", dies("POST", "/issues", has_effect=False, skip=1)),
    NightFault("killed when the second issue was filed", dies("POST", "/issues", has_effect=True, skip=1)),
    NightFault("killed after filing, before its note", git_says("cut", "service=git-receive-pack", skip=2, kills=True)),
    NightFault("no space for the outputs", full("GITHUB_OUTPUT"), says="no space is left", is_mute=True),
    NightFault("no space for the summary", full("GITHUB_STEP_SUMMARY"), says="no space is left", is_mute=True),
    NightFault("clock a year ahead", clock(days=365), is_red=False),
    NightFault("clock a day behind", clock(days=-1), is_red=False),
    NightFault(
        "clock a year ahead, and killed", both(clock(days=365), dies("POST", "/issues", has_effect=True, skip=1))
    ),
]
FAULTS = [*API, *STATES, *RUNNER]


@pytest.fixture
def stage(tmp_path: Path, github_repo: Repository) -> Iterator[NightStage]:
    with night_stage(tmp_path, github_repo) as made:
        yield made


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_night_is_neither_lost_nor_falsified(stage: NightStage, fault: NightFault) -> None:
    hold(stage, fault)


def test_every_fault_has_a_name_of_its_own() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert all(set(fault.keeps) <= set(ALL) for fault in FAULTS)
