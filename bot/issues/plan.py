"""Plans issues: from what the state shows and what is on GitHub to a list of actions. Pure.

Each action can be executed twice and leaves the same as executed once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

from nightfuzz.bot.github.marker import Marker, digest, marker_of
from nightfuzz.bot.github.views import IssueView
from nightfuzz.bot.issues.clusters import ClusterReport, Umbrella, joined, newer, newest
from nightfuzz.bot.issues.filings import Filings, IssueRecord, Lesson
from nightfuzz.bot.issues.labels import OURS, REGRESSION, UMBRELLA
from nightfuzz.bot.issues.ownership import OwnIssue, own_issues
from nightfuzz.bot.issues.texts import back, chosen, extended, fixed, items, recurrence

DAY = timedelta(days=1)


class Rules(NamedTuple):
    """daily: new issues in 24 hours. cooldown: how long what a person has closed stays closed. run: this run's name.

    login: the bot's own.
    """

    daily: int = 5
    cooldown: timedelta = timedelta(hours=48)
    run: str = ""
    login: str = ""


class Create(NamedTuple):
    """An issue to be filed. id: what its marker is looked up by. told: digest of what would be its first recurrence."""

    kind: Literal["bug", "umbrella"]
    id: str
    library: str
    signatures: Mapping[str, str]
    title: str
    body: str
    labels: tuple[str, ...]
    build: str = ""
    told: str = ""
    regression: bool = False
    verb: str = "create"


class Update(NamedTuple):
    """A change of an issue that is there. remembered: what its record says afterwards.

    reopen: its bug is seen again. close: its bug is fixed. relabel: it gets labels that it has not had before. recur:
    its recurrence comment is brought up to date.
    """

    verb: Literal["reopen", "close", "relabel", "recur"]
    number: int
    remembered: Mapping[str, Any]
    comment: tuple[Marker, str] | None = None
    state: Mapping[str, str] = {}
    labels: tuple[str, ...] = ()


class Extend(NamedTuple):
    """Further items for an umbrella issue: signatures and lines by fingerprint. title: where it is still ours."""

    number: int
    signatures: Mapping[str, str]
    items: Mapping[str, str]
    title: str | None
    verb: str = "extend"


Action = Create | Update | Extend
# What a reader waits for comes first; comments that are only brought up to date come last.
ORDER = ("reopen", "create", "close", "relabel", "extend", "recur")


def place(action: Action) -> int:
    """Where an action comes in a plan."""
    return ORDER.index(action.verb)


def described(action: Action) -> str:
    """An action in a few words, for a summary; its text is not escaped."""
    return f"{action.verb} {action.title!r}" if isinstance(action, Create) else f"{action.verb} #{action.number}"


class IssuePlan(NamedTuple):
    """actions: in the order of their execution. learned: records as they are from now on, whatever else is executed.

    waiting: clusters over the day's limit, the most urgent first. cooling: those whose issue a person has closed just
    now. silent: how many people want to hear no more of. private: how many are published nowhere. notes: a line each.
    """

    actions: tuple[Action, ...] = ()
    learned: tuple[IssueRecord, ...] = ()
    waiting: tuple[ClusterReport, ...] = ()
    cooling: tuple[ClusterReport, ...] = ()
    silent: int = 0
    private: int = 0
    notes: tuple[str, ...] = ()


def plan(
    reports: Sequence[ClusterReport],
    existing: Sequence[IssueView],
    filings: Filings,
    rules: Rules,
    now: datetime,
    umbrellas: Sequence[Umbrella] = (),
    gone: Collection[int] = (),
) -> IssuePlan:
    """The actions to be executed. existing: all issues that may be the bot's. gone: those on record that are no more.

    Once they are executed, planning again from the same gives no action.
    """
    issues = own_issues(existing, filings, rules.login)
    apart = _apart(reports)
    clusters = sorted((each for each in apart if not each.private), key=lambda each: each.urgency)
    learned = (*_lessons(issues, filings, gone, now), *_adopted(issues, clusters, umbrellas, now))
    for record in learned:
        filings = filings.with_issue(record)
    planner = _Planner(own_issues(existing, filings, rules.login), filings, rules, now)
    for cluster in clusters:
        planner.place(cluster)
    made = planner.plan(umbrellas)
    return made._replace(learned=learned, private=len(apart) - len(clusters))


def _apart(clusters: Sequence[ClusterReport]) -> list[ClusterReport]:
    """Clusters that share a fingerprint are one: those of several builds of a library, say."""
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
    """What people have taught since the last run, and what they have taken back."""
    lessons: dict[int, Lesson] = {number: issue.teaching for number, issue in issues.items()}
    lessons |= dict.fromkeys(gone, "gone")
    return [
        record.model_copy(update={"teaching": lesson, "taught_at": now if lesson else None, "at": now})
        for number, record in filings.issues.items()
        if (lesson := lessons.get(number, record.teaching)) != record.teaching
    ]


def _adopted(
    issues: Mapping[int, OwnIssue], clusters: Iterable[ClusterReport], umbrellas: Iterable[Umbrella], now: datetime
) -> list[IssueRecord]:
    """Records for issues of which only the marker is left to say that they are ours."""
    subjects = [("bug", each.library, each.signatures) for each in clusters]
    subjects += [("umbrella", each.library, each.signatures) for each in umbrellas]
    about = {(kind, key): (library, texts) for kind, library, texts in reversed(subjects) for key in texts}
    records = []
    for issue in issues.values():
        keys = [key for key in sorted(issue.fingerprints) if (issue.kind, key) in about]
        if issue.record is not None or not keys:
            continue
        library, signatures = about[issue.kind, keys[0]]
        records.append(
            IssueRecord(
                number=issue.number,
                url=issue.view.url,
                kind=issue.kind,
                library=library,
                signatures={key: text for key, text in signatures.items() if key in issue.fingerprints},
                created_at=issue.view.created_at,
                regression=REGRESSION in issue.view.labels,
                teaching=issue.teaching,
                taught_at=now if issue.teaching else None,
                at=now,
            )
        )
    return records


class _Planner:
    """Clusters in their order of urgency, each put where it belongs."""

    def __init__(self, issues: Mapping[int, OwnIssue], filings: Filings, rules: Rules, now: datetime) -> None:
        self.issues, self.filings, self.rules, self.now = issues, filings, rules, now
        self.by_fingerprint: dict[str, list[OwnIssue]] = defaultdict(list)
        for issue in issues.values():
            for key in issue.fingerprints if issue.kind == "bug" else ():
                self.by_fingerprint[key].append(issue)
        self.lost = {key for each in filings.issues.values() if each.teaching == "gone" for key in each.signatures}
        # Which clusters each issue is about, and which of them it speaks for.
        self.about: dict[int, list[ClusterReport]] = defaultdict(list)
        self.speaks: set[int] = set()
        self.new: list[ClusterReport] = []
        self.cooling: list[ClusterReport] = []
        self.silent = 0
        self.notes: list[str] = []

    def place(self, cluster: ClusterReport) -> None:
        """Finds the issues of a cluster, or notes that it has none."""
        found = {issue.number: issue for key in cluster.signatures for issue in self.by_fingerprint.get(key, ())}
        matches = [found[number] for number in sorted(found)]
        live = [issue for issue in matches if not issue.teaching]
        lost = not matches and not self.lost.isdisjoint(cluster.signatures)
        if lost or cluster.known or any(issue.teaching not in ("", "duplicate") for issue in matches):
            self.silent += 1
        elif live:
            for issue in live:
                self.about[issue.number].append(cluster)
            # The oldest open issue speaks for a cluster, else the one that was closed last.
            last = max(live, key=lambda each: (each.closed_at, each.number))
            self.speaks.add(next((issue for issue in live if issue.open), last).number)
        elif matches:
            self.silent += 1
        elif cluster.standing != "fixed" and not cluster.batched:
            self.new.append(cluster)

    def plan(self, umbrellas: Sequence[Umbrella]) -> IssuePlan:
        """All actions as a plan."""

        def age(number: int) -> tuple[datetime, int]:
            record = self.issues[number].record
            return (record.at if record else self.now), number

        # The oldest news first, so that a run that does not get to the end of them leaves others the next time.
        actions = [action for number in sorted(self.about, key=age) for action in self._about(self.issues[number])]
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
            actions=tuple(sorted(actions, key=place)),
            waiting=tuple(free[most:]),
            cooling=tuple(self.cooling),
            silent=self.silent,
            notes=tuple(self.notes),
        )

    def _about(self, issue: OwnIssue) -> list[Action]:
        """What an issue needs, from the standing of its clusters."""
        one, number = joined(self.about[issue.number]), issue.number
        if one.standing == "fixed":
            # A person who opens it again, although that build is clean, has seen more than the recheck.
            if not issue.open or (issue.record is not None and issue.record.closed_for == one.turned):
                return []
            comment = marker_of("fixed", one.fingerprint, one.turned), fixed(one)
            state = {"state": "closed", "state_reason": "completed"}
            return [Update("close", number, {"closed_for": one.turned}, comment, state)]
        if number not in self.speaks or not (issue.open or self._returns(issue, one)):
            return []
        actions: list[Action] = []
        marked = _is_regression(one) and not (issue.record is not None and issue.record.regression)
        labels = (REGRESSION,) if marked else ()
        remembered: dict[str, Any] = {"regression": True} if marked else {}
        if not issue.open:
            comment = marker_of("back", one.fingerprint, one.seen), back(one)
            remembered = {**remembered, "closed_for": ""}
            actions.append(Update("reopen", number, remembered, comment, {"state": "open"}, labels))
        elif marked:
            actions.append(Update("relabel", number, remembered, labels=labels))
        text = recurrence(one)
        if issue.record is None or issue.record.told != digest(text):
            remembered = {"told": digest(text), "build": one.seen, "signatures": one.signatures}
            comment = Marker("recurrence", digest(str(number))), text
            actions.append(Update("recur", number, remembered, comment))
        return actions

    def _returns(self, issue: OwnIssue, one: ClusterReport) -> bool:
        """Whether a closed issue is opened again: it was seen since, on a newer build or after the cool-down."""
        record = issue.record
        known = newest([each for each in (record.build, record.closed_for) if each]) if record else ""
        if one.seen_at <= issue.closed_at:
            return False
        if newer(one.seen, known) or self.now - issue.closed_at >= self.rules.cooldown:
            return True
        self.cooling.append(one)
        return False

    def _batch(self, umbrella: Umbrella, room: bool) -> Create | Extend | None:
        """What the umbrella of a library needs. room: whether the day's limit leaves a new issue.

        Items go to the open umbrella of their library; what people have checked off or deleted there stays so. A new
        one is filed only for what no earlier one lists, a while after that was closed, and never where people have
        said no.
        """
        mine = [issue for issue in self.issues.values() if issue.kind == "umbrella" and _is_of(issue, umbrella)]
        listed = {key for record in self.filings.issues.values() for key in record.signatures}
        listed |= {key for issue in self.issues.values() for key in issue.fingerprints}
        fresh = {key: text for key, text in umbrella.signatures.items() if key not in listed}
        if not fresh or any(issue.teaching for issue in mine):
            return None
        still = [issue for issue in mine if issue.open]
        if still:
            return self._extend(still[0], umbrella, fresh)
        closed = max((issue.closed_at for issue in mine), default=None)
        if not room or (closed is not None and self.now - closed < self.rules.cooldown):
            self.notes.append(f"{len(fresh)} crashes on corner-case arguments of {umbrella.library} wait to be filed")
            return None
        name = digest("umbrella", umbrella.library, next(iter(fresh)))
        labels = (OURS, UMBRELLA)
        return Create("umbrella", name, umbrella.library, fresh, umbrella.title, chosen(umbrella.body, fresh), labels)

    def _extend(self, issue: OwnIssue, umbrella: Umbrella, fresh: Mapping[str, str]) -> Extend | None:
        there, lines = items(issue.view.body), items(umbrella.body)
        more = {key: lines[key] for key in fresh if key in lines and key not in there}
        _, fitting = extended(issue.view.body, more)
        if len(fitting) < len(more):
            self.notes.append(
                f"{len(more) - len(fitting)} crashes on corner-case arguments have no room in #{issue.number}"
            )
        if not fitting:
            return None
        is_ours = issue.record is not None and issue.record.title == issue.view.title != umbrella.title
        texts = {key: fresh[key] for key in fitting}
        return Extend(issue.number, texts, {key: more[key] for key in fitting}, umbrella.title if is_ours else None)


def _is_of(issue: OwnIssue, umbrella: Umbrella) -> bool:
    by_record = issue.record is not None and issue.record.library == umbrella.library
    return by_record or not issue.fingerprints.isdisjoint(umbrella.signatures)


def _is_regression(cluster: ClusterReport) -> bool:
    return cluster.regression or cluster.standing == "back"


def _created(cluster: ClusterReport) -> Create:
    regression = _is_regression(cluster)
    return Create(
        "bug",
        cluster.fingerprint,
        cluster.library,
        cluster.signatures,
        cluster.title,
        cluster.body,
        (OURS, REGRESSION) if regression else (OURS,),
        cluster.seen,
        digest(recurrence(cluster)),
        regression,
    )
