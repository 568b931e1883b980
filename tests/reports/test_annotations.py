"""Tests of annotations at lines of tests: the worst findings, and no other command, for any texts."""

from __future__ import annotations

import re

from examples import examples
from hypothesis import example, given
from hypothesis import strategies as st
from result_cases import SITE, bug, change, eventful, hostile, result, texts

from nightfuzz.reports.annotations import (
    MESSAGE,
    REQUEST,
    TITLE,
    check_annotations,
    command,
    commands,
    notes,
    problem_commands,
)
from nightfuzz.reports.results import OutcomeEntry

OURS = re.compile(r"::(?:error|warning|notice) (?:title|file|line)=[^:,]*(?:,(?:title|file|line)=[^:,]*)*::.*")


def decoded(text: str) -> str:
    """Returns the text that a runner reads from an escaped text."""
    for sign in "\r\n:,":
        text = text.replace(f"%{ord(sign):02X}", sign)
    return text.replace("%25", "%")


def lines_of_a_log(text: str) -> list[str]:
    """Returns the lines that a runner reads."""
    return re.split(r"\r\n|\r|\n", text)


def test_what_could_not_be_done_is_an_error_each_in_one_line() -> None:
    made = problem_commands(result(problems=("`nightfuzz run` failed: no api\n::warning::x", "later")))
    assert made[1] == "::error title=nightfuzz::later"
    assert len(made) == 2 and all(len(lines_of_a_log(line)) == 1 and OURS.fullmatch(line) for line in made)


def test_the_worst_come_first_each_at_its_line() -> None:
    made = commands(eventful())
    assert [re.match(r"::(\w+)", line)[1] for line in made] == ["error"] * 3 + ["warning"] * 2  # type: ignore[index]
    assert made[0] == (
        "::error title=torch.g1(torch.zeros(2)),file=tests/test loop(1).py,line=12::"
        "torch 2.13.0 returns tensor(1)%0Atorch 2.14.0 raises RuntimeError: sizes differ"
    )
    assert made[1].startswith("::error title=torch.f1(x)%3A RuntimeError%3A INTERNAL ASSERT FAILED,file=")
    assert made[2] == "::error title=torch.gone::removed in torch 2.14.0."


def test_there_are_at_most_ten_of_a_step() -> None:
    many = result(mode="nightly", bugs=tuple(bug(number, new=True) for number in range(30)))
    assert len(commands(many)) == 10
    assert len(commands(many, 3)) == 3


def test_bugs_that_were_there_before_are_not_annotated() -> None:
    assert commands(result(bugs=(bug(), bug(2, status="known", regression=True)))) == []


def test_a_check_gets_those_that_have_a_line() -> None:
    changes = tuple(
        change(number=number, after=OutcomeEntry(kind="exception", name=f"E{number}")) for number in range(60)
    )
    many = result(changes=changes, bugs=(bug(regression=True),))
    made = check_annotations(many)
    assert len(made) == REQUEST
    assert made[0] == {
        "path": SITE.path, "start_line": 12, "end_line": 12, "annotation_level": "failure",
        "title": "torch.g0(torch.zeros(2))",
        "message": "torch 2.13.0 returns tensor(1)\ntorch 2.14.0 raises E0",
    }  # fmt: skip


@given(texts)
@examples(60)
def test_no_text_becomes_another_command(text: str) -> None:
    for made in commands(hostile(text)):
        assert lines_of_a_log(made) == [made]
        assert OURS.fullmatch(made), made


@given(st.text(alphabet="::#[]%ae\n\r\u2028 ", max_size=30))
@example("%0A::error::x")
@examples(200)
def test_a_command_says_what_it_was_given(text: str) -> None:
    made = command("notice", text, title=text)
    assert len(lines_of_a_log(made)) == 1
    name, _, rest = made.removeprefix("::notice title=").partition("::")
    shown = text.replace("\r", "\ufffd").replace("\u2028", "\ufffd")
    assert (decoded(name), decoded(rest)) == (shown, shown)


def test_there_is_one_for_each_cause() -> None:
    causes = result(
        changes=(change(number=1), change(number=2)),
        bugs=tuple(bug(number, regression=True, cluster="a" * 32) for number in range(3)),
    )
    assert [note.title for note in notes(causes)] == ["torch.g1(torch.zeros(2)) and 1 more", bug(0).title]


def test_texts_are_bounded() -> None:
    for line in commands(hostile("x" * 100_000)):
        assert len(line) < TITLE + 2 * MESSAGE + 600
