"""From the merged state to what issues are planned from: one `ClusterReport` for each cluster of a library's bugs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from fuzz_core.campaign.cases import Judged, batch, case, guarded, is_valid
from fuzz_core.oracles.kinds import kind_of
from fuzz_core.store.checks import FIXED, KNOWN
from fuzz_core.store.records import BugRow
from fuzz_core.store.store import Store
from fuzz_core.triage.recheck import FLAKY, SHOWN
from nightfuzz.bot.issues.clusters import ClusterReport, Standing, Umbrella, newest
from nightfuzz.bot.issues.texts import mark_items
from nightfuzz.reports.issues import bug_report, umbrella_report


class Shown(NamedTuple):
    """Where and when a bug was last seen, and in how many findings. build: a version."""

    build: str
    at: datetime
    findings: int


def wanted(store: Store) -> list[ClusterReport]:
    """Every cluster on record, of all libraries and builds, private ones too (without their text)."""
    found = _found(store)
    shown = _shown(store)
    clusters: dict[int, list[Judged]] = defaultdict(list)
    for each in found:
        clusters[each.cluster.first.id].append(each)
    return [_wanted(store, members, shown) for members in clusters.values()]


def umbrellas(store: Store) -> list[Umbrella]:
    """One for each library with crashes on input that is not known to be valid."""
    by_library: dict[str, list[Judged]] = defaultdict(list)
    for each in batch(_found(store)):
        by_library[store.target(each.row.target).library].append(each)
    return [_umbrella(store, library, members) for library, members in sorted(by_library.items())]


def _found(store: Store) -> list[Judged]:
    """A line for each bug: its first row."""
    later = store.later_rows()
    return guarded(store, [bug for bug in store.bugs() if bug.id not in later], across=True)


def _wanted(store: Store, members: Sequence[Judged], shown: Mapping[int, Shown]) -> ClusterReport:
    """Members come the most urgent first: that one speaks for the cluster where it is still open."""
    lead = next((each for each in members if each.row.status not in (FIXED, KNOWN)), members[0])
    standing = _standing(members)
    turned = next((each.standing.build for each in members if each.standing.build), "")
    private = any(each.severity.private for each in members)
    text = None if private else bug_report(case(store, lead))
    return ClusterReport(
        library=store.target(lead.row.target).library,
        signatures={each.row.signature: each.row.signature_text for each in (lead, *members)},
        title=text.title if text else "",
        body=text.body if text else "",
        api=lead.row.api,
        kind=lead.row.kind,
        grade=lead.severity.grade,
        seen=newest([shown[each.row.id].build for each in members]),
        seen_at=max(shown[each.row.id].at for each in members),
        findings=sum(shown[each.row.id].findings for each in members),
        apis=lead.cluster.apis,
        since=store.target(lead.row.target).version,
        standing=standing,
        turned=store.target(turned).version if turned and standing != "open" else "",
        rank=lead.severity.rank,
        validity=lead.severity.validity.status,
        regression=any(each.severity.regression for each in members),
        private=private,
        known=all(each.row.status == KNOWN for each in members),
        batched=all(_is_corner(each) for each in members),
    )


def _standing(members: Sequence[Judged]) -> Standing:
    """A cluster is fixed where all of it is; what is known counts for nothing."""
    speaking = [each for each in members if each.row.status != KNOWN]
    if speaking and all(each.row.status == FIXED for each in speaking):
        return "fixed"
    return "back" if any(each.standing.past and each.severity.regression for each in speaking) else "open"


def _is_corner(each: Judged) -> bool:
    return kind_of(each.row.kind).fails and not is_valid(each)


def _shown(store: Store) -> dict[int, Shown]:
    """When each bug was last seen: found, found again on a later build, or shown by a recheck."""
    versions = {target.key: target.version for target in store.targets()}
    later, last = store.later_rows(), store.last_found()
    seen: dict[int, list[tuple[str, datetime]]] = defaultdict(list)
    findings: dict[int, int] = defaultdict(int)
    for row in store.bugs():
        number = later.get(row.id, row.id)
        findings[number] += row.findings
        seen[number].append((versions[row.target], datetime.fromisoformat(last.get(row.id, row.first_found))))
    for check in store.checks():
        if check.status in (SHOWN, FLAKY):
            number = later.get(check.bug, check.bug)
            seen[number].append((versions[check.target], datetime.fromisoformat(check.checked_at)))
    return {
        number: Shown(newest([build for build, _ in times]), max(at for _, at in times), findings[number])
        for number, times in seen.items()
    }


def _umbrella(store: Store, library: str, members: Sequence[Judged]) -> Umbrella:
    """In the order of the lines in its text: by api, then by number."""
    ordered = sorted(members, key=lambda each: (each.row.api, each.row.id))
    text = umbrella_report([case(store, each) for each in ordered])
    signatures = {each.row.signature: each.row.signature_text for each in ordered}
    return Umbrella(library, signatures, text.title, mark_items(text.body, list(signatures)))


def numbered(store: Store, fingerprint: str) -> BugRow | None:
    """The first row of a bug, by its fingerprint."""
    later = store.later_rows()
    return next((bug for bug in store.bugs() if bug.signature == fingerprint and bug.id not in later), None)
