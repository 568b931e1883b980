"""Groups of findings that look alike before examination, and the order in which they are examined."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from fuzz_core.campaign.reproduce import symptom
from fuzz_core.oracles.kinds import GRADES, kind_of
from fuzz_core.store.records import BugRow, FindingRow
from fuzz_core.synthesis.refusals import class_of
from fuzz_core.triage.cost import cost
from fuzz_core.triage.place import BugPlace, place_of
from fuzz_core.triage.signature import signature

HANG = "hang"
# Share of a time-box that hangs have before a further round of fuzzing: they take long, and a sweep finds many.
HANG_RESERVE = 0.15


@dataclass(frozen=True)
class FindingGroup:
    """Findings that look alike before examination, simplest test case first."""

    text: str  # signature of the findings
    findings: tuple[FindingRow, ...]

    @property
    def kind(self) -> str:
        """The kind of its verdicts."""
        return self.findings[0].verdict.kind

    @cached_property
    def place(self) -> BugPlace:
        """The place of the failure, by the outcome of the finding."""
        return place_of(symptom(self.findings[0]))

    @property
    def is_hang(self) -> bool:
        """Whether its examination takes seconds in which a call may hang."""
        return self.kind == HANG


def group_findings(findings: Sequence[FindingRow], bugs: Sequence[BugRow] = ()) -> list[FindingGroup]:
    """Return findings in groups that look alike before examination, see `in_turn`.

    Args:
        bugs: the bugs on record.
    """
    found: dict[str, list[FindingRow]] = defaultdict(list)
    for finding in findings:
        found[signature(finding.api, finding.verdict, finding.outcome).text].append(finding)
    made = (
        FindingGroup(text, tuple(sorted(rows, key=lambda finding: (cost(finding.test), finding.id))))
        for text, rows in found.items()
    )
    return in_turn(made, ((bug.kind, _fault(bug.signature_text)) for bug in bugs))


def in_turn(found: Iterable[FindingGroup], known: Iterable[tuple[str, str]] = ()) -> list[FindingGroup]:
    """Return groups in an order that gives exceptions, deaths and hangs equal shares of the time.

    Within each kind, a group comes first if no group before it and no bug on record has its failure. Graver groups come
    before others.

    Args:
        known: kind and failure of the bugs on record.
    """
    alike = Counter(known)
    ranked: defaultdict[str, list[tuple[int, int, int, FindingGroup]]] = defaultdict(list)
    for group in sorted(found, key=lambda group: group.findings[0].id):
        first = group.findings[0]
        kind, fault = kind_of(first.verdict.kind), (first.verdict.kind, _fault(group.text))
        ranked[kind.name if kind.expense > 1 else ""].append((alike[fault], GRADES.index(kind.grade), first.id, group))
        alike[fault] += 1
    turns = [
        ((place + 1) * kind_of(group.findings[0].verdict.kind).expense, number, group)
        for those in ranked.values()
        for place, (_, _, number, group) in enumerate(sorted(those, key=lambda each: each[:3]))
    ]
    return [group for *_, group in sorted(turns, key=lambda each: each[:2])]


def _fault(text: str) -> str:
    """Return the part of a signature behind the api, without dtypes: a check that fails for one fails for others."""
    return class_of(text.partition(": ")[2])
