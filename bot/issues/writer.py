"""Reads the bot's issues from GitHub, and carries a plan out there. A refused action stops no other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from nightfuzz.bot.github.errors import GaveUpError, RefusedError, UnsureError, unless_refused
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.github.views import IssueView
from nightfuzz.bot.issues.filings import Filings, IssueRecord
from nightfuzz.bot.issues.labels import LABELS, OURS
from nightfuzz.bot.issues.plan import Action, IssuePlan, Update
from nightfuzz.bot.issues.umbrella import extended

MOVED = (301, 302, 307, 308)


class WriteReport(NamedTuple):
    """The effects of a plan's execution."""

    filings: Filings  # the memory from now on
    filed: tuple[IssueRecord, ...] = ()  # new issues
    counts: Mapping[str, int] = {}  # executed actions by verb
    problems: tuple[str, ...] = ()  # refused actions, a line each
    left: tuple[str, ...] = ()  # actions that were refused, or not tried because GitHub refuses further writes


def load_issues(hub: Hub, filings: Filings) -> tuple[list[IssueView], frozenset[int]]:
    """Load all issues that may be the bot's, and the numbers of recorded issues that are deleted or moved.

    An issue that has lost our label is loaded by its number.
    """
    found = {issue.number: issue for issue in hub.issues(label=OURS)}
    gone = set()
    for number, record in filings.issues.items():
        if number not in found and record.teaching != "gone":
            view = unless_refused(MOVED, partial(hub.issue, number))
            if view is None:
                gone.add(number)
            else:
                found[number] = view
    return list(found.values()), frozenset(gone)


def carry_out(hub: Hub, plan: IssuePlan, filings: Filings, clock: Callable[[], datetime]) -> WriteReport:
    """Execute a plan.

    Each executed action is remembered, even if a later action fails.
    """
    for record in plan.learned:
        filings = filings.with_issue(record)
    before, counts = set(filings.issues), Counter[str]()
    problems: list[str] = []
    left: list[str] = []
    for index, action in enumerate(plan.actions):
        try:
            if index == 0:
                hub.ensure_labels(LABELS)
            filings = _execute(hub, action, filings, clock)
            counts[action.verb] += 1
        except RefusedError as error:
            problems.append(f"{action}: {error.problem}")
            left.append(str(action))
        except UnsureError as error:
            problems.append(f"{action}: {error}")
            left.append(str(action))
        except GaveUpError as error:
            problems.append(error.problem)
            left += [str(each) for each in plan.actions[index:]]
            break
    filed = tuple(record for number, record in filings.issues.items() if number not in before)
    return WriteReport(filings, filed, dict(counts), tuple(problems), tuple(left))


def _execute(hub: Hub, action: Action, filings: Filings, clock: Callable[[], datetime]) -> Filings:
    """Execute an action and return the new filings."""
    if isinstance(action, Update):
        changes = _extend(hub, action) if action.items else _update(hub, action)
        return filings if changes is None else filings.amended(action.number, clock(), **changes)
    view = hub.create_issue(action.marker, action.title, action.body, action.labels)
    fields = {
        "number": view.number,
        "url": view.url,
        "kind": action.marker.kind,
        "title": view.title[:2_000],
        "created_at": view.created_at,
        "at": clock(),
    }
    return filings.with_issue(IssueRecord.model_validate({**fields, **action.record}))


def _extend(hub: Hub, action: Update) -> Mapping[str, Any] | None:
    """Read the body again: a person may have checked a box since it was planned."""
    view = hub.issue(action.number)
    if view is None:
        return None
    body, added = extended(view.body, action.items)
    if body != view.body:
        view = hub.edit_issue(action.number, title=action.title, body=body)
    signatures = {key: text for key, text in action.record["signatures"].items() if key in added}
    return {"signatures": signatures} | ({} if action.title is None else {"title": view.title[:2_000]})


def _update(hub: Hub, action: Update) -> Mapping[str, Any]:
    if action.comment is not None:
        hub.upsert_comment(action.number, *action.comment)
    if action.state:
        hub.edit_issue(action.number, **action.state)
    if action.labels:
        hub.add_labels(action.number, action.labels)
    return action.record
