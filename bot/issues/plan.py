"""Plans issues: from the state and the issues on GitHub to a list of actions, without any call of GitHub.

The plan compares three facts: the clusters of the state, the issues on GitHub, and the filings, which are the memory of
earlier runs. A cluster belongs to an issue if they share a fingerprint. If several issues match, the oldest open one
speaks for the cluster. People win: an issue that a person has judged or refused keeps its clusters silent, and a closed
issue opens again only for a later build or after COOLDOWN. New issues are filed the most urgent first, within the daily
limit. An action can be executed twice with the same effect as once. So a run that stops in the middle needs no repair:
the next run makes a new plan from the new facts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple, cast

from nightfuzz.bot.github.marker import Marker, digest, marker_of, parsed
from nightfuzz.bot.github.views import IssueView, is_same_login
from nightfuzz.bot.issues.clusters import (
    ClusterReport,
    Umbrella,
    back,
    fixed,
    joined,
    newer,
    newest,
    recurrence_comment,
)
from nightfuzz.bot.issues.filings import Filings, IssueRecord, Lesson
from nightfuzz.bot.issues.labels import OURS, REGRESSION, UMBRELLA, lesson_of
from nightfuzz.bot.issues.umbrella import chosen, extended, items
from nightfuzz.reports.markdown import counted

DAY = timedelta(days=1)
# How long an issue that a person has closed stays closed.
COOLDOWN = timedelta(hours=48)
# A single fingerprint in common is enough to find an issue again; a body needs its room for text.
MARKED = 50


class Rules(NamedTuple):
    """Limits and labels of a plan."""

    daily: int = 5  # new issues in 24 hours
    run: str = ""  # this run's name
    login: str = ""  # the bot's own


class Create(NamedTuple):
    """An issue to be filed; `record` has the fields of its record."""

    marker: Marker
    title: str
    body: str
    labels: tuple[str, ...]
    record: Mapping[str, Any]
    verb: str = "create"

    def __str__(self) -> str:
        return f"{self.verb} {self.title!r}"


class Update(NamedTuple):
    """A change of an existing issue.

    - reopen: its bug is seen again.
    - close: its bug is fixed.
    - relabel: it gets labels that it has not had before.
    - recur: its recurrence comment is brought up to date.
    - extend: an umbrella gets further items.
    """

    verb: Literal["reopen", "close", "relabel", "recur", "extend"]
    number: int
    record: Mapping[str, Any]  # fields of the issue's record that change with it
    comment: tuple[Marker, str] | None = None
    state: Mapping[str, str] = {}
    labels: tuple[str, ...] = ()
    items: Mapping[str, str] = {}  # lines of the further items by fingerprint
    title: str | None = None  # the umbrella's new title

    def __str__(self) -> str:
        return f"{self.verb} #{self.number}"


Action = Create | Update
# Actions that a reader waits for come first; comments that are brought up to date come last.
ORDER = ("reopen", "create", "close", "relabel", "extend", "recur")


class IssuePlan(NamedTuple):
    """The actions that bring GitHub up to the state."""

    actions: tuple[Action, ...] = ()  # in the order of their execution
    learned: tuple[IssueRecord, ...] = ()  # records that change even if no action is executed
    waiting: tuple[ClusterReport, ...] = ()  # clusters over the day's limit, the most urgent first
    silent: int = 0  # number of clusters that people have silenced
    private: int = 0  # number of clusters that are never published
    notes: tuple[str, ...] = ()  # lines for the summary


class OwnIssue(NamedTuple):
    """An issue that the bot has filed."""

    view: IssueView
    record: IssueRecord  # blank if it was lost
    fingerprints: frozenset[str]  # on record, and in the issue's body

    @property
    def number(self) -> int:
        """The issue's number."""
        return self.view.number

    @property
    def is_open(self) -> bool:
        """Whether the issue is open."""
        return self.view.state == "open"

    @property
    def closed_at(self) -> datetime:
        """When a closed issue was closed."""
        return self.view.closed_at or self.view.updated_at

    @property
    def lesson(self) -> Lesson:
        """The verdict of people on the issue."""
        return lesson_of(self.view)


def own_issues(existing: Iterable[IssueView], filings: Filings, login: str, now: datetime) -> dict[int, OwnIssue]:
    """Return the bot's own issues by number, the oldest first.

    Anyone can copy a marker, so it counts in the bot's own issues alone. A marker that a person has edited or removed
    is no loss where the issue is on record, and is not put back.

    Args:
        login: its own.
    """
    found = (_own(view, filings.issues.get(view.number), login, now) for view in existing if not view.pull_request)
    return {each.number: each for each in sorted(filter(None, found), key=lambda each: each.number)}


def _own(view: IssueView, record: IssueRecord | None, login: str, now: datetime) -> OwnIssue | None:
    marker = parsed(view.body) if is_same_login(view.author, login) else None
    # A record that came along from another repository has other addresses.
    if record is not None and (marker is not None or record.url == view.url):
        in_marker = (marker.id, *marker.also) if marker is not None and marker.kind == record.kind else ()
        return OwnIssue(view, record, frozenset((*record.signatures, *in_marker)))
    if marker is None or marker.kind not in ("bug", "umbrella"):
        return None
    lesson = lesson_of(view)
    blank = IssueRecord(
        number=view.number,
        url=view.url,
        kind=cast(Literal["bug", "umbrella"], marker.kind),
        library="",
        signatures={},
        created_at=view.created_at,
        regression=REGRESSION in view.labels,
        teaching=lesson,
        taught_at=now if lesson else None,
        at=now,
    )
    return OwnIssue(
        view, blank, frozenset(items(view.body) if marker.kind == "umbrella" else (marker.id, *marker.also))
    )


def plan(
    reports: Sequence[ClusterReport],
    existing: Sequence[IssueView],
    filings: Filings,
    rules: Rules,
    now: datetime,
    umbrellas: Sequence[Umbrella] = (),
    gone: Collection[int] = (),
) -> IssuePlan:
    """Plan the actions.

    After their execution, the same input gives no further action.

    Args:
        reports: the clusters of the state.
        existing: all issues that may be the bot's.
        filings: the memory of earlier runs.
        rules: limits and labels.
        now: the time.
        umbrellas: the umbrella issues as they should be.
        gone: recorded issues that no longer exist.
    """
    issues = own_issues(existing, filings, rules.login, now)
    apart = _apart(reports)
    clusters = sorted((each for each in apart if not each.private), key=lambda each: each.urgency)
    learned = (*_lessons(issues, filings, gone, now), *_adopted(issues, filings, clusters, umbrellas))
    for record in learned:
        filings = filings.with_issue(record)
    planner = _Planner(own_issues(existing, filings, rules.login, now), filings, rules, now)
    for cluster in clusters:
        planner.place(cluster)
    made = planner.plan(umbrellas)
    return made._replace(learned=learned, private=len(apart) - len(clusters))


def _apart(clusters: Sequence[ClusterReport]) -> list[ClusterReport]:
    """Merge clusters that share a fingerprint, such as those of several builds of a library."""
    groups: dict[str, list[ClusterReport]] = {}
    for cluster in clusters:
        touching = {id(group): group for key in cluster.signatures if (group := groups.get(key)) is not None}
        together = [each for group in touching.values() for each in group] + [cluster]
        groups.update(dict.fromkeys((key for each in together for key in each.signatures), together))
    apart = {id(group): group for group in groups.values()}
    return [joined(group) if len(group) > 1 else group[0] for group in apart.values()]


def _lessons(
    issues: Mapping[int, OwnIssue], filings: Filings, gone: Collection[int], now: datetime
) -> list[IssueRecord]:
    """Return records of issues on which people have another verdict than at the last run."""
    lessons: dict[int, Lesson] = {number: issue.lesson for number, issue in issues.items()}
    lessons |= dict.fromkeys(gone, "gone")
    return [
        record.model_copy(update={"teaching": lesson, "taught_at": now if lesson else None, "at": now})
        for number, record in filings.issues.items()
        if (lesson := lessons.get(number, record.teaching)) != record.teaching
    ]


def _adopted(
    issues: Mapping[int, OwnIssue], filings: Filings, clusters: Iterable[ClusterReport], umbrellas: Iterable[Umbrella]
) -> list[IssueRecord]:
    """Record for issues of which only the marker is left to say that they are the bot's."""
    subjects: list[tuple[str, ClusterReport | Umbrella]] = [("bug", each) for each in clusters]
    subjects += [("umbrella", each) for each in umbrellas]
    about = {(kind, key): each for kind, each in reversed(subjects) for key in each.signatures}
    records = []
    for issue in issues.values():
        keys = [key for key in sorted(issue.fingerprints) if (issue.record.kind, key) in about]
        if issue.number not in filings.issues and keys:
            found = about[issue.record.kind, keys[0]]
            signatures = {key: text for key, text in found.signatures.items() if key in issue.fingerprints}
            records.append(issue.record.model_copy(update={"library": found.library, "signatures": signatures}))
    return records


class _Planner:
    """Clusters in their order of urgency, each put where it belongs."""

    def __init__(self, issues: Mapping[int, OwnIssue], filings: Filings, rules: Rules, now: datetime) -> None:
        self.issues, self.filings, self.rules, self.now = issues, filings, rules, now
        self.by_fingerprint: dict[str, list[OwnIssue]] = defaultdict(list)
        for issue in issues.values():
            for key in issue.fingerprints if issue.record.kind == "bug" else ():
                self.by_fingerprint[key].append(issue)
        self.lost = {key for each in filings.issues.values() if each.teaching == "gone" for key in each.signatures}
        # Which clusters each issue is about, and which of them it speaks for.
        self.about: dict[int, list[ClusterReport]] = defaultdict(list)
        self.speaks: set[int] = set()
        self.new: list[ClusterReport] = []
        self.silent = 0
        self.notes: list[str] = []

    def place(self, cluster: ClusterReport) -> None:
        """Find the issues of a cluster, or note that it has none."""
        found = {issue.number: issue for key in cluster.signatures for issue in self.by_fingerprint.get(key, ())}
        matches = [found[number] for number in sorted(found)]
        live = [issue for issue in matches if not issue.lesson]
        lost = not matches and not self.lost.isdisjoint(cluster.signatures)
        if lost or cluster.known or any(issue.lesson not in ("", "duplicate") for issue in matches):
            self.silent += 1
        elif live:
            for issue in live:
                self.about[issue.number].append(cluster)
            # The oldest open issue speaks for a cluster, else the one that was closed last.
            last = max(live, key=lambda each: (each.closed_at, each.number))
            self.speaks.add(next((issue for issue in live if issue.is_open), last).number)
        elif matches:
            self.silent += 1
        elif cluster.status != "fixed" and not cluster.batched:
            self.new.append(cluster)

    def plan(self, umbrellas: Sequence[Umbrella]) -> IssuePlan:
        """Return all actions as a plan."""
        # The oldest record comes first, so that a run that stops early leaves other records the next time.
        touched = sorted((self.issues[number] for number in self.about), key=lambda each: (each.record.at, each.number))
        actions = [action for issue in touched for action in self._about(issue)]
        # The day's limit counts issues of the last 24 hours, those too that are gone by now.
        limit = self.now - DAY
        recent = {each.number for each in self.issues.values() if each.view.created_at > limit}
        recent |= {number for number, record in self.filings.issues.items() if record.created_at > limit}
        most = max(0, self.rules.daily - len(recent))
        free = [each for each in self.new if not self.filings.claimed(each.fingerprint, self.rules.run, self.now)]
        actions += map(_created, free[:most])
        room = most - len(free[:most])
        for umbrella in umbrellas:
            more = self._batch(umbrella, room > 0)
            room -= isinstance(more, Create)
            actions += [more] if more else []
        return IssuePlan(
            actions=tuple(sorted(actions, key=lambda each: ORDER.index(each.verb))),
            waiting=tuple(free[most:]),
            silent=self.silent,
            notes=tuple(self.notes),
        )

    def _about(self, issue: OwnIssue) -> list[Action]:
        """Return the actions for one issue, from the status of its clusters."""
        one, number, record = joined(self.about[issue.number]), issue.number, issue.record
        if one.status == "fixed":
            # A person who opens it again, although that build is clean, has seen more than the recheck.
            if not issue.is_open or record.closed_for == one.changed_in:
                return []
            comment = marker_of("fixed", one.fingerprint, one.changed_in), fixed(one)
            state = {"state": "closed", "state_reason": "completed"}
            return [Update("close", number, {"closed_for": one.changed_in}, comment, state)]
        if number not in self.speaks or not (issue.is_open or self._returns(issue, one)):
            return []
        actions: list[Action] = []
        is_new_regression = _is_regression(one) and not record.regression
        labels = (REGRESSION,) if is_new_regression else ()
        changes: dict[str, Any] = {"regression": True} if is_new_regression else {}
        if not issue.is_open:
            comment = marker_of("back", one.fingerprint, one.seen), back(one)
            actions.append(Update("reopen", number, {**changes, "closed_for": ""}, comment, {"state": "open"}, labels))
        elif is_new_regression:
            actions.append(Update("relabel", number, changes, labels=labels))
        text = recurrence_comment(one)
        if record.told != digest(text):
            changes = {"told": digest(text), "build": one.seen, "signatures": one.signatures}
            actions.append(Update("recur", number, changes, (Marker("recurrence", digest(str(number))), text)))
        return actions

    def _returns(self, issue: OwnIssue, one: ClusterReport) -> bool:
        """Return whether a closed issue is opened again: it was seen since, on a newer build or after the cool-down."""
        known = newest(each for each in (issue.record.build, issue.record.closed_for) if each)
        is_later = newer(one.seen, known) or self.now - issue.closed_at >= COOLDOWN
        return one.seen_at > issue.closed_at and is_later

    def _batch(self, umbrella: Umbrella, room: bool) -> Action | None:
        """Return the action for the umbrella issue of a library; None if it needs none.

        Items go to the open umbrella of their library; what people have checked off or deleted there stays so. A
        new umbrella is filed only for items that no earlier one lists, a while after that was closed, and never
        where people have refused one.

        Args:
            room: whether the day's limit leaves a new issue.
        """
        own = self.issues.values()
        mine = [each for each in own if (each.record.kind, each.record.library) == ("umbrella", umbrella.library)]
        listed = {key for record in self.filings.issues.values() for key in record.signatures}
        listed |= {key for issue in own for key in issue.fingerprints}
        fresh = {key: text for key, text in umbrella.signatures.items() if key not in listed}
        if not fresh or any(issue.lesson for issue in mine):
            return None
        if still := [issue for issue in mine if issue.is_open]:
            return self._extend(still[0], umbrella, fresh)
        closed = max((issue.closed_at for issue in mine), default=None)
        if not room or (closed is not None and self.now - closed < COOLDOWN):
            self.notes.append(f"{counted(len(fresh), 'bug')} of {umbrella.library} for the umbrella issue: filed later")
            return None
        # An item may get an issue of its own one day, so the marker names no items.
        marker = marker_of("umbrella", umbrella.library, next(iter(fresh)))
        record = {"library": umbrella.library, "signatures": fresh}
        return Create(marker, umbrella.title, chosen(umbrella.body, fresh), (OURS, UMBRELLA), record)

    def _extend(self, issue: OwnIssue, umbrella: Umbrella, fresh: Mapping[str, str]) -> Update | None:
        there, lines = items(issue.view.body), items(umbrella.body)
        more = {key: lines[key] for key in fresh if key in lines and key not in there}
        _, fitting = extended(issue.view.body, more)
        if left := len(more) - len(fitting):
            self.notes.append(f"the umbrella issue #{issue.number} has no room for {counted(left, 'bug')}")
        if not fitting:
            return None
        is_ours = issue.record.title == issue.view.title != umbrella.title
        signatures, added = ({key: texts[key] for key in fitting} for texts in (fresh, more))
        title = umbrella.title if is_ours else None
        return Update("extend", issue.number, {"signatures": signatures}, items=added, title=title)


def _is_regression(cluster: ClusterReport) -> bool:
    return cluster.regression or cluster.status == "back"


def _created(cluster: ClusterReport) -> Create:
    regression = _is_regression(cluster)
    others = tuple(key for key in cluster.signatures if key != cluster.fingerprint)[:MARKED]
    record = {
        "library": cluster.library,
        "signatures": cluster.signatures,
        "build": cluster.seen,
        "told": digest(recurrence_comment(cluster)),
        "regression": regression,
    }
    labels = (OURS, REGRESSION) if regression else (OURS,)
    return Create(Marker("bug", cluster.fingerprint, others), cluster.title, cluster.body, labels, record)
