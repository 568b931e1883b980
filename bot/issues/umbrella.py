"""The list of an umbrella issue. The bot adds items to the list, and never writes another part of the issue again.

So people's edits and checked boxes stay.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence

from nightfuzz.reports.text import BODY

# Room for what the filing adds to a body.
ROOM = 1_000
END = "<!-- items end -->"
_BOX = "- [ ] "
# On lines of their own, or at the end of an item's: text of a worker is in the middle of lines, or indented.
_ANCHOR = re.compile(rf"^{END}$", re.MULTILINE)
_ITEM = re.compile(r"^- \[[ xX]\] .*<!-- item ([0-9a-f]{32}) -->$", re.MULTILINE)


def mark_items(body: str, fingerprints: Sequence[str]) -> str:
    """Return a rendered body whose items are marked: the n-th item by the n-th fingerprint."""
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
    """Return the items of a marked body by fingerprint: a line with what is indented under it."""
    anchor = _ANCHOR.search(body)
    if anchor is None:
        return {}
    starts = [*_ITEM.finditer(body, 0, anchor.start())]
    ends = [*(found.start() for found in starts[1:]), anchor.start()]
    return {found[1]: body[found.start() : end].rstrip() for found, end in zip(starts, ends, strict=True)}


def chosen(body: str, kept: Container[str]) -> str:
    """Return a marked body with these items alone."""
    for fingerprint, block in items(body).items():
        if fingerprint not in kept:
            body = body.replace(f"{block}\n", "", 1)
    return body


def extended(body: str, more: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """Return an issue's body with further items, and the items that fitted.

    The body needs its anchor.
    """
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
