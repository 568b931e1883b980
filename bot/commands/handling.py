"""Does what people ask for in comments on the bot's issues: at once where that is possible, else in the next fuzz job.

Only people with write access are heard. Each comment is handled once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, Protocol

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.commands.answering import HELP, UNKNOWN, answers
from nightfuzz.bot.commands.parsing import Command, commands
from nightfuzz.bot.github.errors import RefusedError
from nightfuzz.bot.github.marker import Marker
from nightfuzz.bot.github.views import CommentView, IssueView
from nightfuzz.bot.issues.filings import Filed, Filings, Request
from nightfuzz.bot.issues.labels import IGNORE, LABELS
from nightfuzz.bot.issues.wanted import digest

WRITERS = ("admin", "maintain", "write")
Kind = Literal["bisect", "minimize", "retry", "ignore", "upstream", "help"]
LATER: dict[str, Kind] = {
    "bisect": "bisect", "minimize": "minimize", "minimise": "minimize", "retry": "retry",
}  # fmt: skip
# Clocks differ, and a listing may be a little old.
MARGIN = timedelta(minutes=15)


class Room(Protocol):
    """What it takes of `bot.github.hub.Hub`."""

    def login(self) -> str: ...
    def comments(self, number: int) -> list[CommentView]: ...
    def permission(self, login: str) -> str: ...
    def react(self, comment: int, content: str) -> None: ...
    def upsert_comment(self, number: int, marker: Marker, body: str) -> CommentView: ...
    def add_labels(self, number: int, names: Iterable[str]) -> None: ...
    def ensure_labels(self, wanted: dict[str, tuple[str, str]]) -> None: ...


Upstream = Callable[[Filed, Filings], tuple[Filings, str]]


class Heard(NamedTuple):
    """filings: with new requests. problems: what could not be done, a line each."""

    filings: Filings
    problems: tuple[str, ...] = ()


class Listener:
    """upstream: what makes the draft of a report for the library's own tracker, and says so."""

    def __init__(self, hub: Room, filings: Filings, upstream: Upstream, now: datetime) -> None:
        self.hub, self.filings, self.upstream, self.now = hub, filings, upstream, now
        self.problems: list[str] = []
        self._allowed: dict[str, bool] = {}

    def sweep(self, issues: Sequence[IssueView]) -> Heard:
        """Handles what was said in our issues since the last sweep."""
        since = self.filings.swept
        for issue in issues:
            if issue.number in self.filings.issues and (since is None or issue.updated_at >= since - MARGIN):
                self._handle(issue.number, self.hub.comments(issue.number))
        self.filings = self.filings.model_copy(update={"swept": self.now})
        return Heard(self.filings, tuple(self.problems))

    def hear(self, number: int, comment: int) -> Heard:
        """Handles one comment that GitHub has told of."""
        if number in self.filings.issues:
            self._handle(number, [each for each in self.hub.comments(number) if each.id == comment])
        return Heard(self.filings, tuple(self.problems))

    def _handle(self, number: int, comments: Sequence[CommentView]) -> None:
        """All of them; then the one answer is brought up to date."""
        filed = self.filings.issues[number]
        spoken = [each for each in comments if each.id not in self.filings.handled and each.author != self.hub.login()]
        asked = [(each, found) for each in spoken if (found := commands(each.body))]
        done = [self._handled(filed, comment, found) for comment, found in asked]
        if any(done):
            answer(self.hub, self.filings, number)

    def _handled(self, filed: Filed, comment: CommentView, asked: Sequence[Command]) -> bool:
        known = comment.author in self._allowed
        allowed = self._is_allowed(comment.author)
        if allowed:
            for command in asked:
                self._obey(filed, comment, command)
        self.filings = self.filings.model_copy(update={"handled": {**self.filings.handled, comment.id: self.now}})
        # Whoever is not heard hears that once, however often they ask.
        if allowed or not known:
            self._react(comment, "+1" if allowed else "confused")
        return allowed

    def _is_allowed(self, author: str) -> bool:
        if author not in self._allowed:
            self._allowed[author] = self.hub.permission(author) in WRITERS
        return self._allowed[author]

    def _react(self, comment: CommentView, content: str) -> None:
        """A courtesy: what was asked is done without it, too."""
        try:
            self.hub.react(comment.id, content)
        except RefusedError as error:
            self.problems.append(f"no reaction to a comment: {error.problem}")

    def _obey(self, filed: Filed, comment: CommentView, command: Command) -> None:
        later = LATER.get(command.name) if filed.kind == "bug" and not command.rest else None
        kind, said = (later, "") if later else self._at_once(filed, command)
        request = Request(
            kind=kind,
            fingerprint=filed.fingerprint,
            issue=filed.number,
            comment=comment.id,
            by=comment.author,
            at=self.now,
            settled=later is None,
            said=said[:2_000],
        )
        self.filings = self.filings.with_request(request)

    def _at_once(self, filed: Filed, command: Command) -> tuple[Kind, str]:
        """What was done, and what is said of it."""
        if command.rest and command.name != "help":
            return "help", f"`{command.name}` takes nothing behind it. {HELP}"
        if command.name == "ignore":
            self.hub.ensure_labels(LABELS)
            self.hub.add_labels(filed.number, [IGNORE])
            self.filings = self.filings.amended(filed.number, self.now, teaching="ignore", taught_at=self.now)
            return "ignore", "no more is said of this. Take the label away to hear of it again."
        if command.name == "upstream" and filed.kind == "bug":
            return "upstream", self._upstream(filed)
        if filed.kind != "bug" and command.name in (*LATER, "upstream"):
            return "help", f"`{command.name}` is about one bug, and this is a list of several."
        return "help", HELP if command.name == "help" else f"{UNKNOWN} {HELP}"

    def _upstream(self, filed: Filed) -> str:
        try:
            self.filings, said = self.upstream(filed, self.filings)
        except UserError as error:
            return f"refused: {error.problem}"
        return said


def answer(hub: Room, filings: Filings, number: int) -> None:
    """Brings the one answer in an issue up to date with all requests made there."""
    text = answers(filings, number)
    if text:
        hub.upsert_comment(number, Marker("answer", digest("answer", str(number))), text)
