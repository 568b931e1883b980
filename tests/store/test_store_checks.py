"""Tests of the trials of bugs on builds, the rows of one bug on several targets, and the figures of builds."""

import sqlite3
from pathlib import Path

import pytest
from store_values import CRASH, DEAD, KEY, TARGET, bug, case

from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.outcome import Outcome
from fuzz_core.store import Store, TargetRecord, open_store
from fuzz_core.store.checks import FIXED, KNOWN, OPEN, NewCheck

NEXT = TARGET._replace(key="torch-2.14.0+cpu-cp311", version="2.14.0")
OTHER = TargetRecord("tensorflow-2.21.0", "tensorflow==2.21.0", "tensorflow", "2.21.0", "/tf/bin/python")


def settle(store: Store, target: str, signature: str = "torch.add SIGSEGV", seed: int = 1) -> int:
    finding = store.add_finding(target, store.start_run(target, 1, {}), case(seed), CRASH, DEAD)
    assert finding is not None
    number = store.settle_finding(finding, "confirmed", hits=3, runs=3, bug=bug(signature))
    assert number is not None
    return number


@pytest.fixture
def builds(store: Store) -> Store:
    store.save_target(NEXT)
    store.save_target(OTHER)
    return store


class DescribeBugChecks:
    def test_they_are_kept_in_their_order_with_where_the_bug_was_found(self, builds: Store, path: Path) -> None:
        number = settle(builds, KEY)
        done = Outcome("ok", seconds=0.5)
        builds.add_checks(number, [NewCheck(KEY, "shown", 2, 2, DEAD), NewCheck(NEXT.key, "clean", 0, 2, done)])
        builds.close()
        with open_store(path, read_only=True) as again:
            first, second = again.checks(number)
            assert again.checks() == [first, second] and again.checks(number + 1) == []
        assert first[1:7] == (number, KEY, KEY, "shown", 2, 2)
        assert second[3:] == (NEXT.key, "clean", 0, 2, done, "2026-01-02T00:00:00.000+00:00")

    def test_all_of_them_or_none(self, builds: Store) -> None:
        number = settle(builds, KEY)
        rows = [NewCheck(NEXT.key, "clean", 0, 1, DEAD), NewCheck(NEXT.key, "perhaps", 0, 1, DEAD)]
        with pytest.raises(sqlite3.IntegrityError):
            builds.add_checks(number, rows)
        assert builds.checks() == []


class DescribeRowsOfOneBug:
    def test_the_first_row_stays_the_bug_and_the_later_one_is_a_check_of_it(self, builds: Store) -> None:
        first, later = settle(builds, KEY), settle(builds, NEXT.key)
        assert builds.later_rows() == {later: first}
        (check,) = builds.checks()
        assert check[1:6] == (first, KEY, NEXT.key, "shown", 3)
        settle(builds, NEXT.key, seed=2)
        assert len(builds.checks()) == 1

    def test_other_signatures_and_other_libraries_are_other_bugs(self, builds: Store) -> None:
        settle(builds, KEY)
        settle(builds, NEXT.key, "torch.add SIGFPE")
        settle(builds, OTHER.key)
        assert builds.later_rows() == {} and builds.checks() == []

    def test_they_stand_and_fall_together_but_for_known_ones(self, builds: Store) -> None:
        first, later = settle(builds, KEY), settle(builds, NEXT.key)
        other = settle(builds, KEY, "torch.add SIGFPE", 2)
        builds.set_status(first, FIXED)
        assert [builds.bug(number).status for number in (first, later, other)] == [FIXED, FIXED, OPEN]
        builds.set_status(first, OPEN)
        builds.count_known("entry", first, 1)
        builds.set_status(first, FIXED)
        assert [builds.bug(number).status for number in (first, later)] == [KNOWN, FIXED]


def test_figures_of_builds(builds: Store) -> None:
    builds.save_apis(KEY, [Api("torch.add", "function"), Api("torch.sub", "function")])
    first = settle(builds, KEY)
    settle(builds, NEXT.key)
    settle(builds, NEXT.key, "torch.add SIGFPE", 2)
    for run in builds.runs(NEXT.key):
        builds.checkpoint_run(run.id, 100, 2.5)
    builds.add_checks(first, [NewCheck(NEXT.key, "shown", 1, 1, DEAD)])
    rows = {row.target: row for row in builds.builds()}
    assert list(rows) == sorted([KEY, NEXT.key, OTHER.key])
    of = ("apis", "runs", "seconds", "tests", "findings", "opened", "checks")
    figures = {key: tuple(getattr(row, name) for name in of) for key, row in rows.items()}
    assert figures == {
        KEY: (2, 1, 0, 0, 1, 1, 0),
        NEXT.key: (0, 2, 5.0, 200, 2, 1, 2),
        OTHER.key: (0, 0, 0, 0, 0, 0, 0),
    }
