"""Tests that state files merge to the same state in any order and any number of times."""

from __future__ import annotations

import itertools
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest
from examples import examples
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from statecases import NEW, OLD, call, case, copied, fresh, histories, lived, ran, said, target
from store_values import bug

from fuzz_core.campaign.partition import split
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.store import SeedRecord, Store, open_store
from fuzz_core.store.checks import BugTrial, Change, NewCheck
from fuzz_core.store.merge import MergeResult, merge
from fuzz_core.triage.cost import cost

CRASH = Verdict("crash", "crash")
DEAD = Outcome("signal", "SIGABRT")
several = examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def beginning(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fresh(tmp_path_factory.mktemp("beginning") / "state.db")


def together(base: Path, others: list[Path], to: Path) -> Path:
    with open_store(copied(base, to)) as store:
        merge(store, others, cost)
    return to


class DescribeMerge:
    @several
    @given(before=histories, shards=st.lists(histories, min_size=1, max_size=3), data=st.data())
    def test_order_makes_no_difference_not_even_to_numbers(
        self, tmp_path: Path, beginning: Path, before: list, shards: list, data: st.DataObject
    ) -> None:
        base = lived(copied(beginning, tmp_path / "base.db"), before, 1)
        files = [lived(copied(base, tmp_path / f"{n}.db"), each, 2 + n % 2) for n, each in enumerate(shards)]
        one = said(together(base, files, tmp_path / "one.db"), numbered=True)
        other = data.draw(st.permutations(files))
        assert said(together(base, other, tmp_path / "other.db"), numbered=True) == one
        again = together(tmp_path / "one.db", files, tmp_path / "again.db")
        assert said(again, numbered=True) == one
        twice = together(base, [*files, *files], tmp_path / "twice.db")
        assert said(twice, numbered=True) == one

    def test_sixteen_shards_give_the_same_bytes_in_any_order(self, tmp_path: Path, base: Path) -> None:
        kinds = (
            "trace",
            "valid",
            "find",
            "settle",
            "news",
            "learn",
            "change",
            "check",
            "known",
            "probe",
            "know",
            "run",
        )
        files = []
        for shard in range(16):
            events = [(kind, (OLD, NEW)[(shard + n) % 2], (shard + n) % 4, shard % 4) for n, kind in enumerate(kinds)]
            events += [("find", NEW, shard % 3, 0), ("settle", NEW, 1, shard % 4), ("trace", NEW, shard % 4, 1)]
            files.append(lived(copied(base, tmp_path / f"{shard}.db"), events, shard))
        orders = [files, files[::-1], files[5:] + files[:5], files[::2] + files[1::2]]
        written = set()
        for n, order in enumerate(orders):
            whole = together(base, order, tmp_path / f"order-{n}.db")
            public, private = tmp_path / f"public-{n}.db", tmp_path / f"private-{n}.db"
            assert split(whole, public, private).there
            written.add((written_anew(whole), public.read_bytes(), private.read_bytes()))
        assert len(written) == 1

    @several
    @given(before=histories, one=histories, other=histories)
    def test_one_after_the_other_says_the_same(
        self, tmp_path: Path, beginning: Path, before: list, one: list, other: list
    ) -> None:
        base = lived(copied(beginning, tmp_path / "base.db"), before, 1)
        a = lived(copied(base, tmp_path / "a.db"), one, 2)
        b = lived(copied(base, tmp_path / "b.db"), other, 3)
        both = said(together(base, [a, b], tmp_path / "both.db"))
        for first, second in itertools.permutations([a, b]):
            between = together(base, [first], tmp_path / "between.db")
            assert said(together(between, [second], tmp_path / "end.db")) == both
        assert said(together(a, [b], tmp_path / "a-b.db")) == said(together(b, [a], tmp_path / "b-a.db")) == both

    @several
    @given(before=histories, after=histories)
    def test_numbers_of_the_store_stay_and_a_lone_file_keeps_its_own(
        self, tmp_path: Path, beginning: Path, before: list, after: list
    ) -> None:
        base = lived(copied(beginning, tmp_path / "base.db"), before, 1)
        shard = lived(copied(base, tmp_path / "shard.db"), after, 2)
        assert numbers(base) <= numbers(together(base, [shard], tmp_path / "end.db")) == numbers(shard)


def written_anew(path: Path) -> bytes:
    """Returns the file as SQLite writes it anew, which depends on the contents and not on their history."""
    to = path.with_suffix(".anew")
    with sqlite3.connect(path) as connection:
        connection.execute("VACUUM INTO ?", (str(to),))
    connection.close()
    return to.read_bytes()


def numbers(path: Path) -> set[tuple[int, str, str]]:
    with open_store(path, read_only=True) as store:
        return {(row.id, row.target, row.signature) for row in store.bugs()}


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return fresh(tmp_path / "base.db")


def found(path: Path, number: int, *, signature: str = "", settled: str = "confirmed", minimised: bool = False) -> Path:
    with open_store(path) as store:
        finding = store.add_finding(OLD, 1, case(number, 2), CRASH, DEAD)
        assert finding is not None
        if signature:
            new = bug(signature, minimised=minimised)._replace(test=case(number, 2))
            store.settle_finding(finding, settled, hits=3, runs=3, bug=new)
    return path


class DescribeOneBug:
    def test_found_by_two_it_is_there_once_with_the_findings_of_both_and_the_simpler_test(
        self, tmp_path: Path, base: Path
    ) -> None:
        found(base, 900, signature="S")
        a = found(copied(base, tmp_path / "a.db"), 70, signature="S", minimised=True)
        b = found(copied(base, tmp_path / "b.db"), 800, signature="S")
        c = found(copied(base, tmp_path / "c.db"), 40, signature="S", minimised=True)
        with open_store(base) as store:
            done = merge(store, [a, b, c], cost)
            (row,) = store.bugs()
            assert (row.id, row.findings, row.minimised, row.test.invocation) == (1, 4, True, call(40))
            assert done.bugs == ()

    def test_two_new_ones_with_one_number_get_two(self, tmp_path: Path, base: Path) -> None:
        a = found(copied(base, tmp_path / "a.db"), 1, signature="A")
        b = found(copied(base, tmp_path / "b.db"), 2, signature="B")
        with open_store(base) as store:
            assert merge(store, [a, b], cost).bugs == (1, 2)
            assert {row.signature_text for row in store.bugs()} == {"A", "B"}
            assert {row.bug for row in store.findings(OLD)} == {1, 2}

    def test_a_settled_finding_wins_over_the_same_one_pending(self, tmp_path: Path, base: Path) -> None:
        found(base, 1)
        shard = copied(base, tmp_path / "a.db")
        with open_store(shard) as store:
            store.settle_finding(1, "rejected", reason="does not replay")
        for into, other in ((base, shard), (shard, base)):
            with open_store(copied(into, tmp_path / "into.db")) as store:
                merge(store, [other], cost)
                assert [(row.status, row.reason) for row in store.findings(OLD)] == [("rejected", "does not replay")]

    def test_it_still_knows_the_invocation_that_it_was_made_from(self, tmp_path: Path, base: Path) -> None:
        """Two shards trace a new build, so its invocations get other numbers than in one of the shards."""
        files = []
        for name, order in (("a", (5, 6)), ("b", (6, 5))):
            path = copied(base, tmp_path / f"{name}.db")
            with open_store(path) as store:
                store.save_target(target(NEW))
                _trace(store, order)
                run = store.start_run(NEW, ord(name), {})
                origin = {row.invocation: row.id for row in store.invocations(NEW)}[call(6)]
                store.add_finding(NEW, run, case(ord(name), origin), CRASH, DEAD)
            files.append(path)
        with open_store(base) as store:
            merge(store, files, cost)
            names = [store.seeds_of(row.test.origin) for row in store.findings(NEW)]
            assert names == [["seed 6::test"], ["seed 6::test"]]
            assert len(store.findings(NEW)) == 2


def _trace(store: Store, order: tuple[int, ...]) -> None:
    for number in order:
        seed = SeedRecord(f"s{number}", "docs", f"seed {number}", "ok")
        store.save_trace(NEW, seed, [(call(number), "ok")], {}, {}, {call(number): "test"})


class DescribeBadInput:
    def test_no_state_file_is_refused_and_nothing_is_merged(self, tmp_path: Path, base: Path) -> None:
        good = found(copied(base, tmp_path / "good.db"), 1, signature="A")
        (tmp_path / "bad.db").write_bytes(b"no database at all" * 100)
        with open_store(base) as store:
            with pytest.raises(UserError):
                merge(store, [good, tmp_path / "bad.db"], cost)
            assert store.bugs() == []
            assert merge(store, [good], cost) == MergeResult((1,), {"bugs": 1, "findings": 1})

    def test_a_file_that_claims_a_huge_number_does_not_use_up_all_numbers(self, tmp_path: Path, base: Path) -> None:
        shard = found(copied(base, tmp_path / "a.db"), 1, signature="A")
        with sqlite3.connect(shard) as connection:
            connection.execute("UPDATE findings SET bug = NULL")
            connection.execute("UPDATE bugs SET id = ?", (2**63 - 1,))
        connection.close()
        with open_store(base) as store:
            assert merge(store, [shard], cost).bugs == (1,)


class DescribeWhatStays:
    def test_the_first_time_and_the_later_word(self, tmp_path: Path, base: Path) -> None:
        early, late = copied(base, tmp_path / "early.db"), copied(base, tmp_path / "late.db")
        for path, day, script in ((early, 3, "longer, found first"), (late, 4, "shorter")):
            with open_store(path, clock=lambda day=day: datetime(2026, 1, day, tzinfo=UTC)) as store:
                _live_a_day(store, script, day)
        with open_store(base) as store:
            merge(store, [late, early], cost)
            (row,) = store.bugs()
            assert row.first_found.startswith("2026-01-03")
            assert (row.status, row.findings) == ("known", 2)
            assert [(check.status, check.checked_at[:10]) for check in store.checks(row.id)] == [
                ("clean", "2026-01-03"),
                ("clean", "2026-01-04"),
            ]
            assert store.probes(row.id)["lib==2"].hits == 4
            assert [change.hits for change in store.changes(OLD, OLD)] == [4]
            assert store.known_counts()["entry"] == ("entry", 1, 4, "2026-01-04T00:00:00.000+00:00")
            assert {seed.name for seed in store.seeds(OLD)} == {"seed 0", "of day 4"}
            assert store.target(OLD).info == {"devices": ["cpu"], "note": "a longer note"}
            assert store.target(OLD).made_at.startswith("2026-01-01")

    def test_a_shard_does_not_say_what_a_target_on_record_is(self, tmp_path: Path, base: Path) -> None:
        shard = copied(base, tmp_path / "a.db")
        with sqlite3.connect(shard) as connection:
            connection.execute("UPDATE targets SET spec = '', library = '', version = '', python = '/'")
        connection.close()
        with open_store(base) as store:
            before = store.targets()
            merge(store, [shard], cost)
            assert store.targets() == before

    def test_an_invocation_that_re_ran_over_one_that_has_not(self, tmp_path: Path, base: Path) -> None:
        shard = copied(base, tmp_path / "a.db")
        with open_store(shard) as store:
            ran(store, OLD, (2, "ok", ""), (3, "exception", "ValueError"))
        with open_store(base) as store:
            merge(store, [shard], cost)
            assert [row.valid for row in store.invocations(OLD)] == [None, True, False]

    def test_a_run_that_was_cut_short_is_over(self, tmp_path: Path, base: Path) -> None:
        shard = copied(base, tmp_path / "a.db")
        with open_store(shard) as store:
            store.checkpoint_run(store.start_run(OLD, 9, {}), 50)
        with open_store(base) as store:
            merge(store, [shard], cost)
            assert [(run.tests, run.status) for run in store.runs()] == [(0, "done"), (50, "killed")]

    def test_more_files_than_sqlite_attaches_at_once(self, tmp_path: Path, base: Path) -> None:
        files = [found(copied(base, tmp_path / f"{n}.db"), n, signature=f"S{n:02}") for n in range(12)]
        with open_store(base) as store:
            assert len(merge(store, files, cost).bugs) == 12


def _live_a_day(store: Store, script: str, day: int) -> None:
    finding = store.add_finding(OLD, 1, case(day), CRASH, DEAD)
    assert finding is not None
    number = store.settle_finding(finding, "confirmed", bug=bug("S", script=script)._replace(test=case(day)))
    assert number is not None
    store.add_checks(number, [NewCheck(OLD, "clean", 0, 3, DEAD)])
    store.set_status(number, "fixed")
    store.save_probe(number, BugTrial("lib==2", "good", day, 3, {}))
    store.count_known("entry", number, day)
    if day == 3:
        store.reopen_bug(number)
    store.save_change(OLD, OLD, Change("lib.f1", "changed", "S", case(day), script, DEAD, DEAD, day, 4))
    store.save_trace(OLD, SeedRecord("day", "docs", f"of day {day}", "ok"), [], {}, {})
    store.save_target(target(OLD, "a note" if day == 4 else "a longer note"))
