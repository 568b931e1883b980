"""Commands in comments on the bot's issues, such as `/nightfuzz bisect`: executed at once, or in the next fuzz job.

Only people with write access are served. Each comment is handled once, and one comment of ours answers all commands of
an issue. A command is a line that begins with `/nightfuzz`, outside of code, quotations and hidden text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.github.errors import RefusedError
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.github.marker import marker_of
from nightfuzz.bot.github.views import WRITERS, CommentView, IssueView
from nightfuzz.bot.issues.filings import CommandRequest, Filings, IssueRecord
from nightfuzz.bot.issues.labels import IGNORE, LABELS
from nightfuzz.reports.markdown import escaped
from nightfuzz.reports.text import bounded, code_blocks, span, text_lines

WORD = "/nightfuzz"
# A comment with more than this is no request but something else.
MOST = 5
LONGEST = 65_536
SHOWN = 20
_LINE = re.compile(rf"{WORD}(?:[ \t]+(?P<name>\S+)(?P<rest>.*))?[ \t]*")
_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_COMMANDS = {
    "bisect": "finds the first build that shows it",
    "minimize": "tries to make the script smaller",
    "retry": "runs the script again on the newest build",
    "ignore": "silences it",
    "upstream": "drafts a report to the library's own tracker",
}
HELP = "Commands: " + "; ".join(f"{name} ({does})" for name, does in _COMMANDS.items()) + "."
Kind = Literal["bisect", "minimize", "retry", "ignore", "upstream", "help"]
# What a fuzz job does.
LATER: dict[str, Kind] = {"bisect": "bisect", "minimize": "minimize", "minimise": "minimize", "retry": "retry"}
# Clocks differ, and a listing may be a little old.
MARGIN = timedelta(minutes=15)
Upstream = Callable[[IssueRecord, Filings], tuple[Filings, str]]


class Command(NamedTuple):
    """name: what is asked for, known or not; `help` where nothing is. rest: what stands behind it, one line."""

    name: str
    rest: str = ""


def commands(text: str) -> list[Command]:
    """The commands in a comment, each once."""
    # What follows hidden text in its line does not begin that line.
    shown = _HIDDEN.sub(lambda hidden: " " + "\n " * hidden[0].count("\n"), text[:LONGEST])
    # A fence that is never closed reaches to the end.
    code = {number for block in code_blocks(shown) for number in block.lines}
    lines = (line for number, line in enumerate(text_lines(shown)) if number not in code)
    found = (match for line in lines if (match := _LINE.fullmatch(line)))
    asked = [Command(bounded(each["name"] or "help", 40), bounded(each["rest"] or "", 80)) for each in found]
    return list(dict.fromkeys(asked))[:MOST]


class CommandResult(NamedTuple):
    """filings: with new requests. problems: what could not be done, a line each."""

    filings: Filings
    problems: tuple[str, ...] = ()


class CommandHandler:
    """upstream: makes the draft of a report for the library's own tracker, and returns what is answered."""

    def __init__(self, hub: Hub, filings: Filings, upstream: Upstream, now: datetime) -> None:
        self.hub, self.filings, self.upstream, self.now = hub, filings, upstream, now
        self.problems: list[str] = []
        self._allowed: dict[str, bool] = {}

    def sweep(self, issues: Sequence[IssueView]) -> CommandResult:
        """Handles the comments in our issues since the last sweep."""
        since = self.filings.swept
        for issue in issues:
            if issue.number in self.filings.issues and (since is None or issue.updated_at >= since - MARGIN):
                self._handle(issue.number, self.hub.comments(issue.number))
        self.filings = self.filings.model_copy(update={"swept": self.now})
        return CommandResult(self.filings, tuple(self.problems))

    def handle_comment(self, number: int, comment: int) -> CommandResult:
        """Handles one comment of an issue."""
        if number in self.filings.issues:
            self._handle(number, [each for each in self.hub.comments(number) if each.id == comment])
        return CommandResult(self.filings, tuple(self.problems))

    def _handle(self, number: int, comments: Sequence[CommentView]) -> None:
        """Handles the comments; then brings the one answer up to date."""
        is_served = False
        for comment in comments:
            is_new = comment.id not in self.filings.handled and comment.author != self.hub.login()
            if is_new and (asked := commands(comment.body)):
                is_served |= self._serve(self.filings.issues[number], comment, asked)
        if is_served:
            answer(self.hub, self.filings, number)

    def _serve(self, record: IssueRecord, comment: CommentView, asked: Sequence[Command]) -> bool:
        """Whether the author may give commands."""
        is_known = comment.author in self._allowed
        if not is_known:
            self._allowed[comment.author] = self.hub.permission(comment.author) in WRITERS
        is_allowed = self._allowed[comment.author]
        for command in asked if is_allowed else ():
            self._obey(record, comment, command)
        self.filings = self.filings.model_copy(update={"handled": {**self.filings.handled, comment.id: self.now}})
        # Who may not give commands gets one reaction, however often they ask.
        if is_allowed or not is_known:
            try:
                self.hub.react(comment.id, "+1" if is_allowed else "confused")
            except RefusedError as error:
                # A courtesy: what was asked is done without it, too.
                self.problems.append(f"no reaction to a comment: {error.problem}")
        return is_allowed

    def _obey(self, record: IssueRecord, comment: CommentView, command: Command) -> None:
        later = LATER.get(command.name) if record.kind == "bug" and not command.rest else None
        kind, text = (later, "") if later else self._execute(record, command)
        request = CommandRequest(
            kind=kind,
            fingerprint=record.fingerprint,
            issue=record.number,
            comment=comment.id,
            by=comment.author,
            at=self.now,
            settled=later is None,
            said=text[:2_000],
        )
        self.filings = self.filings.with_request(request)

    def _execute(self, record: IssueRecord, command: Command) -> tuple[Kind, str]:
        """What was done, and the answer."""
        if command.rest and command.name != "help":
            return "help", f"`{command.name}` takes nothing behind it. {HELP}"
        if command.name == "ignore":
            self.hub.ensure_labels(LABELS)
            self.hub.add_labels(record.number, [IGNORE])
            self.filings = self.filings.amended(record.number, self.now, teaching="ignore", taught_at=self.now)
            return "ignore", "no more is said of this. Take the label away to hear of it again."
        if command.name == "upstream" and record.kind == "bug":
            try:
                self.filings, text = self.upstream(record, self.filings)
            except UserError as error:
                text = f"refused: {error.problem}"
            return "upstream", text
        if record.kind != "bug" and command.name in (*LATER, "upstream"):
            return "help", f"`{command.name}` is about one bug, and this is a list of several."
        return "help", HELP if command.name == "help" else f"There is no such command. {HELP}"


def answer(hub: Hub, filings: Filings, number: int) -> None:
    """Brings the one answer in an issue up to date with all requests made there."""
    text = answer_text(filings, number)
    if text:
        hub.upsert_comment(number, marker_of("answer", str(number)), text)


def answer_text(filings: Filings, number: int) -> str:
    """The text of the one answer, the latest command last; empty where no command was given."""
    given = [each for each in filings.requests.values() if each.issue == number]
    given.sort(key=lambda each: (each.comment, each.kind))
    # A name in a code span calls nobody.
    lines = [
        f"- {span(each.kind)}, asked for by {span(each.by)}: "
        f"{escaped(each.said) if each.settled else 'waits for the next run'}"
        for each in given[-SHOWN:]
    ]
    return "\n".join(["What was asked for here:", "", *lines]) if lines else ""
