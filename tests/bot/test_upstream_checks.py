"""The newest build on record: whether it shows a bug."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import statecases
from statecases import HARMLESS, NEW, OLD

from fuzz_core.ir.outcome import Verdict
from fuzz_core.store import NewBug, Store, open_store
from fuzz_core.store.checks import NewCheck
from nightfuzz.bot.upstream.approval import BuildCheck, newest_checks


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "state.db") as made:
        made.save_target(statecases.target(OLD))
        yield made


def find(store: Store, key: str, hits: int = 5) -> str:
    """Stores a finding of the bug on a build and returns the bug's fingerprint."""
    test = statecases.case(0)
    run = store.start_run(key, 1, {})
    finding = store.add_finding(key, run, test, Verdict("crash", "crash", "cpu: died"), HARMLESS)
    bug = NewBug("lib.f0: fault", "lib.f0", "crash", "crash", test, "import lib\n", HARMLESS, hits, 5)
    assert finding is not None
    store.settle_finding(finding, "confirmed", hits=hits, runs=5, bug=bug)
    return store.bugs(key)[0].signature


def check(store: Store, status: str, hits: int = 5) -> None:
    store.add_checks(store.bugs(OLD)[0].id, [NewCheck(NEW, status, hits, 5, HARMLESS)])


def test_found_on_the_newest_build(store: Store) -> None:
    bug = find(store, OLD)
    assert newest_checks(store)(bug) == BuildCheck(True, "1")


def test_a_newer_build_has_to_show_it_too(store: Store) -> None:
    bug = find(store, OLD)
    store.save_target(statecases.target(NEW))
    assert newest_checks(store)(bug) == BuildCheck(None, "2")
    check(store, "unrunnable")
    assert newest_checks(store)(bug) == BuildCheck(None, "2")
    check(store, "shown")
    assert newest_checks(store)(bug) == BuildCheck(True, "2")
    check(store, "flaky", 2)
    assert newest_checks(store)(bug) == BuildCheck(False, "2")
    check(store, "clean", 0)
    assert newest_checks(store)(bug) == BuildCheck(False, "2")


def test_found_again_on_the_newer_build(store: Store) -> None:
    find(store, OLD)
    store.save_target(statecases.target(NEW))
    bug = find(store, NEW)
    assert newest_checks(store)(bug) == BuildCheck(True, "2")


def test_what_shows_itself_now_and_then_is_not_shown(store: Store) -> None:
    bug = find(store, OLD, hits=3)
    assert newest_checks(store)(bug) == BuildCheck(False, "1")


def test_a_bug_that_is_not_there(store: Store) -> None:
    assert newest_checks(store)("0" * 32) == BuildCheck(None)
