"""Commands in comments on the bot's issues, such as `/nightfuzz bisect`: executed at once, or in the next fuzz job.

The bot answers people with write access alone. Each comment is handled once, and one comment of ours answers all
commands of an issue. A command is a line that begins with `/nightfuzz`, outside of code, quotations and hidden text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.github.errors import GaveUpError, RefusedError
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.github.marker import marker_of
from nightfuzz.bot.github.views import WRITERS, CommentView, IssueView
from nightfuzz.bot.issues.filings import CommandKind, CommandRequest, Filings, IssueRecord
from nightfuzz.bot.issues.labels import IGNORE, LABELS
from nightfuzz.reports.markdown import escaped
from nightfuzz.reports.text import bounded, code_blocks, span, text_lines

WORD = "/nightfuzz"
# Commands of a comment that are read; further commands are ignored.
MOST = 5
LONGEST = 65_536
SHOWN = 20
_LINE = re.compile(rf"{WORD}(?:[ \t]+(?P<name>\S+)(?P<rest>.*))?[ \t]*")
_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_COMMANDS = {
    "bisect": "finds the first build that shows the bug",
    "minimize": "tries to make the script smaller",
    "retry": "runs the script again on the newest build",
    "ignore": "stops reports of the bug",
    "upstream": "drafts a report to the library's own tracker",
}
HELP = "Commands: " + "; ".join(f"{name} ({does})" for name, does in _COMMANDS.items()) + "."
# Commands that need a fuzz job.
LATER: dict[str, CommandKind] = {"bisect": "bisect", "minimize": "minimize", "minimise": "minimize", "retry": "retry"}
# Clocks differ, and a listing may be a little old.
MARGIN = timedelta(minutes=15)
Upstream = Callable[[IssueRecord, Filings], tuple[Filings, str]]


class Command(NamedTuple):
    """A command as a comment spells it."""

    name: str  # first word, known or not; `help` for an empty command
    rest: str = ""  # text behind the name, one line


def commands(text: str) -> list[Command]:
    """Return the commands in a comment, each once."""
    # Text that follows hidden text in its line does not begin that line.
    shown = _HIDDEN.sub(lambda hidden: " " + "\n " * hidden[0].count("\n"), text[:LONGEST])
    # A fence that is never closed reaches to the end.
    code = {number for block in code_blocks(shown) for number in block.lines}
    lines = (line for number, line in enumerate(text_lines(shown)) if number not in code)
    found = (match for line in lines if (match := _LINE.fullmatch(line)))
    asked = [Command(bounded(each["name"] or "help", 40), bounded(each["rest"] or "", 80)) for each in found]
    return list(dict.fromkeys(asked))[:MOST]


@dataclass
class CommandHandler:
    """Handles the comments of a repository."""

    hub: Hub
    filings: Filings  # the memory of GitHub, with new requests added
    upstream: Upstream  # writes the draft of a report for the library's own tracker, and returns the answer
    now: datetime
    problems: list[str] = field(default_factory=list)  # steps that failed, a line each
    _allowed: dict[str, bool] = field(default_factory=dict)

    def sweep(self, issues: Sequence[IssueView]) -> None:
        """Handle the comments in our issues since the last sweep."""
        since = self.filings.swept
        for issue in issues:
            if since is None or issue.updated_at >= since - MARGIN:
                self._try_to_handle(issue.number)
        self.filings = self.filings.model_copy(update={"swept": self.now})

    def _try_to_handle(self, number: int) -> None:
        """Handle the comments of one issue.

        A refusal there, as of a locked issue, stops no other.
        """
        try:
            self.handle(number)
        except RefusedError as error:
            if error.status == 401:
                raise
            self.problems.append(f"comments of issue {number}: {error.problem}")

    def handle(self, number: int, only: int | None = None) -> None:
        """Handle the comments of an issue, or only the one with this number; then updates the one answer."""
        is_served = False
        record = self.filings.issues.get(number)
        for comment in self.hub.comments(number) if record is not None else ():
            is_new = comment.id not in self.filings.handled and comment.author != self.hub.login()
            if record is not None and is_new and only in (None, comment.id) and (asked := commands(comment.body)):
                is_served |= self._serve(record, comment, asked)
        if is_served:
            answer(self.hub, self.filings, number)

    def _serve(self, record: IssueRecord, comment: CommentView, asked: Sequence[Command]) -> bool:
        """Execute the commands of a comment.

        Returns:
            Whether its author may give commands.
        """
        is_known = comment.author in self._allowed
        if not is_known:
            self._allowed[comment.author] = self.hub.permission(comment.author) in WRITERS
        is_allowed = self._allowed[comment.author]
        for command in asked if is_allowed else ():
            kind, text = self._execute(record, command)
            request = CommandRequest(
                kind=kind,
                fingerprint=record.fingerprint,
                issue=record.number,
                comment=comment.id,
                by=comment.author,
                at=self.now,
                settled=bool(text),
                said=text[:2_000],
            )
            self.filings = self.filings.with_request(request)
        self.filings = self.filings.model_copy(update={"handled": {**self.filings.handled, comment.id: self.now}})
        # Who may not give commands gets one reaction, however often they ask.
        if is_allowed or not is_known:
            try:
                self.hub.react(comment.id, "+1" if is_allowed else "confused")
            except RefusedError as error:
                # A failed reaction is no problem: the command is executed without it, too.
                self.problems.append(f"no reaction to a comment: {error.problem}")
        return is_allowed

    def _execute(self, record: IssueRecord, command: Command) -> tuple[CommandKind, str]:
        """Execute a command.

        Returns:
            Its kind and its answer, which is empty for the work of a fuzz job.
        """
        name = command.name
        if name == "help":
            return "help", HELP
        if command.rest:
            return "help", f"`{name}` takes no argument. {HELP}"
        if name == "ignore":
            self.hub.ensure_labels(LABELS)
            self.hub.add_labels(record.number, [IGNORE])
            self.filings = self.filings.amended(record.number, self.now, teaching="ignore", taught_at=self.now)
            return "ignore", "nightfuzz stops reports of this bug. To get reports again, remove the label."
        if name not in (*LATER, "upstream"):
            return "help", f"There is no such command. {HELP}"
        if record.kind != "bug":
            return "help", f"`{name}` works in the issue of one bug, but this issue lists several bugs."
        if name in LATER:
            return LATER[name], ""
        try:
            self.filings, text = self.upstream(record, self.filings)
        except GaveUpError:
            # No answer to the command: the next run executes it.
            raise
        except UserError as error:
            text = f"refused: {error.problem}"
        return "upstream", text


def answer(hub: Hub, filings: Filings, number: int) -> None:
    """Bring the one answer in an issue up to date with all requests made there."""
    text = answer_text(filings, number)
    if text:
        hub.upsert_comment(number, marker_of("answer", str(number)), text)


def answer_text(filings: Filings, number: int) -> str:
    """Return the text of the answer, the latest command last; empty without commands."""
    given = [each for each in filings.requests.values() if each.issue == number]
    given.sort(key=lambda each: (each.comment, each.kind))
    # A name in a code span mentions no person.
    lines = [
        f"- {span(each.kind)}, asked for by {span(each.by)}: "
        f"{escaped(each.said) if each.settled else 'waits for the next run'}"
        for each in given[-SHOWN:]
    ]
    return "\n".join(["Commands in this issue:", "", *lines]) if lines else ""
