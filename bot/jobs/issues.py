"""Issues of a run: from the merged state through a plan to GitHub, people's comments heard, drafts filed upstream."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from fuzz_core.adapters.disclosure import disclosure_of
from fuzz_core.campaign.history import Came, came_with
from fuzz_core.ir.errors import UserError
from fuzz_core.store.checks import BugTrial
from fuzz_core.store.records import BugRow
from fuzz_core.store.statefile import open_store
from fuzz_core.store.store import Store
from nightfuzz.bot.action.inputs import Inputs
from nightfuzz.bot.commands import CommandHandler, answer
from nightfuzz.bot.github.auth import TokenAuth
from nightfuzz.bot.github.errors import RERUN, GaveUpError, RefusedError
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.issues.clusters import (
    ClusterReport,
    Umbrella,
    by_fingerprint,
    cluster_reports,
    first_row,
    umbrellas,
)
from nightfuzz.bot.issues.filings import CommandRequest, Filings, merged
from nightfuzz.bot.issues.health import update_health
from nightfuzz.bot.issues.plan import Create, IssuePlan, Rules, plan
from nightfuzz.bot.issues.writer import WriteReport, carry_out, load_issues
from nightfuzz.bot.jobs.context import WorkflowEvent, secret
from nightfuzz.bot.state.place import FILINGS, StateStorage, revise
from nightfuzz.bot.state.update import fetch_state
from nightfuzz.bot.upstream.approval import ApprovalResult, Approver, newest_checks
from nightfuzz.bot.upstream.draft import write_draft
from nightfuzz.reports.text import bounded

SHOWN = 20
LINE = 200
_LATER = re.compile(rb'\s*\{\s*"schema"\s*:\s*"nightfuzz-filings/(?!1")\d+"')


class FilingReport(NamedTuple):
    """The outcome of filing."""

    notes: tuple[str, ...]  # lines for the summary
    error: UserError | None = None  # reason why work is left to be done on GitHub
    waiting: str = ""  # says how many causes wait for an issue because of the day's limit; empty if no cause waits


def begun(run: str, clock: Callable[[], datetime]) -> Callable[[bytes], bytes]:
    """Return a change of the filings that notes, together with the state, that all of a run is still to be filed."""

    def note(data: bytes) -> bytes:
        before = read(data)
        left = before.status.left if before.status is not None else ()
        return before.with_left(run, clock(), *left, f"what run {run} has found").to_json().encode()

    return note


def file_issues(
    inputs: Inputs, event: WorkflowEvent, hub: Hub, place: StateStorage, state: Path, clock: Callable[[], datetime]
) -> FilingReport:
    """Bring the issues up to the state, and record the work that is left to be done.

    The run claims each bug before it files the bug.
    """
    run = event.run
    with open_store(state) as store:
        clusters, batches = cluster_reports(store), umbrellas(store)
    before = remembered(place)
    existing, gone = load_issues(hub, before)
    # Comments are read first, so that a bug that people have silenced is not reported again.
    heard = _handler(hub, inputs, before, clusters, batches, clock())
    heard.sweep(existing)
    existing, gone = load_issues(hub, heard.filings) if heard.filings.requests else (existing, gone)
    rules = Rules(daily=inputs.settings.max_new_issues, run=run, login=hub.login())
    first = plan(clusters, existing, heard.filings, rules, clock(), batches, gone)
    new = [action.marker.id for action in first.actions if isinstance(action, Create)]
    claimed = revised(place, lambda now: merged(now, heard.filings).with_claims(new, run, clock()), "claims")
    ours = plan(clusters, existing, claimed, rules, clock(), batches, gone)
    done = carry_out(hub, ours, claimed, clock)
    there, left = ApprovalResult(done.filings), [*done.left]
    try:
        with open_store(state, read_only=True) as store:
            there = ApprovalResult(answer_requests(hub, store, done.filings, clock()))
            there = _file_upstream(inputs, event, hub, store, clusters, batches, there.filings, clock())
    except (GaveUpError, RefusedError) as error:
        # Actions that GitHub has executed are remembered all the same.
        left.append(f"answers to comments: {error.problem}")
    mine = _without_claims(there.filings, run)
    revised(place, lambda now: merged(_without_claims(now, run), mine).with_left(run, clock(), *left), "filed")
    filed_there = [f"filed upstream: {url}" for url in there.filed]
    earlier = [] if before.status is None else [f"left by an earlier run: {line}" for line in before.status.left[:-1]]
    waiting = _waiting(ours, done, rules)
    notes = (*earlier, *_notes(ours, done, left, waiting), *heard.problems, *filed_there, *there.problems)
    return FilingReport(notes, _unfinished(len(ours.actions), done, left), waiting)


def _waiting(planned: IssuePlan, done: WriteReport, rules: Rules) -> str:
    if not planned.waiting:
        return ""
    new = len(done.filed) + len(planned.waiting)
    return (
        f"{new} new causes: {len(done.filed)} have an issue now, {len(planned.waiting)} wait for another day, "
        f"as max-new-issues = {rules.daily} allows no more in 24 hours"
    )


def _unfinished(planned: int, done: WriteReport, left: Sequence[str]) -> UserError | None:
    if not left:
        return None
    why = bounded((*done.problems, *left)[0], LINE)
    return UserError(f"{len(left)} of {planned} changes are not on GitHub yet (the state lists them): {why}", RERUN)


def listen_job(
    inputs: Inputs, event: WorkflowEvent, hub: Hub, place: StateStorage, clock: Callable[[], datetime]
) -> tuple[str, ...]:
    """Execute the commands in the event's comment, or note them for the next fuzz job.

    Returns:
        Lines for the summary.
    """
    if not event.comment:
        raise UserError(
            "this run was not started by a comment",
            "use the mode `listen` only in a workflow with the trigger `on: issue_comment`",
        )
    before = remembered(place)
    if event.issue not in before.issues:
        return (f"issue {event.issue} is not from the bot: no work to do",)
    with tempfile.TemporaryDirectory(prefix="nightfuzz-listen-") as name:
        path = Path(name) / "state.db"
        fetch_state(place, path)
        clusters: list[ClusterReport] = []
        batches: list[Umbrella] = []
        if path.exists():
            with open_store(path) as store:
                clusters, batches = cluster_reports(store), umbrellas(store)
    heard = _handler(hub, inputs, before, clusters, batches, clock())
    heard.handle(event.issue, event.comment)
    revised(place, lambda now: merged(now, heard.filings), f"comment {event.comment}")
    health = update_health(hub, (), event.links.report, is_night=False)
    return (f"comment {event.comment} in issue {event.issue} is handled", *heard.problems, *health)


def _handler(
    hub: Hub,
    inputs: Inputs,
    filings: Filings,
    clusters: Sequence[ClusterReport],
    batches: Sequence[Umbrella],
    now: datetime,
) -> CommandHandler:
    """Return the handler of commands in comments; `/nightfuzz upstream` writes a draft."""
    draft = partial(write_draft, hub, inputs.upstream, disclosure_of, by_fingerprint(clusters), batches, now)
    return CommandHandler(hub, filings, draft, now)


def _file_upstream(
    inputs: Inputs,
    event: WorkflowEvent,
    hub: Hub,
    store: Store,
    clusters: Sequence[ClusterReport],
    batches: Sequence[Umbrella],
    filings: Filings,
    now: datetime,
) -> ApprovalResult:
    """File approved drafts in the libraries' own trackers, if the input `upstream` allows that."""
    if inputs.upstream != "approved" or not filings.drafts:
        return ApprovalResult(filings)

    def opened(repository: str) -> Hub:
        if inputs.upstream_token is None:
            raise UserError(
                f"there is no token to write to {repository}: the input upstream-token is empty",
                "store a token that may write there as a secret, and give it as the input upstream-token",
            )
        # A token for the other repository has no rights in our own repository: our own hub makes the claims.
        return Hub.open(TokenAuth(secret(inputs.upstream_token)), repository, event.api, home=hub)

    approver = Approver(hub, disclosure_of, by_fingerprint(clusters), batches, opened, newest_checks(store), now)
    return approver.review(filings)


def read(data: bytes) -> Filings:
    """Read the filings of a state storage.

    Raises:
        UserError: unreadable filings.
    """
    try:
        return Filings.model_validate_json(data) if data.strip() else Filings()
    except ValidationError as error:
        if _LATER.match(data[:LINE]):
            raise UserError(
                f"{FILINGS} in the state was written by a later nightfuzz",
                "use that version of nightfuzz, or a newer one",
            ) from error
        raise UserError(
            f"{FILINGS} in the state is damaged or has another format",
            f"delete the file {FILINGS} from the state: nightfuzz finds its issues again by their markers",
        ) from error


def remembered(place: StateStorage) -> Filings:
    """Load the filings of a state storage; empty filings where there is no state yet."""
    snapshot = place.load()
    return Filings() if snapshot is None else read(snapshot.files.get(FILINGS, b""))


def revised(place: StateStorage, change: Callable[[Filings], Filings], what: str) -> Filings:
    """Change the place's memory of issues; `change` is called again if another run was faster."""
    return read(revise(place, FILINGS, lambda data: change(read(data)).to_json().encode(), what))


def _without_claims(filings: Filings, run: str) -> Filings:
    """Return the filings without this run's claims: each is filed by now, or free for other runs."""
    return filings.model_copy(update={"claims": {key: each for key, each in filings.claims.items() if each.run != run}})


def _notes(planned: IssuePlan, done: WriteReport, left: Sequence[str], waiting: str) -> Iterator[str]:
    counts = ", ".join(f"{count} {name}" for name, count in sorted(done.counts.items())) or "no action"
    yield f"issues: {counts}"
    for filed in done.filed[:SHOWN]:
        yield f"new issue {filed.number}: {bounded(filed.title, LINE)}"
    if planned.waiting:
        yield waiting
        yield from (f"waiting: {bounded(each.title, LINE)}" for each in planned.waiting[:SHOWN])
    if planned.silent:
        yield f"{planned.silent} causes are known, or people asked for no reports of them"
    if planned.private:
        yield f"{planned.private} private causes: not published"
    yield from (bounded(line, LINE) for line in (*planned.notes, *done.problems))
    yield from (f"left for the next run: {bounded(line, LINE)}" for line in left[:SHOWN])


def answer_requests(hub: Hub, store: Store, filings: Filings, now: datetime) -> Filings:
    """Settle requests that the state has an answer to, and bring the answers in their issues up to date."""
    touched = set()
    for request in filings.waiting:
        bug = first_row(store, request.fingerprint)
        text = "this bug is no longer on record" if bug is None else _answer(store, bug, request)
        if text:
            filings = filings.with_answer(request.key, text, now)
            touched.add(request.issue)
    for number in sorted(touched):
        answer(hub, filings, number)
    return filings


def _answer(store: Store, bug: BugRow, request: CommandRequest) -> str:
    """Return the answer; empty before the work is done."""
    if request.kind == "bisect":
        return bisected(came_with(store, bug.id))
    checks = [check for check in store.checks(bug.id) if datetime.fromisoformat(check.checked_at) > request.at]
    if request.kind == "retry" and checks:
        last = checks[-1]
        return f"{last.status} on {store.target(last.target).version}: {last.hits} of {last.runs} runs"
    if request.kind == "minimize":
        return "the script is minimised: nightfuzz found no smaller script that shows the bug" if bug.minimised else ""
    return ""


def bisected(came: Came) -> str:
    """Return the two builds between which a bug appeared; empty before the first bisection."""
    if came.bad is None:
        return f"{came.tried} builds tried, no build shows the bug" if came.tried else ""
    good = f"last good: {_on(came.good)}" if came.good else "no tested older build is without the bug"
    return f"first bad: {_on(came.bad)}; {good}; {came.tried} builds tried"


def _on(probe: BugTrial) -> str:
    return f"{probe.build} ({probe.hits} of {probe.runs} runs)"
