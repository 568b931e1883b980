"""What the bot says under an issue. Names and versions came from workers: all of them are escaped."""

from __future__ import annotations

from nightfuzz.bot.issues.clusters import ClusterReport
from nightfuzz.bot.issues.labels import IGNORE, KNOWN, WRONG
from nightfuzz.reports.markdown import escaped
from nightfuzz.reports.text import span

SHOWN_APIS = 20
_HOW_TO_SILENCE = (
    f"To hear no more of it, close it as not planned, or give it one of the labels `{IGNORE}`, `{WRONG}` or `{KNOWN}`."
)


def recurrence(cluster: ClusterReport) -> str:
    """The one comment that is kept up to date while the bug is seen. Depends on the cluster alone."""
    apis = tuple(dict.fromkeys((cluster.api, *cluster.apis)))
    rows = {
        "newest build that shows it": f"{escaped(cluster.seen)} ({cluster.seen_at:%Y-%m-%d})",
        "first found": escaped(cluster.since) if cluster.since else "",
        "findings": str(cluster.findings),
        "apis": _several(apis) if len(apis) > 1 else "",
        "back since": escaped(cluster.turned) if cluster.standing == "back" and cluster.turned else "",
    }
    lines = [f"| {name} | {value} |" for name, value in rows.items() if value]
    return "\n".join(["Still there. This comment is kept up to date.", "", "| | |", "|---|---|", *lines])


def _several(apis: tuple[str, ...]) -> str:
    """A table cell: a bar in a code span would end it."""
    shown = ", ".join(escaped(api) for api in apis[:SHOWN_APIS])
    return f"{shown} and {len(apis) - SHOWN_APIS} more" if len(apis) > SHOWN_APIS else shown


def fixed(cluster: ClusterReport) -> str:
    """Why an issue is closed."""
    return (
        f"Fixed with {span(cluster.turned)}: the script of this report runs clean there, every time in fresh "
        "processes. It is run again on later builds, and this issue is reopened should one show it again."
    )


def back(cluster: ClusterReport) -> str:
    """Why an issue is open again."""
    since = f" It was fixed, and is back with {span(cluster.turned)}." if cluster.standing == "back" else ""
    return f"Seen again: {span(cluster.seen)} shows it.{since}\n\n{_HOW_TO_SILENCE}"
