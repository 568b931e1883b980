"""Bugs of a comparison between two builds: the statuses that the baseline gives them."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakebuilds import BROKEN, NONE, OTHER, RIGHT, Builds, found

from fuzz_core.campaign.history import histories
from fuzz_core.campaign.recheck import FIXED, NEW_API, PRESENT, REGRESSION, REMOVED, RecheckOptions, cross
from fuzz_core.campaign.session import Session
from fuzz_core.store.statefile import open_store

OPTIONS = RecheckOptions(runs=2)


@pytest.mark.parametrize(
    ("old", "new", "on", "what"),
    [
        (RIGHT, BROKEN, "new", [REGRESSION]),
        (BROKEN, BROKEN, "new", [PRESENT]),
        (OTHER, BROKEN, "new", [PRESENT]),
        (NONE, BROKEN, "new", [NEW_API]),
        (BROKEN, RIGHT, "old", [FIXED]),
        (BROKEN, BROKEN, "old", []),
        (BROKEN, NONE, "old", [REMOVED]),
    ],
)
def test_each_bug_is_of_one_class(tmp_path: Path, old: str, new: str, on: str, what: list[str]) -> None:
    builds = Builds(tmp_path)
    before, after = builds.make("1.0", old), builds.make("1.1", new)
    with open_store(tmp_path / "state" / "state.db") as store:
        for record in (before, after):
            store.save_target(record)
        found(store, {"old": before, "new": after}[on].key)
        session = Session(store, after, tmp_path / "state", workers=1)
        assert [each.what for each in cross(session, before, OPTIONS)] == what
        back = [bug for bug, standing in histories(store).items() if standing.regression]
        assert back == [1] * (what == [REGRESSION])
        checks = len(store.checks())
        assert [each.what for each in cross(session, before, OPTIONS)] == what
        assert len(store.checks()) == checks, "what has been run there before is not run again"


def test_a_signature_of_both_builds_was_there_before(tmp_path: Path) -> None:
    builds = Builds(tmp_path)
    before, after = builds.make("1.0", BROKEN), builds.make("1.1", BROKEN)
    with open_store(tmp_path / "state" / "state.db") as store:
        for record in (before, after):
            store.save_target(record)
            found(store, record.key)
        session = Session(store, after, tmp_path / "state", workers=1)
        assert [(each.what, each.bug.target) for each in cross(session, before, OPTIONS)] == [(PRESENT, after.key)]
