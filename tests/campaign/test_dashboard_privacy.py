"""The dashboard of a state with private bugs is, byte for byte, that of the state without them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bench.made_state import StateSize, make_state
from fuzz_core.campaign.dashboard.collection import _site, public_site
from fuzz_core.campaign.document import result_since
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Invocation, TestCase, prim
from fuzz_core.store import NewBug, Store, open_store
from fuzz_core.store.cells import CellRow
from fuzz_core.store.checks import BugTrial, Change, NewCheck
from fuzz_core.store.findings import News
from fuzz_core.triage.known import Registry
from nightfuzz.reports.dashboard.site import write_site
from nightfuzz.reports.picture import picture
from nightfuzz.reports.summary import summary

SIZE = StateSize(bugs=24, builds=4, findings=60, apis=16, checks=20, judged=4)
CRASH = Verdict("crash", "crash")
PRIVATE = 10


def clock() -> datetime:
    return datetime(2026, 11, 26, 4, tzinfo=UTC)


def written(state: Path, folder: Path) -> dict[str, bytes]:
    """The bytes of the site as a folder and as one file, by file."""
    site = public_site(state, Registry(), clock)
    write_site(site, folder / "linked")
    write_site(site, folder / "single", single=True)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def plant(store: Store, number: int) -> None:
    """Record a death at a wild address, with all that a campaign records of a bug."""
    key = store.targets()[-1].key
    secret = f"s3cret{number}"
    api = f"torch.linalg.{secret}"
    outcome = Outcome("signal", "SIGSEGV", f"{secret} said", (f"{secret}::kernel{number}",))
    test = TestCase(Invocation(api, (prim(number), prim(secret))), 7_000 + number)
    found = store.add_finding(key, 1, test, CRASH, outcome, origin=f"{secret}.py")
    assert found is not None
    new = NewBug(f"{api}: {secret}", api, "crash", "crash", test, f"# {secret}\n", outcome, 5, 5, True)
    bug = store.settle_finding(found, "confirmed", hits=5, runs=5, bug=new)
    assert bug is not None
    older = store.targets()[0].key
    store.add_checks(bug, [NewCheck(older, "clean", 0, 5, Outcome("ok", "", secret))])
    store.save_probe(bug, BugTrial(f"torch=={secret}", "good", 0, 5, {"commit": secret}))
    store.save_judgements([bug], "real", f"{secret} judged")
    store.count_known(f"entry {secret}", bug, 1)
    died, fine = Outcome("signal", "SIGSEGV", secret, (f"{secret}::k",)), Outcome("ok", "", secret)
    store.save_change(key, older, Change(api, "regression", f"{api}: {secret}", test, f"# {secret}", fine, died, 5, 5))
    store.save_cells(key, [CellRow(store.apis(key)[number].name, "input", f"{secret} class", "crashed", secret)])
    store.save_news(key, [News(store.apis(key)[number].name, f"signal {secret}", "signal", None)], [])


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_state(tmp_path_factory.mktemp("made") / "state.db", SIZE)


def test_private_bugs_change_no_byte_of_the_site(state: Path, tmp_path: Path) -> None:
    before = written(state, tmp_path / "before")
    with open_store(state, clock=clock) as store:
        public = {bug.id for bug in store.bugs()}
        for number in range(PRIVATE):
            plant(store, number)
        assert len(store.bugs()) == len(public) + PRIVATE
    after = written(state, tmp_path / "after")
    assert [name for name, text in after.items() if b"s3cret" in text.lower()] == []
    with open_store(state, read_only=True) as store:
        # The search finds what a site of the whole state would tell.
        assert json.dumps(_site(store, Registry(), 0, ""), default=vars).count("s3cret") > 10 * PRIVATE
    assert {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)} == set()


def test_private_bugs_are_in_no_byte_of_a_summary_and_its_picture(tmp_path: Path) -> None:
    made = make_state(tmp_path / "state.db", SIZE)
    with open_store(made, clock=clock) as store:
        key, began = store.targets()[-1].key, datetime(2025, 11, 1, tzinfo=UTC)
        before = result_since(store, key, began, ())
        for number in range(PRIVATE):
            plant(store, number)
        after = result_since(store, key, began, ())
    assert before.growth and (before.private, after.private) == (0, PRIVATE)
    assert picture(after) == picture(before) != ""
    assert "s3cret" not in summary(after).lower() and "```mermaid" in summary(after)
    # The counterpart: a public bug is in both.
    assert before.bugs[0].api in summary(after) and before.bugs[0].grade in picture(after)


def test_public_bugs_are_on_the_site(state: Path, tmp_path: Path) -> None:
    """The counterpart of the search for secrets: the same search finds a public bug of the same state."""
    with open_store(state, clock=clock) as store:
        key = store.targets()[-1].key
        api = "torch.linalg.openly_known"
        store.save_apis(key, [*store.apis(key), Api(api, "function")])
        test = TestCase(Invocation(api, (prim("told openly"),)), 9_000)
        outcome = Outcome("exception", "RuntimeError", 'INTERNAL ASSERT FAILED at "/w/told.cpp":3', ())
        found = store.add_finding(key, 1, test, Verdict("crash", "internal-error"), outcome)
        new = NewBug(f"{api}: told", api, "crash", "internal-error", test, "# told openly\n", outcome, 5, 5, True)
        assert found is not None and store.settle_finding(found, "confirmed", hits=5, runs=5, bug=new)
    texts = written(state, tmp_path)
    assert [name for name, text in texts.items() if b"told openly" in text and "single" in name]
    assert [name for name, text in texts.items() if b"told openly" in text and "linked/data/bugs" in name]
