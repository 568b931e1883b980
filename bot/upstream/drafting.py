"""`/nightfuzz upstream`: an issue in the user's own repository that shows what would be filed elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.github.editing import Editor
from nightfuzz.bot.github.marker import Marker, marked
from nightfuzz.bot.github.views import IssueView, RepositoryView
from nightfuzz.bot.issues.filings import Draft, Filed, Filings
from nightfuzz.bot.issues.labels import APPROVE, DRAFT, LABELS
from nightfuzz.bot.issues.wanted import Wanted, digest
from nightfuzz.bot.upstream.policies import Mode, Policy, policy_of
from nightfuzz.bot.upstream.texts import draft, refuse, text_of
from nightfuzz.reports.text import bounded


class Desk(Editor, Protocol):
    """What it takes of `bot.github.hub.Hub`."""

    def repository(self) -> RepositoryView: ...
    def create_issue(self, marker: Marker, title: str, body: str, labels: tuple[str, ...] = ()) -> IssueView: ...
    def remove_label(self, number: int, name: str) -> None: ...
    def ensure_labels(self, wanted: Mapping[str, tuple[str, str]]) -> None: ...


class Drafter:
    """What a `Listener` calls for the command `upstream`. wanted: clusters by the fingerprint of any member."""

    def __init__(
        self, hub: Desk, mode: Mode, found: dict[str, Policy], wanted: Mapping[str, Wanted], now: datetime
    ) -> None:
        self.hub, self.mode, self.policies, self.wanted, self.now = hub, mode, found, wanted, now

    def __call__(self, filed: Filed, filings: Filings) -> tuple[Filings, str]:
        """Makes the draft, or writes it anew. Raises UserError where the bug is not to be reported."""
        if self.mode == "off":
            raise UserError("reports to other repositories are off", "set the upstream policy to draft or approved")
        wanted = next((self.wanted[key] for key in filed.signatures if key in self.wanted), None)
        if wanted is None:
            raise UserError("this bug is on record no more", "wait until it is seen again")
        before = filings.drafts.get(filed.fingerprint)
        if before is not None and before.url:
            return filings, f"it is filed already: {before.url}"
        policy = policy_of(self.policies, wanted.library)
        text = text_of(wanted, "" if self.hub.repository().private else filed.url)
        refuse(wanted, policy, text)
        marker = Marker("draft", digest("draft", filed.fingerprint), (text.digest,))
        view = self._written(marker, bounded(f"Draft: {text.title}", 200), draft(text, policy, filed.number))
        made = Draft(number=view.number, source=filed.number, upstream=policy.repository, text=text.digest, at=self.now)
        return filings.with_draft(filed.fingerprint, made), f"drafted in #{view.number}"

    def _written(self, marker: Marker, title: str, body: str) -> IssueView:
        """A draft that was there is written anew, and what was approved of it counts no more."""
        self.hub.ensure_labels(LABELS)
        view = self.hub.create_issue(marker, title, body, (DRAFT,))
        if view.body.replace("\r\n", "\n") == marked(body, marker) and view.state == "open":
            return view
        self.hub.remove_label(view.number, APPROVE)
        return self.hub.edit_issue(view.number, title=title, body=marked(body, marker), state="open")
