"""The one comment in an issue that answers all commands given there."""

from __future__ import annotations

from nightfuzz.bot.issues.filings import Filings, Request
from nightfuzz.reports.markdown import escaped
from nightfuzz.reports.text import span

SHOWN = 20
_COMMANDS = {
    "bisect": "finds the first build that shows it",
    "minimize": "tries to make the script smaller",
    "retry": "runs the script again on the newest build",
    "ignore": "silences it",
    "upstream": "drafts a report to the library's own tracker",
}
HELP = "Commands: " + "; ".join(f"{name} ({does})" for name, does in _COMMANDS.items()) + "."
UNKNOWN = "There is no such command."
_WAITS = "waits for the next run"


def answers(filings: Filings, number: int) -> str:
    """The comment's text, the latest command last; empty where none was given."""
    given = sorted((each for each in filings.requests.values() if each.issue == number), key=_order)
    lines = [_line(each) for each in given[-SHOWN:]]
    return "\n".join(["What was asked for here:", "", *lines]) if lines else ""


def _order(request: Request) -> tuple[int, str]:
    return request.comment, request.kind


def _line(request: Request) -> str:
    """A name in a code span calls nobody."""
    said = escaped(request.said) if request.settled else _WAITS
    return f"- {span(request.kind)}, asked for by {span(request.by)}: {said}"
