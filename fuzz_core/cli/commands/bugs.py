"""`nightfuzz bugs` and `nightfuzz show`: what was found, the most urgent first, one line per cluster or bug."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from fuzz_core.adapters.library import library_of
from fuzz_core.adapters.quotes import quoted_in
from fuzz_core.campaign.cases import JudgedBug, judged
from fuzz_core.campaign.history import came_with
from fuzz_core.cli.output import CommandOutput, Report, TextTable, Verbatim
from fuzz_core.cli.settings import Settings
from fuzz_core.cli.state import read_state, target_key
from fuzz_core.ir.codec import encode_test
from fuzz_core.store.checks import OPEN, CheckRow
from fuzz_core.store.records import BugRow
from fuzz_core.store.store import Store
from fuzz_core.triage.assess import Severity
from nightfuzz.reports.contradiction import contradiction, wrong_side
from nightfuzz.reports.text import CALL, bounded, call_of

SHORT = 110
LONGEST_CALL = 80
DOCUMENTATION = "documentation"


def bugs(settings: Settings, output: CommandOutput, target: str | None, members: bool) -> Report:
    """List all clusters on record, each as urgent as its most urgent member, or with `members` all bugs.

    If no target is named, every bug counts once, by its first row. For a named target, every row counts. Bugs of the
    documentation alone share a line for each library. The data has all bugs, each with the numbers of its cluster.
    """
    with read_state(settings) as store:
        wanted = None if target is None else target_key(store, target)
        found = judged(store, store.bugs(wanted))
        if wanted is None:
            found = [each for each in found if each.row.id == each.first]
        clusters = list({each.cluster.first.id: each for each in reversed(found)}.values())[::-1]
        shown = found if members else clusters
        lines = [_line(store, each, each.row if members else each.cluster.first, members) for each in shown]
        lines = lines if members else _folded(store, clusters, lines)
        keys = [record.key for record in store.targets() if wanted in (None, record.key)]
        pending = sum(len(store.pending_findings(key)) for key in keys)
    lines = _without_equal(lines, {"status": OPEN, "target": lines[0]["target"]} if lines else {})
    total = f"{_count(len(found), 'bug')} in {_count(len(clusters), 'cluster')}"
    hint = "; --all lists every bug" if len(lines) < len(found) else ""
    waiting = f"; {_count(pending, 'finding')} not examined yet" if pending else ""
    table = [TextTable(list(lines[0]), [list(line.values()) for line in lines])] if lines else []
    return Report([_bug_json(each) for each in found], [*table, f"{total}{waiting}{hint}"])


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _line(store: Store, each: JudgedBug, shown: BugRow, alone: bool) -> dict[str, str]:
    """Return the cells of a bug, or of a cluster: severity and status are those of its most urgent member."""
    others = len(each.cluster.members) - 1
    first = store.target(shown.target)
    return {
        "bug": f"{shown.id} +{others}" if others and not alone else str(shown.id),
        "severity": _severity(each),
        "what happened": f"{_short_call(shown, first.library)}: {bounded(contradiction(shown), SHORT)}",
        "rate": f"{shown.hits}/{shown.runs}",
        "since": came_with(store, each.first).version or f"<={first.version.partition('+')[0]}",
        "status": each.row.status,
        "target": shown.target,
    }


def _short_call(bug: BugRow, library: str) -> str:
    """Return the call with the arguments that are short enough; inside of it no name begins with the library's own."""
    roots = "|".join(map(re.escape, library_of(library).roots or {library: ""}))
    inside = re.compile(rf"(?<=[(\[ =*-])(?:{roots})\.(?=[a-z])")
    calls = (inside.sub("", call_of(bug.script, bug.api, limit)) for limit in range(CALL, 0, -5))
    return next((call for call in calls if len(call) <= LONGEST_CALL), f"{bug.api}(…)")


def _folded(store: Store, clusters: Sequence[JudgedBug], lines: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return the lines of clusters, with one in the place of all that only the documentation of a library forbids."""
    kept: list[dict[str, str]] = []
    groups: dict[str, list[tuple[JudgedBug, dict[str, str]]]] = defaultdict(list)
    for each, line in zip(clusters, lines, strict=True):
        if each.severity.grade == DOCUMENTATION:
            groups[store.target(each.row.target).library].append((each, line))
        else:
            kept.append(line)
    for library, group in groups.items():
        (first, line), bugs = group[0], [bug for each, _ in group for bug in each.cluster.members]
        if len(group) > 1:
            quotes = [(bug, quoted_in(bug.outcome.text)) for bug in bugs]
            calls = [f"{bug.api.rpartition('.')[2]}({q.argument}={q.value})" for bug, q in quotes if q]
            what = f"values that the documentation forbids are taken: {_some(calls)}"
            apis = _count(len({bug.api for bug in bugs}), "api")
            line |= {"bug": f"{first.cluster.first.id} +{len(bugs) - 1}", "rate": "", "since": ""}
            line["what happened"] = f"{apis} of {library}: {what}"
        kept.append(line)
    return kept


def _some(calls: Sequence[str]) -> str:
    """Return as many of the calls as have room, and how many there are besides."""
    lengths = itertools.accumulate(len(call) + 2 for call in calls)
    shown = [call for call, length in zip(calls, lengths, strict=True) if length <= SHORT] or calls[:1]
    left = len(calls) - len(shown)
    return ", ".join(shown) + f" and {left} more" * bool(left)


def _without_equal(lines: list[dict[str, str]], usual: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the lines without the cells that are the usual ones in all of them."""
    idle = {name for name, value in usual.items() if all(line[name] == value for line in lines)}
    return [{name: cell for name, cell in line.items() if name not in idle} for line in lines]


def _severity(each: JudgedBug) -> str:
    return f"{each.severity.grade}{', regression' * each.severity.regression}"


def _bug_json(each: JudgedBug) -> dict[str, Any]:
    """Return a bug as JSON data; `cluster` has the numbers of all its members, the simplest first.

    `first` is the number of its first row of all targets, `turns` say on which builds it was fixed and came back.
    """
    row = {**each.row._asdict(), "test": encode_test(each.row.test)}
    turns = [event._asdict() for event in each.standing.past]
    row |= {"contradiction": contradiction(each.row)}
    places = {"cluster": [member.id for member in each.cluster.members], "first": each.first, "turns": turns}
    return {**row, **_severity_json(each.severity), **places}


def _severity_json(found: Severity) -> dict[str, Any]:
    graded = {"grade": found.grade, "reason": found.reason, "regression": found.regression}
    return {"severity": graded, "validity": found.validity._asdict()}


def show(settings: Settings, output: CommandOutput, bug: int) -> Report:
    """Print everything that is on record of a bug."""
    with read_state(settings) as store:
        target = store.bug(bug).target
        each = next(each for each in judged(store, store.bugs(target)) if each.row.id == bug)
        checks = store.checks(each.first)
        which = next((row.reason for row in store.findings(target, "confirmed", bug) if row.reason), "")
    data = {**_bug_json(each), "checks": [check._asdict() for check in checks], "which": which}
    return Report(data, [_in_full(each, checks, which), "", Verbatim(each.row.script)])


def _in_full(each: JudgedBug, checks: Sequence[CheckRow], which: str) -> str:
    """Format all facts of a bug.

    Args:
        which: the kinds of its runs, in words.
    """
    row, found = each.row, each.severity
    frames = "".join(f"\n  {frame}" for frame in row.outcome.frames)
    others = [f"{member.id} {member.api}" for member in each.cluster.members if member.id != row.id]
    # For a bug of the documentation, the contradiction says it all.
    said = "" if row.kind == "bounds" else row.outcome.text.strip()
    found_at = row.first_found[:16].replace("T", " ")
    return (
        f"bug {row.id}: {call_of(row.script, row.api)}\n"
        f"{contradiction(row)}\n\n"
        f"{f'wrong: {wrong_side(row)}{chr(10)}' * bool(wrong_side(row))}"
        f"kind: {row.kind} of {row.api} ({row.target})\n"
        f"severity: {_severity(each)}{': ' * bool(found.reason)}{found.reason}\n"
        f"input: {found.validity.status}: {found.validity.reason}\n"
        f"looks like the same cause: {', '.join(others) or 'no other bug'}\n"
        f"reproduced {row.hits} of {row.runs} times in fresh processes{f' ({which})' * bool(which)}; "
        f"{row.findings} findings; "
        f"first found {found_at} UTC; {'minimised' if row.minimised else 'not minimised'}\n"
        f"{f'in a model program: {row.origin}{chr(10)}' * bool(row.origin)}"
        f"{_life(each, checks)}"
        f"{f'message: {said}{chr(10)}' * bool(said)}"
        f"{f'frames:{frames}{chr(10)}' * bool(frames)}"
    ).rstrip()


def _life(each: JudgedBug, checks: Sequence[CheckRow]) -> str:
    """Format the status of a bug and the newest check on every build; empty if the bug was never checked."""
    first = f"the same as bug {each.first}, which was found first\n" if each.first != each.row.id else ""
    if not checks:
        return first
    turns = ", ".join(f"{event.kind} on {event.build}" for event in each.standing.past)
    turns = turns or f"clean on {each.standing.clean_before}" * bool(each.standing.clean_before)
    newest = {check.target: f"{check.status} {check.hits}/{check.runs} on {check.target}" for check in checks}
    return f"{first}status: {each.row.status}{f' ({turns})' * bool(turns)}\nchecked: {', '.join(newest.values())}\n"
