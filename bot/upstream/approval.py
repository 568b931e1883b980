"""Files drafts that people have approved: the exact text that they approved, once, if the bug still shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from fuzz_core.campaign.history import ordered
from fuzz_core.ir.errors import UserError
from fuzz_core.store.store import Store
from fuzz_core.triage.recheck import SHOWN, UNRUNNABLE
from nightfuzz.bot.github.errors import GaveUpError, UnsureError
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.github.marker import marker_of
from nightfuzz.bot.github.views import WRITERS, IssueView
from nightfuzz.bot.issues.clusters import ClusterReport, Umbrella
from nightfuzz.bot.issues.filings import DraftRecord, Filings
from nightfuzz.bot.issues.labels import APPROVE
from nightfuzz.bot.upstream.draft import ReportText, RulesOf, candidates, list_of, refuse, refuse_list, rules_of, shown
from nightfuzz.bot.upstream.duplicates import Duplicate, duplicates
from nightfuzz.reports.markdown import escaped
from nightfuzz.reports.text import span

AGAIN = "Ask for a new draft with `/nightfuzz upstream`."


class BuildCheck(NamedTuple):
    """Whether the newest build shows a bug every time; None: the bug's script was not run there yet."""

    is_shown: bool | None
    build: str = ""


class ApprovalResult(NamedTuple):
    """Reports that a job has filed.

    Attributes:
        filed: addresses of new reports.
        problems: a line each.
    """

    filings: Filings
    filed: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


class _RefusalError(Exception):
    """Why a draft is not filed.

    Args:
        for_good: its approval is taken away, so that only a new one counts.
    """

    def __init__(self, reason: str, for_good: bool = True, remember: str = "") -> None:
        super().__init__(reason)
        self.for_good, self.remember = for_good, remember


@dataclass(frozen=True)
class Approver:
    """Files approved drafts.

    If any call raises, the draft stays as it is for the next run.
    """

    hub: Hub
    known: RulesOf  # the rules of the tracker for an api
    reports: Mapping[str, ClusterReport]  # clusters by fingerprint
    batches: Sequence[Umbrella]  # umbrellas of all libraries
    elsewhere: Callable[[str], Hub]  # opens a tracker by its repository, or raises UserError
    verify: Callable[[str], BuildCheck]  # checks a fingerprint's script on the newest build
    now: datetime

    def review(self, filings: Filings) -> ApprovalResult:
        """Look at all drafts that carry the label of approval."""
        filed: list[str] = []
        problems: list[str] = []
        for fingerprint, draft in filings.drafts.items():
            try:
                changed = None if draft.url else self._review(fingerprint, draft)
            except GaveUpError as error:
                problems.append(error.problem)
                break
            except (UserError, UnsureError) as error:
                problems.append(f"the draft #{draft.number}: {error}")
                continue
            if changed is not None:
                filings = filings.with_draft(fingerprint, changed.model_copy(update={"at": self.now}))
                filed += [changed.url] if changed.url else []
        return ApprovalResult(filings, tuple(filed), tuple(problems))

    def _review(self, fingerprint: str, draft: DraftRecord) -> DraftRecord | None:
        """Return the draft's record once the draft is filed or refused; None if the draft waits."""
        view = self.hub.issue(draft.number)
        if view is None or view.state != "open" or APPROVE not in view.labels:
            return None
        try:
            url = self._file(fingerprint, draft, view)
        except _RefusalError as refusal:
            self._comment(draft.number, f"Not filed: {refusal}")
            if refusal.for_good:
                self.hub.remove_label(draft.number, APPROVE)
            return draft.model_copy(update={"refused": refusal.remember}) if refusal.remember != draft.refused else None
        self._comment(draft.number, f"Filed as approved: {url}")
        self.hub.edit_issue(draft.number, state="closed", state_reason="completed")
        return draft.model_copy(update={"url": url, "refused": ""})

    def _file(self, fingerprint: str, draft: DraftRecord, view: IssueView) -> str:
        """Raise _RefusalError with the first reason against it."""
        self._check_approver(draft)
        text = shown(view.body)
        if text is None or text.digest != draft.text:
            raise _RefusalError(f"the text of this draft has changed. {AGAIN}")
        if draft.under:
            return self._file_list(fingerprint, draft, text)
        report = self._current_report(fingerprint, draft, text)
        tracker = self.elsewhere(draft.upstream)
        marker = marker_of("report", fingerprint)
        # An earlier run filed the report and died before it recorded that: the report is no duplicate of itself.
        if tracker.find_issue(marker.id) is None:
            place = f"repo:{tracker.name} is:issue"
            self._check_new(draft, duplicates(report, lambda query: tracker.search_issues(f"{place} {query}", 20)))
        made = tracker.create_issue(marker, text.title, text.body)
        return self._reported(draft, made.url)

    def _file_list(self, fingerprint: str, draft: DraftRecord, text: ReportText) -> str:
        """Write the list under the tracker's umbrella issue, in place of the list of the same issue before."""
        batch = next((each for each in self.batches if list_of(each) == text), None)
        if batch is None:
            raise _RefusalError(f"the list has changed since the draft. {AGAIN}")
        try:
            rules = rules_of(batch, self.known)
            refuse_list(batch, rules, text)
        except UserError as error:
            raise _RefusalError(f"{escaped(error.problem)}.") from error
        if (rules.repository, rules.umbrella) != (draft.upstream, draft.under):
            raise _RefusalError(f"lists go to {span(f'{rules.repository}#{rules.umbrella}')} now. {AGAIN}")
        for each in batch.signatures:
            self._check_shown(each)
        tracker = self.elsewhere(draft.upstream)
        umbrella = tracker.issue(draft.under)
        if umbrella is None or umbrella.state != "open":
            raise _RefusalError(f"{span(f'{draft.upstream}#{draft.under}')} is not open.")
        made = tracker.upsert_comment(draft.under, marker_of("report", fingerprint), text.body)
        return self._reported(draft, f"{umbrella.url}#issuecomment-{made.id}")

    def _reported(self, draft: DraftRecord, url: str) -> str:
        """Name the filed report in our own issue.

        The report itself names our issue, if the issue is public.
        """
        self.hub.upsert_comment(draft.source, marker_of("reported", str(draft.source)), f"Reported: {url}")
        return url

    def _check_approver(self, draft: DraftRecord) -> None:
        """Check who applied the label: people with less than write access can apply it, too."""
        labelled = [each for each in self.hub.events(draft.number) if each.event == "labeled" and each.label == APPROVE]
        who = labelled[-1].actor if labelled else ""
        if not who or who == self.hub.login() or self.hub.permission(who) not in WRITERS:
            raise _RefusalError(f"only a person with write access can approve; {span(who or '?')} applied the label.")

    def _current_report(self, fingerprint: str, draft: DraftRecord, text: ReportText) -> ClusterReport:
        report = self.reports.get(fingerprint)
        if report is None:
            raise _RefusalError("the bug is no longer in the state.")
        try:
            rules = rules_of(report, self.known)
            refuse(report, rules, text)
        except UserError as error:
            raise _RefusalError(f"{escaped(error.problem)}.") from error
        if rules.repository != draft.upstream:
            raise _RefusalError(f"reports go to {span(rules.repository)} now. {AGAIN}")
        self._check_shown(fingerprint)
        return report

    def _check_shown(self, fingerprint: str) -> None:
        check = self.verify(fingerprint)
        if check.is_shown is None:
            raise _RefusalError("the bug was not run on the newest build yet. The next run does that.", for_good=False)
        if not check.is_shown:
            raise _RefusalError(f"the newest build, {span(check.build)}, does not show the bug every time.")

    def _check_new(self, draft: DraftRecord, found: Sequence[Duplicate]) -> None:
        """Raise UserError if the draft has duplicates that the person has not seen.

        A person who approves again with these duplicates listed says that the bug differs from them.
        """
        numbers = f"reported: {', '.join(str(each.number) for each in found)}"[:2_000]
        if found and numbers != draft.refused:
            lines = candidates(found, draft.upstream)
            again = f"If none of them is the same bug, apply `{APPROVE}` again."
            raise _RefusalError(f"the bug may be reported already:\n\n{lines}\n\n{again}", remember=numbers)

    def _comment(self, number: int, text: str) -> None:
        self.hub.upsert_comment(number, marker_of("upstream", str(number)), text)


def newest_checks(store: Store) -> Callable[[str], BuildCheck]:
    """Return a function from a fingerprint to the recorded results of the bug's script on the newest build.

    The function runs no script. A bug counts as shown if every recorded run on the newest build showed it.
    """
    targets, later, bugs = store.targets(), store.later_rows(), store.bugs()

    def check(fingerprint: str) -> BuildCheck:
        found = [bug for bug in bugs if bug.signature == fingerprint]
        if not found:
            return BuildCheck(None)
        build = ordered(targets, store.target(found[0].target).library)[-1]
        checks = [check for number in {later.get(bug.id, bug.id) for bug in found} for check in store.checks(number)]
        here = [check for check in checks if check.target == build.key and check.status != UNRUNNABLE]
        if here:
            return BuildCheck(here[-1].status == SHOWN and here[-1].hits == here[-1].runs, build.version)
        row = next((bug for bug in found if bug.target == build.key), None)
        return BuildCheck(None if row is None else row.hits == row.runs, build.version)

    return check
