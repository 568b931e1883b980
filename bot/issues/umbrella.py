"""The list in an umbrella issue: items are added to it and nothing else of it is ever written again.

So boxes that people have checked, and whatever they have edited, stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence

from nightfuzz.reports.text import BODY

# Room for what the filing adds to a body.
ROOM = 1_000
END = "<!-- items end -->"
_BOX = "- [ ] "
# On lines of their own, or at the end of an item's: text of a worker is in the middle of lines, or indented.
_ANCHOR = re.compile(rf"^{END}$", re.MULTILINE)
_ITEM = re.compile(r"^- \[[ xX]\] .*<!-- item ([0-9a-f]{32}) -->$", re.MULTILINE)


def marked(body: str, fingerprints: Sequence[str]) -> str:
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


def chosen(body: str, wanted: Container[str]) -> str:
    """A marked body with these items alone."""
    for fingerprint, block in items(body).items():
        if fingerprint not in wanted:
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
