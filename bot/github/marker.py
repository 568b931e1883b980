"""The marker that names the subject of an issue or a comment of ours: one HTML comment on a line of its own."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import NamedTuple

from nightfuzz.reports.text import code_blocks, text_lines

BODY = 65_536
MOST_ALSO = 256
_KIND = re.compile(r"[a-z][a-z-]{0,31}")
_ID = re.compile(r"[0-9a-f]{32}")
_LINE = re.compile(
    r"<!-- nightfuzz:1 kind=(?P<kind>[a-z][a-z-]{0,31}) id=(?P<id>[0-9a-f]{32})"
    rf"(?: also=(?P<also>[0-9a-f]{{32}}(?:,[0-9a-f]{{32}}){{0,{MOST_ALSO - 1}}}))? -->"
)


class Marker(NamedTuple):
    """The marker that an issue or a comment of the bot carries.

    It is public text.
    """

    kind: str  # `bug`, `umbrella`, `recurrence`, …
    id: str  # fingerprint of the subject, 32 hexadecimal digits
    also: tuple[str, ...] = ()  # further fingerprints

    @property
    def text(self) -> str:
        """Return the line.

        Raises:
            ValueError: a marker that `parsed` would not read back.
        """
        fine = _KIND.fullmatch(self.kind) and len(self.also) <= MOST_ALSO
        if not (fine and all(_ID.fullmatch(each) for each in (self.id, *self.also))):
            raise ValueError(f"no marker: {self!r:.200}")
        also = f" also={','.join(self.also)}" if self.also else ""
        return f"<!-- nightfuzz:1 kind={self.kind} id={self.id}{also} -->"

    def covers(self, fingerprint: str) -> bool:
        """Return whether the marker names this fingerprint, first or further down."""
        return fingerprint == self.id or fingerprint in self.also

    def marks(self, body: str) -> bool:
        """Return whether a text of ours carries a marker of this kind and id."""
        found = parsed(body)
        return found is not None and found[:2] == self[:2]


def digest(*parts: str) -> str:
    """Return 32 hexadecimal digits that stand for some texts."""
    return blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=16).hexdigest()


def marker_of(kind: str, *parts: str, also: tuple[str, ...] = ()) -> Marker:
    """Return the marker for a kind and the digest of some texts."""
    return Marker(kind, digest(kind, *parts), also)


def marked(body: str, marker: Marker) -> str:
    """Return the body with its marker in the first line, cut at its end to GitHub's limit."""
    line = f"{marker.text}\n"
    return line + body[: BODY - len(line)]


def parsed(body: str | None) -> Marker | None:
    """Return the marker of an issue or comment that we wrote ourselves; None if the text has no marker.

    The first line counts, then the last. People write above and below: then the only marker that stands outside of code
    counts. A marker in a code block, in a quotation or inside a line belongs to a person's text.
    """
    lines = _outside_code(body or "")
    for line in lines[:1] + lines[-1:]:
        if found := _read(line):
            return found
    others = {found for line in lines if (found := _read(line))}
    return others.pop() if len(others) == 1 else None


def _read(line: str) -> Marker | None:
    found = _LINE.fullmatch(line)
    if not found:
        return None
    return Marker(found["kind"], found["id"], tuple(found["also"].split(",")) if found["also"] else ())


def _outside_code(body: str) -> list[str]:
    """Return the lines that are neither empty nor part of a fenced code block."""
    code = {number for block in code_blocks(body) for number in block.lines}
    lines = (line.rstrip() for number, line in enumerate(text_lines(body)) if number not in code)
    return [line for line in lines if line]
