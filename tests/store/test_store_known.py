"""Tests of counts of known findings, and of the status of their bugs."""

from pathlib import Path

from store_values import CRASH, DEAD, KEY, bug, case

from fuzz_core.store import Store, open_store
from fuzz_core.store.checks import KNOWN, OPEN, KnownCount


def make_bug(store: Store, *details: str) -> int:
    run = store.start_run(KEY, 1, {})
    number = 0
    for place, detail in enumerate(details):
        finding = store.add_finding(KEY, run, case(place), CRASH._replace(detail=detail), DEAD)
        assert finding is not None
        number = store.settle_finding(finding, "confirmed", bug=bug()) or 0
    return number


class DescribeKnownFindings:
    def test_matches_add_up_and_make_the_bug_known(self, store: Store) -> None:
        number = make_bug(store, "cpu: SIGSEGV")
        assert (store.bug(number).status, store.known_counts()) == (OPEN, {})
        store.count_known("e", number, 2)
        store.count_known("e", number, 3)
        store.count_known("f", number, 1)
        assert store.bug(number).status == KNOWN
        assert store.known_counts() == {
            "e": KnownCount("e", 1, 5, "2026-01-02T00:00:00.000+00:00"),
            "f": KnownCount("f", 1, 1, "2026-01-02T00:00:00.000+00:00"),
        }

    def test_counts_survive_in_the_file(self, store: Store, path: Path) -> None:
        store.count_known("e", make_bug(store, "cpu: SIGSEGV"), 2)
        store.close()
        with open_store(path, read_only=True) as again:
            assert again.known_counts()["e"].findings == 2

    def test_a_known_bug_can_be_reopened_and_no_other_status_is_touched(self, store: Store) -> None:
        number = make_bug(store, "cpu: SIGSEGV")
        store.count_known("e", number, 1)
        store.reopen_bug(number)
        assert store.bug(number).status == OPEN
        assert store.known_counts()["e"].findings == 1, "what was counted stays"
        store._db.execute("UPDATE bugs SET status = 'fixed'")
        store.reopen_bug(number)
        assert store.bug(number).status == "fixed"

    def test_modes_are_those_that_verdicts_name(self, store: Store) -> None:
        number = make_bug(store, "cpu: SIGSEGV", "strided: shape is (1,)", "cpu: SIGBUS", "no mode here", ": none")
        assert store.modes_that_show(number) == {"cpu", "strided"}
        assert store.modes_that_show(999) == frozenset()
