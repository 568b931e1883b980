"""The document of a run, which the report job reads."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fuzz_core.campaign.changes import Dropped
from fuzz_core.campaign.document import RunFacts, result_of, statuses_now, write_report
from fuzz_core.campaign.session import Session
from fuzz_core.collect.files import FilePlace
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Invocation, Prim, TestCase
from fuzz_core.store.checks import Change, NewCheck
from fuzz_core.store.records import NewBug
from fuzz_core.store.store import Store
from nightfuzz.reports.results import RunResult

OVERFLOW = Outcome("exception", "OverflowError", "too \x1b[31mlarge\x00 @everyone")
CORRUPTED = Outcome("signal", "SIGABRT", "free(): invalid pointer")


def found(store: Store, api: str, outcome: Outcome = OVERFLOW) -> int:
    """Stores a bug and returns its number."""
    test = TestCase(Invocation(api, (Prim("int", 1),), ()), 7)
    run = store.start_run("fakelib-1", 1, {})
    finding = store.add_finding("fakelib-1", run, test, Verdict("crash", "crash", ""), outcome)
    signature = f"{api}: {outcome.name}: {outcome.text}"
    bug = NewBug(signature, api, "crash", "crash", test, f"import fakelib\n\n{api}(1)\n", outcome, 5, 5)
    assert finding is not None
    return store.settle_finding(finding, "confirmed", bug=bug) or 0


def export(session: Session, **facts: object) -> RunResult:
    """Returns the document after it was written as JSON and read again."""
    made = result_of(session.store, RunFacts("nightly", "fakelib-1", **facts))  # type: ignore[arg-type]
    return RunResult.model_validate_json(made.to_json())


def test_of_private_bugs_and_their_kin_only_the_number_goes_out(fakelib_session: Session) -> None:
    for api, outcome in (("fakelib.a", OVERFLOW), ("fakelib.b", CORRUPTED), ("fakelib.b.alias", CORRUPTED)):
        found(fakelib_session.store, api, outcome)
    made = export(fakelib_session)
    assert [bug.api for bug in made.bugs] == ["fakelib.a"]
    assert made.private == 2
    assert "fakelib.b" not in made.to_json() and "invalid pointer" not in made.to_json()


def test_what_was_there_before_is_not_new(fakelib_session: Session) -> None:
    found(fakelib_session.store, "fakelib.old")
    was = statuses_now(fakelib_session.store)
    found(fakelib_session.store, "fakelib.new", Outcome("exception", "SystemError", "broken"))
    made = export(fakelib_session, was=was)
    assert {bug.api: bug.new for bug in made.bugs} == {"fakelib.old": False, "fakelib.new": True}
    assert [bug.api for bug in made.fresh] == ["fakelib.new"]
    assert [bug.api for bug in export(fakelib_session, apis={"fakelib.old"}).bugs] == ["fakelib.old"]


def test_the_report_of_a_session_tells_its_bugs_from_older_ones(
    fakelib_session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, began = fakelib_session.store, datetime(2026, 1, 2, tzinfo=UTC)
    fakelib_session.began = began
    monkeypatch.setattr(store, "_clock", lambda: began - timedelta(days=1))
    found(store, "fakelib.old")
    monkeypatch.setattr(store, "_clock", lambda: began)
    found(store, "fakelib.new", Outcome("exception", "SystemError", "broken"))
    found(store, "fakelib.hidden", CORRUPTED)
    store.finish_run(store.runs()[-1].id, "done", {"tests": 10, "seconds": 1.5, "apis": 3, "kept": 2})
    text = write_report(tmp_path / "report.md", fakelib_session).read_text()
    new, _, old = text.partition("## Other open bugs")
    assert "**1 new bug.**" in new and "fakelib.new(1)" in new and "fakelib.old" not in new
    assert "- `fakelib.old(1): OverflowError: too" in old
    assert "> **1 private bug.**" in text and "fakelib.hidden" not in text


def test_a_bug_that_a_recheck_has_closed_or_found_back_is_a_turn(fakelib_session: Session) -> None:
    store = fakelib_session.store
    number = found(store, "fakelib.a")
    for key, version in (("fakelib-2", "2"), ("fakelib-3", "3"), ("fakelib-4", "4")):
        store.save_target(fakelib_session.target._replace(key=key, version=version))
    was = statuses_now(store)
    store.add_checks(number, [NewCheck(key, "clean", 0, 5, Outcome("ok", "")) for key in ("fakelib-2", "fakelib-3")])
    store.add_checks(number, [NewCheck("fakelib-1", "shown", 5, 5, OVERFLOW)])
    store.set_status(number, "fixed")
    fixed = export(fakelib_session, was=was)
    assert [(turn.turn, turn.build) for turn in fixed.turns] == [("fixed", "fakelib-2")] and fixed.fixed == 1
    was = statuses_now(store)
    store.add_checks(number, [NewCheck("fakelib-4", "shown", 5, 5, OVERFLOW)])
    store.set_status(number, "open")
    back = export(fakelib_session, was=was)
    assert [(turn.turn, turn.build) for turn in back.turns] == [("regression", "fakelib-4")]
    assert back.bugs[0].regression and back.regressions == 1


def test_changes_and_dropped_apis_name_the_lines_of_the_users_tests(fakelib_session: Session) -> None:
    store = fakelib_session.store
    store.save_target(fakelib_session.target._replace(key="fakelib-0", version="0"))
    test = TestCase(Invocation("fakelib.scale", (Prim("int", 1),), ()), 7)
    for kind, after in (("changed", OVERFLOW), ("regression", CORRUPTED)):
        signature = f"fakelib.scale: {kind}"
        change = Change("fakelib.scale", kind, signature, test, "print(1)\n", Outcome("ok", "", "1"), after, 5, 5)
        store.save_change("fakelib-1", "fakelib-0", change)
    gone = Dropped("removed", "fakelib.gone", "", ["tests/test_a.py::test_b", "elsewhere"])

    def place(name: str, api: str) -> FilePlace | None:
        return FilePlace("tests/test_a.py", 12, name) if name.startswith("tests/") else None

    made = export(fakelib_session, baseline="fakelib-0", dropped=[gone], place=place)
    assert [(change.kind, change.before.text) for change in made.changes] == [("changed", "1")]
    assert made.private == 1, "a build that corrupts memory is nothing to tell in public"
    assert [(site.path, site.line) for site in made.dropped[0].sites] == [("tests/test_a.py", 12)]


@pytest.mark.parametrize("size", [10, 5_000])
def test_whatever_a_worker_says_fits_the_schema(fakelib_session: Session, size: int) -> None:
    text = "\x00\x1b@everyone ```\n" * size
    found(fakelib_session.store, "fakelib.a" * size, Outcome("exception", "E" * size, text, (text,) * 60))
    bug = export(fakelib_session).bugs[0]
    assert "\x1b" not in bug.observed.text and "\x00" not in bug.title
