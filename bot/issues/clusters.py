"""What the state says about clusters of bugs, as issues are planned from it. Nothing here knows GitHub."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from packaging.version import InvalidVersion, Version

Standing = Literal["open", "fixed", "back"]
_WORST = {"back": 0, "open": 1, "fixed": 2}


class ClusterReport(NamedTuple):
    """One cluster: what its issue says, and where it stands.

    signatures: texts by fingerprint, of all members on record, known ones too; the first is the simplest's. title,
    body: the report, rendered. seen, seen_at: the newest build that shows it, and when that was noticed. turned: the
    build that fixed it, or with which it is back. rank: smaller is more urgent. private: counted alone. known: an
    entry of the registry matches. batched: a line of the umbrella instead of an issue of its own.
    """

    library: str
    signatures: Mapping[str, str]
    title: str
    body: str
    api: str
    kind: str
    grade: str
    seen: str
    seen_at: datetime
    findings: int = 1
    apis: Sequence[str] = ()
    since: str = ""
    standing: Standing = "open"
    turned: str = ""
    rank: tuple[int, ...] = ()
    validity: str = "valid"
    regression: bool = False
    private: bool = False
    known: bool = False
    batched: bool = False

    @property
    def fingerprint(self) -> str:
        """That of the simplest member."""
        return next(iter(self.signatures))

    @property
    def urgency(self) -> tuple[tuple[int, ...], str]:
        """A total order, the most urgent first."""
        return self.rank, self.fingerprint


class Umbrella(NamedTuple):
    """The crashes on corner-case arguments of one library, one per cluster.

    signatures: texts by fingerprint, in the order of the lines in the list. body: `reports.issues.umbrella_report`,
    its items marked by `bot.issues.texts.mark_items`.
    """

    library: str
    signatures: Mapping[str, str]
    title: str
    body: str


def by_fingerprint(clusters: Iterable[ClusterReport]) -> dict[str, ClusterReport]:
    """Each cluster under the fingerprints of all its members."""
    return {key: each for each in clusters for key in each.signatures}


def newer(build: str, than: str) -> bool:
    """Whether a version is of a later build; False where one of them is none."""
    try:
        return Version(Version(build).public) > Version(Version(than).public)
    except InvalidVersion:
        return False


def newest(builds: Sequence[str]) -> str:
    """The latest of some versions, the first where that is not known; empty where there are none."""
    found = ""
    for build in builds:
        found = build if not found or newer(build, found) else found
    return found


def joined(clusters: Sequence[ClusterReport]) -> ClusterReport:
    """Clusters that share an issue, as one: the most urgent's, with what all of them show.

    It is fixed, known or batched if all are, and private if one is.
    """
    first = min(clusters, key=lambda each: each.urgency)
    worst = min(clusters, key=lambda each: (_WORST[each.standing], each.urgency))
    shown = [each for each in clusters if each.standing == worst.standing]
    return first._replace(
        signatures={key: text for each in (first, *clusters) for key, text in each.signatures.items()},
        seen=newest([each.seen for each in shown]),
        seen_at=max(each.seen_at for each in shown),
        findings=sum(each.findings for each in clusters),
        apis=tuple(dict.fromkeys(api for each in clusters for api in (each.api, *each.apis))),
        standing=worst.standing,
        turned=newest([each.turned for each in shown if each.turned]),
        regression=any(each.regression for each in shown),
        private=any(each.private for each in clusters),
        known=all(each.known for each in clusters),
        batched=all(each.batched for each in clusters),
    )
