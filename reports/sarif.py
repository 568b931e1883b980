"""SARIF 2.1.0 of a result, within the limits of GitHub's code scanning: open bugs, and the target's changes.

Known and fixed bugs are counted and not listed: code scanning would show them as open, and closes missing results.
Anchors: the OASIS standard with errata 01, and GitHub's page "SARIF support for code scanning".
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import fuzz_core
from fuzz_core.oracles.kinds import OUTSIDE, RULES, Rule
from nightfuzz.reports import wording
from nightfuzz.reports.markdown import counted, fenced
from nightfuzz.reports.results import BugEntry, Entry, RunResult, Site
from nightfuzz.reports.text import bounded, clipped, fitting

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
# GitHub takes 25,000 results, 1,000 locations of each and 10 MB of gzip, and stores 5,000 results and 100 locations.
RESULTS, LOCATIONS, PACKED = 5_000, 20, 10_000_000
MESSAGE, SCRIPT, RULE = 1_000, 4_000, 200
PROPERTIES = {"api", "kind", "grade", "validity", "number", "cluster", "hits", "runs", "regression"}
ROOT = "%SRCROOT%"
_FOUND = "Found by fuzzing. The location is a test that makes the call."
_LEVELS = ("error", "warning", "note")
_ODD = re.compile(r"[^A-Za-z0-9.]+")
_LINK = re.compile(r"\](?=\()")


class _Row(NamedTuple):
    """An entry that becomes a result of the file."""

    entry: Entry
    message: str
    new: bool


def sarif(result: RunResult, fallback: str = "") -> str:
    """Return the text of the SARIF file.

    The file has no `automationDetails`. Code scanning would prefer its id to the category of the upload, and uploads of
    one category replace each other.

    Args:
        result: the run.
        fallback: a file of the repository, such as the workflow's. It stands for results that no line of the user's
            tests reaches, because code scanning hides a result without a file.
    """
    rows = sorted(
        _rows(result), key=lambda row: (_LEVELS.index(wording.level(row.entry)), not row.new, not row.entry.sites)
    )

    def render(share: float) -> str:
        shown = rows[: max(1, int(RESULTS * share))]
        run = _run(result, shown, len(rows) - len(shown), share, fallback)
        return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})

    return fitting(render, PACKED, _packed)


def _packed(text: str) -> int:
    # A text shorter than the limit needs no packing for the comparison.
    return len(text) if len(text) <= PACKED else len(gzip.compress(text.encode(), 6))


def _run(result: RunResult, rows: list[_Row], left: int, share: float, fallback: str) -> dict[str, Any]:
    rules = _rules(rows)
    index = {rule["id"]: place for place, rule in enumerate(rules)}
    version = fuzz_core.__version__
    return {
        "tool": {"driver": {"name": "nightfuzz", "version": version, "semanticVersion": version, "rules": rules}},
        "invocations": [_invocation(result, left)],
        "originalUriBaseIds": {ROOT: {"description": {"text": "The root of the repository."}}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(row, index, share, fallback) for row in rows],
        "properties": _summed(result),
    }


def _summed(result: RunResult) -> dict[str, Any]:
    builds = {"target": result.target, "baseline": result.baseline}
    return {
        "mode": result.mode,
        "figures": result.figures.model_dump(),
        "known": sum(bug.status == "known" for bug in result.bugs),
        "fixed": sum(bug.status == "fixed" for bug in result.bugs),
        "private": result.private,
        **{name: bounded(wording.named(build), RULE) for name, build in builds.items() if build},
    }


def _rows(result: RunResult) -> Iterator[_Row]:
    brought = {bug.fingerprint for bug in wording.new_and_back(result)}
    where, was = wording.named(result.target, result.baseline), wording.named(result.baseline, result.target)
    for bug in wording.worst_first(wording.opened(result)):
        clean = f" {was} does not show the bug." if bug.regression and result.baseline else ""
        message = f"{bug.api}: {bug.title.removeprefix(f'{wording.call(bug)}: ')}. Seen with {where}.{clean}"
        yield _Row(bug, message, bug.fingerprint in brought)
    for change in wording.changes(result, "regression", "changed"):
        message = f"{change.api} {wording.outcome_line(change.after)}. {was} {wording.outcome_line(change.before)}."
        yield _Row(change, message, True)
    for gone in wording.dropped(result):
        yield _Row(gone, f"{gone.api} is {gone.kind} in {where}. {gone.said}", True)


def _id(oracle: str, kind: str) -> str:
    """Return a rule's id.

    It is a part of addresses on GitHub, so it has only characters that need no escape there.
    """
    return _ODD.sub("-", f"{oracle}-{kind}")[:RULE]


def _rules(rows: list[_Row]) -> list[dict[str, Any]]:
    """Return the rules of all known oracles, found or not, and those of the rows' plug-in oracles."""
    ours = {_id(*key): rule for key, rule in RULES.items()}
    others = {_id(row.entry.oracle, row.entry.kind) for row in rows} - ours.keys()
    return [_rule(name, rule) for name, rule in (ours | dict.fromkeys(sorted(others), OUTSIDE.rule)).items()]


def _rule(name: str, rule: Rule) -> dict[str, Any]:
    severity = {"error": "error", "warning": "warning", "note": "recommendation"}[rule.level]
    return {
        "id": name,
        "name": rule.name,
        "shortDescription": {"text": rule.short},
        "fullDescription": {"text": f"{rule.short} {rule.full}"},
        "help": {
            "text": f"{rule.short} {rule.full} {_FOUND}",
            "markdown": f"**{rule.short}**\n\n{rule.full}\n\n{_FOUND}",
        },
        "defaultConfiguration": {"level": rule.level},
        "properties": {
            "tags": ["fuzzing", "reliability"],
            "precision": "very-high",
            "problem.severity": severity,
        },
    }


def _result(row: _Row, index: dict[str, int], share: float, fallback: str) -> dict[str, Any]:
    entry = row.entry
    sites = entry.sites[: max(1, int(LOCATIONS * share))]
    primary = _at(sites[0]) if sites else _instead(fallback)
    primary["logicalLocations"] = [{"fullyQualifiedName": bounded(entry.api, RULE), "kind": "function"}]
    script = clipped(entry.script, int(SCRIPT * share))
    text = bounded(row.message, MESSAGE)
    rule = _id(entry.oracle, entry.kind)
    properties = entry.model_dump(include=PROPERTIES)
    if isinstance(entry, BugEntry):
        properties["modes"] = wording.shows(entry)
    return {
        "ruleId": rule,
        "ruleIndex": index[rule],
        "level": wording.level(entry),
        "message": {"text": _literal(text)} | ({"markdown": _formatted(text, script)} if script else {}),
        "locations": [primary],
        "relatedLocations": [_at(site) | {"id": place} for place, site in enumerate(sites[1:], 1)],
        "partialFingerprints": {
            "nightfuzz/v1": entry.fingerprint,
            # GitHub looks at this fingerprint alone, and makes one from the line's text if it is missing.
            "primaryLocationLineHash": f"{entry.fingerprint}:1",
        },
        "baselineState": "new" if row.new else "unchanged",
        "properties": properties,
    }


def _at(site: Site) -> dict[str, Any]:
    place = {"artifactLocation": {"uri": quote(site.path), "uriBaseId": ROOT}, "region": {"startLine": site.line}}
    return {"physicalLocation": place} | (
        {"message": {"text": _literal(bounded(site.test, RULE))}} if site.test else {}
    )


def _instead(fallback: str) -> dict[str, Any]:
    if not fallback:
        return {}
    place = {"artifactLocation": {"uri": quote(fallback), "uriBaseId": ROOT}, "region": {"startLine": 1}}
    said = "No line of the repository is known to make this call, so this file is the location of the whole run."
    return {"physicalLocation": place, "message": {"text": said}}


def _literal(text: str) -> str:
    """Return text without placeholders and links, which SARIF has in messages."""
    return _LINK.sub("] ", text.replace("{", "{{").replace("}", "}}"))


def _formatted(text: str, script: str) -> str:
    return f"{fenced(text, 'text')}\n\n{fenced(script, 'python')}".replace("{", "{{").replace("}", "}}")


def _invocation(result: RunResult, left: int) -> dict[str, Any]:
    cut = [f"{left} of the least severe results did not fit into this file."] if left else []
    omitted = f"Omitted: {counted(result.private, 'private bug')}, which may touch memory outside the library."
    hidden = [omitted] if result.private else []
    said = [("warning", line) for line in (*cut, *result.problems)] + [("note", line) for line in hidden]
    return {
        "executionSuccessful": not result.stopped,
        "toolExecutionNotifications": [
            {"level": level, "message": {"text": _literal(bounded(line, MESSAGE)) or "a problem without a description"}}
            for level, line in said
        ],
    }
