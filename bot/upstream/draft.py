"""A report for another tracker: what the tracker takes, the report's text, and the draft that shows this text.

`/nightfuzz upstream` asks for a draft in our own repository. A draft calls nobody, and is filed to the letter.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from datetime import datetime
from fnmatch import fnmatchcase
from importlib import resources
from typing import Literal, NamedTuple

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.github.marker import digest, marked, marker_of
from nightfuzz.bot.issues.clusters import ClusterReport
from nightfuzz.bot.issues.filings import DraftRecord, Filings, IssueRecord
from nightfuzz.bot.issues.labels import APPROVE, DRAFT, LABELS
from nightfuzz.reports.issues import missing_parts
from nightfuzz.reports.markdown import escaped, fenced
from nightfuzz.reports.results import Line, Name, Names, Part
from nightfuzz.reports.text import TITLE, bounded, clean, span

# What a draft adds to the text that it shows.
LONGEST = 60_000
_BLOCK = re.compile(r"^(?P<fence>`{3,})(?:text|markdown)\n(?P<text>.*?)\n(?P=fence)$", re.MULTILINE | re.DOTALL)
Mode = Literal["off", "draft", "approved"]


class Policy(Part):
    """Rules of one tracker about reports. rule: the page that says so. security: where it takes vulnerabilities.

    refused_apis: wildcards; a bug that only shows itself in these apis is not reported.
    """

    library: Name
    repository: Name
    allowed: bool
    why: Line
    rule: Name = ""
    refused_apis: Names = ()
    security: Name = ""

    def takes(self, api: str) -> bool:
        """Whether a bug of this api is worth a report."""
        return not any(fnmatchcase(api, glob) for glob in self.refused_apis)


def policies() -> dict[str, Policy]:
    """The policies in `policies.toml`, by library."""
    content = resources.files(__package__).joinpath("policies.toml").read_text("utf-8")
    found = (Policy.model_validate(each) for each in tomllib.loads(content)["upstream"])
    return {each.library: each for each in found}


def policy_of(found: Mapping[str, Policy], library: str) -> Policy:
    """The policy of a library's tracker. Raises UserError for a library without one."""
    if library not in found:
        remedy = f"policies are known for {', '.join(sorted(found))}"
        raise UserError(f"no policy says what the tracker of {library} takes", remedy)
    return found[library]


class ReportText(NamedTuple):
    """A report as it is filed, but for the hidden line that it is found again by."""

    title: str
    body: str

    @property
    def digest(self) -> str:
        """Digest of the text that a label approves."""
        return digest("upstream", self.title, self.body)


def text_of(report: ClusterReport, tracked: str = "") -> ReportText:
    """The report of a bug for its library's tracker. tracked: the address of our own issue, where others may see it."""
    body = clean(report.body).replace("\r\n", "\n").strip()
    more = f"\n\nTracked where it was found: {tracked}" if tracked else ""
    return ReportText(bounded(report.title, TITLE), body + more)


def refuse(report: ClusterReport, policy: Policy, text: ReportText) -> None:
    """Raises UserError where the bug is not to be reported there, and says why."""
    apis = (report.api, *report.apis)
    lacking = missing_parts(f"{text.title}\n\n{text.body}", report.library)
    reasons = {
        # First, and in no words that say more.
        "it is not told in public": report.private,
        f"{policy.repository} does not want it: {policy.why}": not policy.allowed,
        "it is known already": report.known,
        "it is fixed": report.status == "fixed",
        "its input is not one that the library allows": report.validity == "invalid" or report.batched,
        f"only {', '.join(policy.refused_apis)} shows it: {policy.why}": not any(map(policy.takes, apis)),
        f"the report lacks {', '.join(lacking)}": bool(lacking),
        f"its text is longer than {LONGEST} characters, so a draft cannot show all of it": len(text.body) > LONGEST,
        "its text cannot be shown as it is": shown(draft(text, policy, 1)) != text,
    }
    for reason, holds in reasons.items():
        if holds:
            raise UserError(reason, "see docs/issues.md for what is reported upstream")


def draft(text: ReportText, policy: Policy, source: int) -> str:
    """The body of a draft. Whoever reads it sees what would be filed, each sign of it."""
    rule = f" ({policy.rule})" if policy.rule else ""
    return "\n\n".join(
        [
            f"This is what nightfuzz would file in {span(policy.repository)} about #{source}. Nothing is filed before "
            f"a person with write access has read it and given this issue the label `{APPROVE}`. Before it is filed, "
            "the newest build has to show it, and it is searched for there.",
            f"What {span(policy.repository)} says: {escaped(policy.why)}{rule}.",
            "A text that is edited here is not filed. To have it made again, ask for it with `/nightfuzz upstream` "
            f"under #{source}. To file nothing, close this issue.",
            "### Title",
            fenced(text.title, "text"),
            "### Text",
            fenced(text.body, "markdown"),
        ]
    )


def shown(body: str) -> ReportText | None:
    """The text that a draft shows now; None where it is none any more."""
    blocks = [found["text"] for found in _BLOCK.finditer(body.replace("\r\n", "\n"))]
    return ReportText(blocks[0], blocks[1]) if len(blocks) >= 2 else None


def write_draft(
    hub: Hub,
    mode: Mode,
    rules: Mapping[str, Policy],
    reports: Mapping[str, ClusterReport],
    now: datetime,
    record: IssueRecord,
    filings: Filings,
) -> tuple[Filings, str]:
    """Makes the draft of an issue's bug, or writes it anew. Returns what is remembered, and the answer for people.

    reports: by the fingerprint of any member. Raises UserError where the bug is not to be reported.
    """
    if mode == "off":
        raise UserError("reports to other repositories are off", "set the upstream policy to draft or approved")
    report = next((reports[key] for key in record.signatures if key in reports), None)
    if report is None:
        raise UserError("this bug is on record no more", "wait until it is seen again")
    before = filings.drafts.get(record.fingerprint)
    if before is not None and before.url:
        return filings, f"it is filed already: {before.url}"
    policy = policy_of(rules, report.library)
    text = text_of(report, "" if hub.is_private() else record.url)
    refuse(report, policy, text)
    marker = marker_of("draft", record.fingerprint, also=(text.digest,))
    title, body = bounded(f"Draft: {text.title}", 200), draft(text, policy, record.number)
    hub.ensure_labels(LABELS)
    view = hub.create_issue(marker, title, body, (DRAFT,))
    if view.body.replace("\r\n", "\n") != marked(body, marker) or view.state != "open":
        # What was approved of an earlier draft counts no more.
        hub.remove_label(view.number, APPROVE)
        hub.edit_issue(view.number, title=title, body=marked(body, marker), state="open")
    made = DraftRecord(number=view.number, source=record.number, upstream=policy.repository, text=text.digest, at=now)
    return filings.with_draft(record.fingerprint, made), f"drafted in #{view.number}"
