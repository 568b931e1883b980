"""Whether a tracker has a report of a bug already: searched by title, by the words of the failure, by api and kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from rapidfuzz import fuzz

from bot.github.views import IssueView
from bot.issues.wanted import Wanted
from fuzz_core.triage.signature import normalised

Search = Callable[[str], Sequence[IssueView]]
# GitHub takes 256 characters, and five of AND, OR and NOT.
LONGEST = 200
ALIKE = 90.0
_WORD = re.compile(r"[A-Za-z_][\w.]{2,}")
_KINDS = {
    "crash": "crash", "hang": "hang", "wrong-result": "incorrect result", "wrong-gradient": "gradient",
    "nonfinite": "nan", "internal-error": "INTERNAL ASSERT FAILED",
}  # fmt: skip


class Candidate(NamedTuple):
    """An issue that may be about the same. why: what it has in common with the bug."""

    number: int
    title: str
    url: str
    why: str


def duplicates(wanted: Wanted, search: Search) -> list[Candidate]:
    """What may be a report of this bug, the oldest first; search is asked for issues of one repository."""
    views = {view.number: view for query in queries(wanted) for view in search(query) if not view.pull_request}
    found = ((view, _common(wanted, view)) for view in views.values())
    return sorted(Candidate(view.number, view.title, view.url, why) for view, why in found if why)


def queries(wanted: Wanted) -> list[str]:
    """What is searched for. Words alone: what came from a worker must not become a part of the query's syntax."""
    api = wanted.api.rpartition(".")[2]
    asked = [
        f"in:title {_quoted(wanted.title)}",
        *(_quoted(_message(text)) for text in list(wanted.signatures.values())[:3]),
        f"{_quoted(wanted.api)} {_KINDS.get(wanted.kind, '')}",
        f"in:title {_quoted(api)} {_KINDS.get(wanted.kind, '')}",
    ]
    return list(dict.fromkeys(query.strip() for query in asked if _WORD.search(query.replace("in:title", ""))))


def _message(signature: str) -> str:
    """What stands behind the api and the exception's name, up to the first value."""
    said = signature.partition(": ")[2].partition(": ")[2] or signature
    return max(re.split(r"<\w+>", said), key=len)


def _quoted(text: str) -> str:
    words = _WORD.findall(text)
    line = ""
    for word in words:
        if len(line) + len(word) > LONGEST:
            break
        line = f"{line} {word}".strip()
    return f'"{line}"' if line else ""


def _common(wanted: Wanted, view: IssueView) -> str:
    """A title that is alike, or the words of the failure together with the api."""
    if fuzz.token_set_ratio(wanted.title.casefold(), view.title.casefold()) >= ALIKE:
        return "its title"
    text = f"{view.title}\n{view.body}"
    said = next((signature for signature in wanted.signatures.values() if _says(text, signature)), "")
    names = {api.rpartition(".")[2] for api in (wanted.api, *wanted.apis)}
    if said and any(re.search(rf"\b{re.escape(name)}\b", text) for name in names):
        return "the api and the words of the failure"
    return ""


def _says(text: str, signature: str) -> bool:
    message = " ".join(_WORD.findall(_message(signature))).casefold()
    lines = (" ".join(_WORD.findall(normalised(line))).casefold() for line in text[:100_000].splitlines())
    return len(message) >= 10 and any(message in line for line in lines)
