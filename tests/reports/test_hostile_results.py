"""Whatever a result's texts are, Markdown renderers see the structure of our templates and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.util import find_spec

import pytest
from bs4 import BeautifulSoup, Comment, Tag
from hypothesis import example, given, settings
from markdown_it import MarkdownIt
from result_cases import BLOB, MARKER, NASTY, RUN, hostile, texts

from reports.comment import check, comment
from reports.results import Result
from reports.summary import summary

PAGES: dict[str, Callable[[Result], str]] = {
    "comment": lambda result: comment(result, MARKER, BLOB, RUN),
    "check": lambda result: check(result, "never", BLOB, RUN).summary,
    "summary": lambda result: summary(result, BLOB, ["budget: 5 of 10"]),
}
# What GitHub makes links, mentions and backlinks of, in the text that is left after rendering.
REFERENCES = re.compile(r"@\w|#\d|\bGH-\d|://|\bwww\.\w", re.IGNORECASE)
INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u200c-\u200f\u2028-\u202f\u2066-\u2069\ufeff]")


def commonmark(text: str) -> str:
    """CommonMark with tables and strikethrough, raw HTML as it stands."""
    return str(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text))


def github(text: str) -> str:
    """GitHub's own renderer with its extensions, before its filters for HTML."""
    import cmarkgfm
    from cmarkgfm.cmark import Options

    return str(cmarkgfm.github_flavored_markdown_to_html(text, Options.CMARK_OPT_UNSAFE))


there = pytest.mark.skipif(
    find_spec("cmarkgfm") is None, reason="GitHub's Markdown renderer is not installed: pip install cmarkgfm"
)
RENDERERS = [commonmark, pytest.param(github, marks=there)]


def skeleton(html: str) -> list[str]:
    """The elements in their order, links with where they lead, comments; and no text."""
    parts = []
    for each in BeautifulSoup(html, "html.parser").descendants:
        if isinstance(each, Tag):
            parts.append(f"{each.name} {sorted(each.attrs)} {leads(each)}")
        elif isinstance(each, Comment):
            parts.append(f"comment {each}")
    return parts


def leads(tag: Tag) -> str:
    """Where a link leads: the run, or the folder of the user's tests, whatever the file is called."""
    href = str(tag.get("href", ""))
    return re.sub(r"(?<=/tests/)[^/#?]+(?=#L3$)", "FILE", href)


def prose(html: str) -> str:
    """The text outside of code, as GitHub's filters see it."""
    soup = BeautifulSoup(html, "html.parser")
    for code in soup.find_all(["code", "pre"]):
        code.replace_with(" ")
    return soup.get_text()


PLAIN = {name: page(hostile("x")) for name, page in PAGES.items()}


def assert_only_text(text: str, page: str, rendered: Callable[[str], str]) -> None:
    written = PAGES[page](hostile(text))
    html = rendered(written)
    assert skeleton(html) == skeleton(rendered(PLAIN[page]))
    assert not REFERENCES.findall(prose(html))
    assert not INVISIBLE.findall(written)


@pytest.mark.parametrize("rendered", RENDERERS)
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("text", [text for text in NASTY if text.split()])
def test_a_nasty_text_is_only_text(text: str, page: str, rendered: Callable[[str], str]) -> None:
    assert_only_text(text, page, rendered)
    assert_only_text(f"a\n{text} b\n\n{text}", page, rendered)


@pytest.mark.parametrize("rendered", RENDERERS)
@pytest.mark.parametrize("page", PAGES)
@given(texts)
@example("x" * 3_000)
@example("`" * 900)
@settings(max_examples=60, deadline=None)
def test_any_text_is_only_text(page: str, rendered: Callable[[str], str], text: str) -> None:
    assert_only_text(text, page, rendered)
