"""What the bot writes in issues: comments, and the list of an umbrella issue.

Names and versions came from workers: all of them are escaped. Items are added to a list, and nothing else of it is ever
written again. So boxes that people have checked, and whatever they have edited, stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence

from nightfuzz.bot.issues.clusters import ClusterReport
from nightfuzz.bot.issues.labels import IGNORE, KNOWN, WRONG
from nightfuzz.reports.markdown import escaped
from nightfuzz.reports.text import BODY, span

# Room for what the filing adds to a body.
ROOM = 1_000
END = "<!-- items end -->"
_BOX = "- [ ] "
# On lines of their own, or at the end of an item's: text of a worker is in the middle of lines, or indented.
_ANCHOR = re.compile(rf"^{END}$", re.MULTILINE)
_ITEM = re.compile(r"^- \[[ xX]\] .*<!-- item ([0-9a-f]{32}) -->$", re.MULTILINE)
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


def mark_items(body: str, fingerprints: Sequence[str]) -> str:
    """A rendered body whose items can be told again: the n-th one is that of the n-th fingerprint."""
    lines = body.replace("\r", "").split("\n")
    places = [place for place, line in enumerate(lines) if line.startswith(_BOX)][: len(fingerprints)]
    if not places:
        return body
    for place, fingerprint in zip(places, fingerprints, strict=False):
        lines[place] += f" <!-- item {fingerprint} -->"
    after = next(
        (place for place in range(places[-1] + 1, len(lines)) if lines[place] and not lines[place].startswith(" ")),
        len(lines),
    )
    return "\n".join([*lines[:after], END, "", *lines[after:]])


def items(body: str) -> dict[str, str]:
    """The items of a marked body by fingerprint: a line with what is indented under it."""
    anchor = _ANCHOR.search(body)
    return dict(_blocks(body[: anchor.start()])) if anchor else {}


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    starts = [*_ITEM.finditer(text)]
    ends = [*(found.start() for found in starts[1:]), len(text)]
    for found, end in zip(starts, ends, strict=False):
        yield found.group(1), text[found.start() : end].rstrip()


def chosen(body: str, kept: Container[str]) -> str:
    """A marked body with these items alone."""
    for fingerprint, block in items(body).items():
        if fingerprint not in kept:
            body = body.replace(f"{block}\n", "", 1)
    return body


def extended(body: str, more: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """An issue's body with further items, and which of them found room. Without its anchor it stays as it is."""
    # An edit in the browser brings carriage returns.
    body = body.replace("\r\n", "\n")
    anchor = _ANCHOR.search(body)
    size = BODY - ROOM - len(body)
    added: list[str] = []
    for fingerprint, block in more.items() if anchor else ():
        size -= len(block) + 1
        if size < 0:
            break
        added.append(fingerprint)
    if anchor is None or not added:
        return body, ()
    text = "".join(f"{more[fingerprint]}\n" for fingerprint in added)
    return f"{body[: anchor.start()]}{text}{body[anchor.start() :]}", tuple(added)
