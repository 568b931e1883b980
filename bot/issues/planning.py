"""What is to be done about issues: from what the state wants and what stands there to a list of actions. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from nightfuzz.bot.github.views import IssueView
from nightfuzz.bot.issues.actions import Action, Close, Create, Recur, Relabel, Reopen, place
from nightfuzz.bot.issues.batching import Batches
from nightfuzz.bot.issues.filings import Filed, Filings, Taught
from nightfuzz.bot.issues.labels import OURS, REGRESSION
from nightfuzz.bot.issues.ours import Ours, created_since, ours
from nightfuzz.bot.issues.texts import recurrence
from nightfuzz.bot.issues.wanted import Umbrella, Wanted, digest, joined, newer, newest

DAY = timedelta(days=1)


class Rules(NamedTuple):
    """daily: new issues in 24 hours. cooldown: how long what a person has closed stays closed. run: this run's name.

    authors: the logins that the bot has filed under.
    """

    daily: int = 5
    cooldown: timedelta = timedelta(hours=48)
    run: str = ""
    authors: frozenset[str] = frozenset()


class Plan(NamedTuple):
    """actions: in the order in which they are done. learned: records as they are from now on, whatever else is done.

    waiting: clusters over the day's limit, the most urgent first. cooling: those whose issue a person has closed just
    now. silent: how many people want to hear no more of. private: how many are told nowhere. notes: a line each.
    """

    actions: tuple[Action, ...] = ()
    learned: tuple[Filed, ...] = ()
    waiting: tuple[Wanted, ...] = ()
    cooling: tuple[Wanted, ...] = ()
    silent: int = 0
    private: int = 0
    notes: tuple[str, ...] = ()


def plan(
    wanted: Sequence[Wanted],
    existing: Sequence[IssueView],
    filings: Filings,
    rules: Rules,
    now: datetime,
    umbrellas: Sequence[Umbrella] = (),
    gone: Collection[int] = (),
) -> Plan:
    """What is to be done. existing: all issues that may be the bot's. gone: those on record that are there no more.

    Once it is done, planning again from the same gives no action.
    """
    issues = ours(existing, filings, rules.authors)
    apart = _apart(wanted)
    clusters = sorted((each for each in apart if not each.private), key=lambda each: each.urgency)
    learned = [*_lessons(issues, filings, gone, now), *_adopted(issues, clusters, umbrellas, now)]
    for record in learned:
        filings = filings.with_issue(record)
    issues = ours(existing, filings, rules.authors)
    planner = _Planner(issues, filings, rules, now)
    for cluster in clusters:
        planner.place(cluster)
    return planner.planned(umbrellas, tuple(learned), len(apart) - len(clusters))


def _apart(clusters: Sequence[Wanted]) -> list[Wanted]:
    """Clusters that share a fingerprint are one: those of several builds of a library, say."""
    groups: dict[str, list[Wanted]] = {}
    for cluster in clusters:
        touching = {id(group): group for key in cluster.signatures if (group := groups.get(key)) is not None}
        together = [each for group in touching.values() for each in group] + [cluster]
        groups.update(dict.fromkeys((key for each in together for key in each.signatures), together))
    apart = {id(group): group for group in groups.values()}
    return [joined(group) if len(group) > 1 else group[0] for group in apart.values()]


def _lessons(issues: Mapping[int, Ours], filings: Filings, gone: Collection[int], now: datetime) -> list[Filed]:
    """What people have said since it was last looked at, and what they have taken back."""
    said: dict[int, Taught] = {number: issue.teaching for number, issue in issues.items()}
    said |= dict.fromkeys(gone, "gone")
    return [
        filed.model_copy(update={"teaching": said[number], "taught_at": now if said[number] else None, "at": now})
        for number, filed in filings.issues.items()
        if number in said and said[number] != filed.teaching
    ]


def _adopted(
    issues: Mapping[int, Ours], clusters: Iterable[Wanted], umbrellas: Iterable[Umbrella], now: datetime
) -> list[Filed]:
    """Records for issues of which only the marker is left to say that they are ours."""
    subjects = [("bug", each.library, each.signatures) for each in clusters]
    subjects += [("umbrella", each.library, each.signatures) for each in umbrellas]
    about = {(kind, key): (library, texts) for kind, library, texts in reversed(subjects) for key in texts}
    unknown = [issue for issue in issues.values() if issue.filed is None]
    found = [(each, [key for key in sorted(each.fingerprints) if (each.kind, key) in about]) for each in unknown]
    return [_record(issue, *about[issue.kind, keys[0]], now) for issue, keys in found if keys]


def _record(issue: Ours, library: str, signatures: Mapping[str, str], now: datetime) -> Filed:
    return Filed(
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


class _Planner:
    """Clusters in their order of urgency, each put where it belongs."""

    def __init__(self, issues: Mapping[int, Ours], filings: Filings, rules: Rules, now: datetime) -> None:
        self.issues, self.filings, self.rules, self.now = issues, filings, rules, now
        self.by_fingerprint: dict[str, list[Ours]] = defaultdict(list)
        for issue in issues.values():
            for key in issue.fingerprints if issue.kind == "bug" else ():
                self.by_fingerprint[key].append(issue)
        self.lost = {key for each in filings.issues.values() if each.teaching == "gone" for key in each.signatures}
        # Which clusters each issue is about, and which of them it speaks for.
        self.about: dict[int, list[Wanted]] = defaultdict(list)
        self.speaks: set[int] = set()
        self.new: list[Wanted] = []
        self.cooling: list[Wanted] = []
        self.silent = 0

    def place(self, cluster: Wanted) -> None:
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
            self.speaks.add(_speaker(live).number)
        elif matches:
            self.silent += 1
        elif cluster.standing != "fixed" and not cluster.batched:
            self.new.append(cluster)

    def planned(self, umbrellas: Sequence[Umbrella], learned: tuple[Filed, ...], private: int) -> Plan:
        """All of it as a plan."""
        # The oldest news first, so that a run that does not get to the end of them leaves others the next time.
        numbers = sorted(self.about, key=lambda number: (self._remembered_at(number), number))
        actions = [action for number in numbers for action in self._about(self.issues[number])]
        room = self.rules.daily - created_since(self.now - DAY, self.issues.values(), self.filings)
        free = [each for each in self.new if not self.filings.claimed(each.fingerprint, self.rules.run, self.now)]
        filed, waiting = free[: max(0, room)], free[max(0, room) :]
        batches = Batches(self.issues, self.filings, self.rules.cooldown, self.now)
        actions += [*map(_created, filed), *batches.planned(umbrellas, room - len(filed))]
        notes = tuple(batches.notes)
        return Plan(
            tuple(sorted(actions, key=place)), learned, tuple(waiting), tuple(self.cooling), self.silent, private, notes
        )

    def _remembered_at(self, number: int) -> datetime:
        filed = self.issues[number].filed
        return filed.at if filed is not None else self.now

    def _about(self, issue: Ours) -> list[Action]:
        """What an issue needs now that this is where its clusters stand."""
        one = joined(self.about[issue.number])
        if one.standing == "fixed":
            return self._settled(issue, one)
        if issue.number not in self.speaks:
            return []
        if not issue.open and not self._returns(issue, one):
            return []
        return [*self._opened(issue, one), *_recurred(issue, one)]

    def _settled(self, issue: Ours, one: Wanted) -> list[Action]:
        """A person who opens it again, although that build is clean, has seen more than the recheck."""
        if not issue.open or (issue.filed is not None and issue.filed.closed_for == one.turned):
            return []
        return [Close(issue.number, one, {"closed_for": one.turned})]

    def _opened(self, issue: Ours, one: Wanted) -> list[Action]:
        regression = one.regression or one.standing == "back"
        marked = regression and not (issue.filed is not None and issue.filed.regression)
        labels = (REGRESSION,) if marked else ()
        remembered = {"regression": True} if marked else {}
        if not issue.open:
            return [Reopen(issue.number, one, labels, {**remembered, "closed_for": ""})]
        return [Relabel(issue.number, labels, remembered)] if marked else []

    def _returns(self, issue: Ours, one: Wanted) -> bool:
        """Whether a closed issue is opened again: it was seen since, on a newer build or after the cool-down."""
        closed = issue.view.closed_at or issue.view.updated_at
        told = newest([each for each in (issue.filed.build, issue.filed.closed_for) if each]) if issue.filed else ""
        if one.seen_at <= closed:
            return False
        if newer(one.seen, told) or self.now - closed >= self.rules.cooldown:
            return True
        self.cooling.append(one)
        return False


def _speaker(issues: Sequence[Ours]) -> Ours:
    """The oldest open issue of a cluster, else the one that was closed last."""
    still = [issue for issue in issues if issue.open]
    return (
        still[0] if still else max(issues, key=lambda each: (each.view.closed_at or each.view.updated_at, each.number))
    )


def _recurred(issue: Ours, one: Wanted) -> list[Action]:
    """The one comment, where there is something new to say."""
    text = recurrence(one)
    if issue.filed is not None and issue.filed.told == digest(text):
        return []
    return [Recur(issue.number, text, {"told": digest(text), "build": one.seen, "signatures": one.signatures})]


def _created(cluster: Wanted) -> Create:
    regression = cluster.regression or cluster.standing == "back"
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
