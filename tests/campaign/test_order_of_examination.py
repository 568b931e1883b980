"""The order of findings in an examination that may be cut short."""

from __future__ import annotations

from fuzz_core.campaign.finding_groups import FindingGroup, in_turn
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Invocation, TestCase
from fuzz_core.store.records import FindingRow


def group(number: int, kind: str, fault: str) -> FindingGroup:
    api = f"a.f{number}"
    verdict = Verdict("crash", kind, "cpu: it")
    row = FindingRow(number, "t", 1, api, TestCase(Invocation(api, ()), 0), verdict, Outcome("signal"), "pending", "",
                     0, 0, None, "2026-01-01")  # fmt: skip
    return FindingGroup(f"{api}: {fault}", (row,))


def order(*groups: FindingGroup) -> list[int]:
    return [each.findings[0].id for each in in_turn(groups)]


def test_no_kind_waits_for_all_of_another() -> None:
    exceptions = [group(number, "internal-error", f"e{number}") for number in range(20)]
    deaths = [group(100 + number, "crash", f"d{number}") for number in range(20)]
    hangs = [group(200 + number, "hang", f"h{number}") for number in range(20)]
    first = order(*hangs, *deaths, *exceptions)[:23]
    assert [sum(low <= number < low + 100 for number in first) for low in (0, 100, 200)] == [17, 5, 1]


def test_a_fault_that_was_there_before_waits_for_those_that_were_not() -> None:
    assert order(group(1, "crash", "x"), group(2, "crash", "x"), group(3, "crash", "y")) == [1, 3, 2]


def test_a_fault_waits_for_others_if_only_its_dtypes_are_new() -> None:
    check = "SIGABRT: Check failed: dtype() == expected_dtype (<number> vs. <number>)"
    first, second = f"{check} double expected, got bool", f"{check} int64 expected, got uint32"
    assert order(group(1, "crash", first), group(2, "crash", second), group(3, "crash", "y")) == [1, 3, 2]


def test_the_order_does_not_depend_on_how_findings_came() -> None:
    groups = [group(1, "hang", "h"), group(2, "crash", "x"), group(3, "internal-error", "e")]
    assert order(*groups) == order(*reversed(groups)) == [3, 2, 1]


def test_a_fault_that_is_on_record_waits_for_new_ones() -> None:
    groups = [group(1, "crash", "x"), group(2, "crash", "y")]
    assert [each.findings[0].id for each in in_turn(groups, [("crash", "x")])] == [2, 1]


def test_the_gravest_of_a_kind_comes_first() -> None:
    assert order(group(1, "bounds", "b"), group(2, "internal-error", "e"), group(3, "wrong-result", "w")) == [3, 2, 1]
