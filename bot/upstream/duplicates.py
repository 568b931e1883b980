"""Whether a tracker has a report of a bug already: searched by title, by the words of the failure, by api and kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from rapidfuzz import fuzz

from fuzz_core.oracles.kinds import kind_of
from fuzz_core.triage.signature import normalised
from nightfuzz.bot.github.views import IssueView
from nightfuzz.bot.issues.clusters import ClusterReport

Search = Callable[[str], Sequence[IssueView]]
# GitHub takes 256 characters, and five of AND, OR and NOT.
LONGEST = 200
ALIKE = 80.0
SHORTEST = 3
_DIED = re.compile(r": SIG[A-Z]+ in (?P<frame>[^<]+?)(?: <|$)")
_WORD = re.compile(r"\w[\w.]*")


class Duplicate(NamedTuple):
    """An issue that may be about the same bug.

    Attributes:
        why: the words or names that both have in common.
    """

    number: int
    title: str
    why: str


def duplicates(report: ClusterReport, search: Search) -> list[Duplicate]:
    """Find issues that may report this bug, the oldest first; `search` searches the issues of one repository."""
    views = {view.number: view for query in queries(report) for view in search(query) if not view.pull_request}
    found = ((view, _common(report, view)) for view in views.values())
    return sorted(Duplicate(view.number, view.title, why) for view, why in found if why)


def queries(report: ClusterReport) -> list[str]:
    """Return search phrases of words alone, so that no text from a worker is a part of the query's syntax."""
    word, _ = kind_of(report.kind).search
    api, last = _phrase(report.api), _phrase(report.api.rpartition(".")[2])
    asked = [
        ("in:title ", _phrase(report.title), ""),
        *(("", _phrase(_message(text)), "") for text in list(report.signatures.values())[:3]),
        ("in:title ", api, ""),
        ("", api, f" {word}"),
        ("in:title ", last, f" {word}"),
    ]
    return list(dict.fromkeys(f'{at}"{phrase}"{more}' for at, phrase, more in asked if len(phrase) >= SHORTEST))


def _message(signature: str) -> str:
    """Return the words of a failure: the innermost native function of a death, or else the exception's message.

    The longest part without a value stands for a message.
    """
    if died := _DIED.search(signature):
        return died["frame"]
    text = signature.partition(": ")[2].partition(": ")[2] or signature
    return max(re.split(r"<\w+>", text), key=len)


def _phrase(text: str) -> str:
    """Return the first words of a text, as many as a query takes; a search ignores punctuation."""
    line = " ".join(_WORD.findall(text[: LONGEST * 2]))
    return line if len(line) <= LONGEST else line[:LONGEST].rpartition(" ")[0]


def _common(report: ClusterReport, view: IssueView) -> str:
    """Return a title that is alike, the words of the failure together with the api, or api and kind in a title."""
    apis, text = (report.api, *report.apis), f"{view.title}\n{view.body}"
    last = re.compile("|".join(rf"\b{re.escape(api.rpartition('.')[2])}\b" for api in apis))
    if not last.search(text):
        return ""
    if fuzz.token_sort_ratio(report.title.casefold(), view.title.casefold()) >= ALIKE:
        return "its title"
    if any(_has_words(text, signature) for signature in report.signatures.values()):
        return "the api and the error message"
    _, words = kind_of(report.kind).search
    named = any(re.search(_named(api), view.title) for api in apis)
    return "the api and the kind of failure" if words and named and re.search(words, view.title, re.IGNORECASE) else ""


def _named(api: str) -> str:
    """Return a pattern for an api's whole name, or its last part in code: many last parts are plain words."""
    last = re.escape(api.rpartition(".")[2])
    return rf"\b{re.escape(api)}\b|[.`]{last}\b|\b{last}(?=\(|`)"


def _has_words(text: str, signature: str) -> bool:
    message = " ".join(_WORD.findall(_message(signature))).casefold()
    lines = (" ".join(_WORD.findall(normalised(line))).casefold() for line in text[:100_000].splitlines())
    return len(message) >= 10 and any(message in line for line in lines)
