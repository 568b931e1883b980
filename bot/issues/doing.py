"""Does what was planned, through GitHub. One action that is refused stops no other; each can be done again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from nightfuzz.bot.github.editing import Editor
from nightfuzz.bot.github.errors import GaveUpError, RefusedError, UnsureError
from nightfuzz.bot.github.marker import Marker
from nightfuzz.bot.github.views import CommentView, IssueView
from nightfuzz.bot.issues.actions import Action, Close, Create, Extend, Recur, Relabel, Reopen, described
from nightfuzz.bot.issues.filings import Filed, Filings
from nightfuzz.bot.issues.labels import LABELS, OURS
from nightfuzz.bot.issues.planning import Plan
from nightfuzz.bot.issues.texts import back, fixed
from nightfuzz.bot.issues.umbrella import extended
from nightfuzz.bot.issues.wanted import digest

# One fingerprint in common is enough to find an issue again; a body has room for other things.
MARKED = 50
MOVED = (301, 302, 307, 308)


class Tracker(Editor, Protocol):
    """What it takes of `bot.github.hub.Hub`."""

    def issues(self, label: str | None = None) -> list[IssueView]: ...
    def issue(self, number: int) -> IssueView | None: ...
    def create_issue(self, marker: Marker, title: str, body: str, labels: Sequence[str] = ()) -> IssueView: ...
    def add_labels(self, number: int, names: Iterable[str]) -> object: ...
    def ensure_labels(self, wanted: Mapping[str, tuple[str, str]]) -> object: ...
    def upsert_comment(self, number: int, marker: Marker, body: str) -> CommentView: ...


class Done(NamedTuple):
    """filings: what is remembered from now on. filed: new issues. counts: of what was done, by action.

    problems: what was refused, a line each. left: actions that were not tried, since GitHub lets us do no more.
    """

    filings: Filings
    filed: tuple[Filed, ...] = ()
    counts: Mapping[str, int] = {}
    problems: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def look(hub: Tracker, filings: Filings) -> tuple[list[IssueView], frozenset[int]]:
    """All issues that may be ours, and the numbers of those on record that are deleted or moved.

    One that has lost our label is asked for by its number.
    """
    found = {issue.number: issue for issue in hub.issues(label=OURS)}
    gone = set()
    for number, filed in filings.issues.items():
        if number in found or filed.teaching == "gone":
            continue
        view = _still_there(hub, number)
        if view is None:
            gone.add(number)
        else:
            found[number] = view
    return list(found.values()), frozenset(gone)


def _still_there(hub: Tracker, number: int) -> IssueView | None:
    try:
        return hub.issue(number)
    except RefusedError as error:
        if error.status not in MOVED:
            raise
        return None


def carry_out(
    hub: Tracker,
    plan: Plan,
    filings: Filings,
    clock: Callable[[], datetime],
    save: Callable[[Filings], None] = lambda filings: None,
) -> Done:
    """Does the plan. save: gets what is to be remembered after each new issue, so that a crash forgets none."""
    return _Doer(hub, filings, clock, save).done(plan)


class _Doer:
    def __init__(
        self, hub: Tracker, filings: Filings, clock: Callable[[], datetime], save: Callable[[Filings], None]
    ) -> None:
        self.hub, self.filings, self.clock, self.save = hub, filings, clock, save
        self.filed: list[Filed] = []

    def done(self, plan: Plan) -> Done:
        for record in plan.learned:
            self.filings = self.filings.with_issue(record)
        counts: Counter[str] = Counter()
        problems: list[str] = []
        left: list[str] = []
        for place, action in enumerate(plan.actions):
            try:
                if place == 0:
                    self.hub.ensure_labels(LABELS)
                self._do(action)
                counts[type(action).__name__.lower()] += 1
            except RefusedError as error:
                problems.append(f"{described(action)}: {error.problem}")
            except UnsureError as error:
                problems.append(f"{described(action)}: {error}")
            except GaveUpError as error:
                problems.append(str(error))
                left = [described(each) for each in plan.actions[place:]]
                break
        return Done(self.filings, tuple(self.filed), dict(counts), tuple(problems), tuple(left))

    def _do(self, action: Action) -> None:
        match action:
            case Create():
                self._create(action)
            case Extend():
                self._extend(action)
            case Reopen():
                self._say(action.number, "back", action.wanted.fingerprint, back(action.wanted), action.wanted.seen)
                self.hub.edit_issue(action.number, state="open")
                self._label(action.number, action.labels)
                self._remember(action.number, action.remembered)
            case Close():
                self._say(action.number, "fixed", action.wanted.fingerprint, fixed(action.wanted), action.wanted.turned)
                self.hub.edit_issue(action.number, state="closed", state_reason="completed")
                self._remember(action.number, action.remembered)
            case Relabel():
                self._label(action.number, action.labels)
                self._remember(action.number, action.remembered)
            case Recur():
                self.hub.upsert_comment(action.number, Marker("recurrence", digest(str(action.number))), action.text)
                self._remember(action.number, action.remembered)

    def _create(self, action: Create) -> None:
        others = tuple(key for key in action.signatures if key != action.id)[:MARKED]
        # What an umbrella lists may get an issue of its own one day, and a marker would stand for that.
        others = others if action.kind == "bug" else ()
        view = self.hub.create_issue(Marker(action.kind, action.id, others), action.title, action.body, action.labels)
        filed = Filed(
            number=view.number,
            url=view.url,
            kind=action.kind,
            library=action.library,
            signatures=dict(action.signatures),
            title=view.title[:2_000],
            created_at=view.created_at,
            build=action.build,
            told=action.told,
            regression=action.regression,
            at=self.clock(),
        )
        self.filed.append(filed)
        self.filings = self.filings.with_issue(filed)
        self.save(self.filings)

    def _extend(self, action: Extend) -> None:
        """Reads the body again: a person may have checked a box since it was planned."""
        view = self.hub.issue(action.number)
        if view is None:
            return
        body, added = extended(view.body, action.items)
        if body != view.body:
            view = self.hub.edit_issue(action.number, title=action.title, body=body)
        signatures = {key: text for key, text in action.signatures.items() if key in added}
        title = {} if action.title is None else {"title": view.title[:2_000]}
        self._remember(action.number, {"signatures": signatures, **title})

    def _say(self, number: int, kind: str, fingerprint: str, text: str, build: str) -> None:
        """One comment for each turn: said twice, it is there once."""
        self.hub.upsert_comment(number, Marker(kind, digest(kind, fingerprint, build)), text)

    def _label(self, number: int, labels: Sequence[str]) -> None:
        if labels:
            self.hub.add_labels(number, labels)

    def _remember(self, number: int, changes: Mapping[str, object]) -> None:
        self.filings = self.filings.amended(number, self.clock(), **changes)
