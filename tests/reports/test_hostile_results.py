"""Tests that Markdown renderers see the structure of our templates alone, for any texts of a result."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.util import find_spec

import pytest
from bs4 import BeautifulSoup, Comment, Tag
from examples import examples
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from result_cases import BLOB, MARKER, NASTY, RUN, hostile, mixed, texts

from nightfuzz.reports.comment import check, comment
from nightfuzz.reports.results import RunResult
from nightfuzz.reports.summary import summary

PAGES: dict[str, Callable[[RunResult], str]] = {
    "comment": lambda result: comment(result, MARKER, BLOB, RUN),
    "check": lambda result: check(result, "never", BLOB, RUN).summary,
    "summary": lambda result: summary(result, BLOB, ["budget: 5 of 10"]),
}
# Patterns that GitHub turns into links, mentions and backlinks, in the text after rendering.
REFERENCES = re.compile(r"@\w|#\d|GH-\d|://|www\.\w", re.IGNORECASE)
INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u200c-\u200f\u2028-\u202f\u2066-\u2069\ufeff]")


def commonmark(text: str) -> str:
    """Renders CommonMark with tables and strikethrough; raw HTML stays as it is."""
    return str(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text))


def github(text: str) -> str:
    """Renders text as GitHub does, with its extensions, before its filters for HTML."""
    import cmarkgfm
    from cmarkgfm.cmark import Options

    return str(cmarkgfm.github_flavored_markdown_to_html(text, Options.CMARK_OPT_UNSAFE))


there = pytest.mark.skipif(
    find_spec("cmarkgfm") is None, reason="GitHub's Markdown renderer is not installed: pip install cmarkgfm"
)
RENDERERS = [commonmark, pytest.param(github, marks=there)]


def skeleton(html: str) -> list[str]:
    """Returns the elements in their order, with attributes and targets of links, and the comments, without text."""
    parts = []
    for each in BeautifulSoup(html, "html.parser").descendants:
        if isinstance(each, Tag):
            parts.append(f"{each.name} {sorted(each.attrs)} {leads(each)}")
        elif isinstance(each, Comment):
            parts.append(f"comment {each}")
    return parts


def leads(tag: Tag) -> str:
    """Returns the target of a link: the run, or the folder of the user's tests with a placeholder for any file name."""
    href = str(tag.get("href", ""))
    return re.sub(r"(?<=/tests/)[^/#?]+(?=#L3$)", "FILE", href)


def prose(html: str) -> str:
    """Returns the text outside of code, as GitHub's filters see it."""
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
@examples(60)
def test_any_text_is_only_text(page: str, rendered: Callable[[str], str], text: str) -> None:
    assert_only_text(text, page, rendered)


OURS = {
    "a", "p", "h1", "h2", "h3", "h4", "ul", "li", "code", "pre", "strong", "blockquote", "details", "summary", "table",
    "thead", "tbody", "tr", "th", "td",
}  # fmt: skip


@pytest.mark.parametrize("rendered", RENDERERS)
@pytest.mark.parametrize("page", PAGES)
@given(st.lists(texts | st.sampled_from(["", " ", "`", "``", "a`@octocat", "a``#1", "x"]), min_size=1, max_size=12))
@example(["", "a`@octocat"])
@example(["GH-7", "www", "", "$$["])
@example(["[^1][x][y]", "{{ 7 * 7 }}{0}", "<**x**", "_x_www.example.org["])
@examples(40)
def test_texts_do_not_help_each_other(page: str, rendered: Callable[[str], str], found: list[str]) -> None:
    html = rendered(PAGES[page](mixed(found)))
    soup = BeautifulSoup(html, "html.parser")
    assert {tag.name for tag in soup.find_all()} <= OURS
    assert {str(tag["href"]).startswith((BLOB, RUN)) for tag in soup.find_all("a")} <= {True}
    assert [str(each) for each in soup.find_all(string=lambda each: isinstance(each, Comment))] in ([], [MARKER[4:-3]])
    assert not REFERENCES.findall(prose(html))
