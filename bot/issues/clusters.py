"""Clusters of bugs: what the state says about them, and what their issues' comments say.

Names and versions came from workers: the comments escape all of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from packaging.version import InvalidVersion, Version

from fuzz_core.campaign.cases import JudgedBug, batch, case, with_privacy
from fuzz_core.store.checks import FIXED, KNOWN, REAL
from fuzz_core.store.records import BugRow
from fuzz_core.store.store import Store
from fuzz_core.triage.assess import goes_alone
from fuzz_core.triage.recheck import FLAKY, SHOWN
from nightfuzz.bot.issues import labels
from nightfuzz.bot.issues.umbrella import mark_items
from nightfuzz.reports.issues import bug_report, umbrella_report
from nightfuzz.reports.markdown import escaped
from nightfuzz.reports.text import span

Status = Literal["open", "fixed", "back"]
SHOWN_APIS = 20
_WORST = {"back": 0, "open": 1, "fixed": 2}
_HOW_TO_SILENCE = (
    "To stop reports of this bug, close the issue as not planned, or give the issue one of the labels "
    f"`{labels.IGNORE}`, `{labels.WRONG}` or `{labels.KNOWN}`."
)


class ClusterReport(NamedTuple):
    """A cluster of bugs with one cause: the text of its issue, and its status (open, fixed or back)."""

    library: str
    # texts by fingerprint, of all members on record, known members too; the simplest member is first
    signatures: Mapping[str, str]
    title: str  # the report's title, rendered
    body: str  # the report, rendered
    api: str
    kind: str
    seen: str  # the newest build that shows the cluster
    seen_at: datetime  # when that was noticed
    findings: int = 1
    apis: Sequence[str] = ()
    since: str = ""
    status: Status = "open"
    changed_in: str = ""  # the build that fixed the cluster, or with which the cluster is back
    rank: tuple[int, ...] = ()  # smaller is more urgent
    validity: str = "valid"
    regression: bool = False
    private: bool = False  # counted alone, never published
    known: bool = False  # an entry of the registry matches, or people judged otherwise than real
    batched: bool = False  # a line of the umbrella, or no text, instead of an issue of its own

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the simplest member."""
        return next(iter(self.signatures))

    @property
    def urgency(self) -> tuple[tuple[int, ...], str]:
        """A total order, the most urgent first."""
        return self.rank, self.fingerprint


class Umbrella(NamedTuple):
    """The bugs of one library that have no issue of their own, one per cluster."""

    library: str
    signatures: Mapping[str, str]  # texts by fingerprint, in the order of the lines in the list
    title: str
    body: str  # `reports.issues.umbrella_report`, its items marked by `bot.issues.umbrella.mark_items`
    api: str = ""  # api of the first bug
    comment: str = ""  # the same text as a comment for the library's own tracker


def newer(build: str, than: str) -> bool:
    """Return whether a version is of a later build; False if one of them is none."""
    try:
        return Version(Version(build).public) > Version(Version(than).public)
    except InvalidVersion:
        return False


def newest(builds: Iterable[str]) -> str:
    """Return the latest of some versions, the first where that is not known; empty if there are none."""
    found = ""
    for build in builds:
        found = build if not found or newer(build, found) else found
    return found


def joined(clusters: Sequence[ClusterReport]) -> ClusterReport:
    """Merge clusters that share an issue into the most urgent one, with the members of all.

    The result is fixed, known or batched if all are, and private if one is.
    """
    first = min(clusters, key=lambda each: each.urgency)
    worst = min(clusters, key=lambda each: (_WORST[each.status], each.urgency))
    shown = [each for each in clusters if each.status == worst.status]
    return first._replace(
        signatures={key: text for each in (first, *clusters) for key, text in each.signatures.items()},
        seen=newest(each.seen for each in shown),
        seen_at=max(each.seen_at for each in shown),
        findings=sum(each.findings for each in clusters),
        apis=tuple(dict.fromkeys(api for each in clusters for api in (each.api, *each.apis))),
        status=worst.status,
        changed_in=newest(each.changed_in for each in shown if each.changed_in),
        regression=any(each.regression for each in shown),
        private=any(each.private for each in clusters),
        known=all(each.known for each in clusters),
        batched=all(each.batched for each in clusters),
    )


def cluster_reports(store: Store) -> list[ClusterReport]:
    """Return every cluster on record, of all libraries and builds, private ones too (without their text)."""
    appearances = _appearances(store)
    clusters: dict[int, list[JudgedBug]] = defaultdict(list)
    for each in _bugs(store):
        clusters[each.cluster.first.id].append(each)
    declined = {bug for bug, judgement in store.judgements().items() if judgement.verdict != REAL}
    return [_report(store, members, appearances, declined) for members in clusters.values()]


def umbrellas(store: Store) -> list[Umbrella]:
    """Return an umbrella for each library with bugs that have no issue of their own."""
    by_library: dict[str, list[JudgedBug]] = defaultdict(list)
    for each in sorted(batch(_bugs(store)), key=lambda each: (each.row.api, each.row.id)):
        by_library[store.target(each.row.target).library].append(each)
    made = []
    for library, members in sorted(by_library.items()):
        cases = [case(store, each) for each in members]
        text = umbrella_report(cases, as_items=True)
        # In the order of the lines in the text.
        signatures = {each.row.signature: each.row.signature_text for each in members}
        body = mark_items(text.body, list(signatures))
        made.append(Umbrella(library, signatures, text.title, body, members[0].row.api, umbrella_report(cases).body))
    return made


def first_row(store: Store, fingerprint: str) -> BugRow | None:
    """Return the first row of a bug, by its fingerprint."""
    later = store.later_rows()
    return next((bug for bug in store.bugs() if bug.signature == fingerprint and bug.id not in later), None)


def _bugs(store: Store) -> list[JudgedBug]:
    """Return a line for each bug: its first row."""
    later = store.later_rows()
    return with_privacy(store, [bug for bug in store.bugs() if bug.id not in later], across=True)


def _report(
    store: Store, members: Sequence[JudgedBug], appearances: Mapping[int, Appearance], declined: Collection[int]
) -> ClusterReport:
    """Return the report of a cluster, in which the most urgent open member comes first.

    Args:
        declined: numbers of bugs that a person judged otherwise than real.
    """
    lead = next((each for each in members if each.row.status not in (FIXED, KNOWN)), members[0])
    seen = [appearances[each.row.id] for each in members]
    status = _status(members)
    changed_in = next((each.standing.build for each in members if each.standing.build), "")
    private = any(each.severity.private for each in members)
    text = None if private else bug_report(case(store, lead))
    return ClusterReport(
        library=store.target(lead.row.target).library,
        signatures={each.row.signature: each.row.signature_text for each in (lead, *members)},
        title=text.title if text else "",
        body=text.body if text else "",
        api=lead.row.api,
        kind=lead.row.kind,
        seen=newest(each.build for each in seen),
        seen_at=max(each.at for each in seen),
        findings=sum(each.findings for each in seen),
        apis=lead.cluster.apis,
        since=store.target(lead.row.target).version,
        status=status,
        changed_in=store.target(changed_in).version if changed_in and status != "open" else "",
        rank=lead.severity.rank,
        validity=lead.severity.validity.status,
        regression=any(each.severity.regression for each in members),
        private=private,
        known=all(each.row.status == KNOWN or each.row.id in declined for each in members),
        batched=not any(goes_alone(each.row, each.severity.validity) for each in members),
    )


def _status(members: Sequence[JudgedBug]) -> Status:
    """Return the status of a cluster: fixed if all members are fixed; known members are left out."""
    speaking = [each for each in members if each.row.status != KNOWN]
    if speaking and all(each.row.status == FIXED for each in speaking):
        return "fixed"
    return "back" if any(each.standing.past and each.severity.regression for each in speaking) else "open"


class Appearance(NamedTuple):
    """When and on which build a bug was last seen, and in how many findings."""

    build: str
    at: datetime
    findings: int


def _appearances(store: Store) -> dict[int, Appearance]:
    """Return when each bug was last seen: found, found again on a later build, or shown by a recheck."""
    versions = {target.key: target.version for target in store.targets()}
    later, last = store.later_rows(), store.last_found()
    seen = [(row.id, row.target, last.get(row.id, row.first_found), row.findings) for row in store.bugs()]
    seen += [(each.bug, each.target, each.checked_at, 0) for each in store.checks() if each.status in (SHOWN, FLAKY)]
    found: dict[int, Appearance] = {}
    for bug, target, moment, findings in seen:
        number, build, at = later.get(bug, bug), versions[target], datetime.fromisoformat(moment)
        before = found.get(number, Appearance(build, at, 0))
        found[number] = Appearance(newest((before.build, build)), max(before.at, at), before.findings + findings)
    return found


def by_fingerprint(clusters: Iterable[ClusterReport]) -> dict[str, ClusterReport]:
    """Return the clusters by the fingerprints of all their members."""
    return {key: each for each in clusters for key in each.signatures}


def recurrence_comment(cluster: ClusterReport) -> str:
    """Return the one comment that is kept up to date while the bug is seen.

    The text depends on the cluster alone.
    """
    apis = list(dict.fromkeys((cluster.api, *cluster.apis)))
    more = f" and {len(apis) - SHOWN_APIS} more" if len(apis) > SHOWN_APIS else ""
    rows = {
        "newest build that shows it": f"{escaped(cluster.seen)} ({cluster.seen_at:%Y-%m-%d})",
        "first found": escaped(cluster.since) if cluster.since else "",
        "test cases that showed it": str(cluster.findings),
        # A bar in a code span would end the cell.
        "apis": ", ".join(map(escaped, apis[:SHOWN_APIS])) + more if len(apis) > 1 else "",
        "back since": escaped(cluster.changed_in) if cluster.status == "back" and cluster.changed_in else "",
    }
    lines = [f"| {name} | {value} |" for name, value in rows.items() if value]
    intro = "The latest runs that showed the bug. nightfuzz updates this comment while the bug appears."
    return "\n".join([intro, "", "| | |", "|---|---|", *lines])


def fixed(cluster: ClusterReport) -> str:
    """Return why an issue is closed."""
    return (
        f"Fixed in {span(cluster.changed_in)}: the script of this report does not show the bug in any fresh process. "
        "nightfuzz runs the script again on later builds. If a later build shows the bug, nightfuzz reopens this issue."
    )


def back(cluster: ClusterReport) -> str:
    """Return why an issue is open again."""
    since = f" The bug was fixed, and is back since {span(cluster.changed_in)}." if cluster.status == "back" else ""
    return f"Seen again: {span(cluster.seen)} shows the bug.{since}\n\n{_HOW_TO_SILENCE}"
