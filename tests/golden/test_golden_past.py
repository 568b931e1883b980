"""Tests that today's code reads a state and documents of November 2026. The files are never written anew."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from golden_file import FOLDER, check_golden
from record import bugs, findings, steady

from fuzz_core.campaign.document import RunFacts, result_of, statuses_now
from fuzz_core.store.statefile import open_store
from fuzz_core.triage.assess import severity, withheld
from nightfuzz.reports.comment import comment
from nightfuzz.reports.results import read_result
from nightfuzz.reports.summary import summary


def test_a_state_from_before_has_all_that_it_had(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    connection = sqlite3.connect(path)
    connection.executescript((FOLDER / "state_2026.sql").read_text(encoding="utf-8"))
    connection.close()
    with open_store(path) as store:
        keys = [target.key for target in store.targets()]
        rows = store.bugs()
        told = {
            "targets": [[each.key, each.spec, each.library, each.version] for each in store.targets()],
            "apis": {key: len(store.apis(key)) for key in keys},
            "calls": {key: [row.digest for row in store.invocations(key)] for key in keys},
            "runs": [[run.target, run.seed, run.status, run.summary.get("tests")] for run in store.runs()],
            "findings": {key: findings(store, key) for key in keys},
            "bugs": {key: bugs(store, key) for key in keys},
            "numbers": {bug.id: bug.signature_text for bug in rows},
            "grades": {bug.id: [severity(bug).grade, severity(bug).reason] for bug in rows},
            "withheld": sorted(withheld(rows)),
            "standings": statuses_now(store),
            "checks": [[c.bug, c.target, c.status, c.hits, c.runs] for c in store.checks()],
            "changes": [[c.kind, c.signature, c.script] for c in store.changes("fakelib-2", "fakelib-1")],
            "known": {name: list(count) for name, count in store.known_counts().items()},
        }
        exported = result_of(store, RunFacts("bump", "fakelib-2", baseline="fakelib-1"))
    stored = read_result(FOLDER / "results_1_campaign.json")
    assert [bug.fingerprint for bug in exported.bugs] == [bug.fingerprint for bug in stored.bugs]
    assert (exported.private, exported.changes) == (stored.private, stored.changes)
    check_golden("state_2026.json", told)


@pytest.mark.parametrize("name", ["campaign", "bump"])
def test_a_results_document_from_before_is_told_as_it_was(name: str) -> None:
    result = read_result(FOLDER / f"results_1_{name}.json")
    forms = {"summary": summary(result), "comment": comment(result, "<!-- marker -->")}
    check_golden(f"results_1_{name}_told.json", {form: steady(text).splitlines() for form, text in forms.items()})
