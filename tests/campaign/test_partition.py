"""A state split into a public and a private part: the public part has no secret, and both together are the whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from examples import examples
from hypothesis import HealthCheck, given
from statecases import (
    HARMLESS,
    HEAP,
    NEW,
    OLD,
    WILD,
    WRONG,
    case,
    copied,
    fresh,
    histories,
    lived,
    ran,
    said,
    settled,
    target,
)

from fuzz_core.campaign.partition import joined, split
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.store import NewBug, SeedRecord, Store, open_store
from fuzz_core.store.checks import BugTrial, Change, NewCheck
from fuzz_core.store.findings import News
from fuzz_core.worker.stack import NULL_PAGE

CRASH = Verdict("crash", "crash")


@pytest.fixture(scope="module")
def beginning(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fresh(tmp_path_factory.mktemp("beginning") / "state.db")


@pytest.fixture
def state(beginning: Path, tmp_path: Path) -> Path:
    return copied(beginning, tmp_path / "state.db")


def bug(store: Store, signature: str, outcome: Outcome, number: int = 1, key: str = OLD) -> int:
    """Stores a bug with one finding; the text of its script is unique."""
    finding = store.add_finding(key, 1, case(number, seed=sum(signature.encode())), CRASH, outcome._replace(frames=()))
    assert finding is not None
    test = case(number, seed=90)
    new = NewBug(signature, f"lib.f{number}", "crash", "crash", test, f"# script of {signature}\n", outcome, 3, 3)
    made = store.settle_finding(finding, "confirmed", hits=3, runs=3, bug=new)
    assert made is not None
    return made


def parts(state: Path) -> tuple[Path, Path]:
    settled(state)
    public, private = state.with_name("public.db"), state.with_name("private.db")
    split(state, public, private)
    return public, private


def scripts(path: Path) -> list[str]:
    with open_store(path, read_only=True) as store:
        return [row.signature_text for row in store.bugs()]


class DescribeSplit:
    @examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(before=histories, after=histories)
    def test_both_parts_are_the_whole_and_nothing_private_is_in_the_public_one(
        self, tmp_path: Path, beginning: Path, before: list, after: list
    ) -> None:
        state = lived(lived(copied(beginning, tmp_path / "state.db"), before, 1), after, 2)
        public, private = tmp_path / "public.db", tmp_path / "private.db"
        told = split(state, public, private)
        seen = public.read_bytes()
        with open_store(state, read_only=True) as store:
            hidden = [row for row in store.bugs() if row.signature in told.fingerprints]
            pending = [row for each in store.targets() for row in store.pending_findings(each.key)]
            died = [row for row in store.bugs() if row.outcome in (HEAP, WILD)]
        assert {row.id for row in died} <= {row.id for row in hidden}
        assert not [row for row in hidden if row.signature_text.encode() in seen or row.script.encode() in seen]
        with open_store(public) as store:
            assert not [row for each in store.targets() for row in store.pending_findings(each.key)]
            assert told.pending == len(pending)
            if told.there:
                joined(store, [private])
        assert said(public, numbered=True) == _reviewed(state)

    def test_where_nothing_is_private_there_is_no_private_part(self, state: Path) -> None:
        with open_store(state) as store:
            bug(store, "harmless", HARMLESS)
        public, private = parts(state)
        assert scripts(public) == ["harmless"]
        assert not private.exists()

    def test_all_that_belongs_to_a_private_bug_goes_with_it(self, state: Path) -> None:
        with open_store(state) as store:
            number = bug(store, "a secret", WILD, 2)
            bug(store, "harmless", HARMLESS)
            store.add_checks(number, [NewCheck(OLD, "clean", 0, 3, WRONG._replace(text="told by a check"))])
            store.save_probe(number, BugTrial("lib==told-by-a-probe", "bad", 1, 1, {}))
            store.count_known("told-by-an-entry", number, 1)
            like = '[["I","lib.f2",[2,"x"],[],null],5,0,[]]'
            store.save_news(
                OLD, [News("lib.f2", "ok told by news", "ok", like), News("lib.f0", "told", "signal", None)], []
            )
        public, private = parts(state)
        for words in (b"a secret", b"told", b"lib.f2: "):
            assert words not in public.read_bytes()
        assert private.read_bytes().count(b"told") >= 5
        assert (scripts(public), scripts(private)) == (["harmless"], ["a secret"])

    def test_what_looks_like_the_cause_of_a_private_bug_is_private(self, state: Path) -> None:
        with open_store(state) as store:
            bug(store, "null", Outcome("signal", "SIGSEGV", "", (NULL_PAGE, "lib::kernel", "lib::outer")), 1)
            bug(store, "wild", WILD._replace(frames=("lib::kernel", "lib::outer")), 1)
            bug(store, "elsewhere", Outcome("signal", "SIGSEGV", "", (NULL_PAGE, "lib::other", "lib::more")), 2)
        assert scripts(parts(state)[0]) == ["elsewhere"]

    def test_the_same_signature_on_another_build_is_private_too(self, state: Path) -> None:
        with open_store(state) as store:
            store.save_target(target(NEW))
            bug(store, "one", HARMLESS, 1)
            bug(store, "one", WILD, 2, NEW)
        assert scripts(parts(state)[0]) == []

    def test_what_was_seen_in_passing_of_a_harmless_bug_is_public(self, state: Path) -> None:
        """Workers see no native stack, so this finding looks harmful; the examination has seen the stack."""
        with open_store(state) as store:
            number = bug(store, "null", Outcome("signal", "SIGSEGV", "", (NULL_PAGE, "lib::kernel")))
            heap = store.add_finding(OLD, 1, case(1, seed=77), CRASH, HEAP)
            assert heap is not None
            store.settle_finding(heap, "duplicate", bug=number)
        public, private = parts(state)
        with open_store(public, read_only=True) as store:
            assert [row.findings for row in store.bugs()] == [1]
            assert [row.outcome.name for row in store.findings(OLD)] == ["SIGSEGV"]
        assert b"free(): invalid pointer" not in public.read_bytes()
        assert b"free(): invalid pointer" in private.read_bytes()

    def test_flaky_deaths_and_deadly_changes_and_checks_are_private(self, state: Path) -> None:
        with open_store(state) as store:
            flaky = store.add_finding(OLD, 1, case(1), CRASH, WILD)
            assert flaky is not None
            store.settle_finding(flaky, "flaky")
            number = bug(store, "harmless", HARMLESS)
            store.add_checks(number, [NewCheck(OLD, "changed", 1, 3, HEAP)])
            store.save_change(OLD, OLD, Change("lib.f0", "regression", "s", case(3), "# deadly", WRONG, WILD, 3, 3))
            store.save_change(OLD, OLD, Change("lib.f0", "regression", "t", case(4), "# other", WRONG, HARMLESS, 3, 3))
        public, _ = parts(state)
        with open_store(public, read_only=True) as store:
            assert [row.status for row in store.findings(OLD)] == ["confirmed"]
            assert store.checks() == []
            assert [change.script for change in store.changes(OLD, OLD)] == ["# other"]
        for words in (b"SIGSEGV", b"invalid pointer", b"deadly"):
            assert words not in public.read_bytes()

    @pytest.mark.parametrize("reason", ["signal SIGSEGV: at {}".format, "it fell over at {}".format, "ok {}".format])
    def test_the_words_that_traced_code_died_with_are_private(self, state: Path, reason: Callable[[str], str]) -> None:
        with open_store(state) as store:
            ran(store, OLD, (1, "signal", reason("0xdead")))
            seed = SeedRecord("dead", "docs", "a seed", "crashed", reason("0xbeef"), outcome_kind="signal")
            store.save_trace(OLD, seed, [], {}, {})
        whole = said(state)
        public, private = parts(state)
        assert not [word for word in (b"0xdead", b"0xbeef") if word in public.read_bytes()]
        with open_store(public) as store:
            assert {seed.status for seed in store.seeds(OLD)} == {"ok", "failed"}
            joined(store, [private])
        assert said(public) == whole

    def test_what_only_speaks_of_a_death_is_public(self, state: Path) -> None:
        with open_store(state) as store:
            ran(store, OLD, (1, "exception", "signal SIGSEGV: at 0xdead"))
            seed = SeedRecord("s", "docs", "a seed", "failed", "signal SIGBUS: at 0xbeef")
            store.save_trace(OLD, seed, [], {}, {})
            store.save_news(OLD, [News("lib.f0", "signal SIGABRT told", "exception", None)], [])
        whole = said(state)
        public, private = parts(state)
        assert not private.exists()
        assert said(public) == whole


def _reviewed(state: Path) -> dict[str, list[tuple[object, ...]]]:
    """Returns the content of a state after `joined`, which sets the bugs' status by their checks."""
    with open_store(state) as store:
        joined(store, [])
    return said(state, numbered=True)
