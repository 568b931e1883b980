"""Files what people have approved: the very text that they approved, once, and only what still holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.github.editing import Editor
from nightfuzz.bot.github.errors import GaveUpError, UnsureError
from nightfuzz.bot.github.marker import Marker
from nightfuzz.bot.github.views import CommentView, EventView, IssueView
from nightfuzz.bot.issues.filings import Draft, Filings
from nightfuzz.bot.issues.labels import APPROVE
from nightfuzz.bot.issues.wanted import Wanted, digest
from nightfuzz.bot.upstream.duplicates import Candidate, duplicates
from nightfuzz.bot.upstream.policies import Mode, Policy, policy_of
from nightfuzz.bot.upstream.texts import Text, refuse, shown
from nightfuzz.reports.markdown import escaped
from nightfuzz.reports.text import span

WRITERS = ("admin", "maintain", "write")
SHOWN_CANDIDATES = 10


class Verified(NamedTuple):
    """What the newest build does with a bug's script: shows it every time, or not. `unknown`: was not run there yet."""

    status: Literal["shown", "clean", "unknown"]
    build: str = ""


class Office(Editor, Protocol):
    """What it takes of `bot.github.hub.Hub`."""

    def login(self) -> str: ...
    def issue(self, number: int) -> IssueView | None: ...
    def events(self, number: int) -> list[EventView]: ...
    def permission(self, login: str) -> str: ...
    def remove_label(self, number: int, name: str) -> None: ...
    def upsert_comment(self, number: int, marker: Marker, body: str) -> CommentView: ...


class Tracker(Protocol):
    """What it takes of `bot.upstream.elsewhere.Elsewhere`."""

    def search(self, query: str) -> list[IssueView]: ...
    def find(self, marker: Marker) -> IssueView | None: ...
    def create(self, marker: Marker, title: str, body: str) -> IssueView: ...


class Reviewed(NamedTuple):
    """filed: addresses of new reports. problems: a line each."""

    filings: Filings
    filed: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


class _No(Exception):  # noqa: N818 - an answer, no error
    """Why a draft is not filed. for_good: its approval is taken away, so that only a new one counts."""

    def __init__(self, reason: str, for_good: bool = True, remember: str = "") -> None:
        super().__init__(reason)
        self.reason, self.for_good, self.remember = reason, for_good, remember


class Approver:
    """elsewhere: opens a tracker by its repository, or raises UserError. verify: what the newest build does, by
    fingerprint. Whatever raises leaves the draft as it is, for the next run."""

    def __init__(
        self,
        hub: Office,
        mode: Mode,
        found: Mapping[str, Policy],
        wanted: Mapping[str, Wanted],
        elsewhere: Callable[[str], Tracker],
        verify: Callable[[str], Verified],
        now: datetime,
    ) -> None:
        self.hub, self.mode, self.policies, self.wanted = hub, mode, dict(found), wanted
        self.elsewhere, self.verify, self.now = elsewhere, verify, now

    def review(self, filings: Filings) -> Reviewed:
        """Looks at all drafts that carry the label of approval."""
        filed: list[str] = []
        problems: list[str] = []
        for fingerprint, draft in filings.drafts.items():
            try:
                changed = None if draft.url else self._reviewed(fingerprint, draft)
            except (UserError, UnsureError) as error:
                problems.append(f"the draft #{draft.number}: {error}")
                continue
            except GaveUpError as error:
                problems.append(str(error))
                break
            if changed is not None:
                filings = filings.with_draft(fingerprint, changed.model_copy(update={"at": self.now}))
                filed += [changed.url] if changed.url else []
        return Reviewed(filings, tuple(filed), tuple(problems))

    def _reviewed(self, fingerprint: str, draft: Draft) -> Draft | None:
        """The draft's record once it is filed or refused; None where nothing has changed."""
        view = self.hub.issue(draft.number)
        if view is None or view.state != "open" or APPROVE not in view.labels:
            return None
        try:
            url = self._filed(fingerprint, draft, view)
        except _No as no:
            self._say(draft.number, f"Not filed: {no.reason}")
            if no.for_good:
                self.hub.remove_label(draft.number, APPROVE)
            return draft.model_copy(update={"refused": no.remember}) if no.remember != draft.refused else None
        self._say(draft.number, f"Filed as approved: {url}")
        self.hub.edit_issue(draft.number, state="closed", state_reason="completed")
        return draft.model_copy(update={"url": url, "refused": ""})

    def _filed(self, fingerprint: str, draft: Draft, view: IssueView) -> str:
        """Raises _No with the first reason against it."""
        self._check_who(draft)
        text = self._approved_text(draft, view)
        wanted = self._still_wanted(fingerprint, draft, text)
        tracker = self.elsewhere(draft.upstream)
        marker = Marker("report", digest("report", fingerprint))
        # Filed by a run that did not live to say so: it is no duplicate of itself.
        if tracker.find(marker) is None:
            self._check_new(draft, duplicates(wanted, tracker.search))
        made = tracker.create(marker, text.title, text.body)
        self._link(draft.source, made.url)
        return made.url

    def _check_who(self, draft: Draft) -> None:
        """Who applied the label: somebody with less than write access can, too."""
        if self.mode != "approved":
            raise _No(f"the upstream policy is `{self.mode}`. A person can file the text by hand.", for_good=False)
        labelled = [each for each in self.hub.events(draft.number) if each.event == "labeled" and each.label == APPROVE]
        who = labelled[-1].actor if labelled else ""
        if not who or who == self.hub.login() or self.hub.permission(who) not in WRITERS:
            raise _No(f"the label counts where a person with write access has applied it; this was {span(who or '?')}.")

    def _approved_text(self, draft: Draft, view: IssueView) -> Text:
        text = shown(view.body)
        if text is None or text.digest != draft.text:
            raise _No("the text here is not the one that was drafted. Ask for it again with `/nightfuzz upstream`.")
        return text

    def _still_wanted(self, fingerprint: str, draft: Draft, text: Text) -> Wanted:
        wanted = self.wanted.get(fingerprint)
        if wanted is None:
            raise _No("the bug is on record no more.")
        try:
            policy = policy_of(self.policies, wanted.library)
            refuse(wanted, policy, text)
        except UserError as error:
            raise _No(f"{escaped(error.problem)}.") from error
        if policy.repository != draft.upstream:
            raise _No(f"reports go to {span(policy.repository)} now. Ask for it again with `/nightfuzz upstream`.")
        verified = self.verify(fingerprint)
        if verified.status == "unknown":
            raise _No("it waits to be run on the newest build. The next run does that.", for_good=False)
        if verified.status == "clean":
            raise _No(f"the newest build, {span(verified.build)}, does not show it every time.")
        return wanted

    def _check_new(self, draft: Draft, found: Sequence[Candidate]) -> None:
        """Approved again, now that these are known, means that they are something else."""
        numbers = f"reported: {', '.join(str(each.number) for each in found)}"[:2_000]
        if found and numbers != draft.refused:
            # In code, so that nobody there hears of it.
            listed = [f"- {span(f'{draft.upstream}#{each.number}')} ({each.why}): {span(each.title)}" for each in found]
            more = [f"- and {len(found) - SHOWN_CANDIDATES} more"] if len(found) > SHOWN_CANDIDATES else []
            lines = "\n".join([*listed[:SHOWN_CANDIDATES], *more])
            again = f"Where none of them is the same bug, apply `{APPROVE}` again."
            raise _No(f"it may be reported already:\n\n{lines}\n\n{again}", remember=numbers)

    def _link(self, number: int, url: str) -> None:
        """In the bug's own issue; the report itself names that where it is public."""
        self.hub.upsert_comment(number, Marker("reported", digest("reported", str(number))), f"Reported: {url}")

    def _say(self, number: int, text: str) -> None:
        self.hub.upsert_comment(number, Marker("upstream", digest("upstream", str(number))), text)
