"""The text of a report for another tracker, and the draft that shows it: exactly, and without calling anybody."""

from __future__ import annotations

import re
from typing import NamedTuple

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.issues.labels import APPROVE
from nightfuzz.bot.issues.wanted import Wanted, digest
from nightfuzz.bot.upstream.policies import Policy
from nightfuzz.reports.issues import missing_parts
from nightfuzz.reports.markdown import escaped, fenced
from nightfuzz.reports.text import TITLE, bounded, clean, span

# What a draft adds to the text that it shows.
LONGEST = 60_000
_BLOCK = re.compile(r"^(?P<fence>`{3,})(?:text|markdown)\n(?P<text>.*?)\n(?P=fence)$", re.MULTILINE | re.DOTALL)


class Text(NamedTuple):
    """A report as it is filed, but for the hidden line that it is found again by."""

    title: str
    body: str

    @property
    def digest(self) -> str:
        """What is approved with a label."""
        return digest("upstream", self.title, self.body)


def text_of(wanted: Wanted, tracked: str = "") -> Text:
    """The report of a bug for its library's tracker. tracked: the address of our own issue, where others may see it."""
    body = clean(wanted.body).replace("\r\n", "\n").strip()
    more = f"\n\nTracked where it was found: {tracked}" if tracked else ""
    return Text(bounded(wanted.title, TITLE), body + more)


def refuse(wanted: Wanted, policy: Policy, text: Text) -> None:
    """Raises UserError where the bug is not to be reported there, and says why."""
    apis = (wanted.api, *wanted.apis)
    lacking = missing_parts(f"{text.title}\n\n{text.body}", wanted.library)
    reasons = {
        # First, and in no words that say more.
        "it is not told in public": wanted.private,
        f"{policy.repository} does not want it: {policy.why}": not policy.allowed,
        "it is known already": wanted.known,
        "it is fixed": wanted.standing == "fixed",
        "its input is not one that the library allows": wanted.validity == "invalid" or wanted.batched,
        f"only {', '.join(policy.refused_apis)} shows it: {policy.why}": not any(map(policy.takes, apis)),
        f"the report lacks {', '.join(lacking)}": bool(lacking),
        f"its text is longer than {LONGEST} characters, so a draft cannot show all of it": len(text.body) > LONGEST,
        "its text cannot be shown as it is": shown(draft(text, policy, 1)) != text,
    }
    for reason, holds in reasons.items():
        if holds:
            raise UserError(reason, "see docs/issues.md for what is reported upstream")


def draft(text: Text, policy: Policy, source: int) -> str:
    """The body of a draft. Whoever reads it sees what would be filed, each sign of it."""
    rule = f" ({policy.rule})" if policy.rule else ""
    return "\n\n".join(
        [
            f"This is what nightfuzz would file in {span(policy.repository)} about #{source}. Nothing is filed before "
            f"a person with write access has read it and given this issue the label `{APPROVE}`. Before it is filed, "
            "the newest build has to show it, and it is searched for there.",
            f"What {span(policy.repository)} says: {escaped(policy.why)}{rule}.",
            "A text that is edited here is not filed. To have it made again, ask for it with `/nightfuzz upstream` "
            f"under #{source}. To file nothing, close this issue.",
            "### Title",
            fenced(text.title, "text"),
            "### Text",
            fenced(text.body, "markdown"),
        ]
    )


def shown(body: str) -> Text | None:
    """The text that a draft shows now; None where it is none any more."""
    blocks = [found["text"] for found in _BLOCK.finditer(body.replace("\r\n", "\n"))]
    return Text(blocks[0], blocks[1]) if len(blocks) >= 2 else None
