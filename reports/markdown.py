"""Markdown from untrusted data: escaped text and code, and the templates with all their filters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context

import fuzz_core
from nightfuzz.reports import wording
from nightfuzz.reports.case import meaning_of
from nightfuzz.reports.results import BugEntry, OutcomeEntry, RunResult, Site
from nightfuzz.reports.text import bounded, clean, clipped, fence_for, span

SITES, MODES = 3, 5
PLACE, URL, SHORT = 120, 600, 300
PLAIN = "cpu"
MAX_TEXT = 1500
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|@~&$])")
_LINE_MARK = re.compile(r"^(\d*)([-.=:])(?=[\s=:-]|$)")
# GitHub looks for these in the rendered text, where a backslash is gone: only a sign in between keeps them text.
_REFERENCE = re.compile(r"(?<=[@#])(?=\S)|(?<=GH-)(?=\d)|(?<=:)(?=//)|(?<=www)(?=\.|$)", re.IGNORECASE)
ZERO_WIDTH = "\N{ZERO WIDTH SPACE}"


def escaped(text: object) -> str:
    """Return a text that stays plain in Markdown and in a table cell: one bounded line without mentions and links."""
    line = clean(" ".join(str(text)[: MAX_TEXT * 10].split())[:MAX_TEXT])
    return _LINE_MARK.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", _REFERENCE.sub(ZERO_WIDTH, line)))


def fenced(text: str, language: str) -> str:
    """Return a code block whose fence is longer than any run of backticks inside."""
    shown, fence = fence_for(clean(text).strip(), 3)
    return f"{fence}{language}\n{shown}\n{fence}"


def page(template: str, share: float, result: RunResult, blob_url: str = "", **names: Any) -> str:
    """Render a template of `templates/results`, with the values that every page shows."""
    parts: dict[str, Any] = {
        "result": result,
        "blob_url": blob_url,
        "SITES": SITES,
        "was": wording.named(result.baseline, result.target),
        "now": wording.named(result.target, result.baseline),
        "worse": wording.alike(wording.changes(result, "regression")),
        "changed": wording.alike(wording.changes(result, "changed")),
        "better": wording.alike(wording.changes(result, "fixed")),
        "turned": [turn for turn in result.turns if turn.turn == "fixed"],
        "back": {turn.fingerprint for turn in result.turns if turn.turn != "fixed"},
        "dropped": wording.dropped(result),
        "old": wording.causes(wording.older(result)),
        "gaps": wording.gaps(result),
        "pictures": {},
    }
    return render(f"results/{template}", share, **(parts | names))


def render(template: str, share: float, **names: Any) -> str:
    """Return a template with these names; cuts are made to `share` of their limits."""
    text = _templates().get_template(template).render(share=share, version=fuzz_core.__version__, **names)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


@cache
def _templates() -> Environment:
    # Markdown is no HTML: autoescape would write entities into code blocks. `md` and `code` escape instead.
    made = Environment(loader=PackageLoader("nightfuzz.reports"), undefined=StrictUndefined, trim_blocks=True)
    made.filters |= {
        "md": escaped,
        "code": fenced,
        "span": span,
        "cell": lambda text: span(text).replace("|", "\\|"),
        "short": lambda text: escaped(bounded(text, SHORT)),
        "cut": _cut,
        "first": _first,
        "some": some,
        "count": counted,
        "duration": duration,
        "link": _link,
        "call": wording.call,
        "did": _did,
        "sides": wording.sides,
        "modes": _modes,
        "meaning": meaning_of,
    }
    return made


@pass_context
def _cut(context: Context, text: str, limit: int) -> str:
    return clipped(text, int(limit * context["share"]))


@pass_context
def _first(context: Context, items: Sequence[Any], limit: int) -> Sequence[Any]:
    return items[: max(1, int(limit * context["share"]))]


@pass_context
def _link(context: Context, site: Site) -> str:
    return linked(site, context["blob_url"])


def some(items: Iterable[str], limit: int, noun: str = "") -> str:
    """Return `a, b and 3 more`: as many of the items as the limit allows, and the number of further ones."""
    every = list(items)
    left = f" and {len(every) - limit} more{noun}" if len(every) > limit else ""
    return ", ".join(every[:limit]) + left


def counted(number: int | Sequence[Any], noun: str) -> str:
    """Return `1 bug`, `1,200 bugs`."""
    many = number if isinstance(number, int) else len(number)
    return f"{many:,} {noun}{'' if many == 1 else 's'}"


def listed(parts: Sequence[str]) -> str:
    """Return `a, b and c`."""
    return " and ".join(part for part in (", ".join(parts[:-1]), *parts[-1:]) if part)


def duration(seconds: float) -> str:
    """Return `45 s`, `9 min`, `2 h 5 min`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes_left = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes_left} min"
    return f"{minutes} min" if minutes else f"{rest} s"


def linked(site: Site, blob_url: str = "") -> str:
    """Return a line of the user's tests, as a link where the address of the repository's files is known."""
    place = span(f"{bounded(site.path, PLACE)}:{site.line}")
    url = f"{address(f'{blob_url}/{quote(site.path)}')}#L{site.line}"
    shown = f"[{place}]({url})" if blob_url and len(url) <= URL else place
    return f"{shown} ({span(bounded(site.test, PLACE))})" if site.test else shown


def address(url: str) -> str:
    """Return an address without characters that would end it early inside Markdown's brackets."""
    return quote(url, safe=":/?#=&%+,;@~!$*'")


def _modes(bug: BugEntry) -> str:
    """Return the modes that show a bug, where the plain call does not."""
    shows = wording.shows(bug)
    if not shows or PLAIN in shows:
        return ""
    told = [f"{span(mode)} ({words})" if (words := meaning_of(mode)) else span(mode) for mode in shows[:MODES]]
    return f" in the mode {'; '.join(told)}"


def _did(said: OutcomeEntry) -> str:
    words, detail = wording.outcome_in_words(said)
    return f"{words} {span(bounded(detail, 200))}" if detail else words
