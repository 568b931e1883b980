from pathlib import Path

import pytest
from examples import examples
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from store_values import CRASH, DEAD, KEY, TARGET, add, bug, case, outcomes, tests, verdicts

from fuzz_core.ir.errors import UserError
from fuzz_core.ir.outcome import Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.store import Store, open_store
from fuzz_core.store.findings import finding_key


@pytest.fixture
def run(store: Store) -> int:
    return store.start_run(KEY, 1, {})


def added(store: Store, run: int, seed: int = 1) -> int:
    number = store.add_finding(KEY, run, case(seed), CRASH, DEAD)
    assert number is not None
    return number


class DescribeFindings:
    @given(found=st.lists(st.tuples(tests, verdicts, outcomes), max_size=4))
    @examples(50, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_what_is_added_reads_back_equal(self, store: Store, found) -> None:
        key = f"target-{len(store.targets())}"
        store.save_target(TARGET._replace(key=key))
        ids = store.add_findings(key, store.start_run(key, 1, {}), found)
        kept = [row for row, number in zip(found, ids, strict=True) if number is not None]
        assert [(row.test, row.verdict, row.outcome) for row in store.pending_findings(key)] == kept
        assert len(kept) == len({finding_key(test, verdict.oracle) for test, verdict, _ in found})

    def test_the_same_test_and_oracle_is_one_finding(self, store: Store, run: int) -> None:
        assert store.add_finding(KEY, run, case(), CRASH, DEAD) == 1
        assert store.add_finding(KEY, run, case(), CRASH, DEAD) is None
        assert store.add_finding(KEY, run, case(), Verdict("differential", "wrong-result"), DEAD) is not None
        assert store.add_finding(KEY, run, case(2), CRASH, DEAD) is not None
        assert len(store.pending_findings(KEY)) == 3

    @given(tests)
    def test_the_key_ignores_where_a_test_came_from(self, test: TestCase) -> None:
        again = test._replace(origin=test.origin + 1, rules=("another",))
        assert finding_key(again, "crash") == finding_key(test, "crash")
        assert finding_key(test._replace(seed=test.seed + 1), "crash") != finding_key(test, "crash")

    def test_a_finding_needs_its_run(self, store: Store) -> None:
        with pytest.raises(Exception, match="FOREIGN KEY"):
            store.add_finding(KEY, 99, case(), CRASH, DEAD)
        assert store.pending_findings(KEY) == []

    def test_it_is_there_before_the_store_is_closed(self, path: Path, store: Store, run: int) -> None:
        added(store, run)
        with open_store(path, read_only=True) as reader:
            assert [row.test for row in reader.pending_findings(KEY)] == [case()]

    def test_a_bug_has_the_origin_of_the_first_finding_that_has_one(self, store: Store, run: int) -> None:
        plain = added(store, run)
        number = store.settle_finding(plain, "confirmed", bug=bug())
        assert number is not None and store.bug(number).origin == ""
        for seed, origin in ((2, "net.py line 3"), (3, "net.py line 9")):
            finding = store.add_finding(KEY, run, case(seed), CRASH, DEAD, origin)
            assert finding is not None and store.pending_findings(KEY)[0].origin == origin
            store.settle_finding(finding, "duplicate", bug=bug() if seed == 2 else number)
        store.improve_bug(number, bug(minimised=True, script="import torch as t\n"))
        assert (store.bug(number).origin, store.bug(number).findings) == ("net.py line 3", 3)

    def test_texts_with_lone_surrogates_and_nul_are_stored(self, store: Store, run: int) -> None:
        odd = TestCase(add(1, api="torch.\ud800\0"), 1)
        number = store.add_finding(KEY, run, odd, CRASH, DEAD._replace(text="\udcff\0"))
        assert number is not None
        (row,) = store.pending_findings(KEY)
        assert row.test == odd and row.outcome.text == "\udcff\0"
        store.settle_finding(number, "confirmed", reason="\ud800", bug=bug("\ud800", script="'\ud800'"))
        assert store.bug(1).script == r"'\ud800'"


class DescribeSettling:
    def test_a_confirmed_finding_and_its_bug_come_together(self, store: Store, run: int) -> None:
        number = added(store, run)
        assert store.settle_finding(number, "confirmed", hits=3, runs=3, bug=bug()) == 1
        assert store.pending_findings(KEY) == []
        (row,) = store.findings(KEY, "confirmed")
        assert (row.bug, row.hits, row.runs) == (1, 3, 3)
        found = store.bug(1)
        assert (found.signature_text, found.findings, found.status) == ("torch.add SIGSEGV", 1, "open")
        assert (found.test, found.outcome, found.first_found) == (case(), DEAD, row.found_at)
        assert store.bugs() == store.bugs(KEY) == [found]
        assert store.bugs("another") == []

    def test_settling_again_changes_nothing(self, store: Store, run: int) -> None:
        number = added(store, run)
        store.settle_finding(number, "confirmed", hits=3, runs=3, bug=bug())
        before = (store.findings(KEY), store.bugs())
        assert store.settle_finding(number, "rejected", bug=bug("another")) == 1
        assert (store.findings(KEY), store.bugs()) == before

    def test_a_second_finding_of_a_bug_is_a_duplicate(self, store: Store, run: int) -> None:
        for seed in (1, 2, 3):
            assert store.settle_finding(added(store, run, seed), "confirmed", bug=bug()) == 1
        assert [row.status for row in store.findings(KEY, bug=1)] == ["confirmed", "duplicate", "duplicate"]
        assert store.bug(1).findings == 3

    def test_a_finding_joins_a_bug_by_its_id(self, store: Store, run: int) -> None:
        store.settle_finding(added(store, run), "confirmed", bug=bug())
        (known,) = store.bugs(KEY)
        assert store.settle_finding(added(store, run, 2), "duplicate", bug=known.id) == known.id
        assert store.bug(known.id).findings == 2

    def test_only_a_minimised_test_replaces_one_that_is_not(self, store: Store, run: int) -> None:
        scripts = []
        for seed, minimised in enumerate((False, True, False, True)):
            new = bug(minimised=minimised, script=f"script {seed}")
            store.settle_finding(added(store, run, seed), "confirmed", bug=new)
            scripts.append(store.bug(1).script)
        assert scripts == ["script 0", "script 1", "script 1", "script 1"]

    def test_what_any_finding_of_a_bug_says_of_privacy_stays(self, store: Store, run: int) -> None:
        """A later finding that looks harmless does not make the bug public, and neither does a smaller script."""
        public, private = bug(), bug()._replace(suspicion="SIGSEGV, on the input as it was found")
        number = store.settle_finding(added(store, run, 1), "confirmed", bug=public)
        assert number is not None
        for seed, found in ((2, private), (3, public), (4, public._replace(minimised=True))):
            store.settle_finding(added(store, run, seed), "confirmed", bug=found)
        store.improve_bug(number, public)
        assert store.bug(number).suspicion == private.suspicion

    def test_improving_a_bug_keeps_its_signature_and_findings(self, store: Store, run: int) -> None:
        store.settle_finding(added(store, run), "confirmed", bug=bug())
        store.improve_bug(1, bug("other text", minimised=True, script="short"))
        found = store.bug(1)
        assert (found.script, found.minimised, found.signature_text, found.findings) == (
            "short",
            True,
            "torch.add SIGSEGV",
            1,
        )

    @pytest.mark.parametrize("status", ["flaky", "rejected", "duplicate"])
    def test_other_results_make_no_bug(self, store: Store, run: int, status: str) -> None:
        assert store.settle_finding(added(store, run), status, reason="why", hits=1, runs=3) is None
        (row,) = store.findings(KEY, status)
        assert (row.reason, row.hits, row.runs, row.bug) == ("why", 1, 3, None)
        assert store.bugs() == []

    def test_a_status_that_does_not_exist_leaves_everything_as_it_was(self, store: Store, run: int) -> None:
        number = added(store, run)
        with pytest.raises(Exception, match="CHECK"):
            store.settle_finding(number, "nonsense", bug=bug())
        assert [row.id for row in store.pending_findings(KEY)] == [number]
        assert store.bugs() == []

    def test_what_does_not_exist_is_named(self, store: Store, run: int) -> None:
        with pytest.raises(UserError, match="no finding 9"):
            store.settle_finding(9, "rejected")
        store.settle_finding(added(store, run), "confirmed", bug=bug())
        for ask in (lambda: store.bug(7), lambda: store.improve_bug(7, bug())):
            with pytest.raises(UserError, match="no bug 7") as error:
                ask()
            assert "lists: 1" in error.value.remedy


class DescribeRuns:
    def test_a_run_from_start_to_end(self, store: Store) -> None:
        number = store.start_run(KEY, 2**70, {"workers": 2})
        assert store.run(number).status == "running"
        store.checkpoint_run(number, 1000, 1.5)
        store.finish_run(number, "done", {"bugs": 3})
        row = store.run(number)
        assert (row.seed, row.options, row.tests, row.seconds) == (2**70, {"workers": 2}, 1000, 1.5)
        assert (row.status, row.summary, row.started) == ("done", {"bugs": 3}, "2026-01-02T00:00:00.000+00:00")
        assert store.runs(KEY) == store.runs() == [row]

    def test_a_run_whose_controller_died_is_on_record_as_killed(self, path: Path) -> None:
        with open_store(path) as store:
            store.save_target(TARGET)
            store.start_run(KEY, 1, {})
            store.finish_run(store.start_run(KEY, 1, {}), "done", {})
        with open_store(path) as store:
            assert [row.status for row in store.runs()] == ["killed", "done"]

    def test_an_unknown_run_is_named(self, store: Store) -> None:
        with pytest.raises(UserError, match="no run 5"):
            store.run(5)
