"""Tests that text in Markdown stays text, for any text of a worker."""

from __future__ import annotations

import re

import pytest
from examples import examples
from hypothesis import example, given
from hypothesis import strategies as st

from nightfuzz.reports.markdown import ZERO_WIDTH, escaped, fenced

HOSTILE = [
    "plain",
    "`code` and ``more``",
    "```\n# Heading\n```",
    "~~~\nfence\n~~~",
    "a | b | c\n|---|---|---|\n| x | y | z |",
    "<script>alert(1)</script><!-- -->",
    "@somebody and #1 and org/repo#2",
    "![image](http://example.org/x.png) [link](javascript:alert(1))",
    "line\n\n## Bug 99\n\nline",
    "back\\slash \\| pipe",
    "`" * 50,
    "- item\n1. item\n> quote\n    indented",
    "\x00\x1b[31m\u202e\u2028line\x85separators\x0b\x0c",
    "&lt;b&gt; &amp; &#35;",
    "x" * 10_000,
]


def outside_fences(text: str) -> list[str]:
    """Returns the lines outside of code blocks as CommonMark reads them: split at newlines alone."""
    lines, fence = [], ""
    for line in re.split(r"\r\n|\r|\n", text):
        mark = re.match(r" {0,3}(`{3,}|~{3,})(.*)$", line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
        elif mark and not (mark[1][0] == "`" and "`" in mark[2]):
            fence = mark[1]
        else:
            lines.append(line)
    assert not fence, "a code block is never closed"
    return lines


@given(st.text())
@example("\\")
@example("\\|")
@examples(200)
def test_escaped_text_is_one_line_without_bare_signs(text: str) -> None:
    made = escaped(text)
    assert len(re.split(r"\r\n|\r|\n", made)) == 1
    assert not re.search(r"(?<!\\)(?:\\\\)*[|`<@\[]", made)
    assert re.sub(r"\\([\\`*_{}\[\]<>()#+!|@~&$.=:-])", r"\1", made.replace(ZERO_WIDTH, "")).split() == made_plain(text)


def made_plain(text: str) -> list[str]:
    """Returns the words of the readable text: signs that are invisible or turn the text around are replaced."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in " ".join(text.split())[:1500]).split()


@given(st.text(alphabet="`~a\n ", max_size=60))
@example("a\n```")
def test_a_fence_holds_whatever_is_in_it(text: str) -> None:
    assert outside_fences(f"before\n{fenced(text, 'text')}\nafter") == ["before", "after"]


def test_escaped_text_is_bounded() -> None:
    assert len(escaped("x" * 9999)) == 1500


@pytest.mark.parametrize("text", HOSTILE)
def test_outside_of_code_nothing_is_a_mention_a_link_or_html(text: str) -> None:
    made = f"{escaped(text)}\n{fenced(text, 'text')}"
    prose = "\n".join(outside_fences(made))
    for sign in "@<[`#!":
        bare = re.findall(rf"(?<!\\)(?:\\\\)*{re.escape(sign)}", prose)
        assert not bare, (sign, prose)
