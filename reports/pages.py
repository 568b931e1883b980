"""Pages in Markdown from a result: the templates of `templates/results`, their filters, and links that are ours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, pass_context
from jinja2.runtime import Context

import fuzz_core
from nightfuzz.reports import telling
from nightfuzz.reports.case import meaning_of
from nightfuzz.reports.markdown import environment, escaped
from nightfuzz.reports.results import Bug, Result, Said, Site
from nightfuzz.reports.text import bounded, clipped, span

SITES, MODES = 3, 5
PLACE, URL, SHORT = 120, 600, 300
PLAIN = "cpu"


def page(template: str, share: float, result: Result, blob_url: str = "", **names: Any) -> str:
    """A template of `templates/results` with the filters below; cuts are made to `share` of their limits."""
    names = _parts(result) | names
    names.update(result=result, share=share, blob_url=blob_url, version=fuzz_core.__version__, SITES=SITES)
    names.update(was=telling.named(result.baseline, result.target), now=telling.named(result.target, result.baseline))
    text = _templates().get_template(f"results/{template}").render(**names)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _parts(result: Result) -> dict[str, Any]:
    return {
        "worse": telling.alike(telling.changes(result, "regression")),
        "changed": telling.alike(telling.changes(result, "changed")),
        "better": telling.alike(telling.changes(result, "fixed")),
        "turned": [turn for turn in result.turns if turn.turn == "fixed"],
        "back": {turn.fingerprint for turn in result.turns if turn.turn != "fixed"},
        "dropped": telling.dropped(result),
        "old": telling.causes(telling.standing(result)),
        "gaps": telling.gaps(result),
    }


@cache
def _templates() -> Environment:
    made = environment()
    made.filters.update(
        count=counted, did=_did, call=telling.call, sides=telling.sides, duration=duration, modes=_modes
    )
    made.filters.update(cut=_cut, short=lambda text: escaped(bounded(text, SHORT)), first=_first, link=_link)
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


def counted(number: int | Sequence[Any], noun: str) -> str:
    """`1 bug`, `1,200 bugs`."""
    many = number if isinstance(number, int) else len(number)
    return f"{many:,} {noun}{'' if many == 1 else 's'}"


def listed(parts: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(part for part in (", ".join(parts[:-1]), *parts[-1:]) if part)


def duration(seconds: float) -> str:
    """`45 s`, `9 min`, `2 h 5 min`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes_left = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes_left} min"
    return f"{minutes} min" if minutes else f"{rest} s"


def linked(site: Site, blob_url: str = "") -> str:
    """A line of the user's tests, as a link where the address of the repository's files is known."""
    place = span(f"{bounded(site.path, PLACE)}:{site.line}")
    url = f"{address(f'{blob_url}/{quote(site.path)}')}#L{site.line}"
    shown = f"[{place}]({url})" if blob_url and len(url) <= URL else place
    return f"{shown} ({span(bounded(site.test, PLACE))})" if site.test else shown


def address(url: str) -> str:
    """An address that ends where it should inside of Markdown's brackets."""
    return quote(url, safe=":/?#=&%+,;@~!$*'")


def _modes(bug: Bug) -> str:
    """The modes that show a bug, where the plain call does not."""
    shows = telling.shows(bug)
    if not shows or PLAIN in shows:
        return ""
    told = [f"{span(mode)} ({words})" if (words := meaning_of(mode)) else span(mode) for mode in shows[:MODES]]
    return f" in the mode {'; '.join(told)}"


def _did(said: Said) -> str:
    words, detail = telling.did(said)
    return f"{words} {span(bounded(detail, 200))}" if detail else words
