"""Golden tests of a finding's signature, severity and cluster: a changed signature files every issue again.

Numbers are places in the corpus; `signatures.json` shows each case whole.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from corpus import ReportedCase, corpus
from golden_file import check_golden

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import Invocation, TestCase, prim
from fuzz_core.oracles.contract import oracle_of
from fuzz_core.store.findings import signature_digest
from fuzz_core.store.records import BugRow
from fuzz_core.triage.assess import order, severity, withheld
from fuzz_core.triage.cluster import clusters
from fuzz_core.triage.signature import signature

LIBRARIES = ("torch", "tensorflow", "jittor", "fakelib")


def test_every_finding_has_the_signature_that_it_had() -> None:
    check_golden("signatures.json", [_named(case) for case in corpus()])


def test_every_bug_is_as_bad_as_it_was() -> None:
    answers: dict[str, list[int]] = defaultdict(list)
    for bug in _bugs():
        judged = severity(bug)
        answers[" | ".join((bug.kind, judged.grade, judged.reason, *judged.validity))].append(bug.id)
    ranked = [bug.id for bug in sorted(_bugs(), key=lambda bug: order(bug, severity(bug)))]
    check_golden("severities.json", {"bugs": answers, "ranked": ranked})


def test_bugs_are_grouped_as_they_were() -> None:
    bugs = _bugs()
    groups = [[bug.id for bug in cluster.members] for cluster in clusters(bugs)]
    check_golden("clusters.json", {"clusters": groups, "withheld": sorted(withheld(bugs))})


def test_every_outcome_is_judged_as_it_was() -> None:
    """The judge is the oracle for crashes, which knows the messages of each library."""
    crash = oracle_of("crash")
    answers: dict[str, list[int]] = defaultdict(list)
    for number, (_, _, outcome) in enumerate(corpus()):
        verdicts = [crash.judge({"cpu": outcome}, dialect_of(library)) for library in LIBRARIES]
        told = [f"{library}: {v.kind}: {v.detail}" for library, v in zip(LIBRARIES, verdicts, strict=True)]
        answers[" | ".join(told)].append(number)
    check_golden("judgements.json", answers)


def _named(case: ReportedCase) -> dict[str, Any]:
    found = signature(case.api, case.verdict, case.outcome)
    row = {
        "outcome": _of_outcome(case.outcome),
        "verdict": list(case.verdict),
        "text": _printable(found.text),
        "digest": found.digest,
    }
    kept = signature_digest(found.text)
    return row if kept == found.digest else {**row, "digest in the store": kept}


def _of_outcome(outcome: Outcome) -> list[Any]:
    return [outcome.kind, outcome.name, _printable(outcome.text), list(outcome.frames)]


def _printable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _bugs() -> list[BugRow]:
    """Returns a bug for each signature and kind: some traced, some mutated, of test cases of several sizes."""
    rows: dict[tuple[str, str], BugRow] = {}
    for number, (api, verdict, outcome) in enumerate(corpus()):
        name = signature(api, verdict, outcome)
        test = TestCase(
            Invocation(api, tuple(prim(each) for each in range(number % 4))), 0, rules=("a rule",) if number % 5 else ()
        )
        target = f"{api.partition('.')[0]}-{1 + number % 3 // 2}"
        row = BugRow(
            number, target, name.digest, _printable(name.text), api, verdict.oracle, verdict.kind, test, "", outcome,
            3, 3, 1, "", number % 2 == 0, "open",
        )  # fmt: skip
        rows.setdefault((name.text, verdict.kind), row)
    return list(rows.values())
