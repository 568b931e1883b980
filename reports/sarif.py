"""SARIF 2.1.0 of a result, within the limits of GitHub's code scanning: what is open, and what the target changes.

Known and fixed bugs are counted and not listed: code scanning would show them as open, and closes what is gone.
Anchors: the OASIS standard with errata 01, and GitHub's page "SARIF support for code scanning".
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import fuzz_core
from fuzz_core.oracles.kinds import OUTSIDE, RULES, Level, Rule
from nightfuzz.reports import wording
from nightfuzz.reports.markdown import fenced
from nightfuzz.reports.results import BugEntry, ChangeEntry, RemovalEntry, RunResult, Site
from nightfuzz.reports.text import bounded, clipped, fitting

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
# GitHub takes 25,000 results, 1,000 locations of each and 10 MB of gzip, and stores 5,000 results and 100 locations.
RESULTS, LOCATIONS, PACKED = 5_000, 20, 10_000_000
MESSAGE, SCRIPT, RULE = 1_000, 4_000, 200
ROOT = "%SRCROOT%"
_FOUND = "Found by fuzzing; the place is a test that makes the call."
_LEVELS = ("error", "warning", "note")
_ODD = re.compile(r"[^A-Za-z0-9.]+")
_LINK = re.compile(r"\](?=\()")


class Provenance(NamedTuple):
    """The commit whose tests were run: the repository's address, the commit and the branch."""

    repository: str
    commit: str
    branch: str = ""


class _Told(NamedTuple):
    """What the results of the three sources have in common. fingerprint: the same in every run, on every build."""

    rule: str
    level: Level
    fingerprint: str
    message: str
    script: str
    new: bool
    one: BugEntry | ChangeEntry | RemovalEntry
    properties: dict[str, Any]


def sarif(result: RunResult, fallback: str = "", home: str = "", provenance: Provenance | None = None) -> str:
    """The file's text.

    fallback: a file of the repository (the workflow's, say) that stands for results which no line of the user's tests
    reaches: code scanning shows nothing without a file. home: the address of nightfuzz's documentation.
    """
    told = sorted(_told(result), key=lambda each: (_LEVELS.index(each.level), not each.new, not each.one.sites))

    def render(share: float) -> str:
        shown = told[: max(1, int(RESULTS * share))]
        run = _run(result, shown, len(told) - len(shown), share, fallback, home)
        if provenance is not None:
            run["versionControlProvenance"] = [_provenance(provenance)]
        return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})

    return fitting(render, PACKED, _packed)


def _packed(text: str) -> int:
    # What is shorter than the limit unpacked need not be packed to know.
    return len(text) if len(text) <= PACKED else len(gzip.compress(text.encode(), 6))


def _run(result: RunResult, told: list[_Told], left: int, share: float, fallback: str, home: str) -> dict[str, Any]:
    rules = [rule | ({"helpUri": home} if home else {}) for rule in _rules(told)]
    index = {rule["id"]: place for place, rule in enumerate(rules)}
    version = fuzz_core.__version__
    driver = {"name": "nightfuzz", "version": version, "semanticVersion": version, "rules": rules}
    return {
        "tool": {"driver": driver | ({"informationUri": home} if home else {})},
        "automationDetails": {"id": f"nightfuzz/{quote(bounded(result.target.library, RULE))}/"},
        "invocations": [_invocation(result, left)],
        "originalUriBaseIds": {ROOT: {"description": {"text": "The root of the repository."}}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(each, index[each.rule], share, fallback) for each in told],
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


def _told(result: RunResult) -> Iterator[_Told]:
    brought = {bug.fingerprint for bug in wording.brought(result)}
    where, was = wording.named(result.target, result.baseline), wording.named(result.baseline, result.target)
    for bug in wording.worst_first(wording.opened(result)):
        clean = f" {was} does not show it." if bug.regression and result.baseline else ""
        message = f"{bug.api}: {bug.title.removeprefix(f'{wording.call(bug)}: ')}. Seen with {where}.{clean}"
        fields = bug.model_dump(
            include={"api", "kind", "grade", "validity", "number", "cluster", "hits", "runs", "regression"}
        )
        fields["modes"] = wording.shows(bug)
        rule = _id(bug.oracle, bug.kind)
        new = bug.fingerprint in brought
        yield _Told(rule, wording.level(bug), bug.fingerprint, message, bug.script, new, bug, fields)
    for change in wording.changes(result, "regression", "changed"):
        message = f"{change.api} {wording.told(change.after)}. {was} {wording.told(change.before)}."
        fields = change.model_dump(include={"api", "kind", "hits", "runs"})
        rule, level = _id("versions", change.kind), wording.change_level(change)
        yield _Told(rule, level, change.fingerprint, message, change.script, True, change, fields)
    for gone in wording.dropped(result):
        message = f"{gone.api} is {gone.kind} in {where}. {gone.said}"
        mark = hashlib.sha256(f"{gone.kind}: {gone.api}".encode()).hexdigest()[:32]
        fields = gone.model_dump(include={"api", "kind"})
        yield _Told(_id("versions", gone.kind), wording.change_level(gone), mark, message, "", True, gone, fields)


def _id(oracle: str, kind: str) -> str:
    """Part of addresses on GitHub, so it has nothing that needs escaping there."""
    return _ODD.sub("-", f"{oracle}-{kind}")[:RULE]


def _rules(told: list[_Told]) -> list[dict[str, Any]]:
    """All rules there are, whatever was found, and those of oracles from outside."""
    ours = {_id(*key): rule for key, rule in RULES.items()}
    others = {each.rule: OUTSIDE.rule for each in told if each.rule not in ours}
    return [_rule(name, rule) for name, rule in (ours | dict(sorted(others.items()))).items()]


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


def _result(each: _Told, index: int, share: float, fallback: str) -> dict[str, Any]:
    sites = each.one.sites[: max(1, int(LOCATIONS * share))]
    primary = _at(sites[0]) if sites else _instead(fallback)
    primary["logicalLocations"] = [{"fullyQualifiedName": bounded(each.one.api, RULE), "kind": "function"}]
    script = clipped(each.script, int(SCRIPT * share))
    text = bounded(each.message, MESSAGE)
    return {
        "ruleId": each.rule,
        "ruleIndex": index,
        "level": each.level,
        "message": {"text": _literal(text)} | ({"markdown": _formatted(text, script)} if script else {}),
        "locations": [primary],
        "relatedLocations": [_at(site) | {"id": place} for place, site in enumerate(sites[1:], 1)],
        "partialFingerprints": {
            "nightfuzz/v1": each.fingerprint,
            # GitHub looks at this one alone, and makes it from the line's text where it is not there.
            "primaryLocationLineHash": f"{each.fingerprint}:1",
        },
        "baselineState": "new" if each.new else "unchanged",
        "properties": each.properties,
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
    said = "No line of the repository is known to make this call: the file stands for the run."
    return {"physicalLocation": place, "message": {"text": said}}


def _literal(text: str) -> str:
    """Text without placeholders and links, which SARIF has in messages."""
    return _LINK.sub("] ", text.replace("{", "{{").replace("}", "}}"))


def _formatted(text: str, script: str) -> str:
    return f"{fenced(text, 'text')}\n\n{fenced(script, 'python')}".replace("{", "{{").replace("}", "}}")


def _invocation(result: RunResult, left: int) -> dict[str, Any]:
    cut = [f"{left} results did not fit, the least grave ones."] if left else []
    hidden = [f"{result.private} bugs may touch foreign memory and are not told here."] if result.private else []
    said = [("warning", line) for line in (*cut, *result.problems)] + [("note", line) for line in hidden]
    return {
        "executionSuccessful": not result.stopped,
        "toolExecutionNotifications": [
            {"level": level, "message": {"text": _literal(bounded(line, MESSAGE)) or "a problem without words"}}
            for level, line in said
        ],
    }


def _provenance(provenance: Provenance) -> dict[str, Any]:
    told = {"repositoryUri": provenance.repository, "revisionId": provenance.commit, "branch": provenance.branch}
    return {key: value for key, value in told.items() if value} | {"mappedTo": {"uriBaseId": ROOT}}
