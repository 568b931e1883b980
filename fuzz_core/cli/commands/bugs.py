"""`nightfuzz bugs` and `nightfuzz show`: what was found, the most urgent first, alone or one line per cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fuzz_core.campaign.cases import Judged, judged
from fuzz_core.cli.output import CommandOutput, Report, TextTable, shorten
from fuzz_core.cli.settings import Settings
from fuzz_core.cli.state import read_state, target_key
from fuzz_core.ir.codec import encode_test
from fuzz_core.store.checks import OPEN, CheckRow
from fuzz_core.store.records import BugRow
from fuzz_core.triage.assess import Severity

SHOWN_APIS = 3
SHORT = 100


def bugs(settings: Settings, output: CommandOutput, target: str | None, by_cluster: bool) -> Report:
    """All bugs on record, or all clusters, each as urgent as its most urgent member.

    Of all targets together every bug has one line, that of its first row; of one target all its rows are listed.
    """
    with read_state(settings) as store:
        wanted = None if target is None else target_key(store, target)
        found = judged(store, store.bugs(wanted))
    if wanted is None:
        found = [each for each in found if each.row.id == each.first]
    urgent = list({each.cluster.first.id: each for each in reversed(found)}.values())[::-1]
    total = f"{len(found)} bugs in {len(urgent)} clusters"
    if by_cluster:
        return Report([_cluster_json(each) for each in urgent], [_table(urgent, _cluster), total])
    return Report([_bug_json(each) for each in found], [_table(found, _line), total])


def _table(rows: list[Judged], line: Callable[[Judged], dict[str, object]]) -> TextTable:
    """Names the target where there are several, and the status where one is not open."""
    several = len({each.row.target for each in rows}) > 1
    settled = any(each.row.status != OPEN for each in rows)
    more = [*(["status"] if settled else []), *(["target"] if several else [])]
    lines = [line(each) | {name: getattr(each.row, name) for name in more} for each in rows]
    return TextTable(list(lines[0]) if lines else ["bug"], [list(each.values()) for each in lines])


def _line(each: Judged) -> dict[str, object]:
    row, rate = each.row, f"{each.row.hits}/{each.row.runs}"
    cells = {"kind": row.kind, "api": row.api, "rate": rate, "findings": row.findings, "what happened": _short(row)}
    return {"bug": row.id, **_judgement(each), **cells}


def _cluster(each: Judged) -> dict[str, object]:
    """What happened, and the first number, are those of the simplest member."""
    members, apis = each.cluster
    numbers = f"{members[0].id} +{len(members) - 1}" if len(members) > 1 else str(members[0].id)
    cells = {"kind": members[0].kind, "apis": shorten(apis, SHOWN_APIS), "what happened": _short(members[0])}
    return {"bugs": numbers, **_judgement(each), **cells}


def _judgement(each: Judged) -> dict[str, object]:
    found = each.severity
    return {"severity": f"{found.grade}{', regression' * found.regression}", "input": found.validity.status}


def _short(row: BugRow) -> str:
    first = (row.outcome.text.strip().splitlines() or [""])[0]
    return f"{row.outcome.name} {first}"[:SHORT]


def _bug_json(each: Judged) -> dict[str, Any]:
    """A bug as JSON data; `cluster` has the numbers of all its members, the simplest first.

    `first` is the number of its first row of all targets, `turns` say on which builds it was fixed and came back.
    """
    row = {**each.row._asdict(), "test": encode_test(each.row.test)}
    turns = [event._asdict() for event in each.standing.past]
    places = {"cluster": [member.id for member in each.cluster.members], "first": each.first, "turns": turns}
    return {**row, **_severity_json(each.severity), **places}


def _cluster_json(each: Judged) -> dict[str, Any]:
    """A cluster as JSON data, with the judgement on its most urgent member."""
    cluster = each.cluster
    numbers = {"first": cluster.first.id, "bugs": [member.id for member in cluster.members]}
    return {**numbers, "apis": list(cluster.apis), **_severity_json(each.severity)}


def _severity_json(found: Severity) -> dict[str, Any]:
    graded = {"grade": found.grade, "reason": found.reason, "regression": found.regression}
    return {"severity": graded, "validity": found.validity._asdict()}


def show(settings: Settings, output: CommandOutput, bug: int) -> Report:
    """One bug in full."""
    with read_state(settings) as store:
        target = store.bug(bug).target
        each = next(each for each in judged(store, store.bugs(target)) if each.row.id == bug)
        checks = store.checks(each.first)
        which = next((row.reason for row in store.findings(target, "confirmed", bug) if row.reason), "")
    data = {**_bug_json(each), "checks": [check._asdict() for check in checks], "which": which}
    return Report(data, [_in_full(each, checks, which)])


def _in_full(each: Judged, checks: Sequence[CheckRow], which: str) -> str:
    """All that is known of a bug. which: of its runs were of which kind."""
    row, found = each.row, each.severity
    frames = "".join(f"\n  {frame}" for frame in row.outcome.frames) or " none"
    others = [f"{member.id} {member.api}" for member in each.cluster.members if member.id != row.id]
    return (
        f"bug {row.id}: {row.kind} in {row.api} ({row.target})\n"
        f"signature: {row.signature_text}\n"
        f"severity: {_judgement(each)['severity']}{': ' * bool(found.reason)}{found.reason}\n"
        f"input: {found.validity.status}: {found.validity.reason}\n"
        f"looks like the same cause: {', '.join(others) or 'no other bug'}\n"
        f"reproduced {row.hits} of {row.runs} times in fresh processes{f' ({which})' * bool(which)}; "
        f"{row.findings} findings; "
        f"first found {row.first_found}; {'minimised' if row.minimised else 'not minimised'}\n"
        f"{f'in a model program: {row.origin}{chr(10)}' * bool(row.origin)}"
        f"{_life(each, checks)}"
        f"outcome: {row.outcome.kind} {row.outcome.name}\n{row.outcome.text.strip()}\nframes:{frames}\n\n{row.script}"
    )


def _life(each: Judged, checks: Sequence[CheckRow]) -> str:
    """Where it stands, and the newest check on every build; nothing where it was never checked."""
    first = f"the same as bug {each.first}, which was there first\n" if each.first != each.row.id else ""
    if not checks:
        return first
    turns = ", ".join(f"{event.kind} on {event.build}" for event in each.standing.past)
    turns = turns or f"clean on {each.standing.clean_before}" * bool(each.standing.clean_before)
    newest = {check.target: f"{check.status} {check.hits}/{check.runs} on {check.target}" for check in checks}
    return f"{first}status: {each.row.status}{f' ({turns})' * bool(turns)}\nchecked: {', '.join(newest.values())}\n"
