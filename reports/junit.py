"""JUnit XML of a result: a test case for each bug and change, so that a CI server shows what is new in red.

Anchor: the schema of Jenkins' xUnit plug-in (junit-10.xsd), which is that of Maven Surefire too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree as ET

from nightfuzz.reports import wording
from nightfuzz.reports.results import Entry, RunResult
from nightfuzz.reports.text import bounded, clean, clipped

NAME, MESSAGE, SCRIPT = 300, 1_000, 20_000


class _TestCase(NamedTuple):
    """failed, skipped: why; one of the two is empty."""

    entry: Entry
    name: str
    failed: str = ""
    skipped: str = ""


def junit(result: RunResult) -> str:
    """Return the file's text.

    Failures are new bugs and regressions; older, known or fixed bugs are skipped, with the reason.
    """
    suites: dict[str, list[_TestCase]] = {}
    for case in (*_bugs(result), *_changes(result)):
        suites.setdefault(case.entry.oracle, []).append(case)
    root = ET.Element("testsuites", name=_line(f"nightfuzz {wording.named(result.target)}"))
    root.set("time", f"{result.figures.seconds:.3f}")
    for name in sorted(suites):
        root.append(_suite(name, suites[name], result))
    _count(root, [case for cases in suites.values() for case in cases])
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _bugs(result: RunResult) -> Iterator[_TestCase]:
    brought = {bug.fingerprint for bug in wording.new_and_back(result)}
    for bug in wording.worst_first(result.bugs):
        case = _TestCase(bug, f"{bug.title} [{bug.fingerprint[:8]}]")
        if bug.fingerprint in brought:
            state = "a regression" if bug.regression else "new"
            yield case._replace(failed=f"{state}, shown by {bug.hits} of {bug.runs} fresh processes: {bug.title}")
        else:
            yield case._replace(skipped=bug.status if bug.status != "open" else "open, but not new")


def _changes(result: RunResult) -> Iterator[_TestCase]:
    was = wording.named(result.baseline, result.target)
    for change in wording.changes(result, "regression", "changed", "fixed"):
        said = f"{wording.outcome_line(change.after)}; {was} {wording.outcome_line(change.before)}"
        case = _TestCase(change, f"{wording.call(change)} [{change.fingerprint[:8]}]")
        yield case._replace(skipped=f"fixed: {said}") if change.kind == "fixed" else case._replace(failed=said)
    for gone in wording.dropped(result):
        yield _TestCase(gone, f"{gone.kind}: {gone.api}", f"{gone.kind}. {gone.said}")


def _suite(name: str, cases: list[_TestCase], result: RunResult) -> ET.Element:
    suite = ET.Element("testsuite", name=_line(f"nightfuzz.{name}"))
    _count(suite, cases)
    suite.set("skipped", str(sum(bool(case.skipped) for case in cases)))
    properties = ET.SubElement(suite, "properties")
    for key, build in (("target", result.target), ("baseline", result.baseline)):
        if build is not None:
            ET.SubElement(properties, "property", name=key, value=_line(build.key))
    for case in cases:
        suite.append(_case(case))
    return suite


def _count(element: ET.Element, cases: list[_TestCase]) -> None:
    element.set("tests", str(len(cases)))
    element.set("failures", str(sum(bool(case.failed) for case in cases)))
    element.set("errors", "0")


def _case(case: _TestCase) -> ET.Element:
    element = ET.Element("testcase", classname=_line(case.entry.api), name=_line(case.name))
    if case.failed:
        said = bounded(case.failed, MESSAGE)
        ET.SubElement(element, "failure", type=_line(case.entry.kind), message=said).text = said
    if case.skipped:
        ET.SubElement(element, "skipped", message=bounded(case.skipped, MESSAGE))
    if case.entry.script:
        ET.SubElement(element, "system-out").text = clean(clipped(case.entry.script, SCRIPT))
    return element


def _line(text: str) -> str:
    return bounded(text, NAME)
