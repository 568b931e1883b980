"""What the bot says under an issue. Names and versions came from workers: all of them are escaped."""

from __future__ import annotations

from nightfuzz.bot.issues.labels import IGNORE, KNOWN, WRONG
from nightfuzz.bot.issues.wanted import Wanted
from nightfuzz.reports.markdown import escaped
from nightfuzz.reports.text import span

SHOWN_APIS = 20
_HOW_TO_SILENCE = (
    f"To hear no more of it, close it as not planned, or give it one of the labels `{IGNORE}`, `{WRONG}` or `{KNOWN}`."
)


def recurrence(wanted: Wanted) -> str:
    """The one comment that is kept up to date while the bug is seen. Depends on the cluster alone."""
    apis = tuple(dict.fromkeys((wanted.api, *wanted.apis)))
    rows = {
        "newest build that shows it": f"{escaped(wanted.seen)} ({wanted.seen_at:%Y-%m-%d})",
        "first found": escaped(wanted.since) if wanted.since else "",
        "findings": str(wanted.findings),
        "apis": _several(apis) if len(apis) > 1 else "",
        "back since": escaped(wanted.turned) if wanted.standing == "back" and wanted.turned else "",
    }
    lines = [f"| {what} | {said} |" for what, said in rows.items() if said]
    return "\n".join(["Still there. This comment is kept up to date.", "", "| | |", "|---|---|", *lines])


def _several(apis: tuple[str, ...]) -> str:
    """A table cell: a bar in a code span would end it."""
    shown = ", ".join(escaped(api) for api in apis[:SHOWN_APIS])
    return f"{shown} and {len(apis) - SHOWN_APIS} more" if len(apis) > SHOWN_APIS else shown


def fixed(wanted: Wanted) -> str:
    """Why an issue is closed."""
    return (
        f"Fixed with {span(wanted.turned)}: the script of this report runs clean there, every time in fresh processes. "
        "It is run again on later builds, and this issue is reopened should one show it again."
    )


def back(wanted: Wanted) -> str:
    """Why an issue is open again."""
    since = f" It was fixed, and is back with {span(wanted.turned)}." if wanted.standing == "back" else ""
    return f"Seen again: {span(wanted.seen)} shows it.{since}\n\n{_HOW_TO_SILENCE}"
