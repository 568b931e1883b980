"""Lines of a comment: the test shows which of them are commands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightfuzz.bot.commands import MOST, Command, commands


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("/nightfuzz bisect", ["bisect"]),
        ("Thanks!\r\n/nightfuzz bisect  \r\n/nightfuzz minimize\r\n", ["bisect", "minimize"]),
        ("/nightfuzz", ["help"]),
        ("/nightfuzz retry\n/nightfuzz retry", ["retry"]),
        ("/nightfuzzy bisect", []),
        ("please /nightfuzz bisect", []),
        (" /nightfuzz bisect", []),
        ("    /nightfuzz bisect", []),
        ("> /nightfuzz ignore", []),
        ("```\n/nightfuzz ignore\n```\n/nightfuzz retry", ["retry"]),
        ("````\n```\n/nightfuzz ignore\n````", []),
        ("```x```\n/nightfuzz retry", ["retry"]),
        ("> ```\n> quoted\n\n/nightfuzz retry", ["retry"]),
        ("~~~ text\n/nightfuzz ignore", []),
        ("`/nightfuzz ignore`", []),
        ("<!-- \n/nightfuzz ignore\n-->\n/nightfuzz retry", ["retry"]),
        ("<!-- x -->/nightfuzz ignore", []),
        ("<!--\n/nightfuzz ignore", []),
        ("/NIGHTFUZZ ignore", []),
        ("/nightfuzz Ignore", ["Ignore"]),
    ],
)
def test_a_command_is_a_line_of_its_own_that_a_reader_sees(text: str, names: list[str]) -> None:
    assert [each.name for each in commands(text)] == names


def test_what_stands_behind_a_command_is_kept_apart() -> None:
    assert commands("/nightfuzz bisect now; rm -rf /") == [Command("bisect", "now; rm -rf /")]


@given(st.text())
def test_no_text_of_strangers_is_too_much(text: str) -> None:
    assert len(commands(text)) <= MOST
    assert len(commands("/nightfuzz " + text)) <= MOST


def test_a_large_comment_is_read_at_once() -> None:
    assert len(commands("\n".join(f"/nightfuzz {number}" for number in range(100_000)))) == MOST
    assert commands("<!--" * 100_000) == []
    assert commands("`" * 1_000_000) == []
