"""Tests of the comment on a pull request: its text, its order, and when there is none."""

from __future__ import annotations

import itertools
import re
from typing import get_args

import pytest
from examples import examples
from hypothesis import given
from result_cases import BLOB, MARKER, NASTY, NEW, OK, RUN, SITE, bug, change, eventful, hostile, result, texts

from fuzz_core.ir.errors import UserError
from nightfuzz.reports.comment import FAIL_ON, OUTPUT, FailOn, check, comment, conclusion, headline, worth_telling
from nightfuzz.reports.results import OutcomeEntry, RemovalEntry, RunResult, StatusEntry, TotalsEntry
from nightfuzz.reports.text import BODY


def told(of: RunResult) -> str:
    return comment(of, MARKER, BLOB, RUN)


def places(text: str, *parts: str) -> list[int]:
    """Returns the position of each part; every part must be in the text."""
    for part in parts:
        assert part in text, part
    return [text.index(part) for part in parts]


def test_the_first_line_is_the_marker_and_the_second_the_headline() -> None:
    lines = told(eventful()).splitlines()
    assert lines[0] == MARKER
    assert lines[1] == (
        "### nightfuzz: 2 regressions, 1 removed api, 1 changed call, 1 deprecated api and 2 fixed bugs"
    )


def test_regressions_come_first_and_the_rest_is_folded() -> None:
    text = told(eventful())
    order = places(
        text, "torch.g1(torch.zeros(2))", "torch.f1(x)", "removed or deprecated", "<details>", "torch.g2(",
        "2 bugs fixed", "2 other bugs", "What was not checked",
    )  # fmt: skip
    assert order == sorted(order)
    assert text.count("<details>") == text.count("</details>") == 4


def test_a_regression_has_its_script_both_builds_and_the_lines_of_the_tests() -> None:
    text = told(result(changes=(change(),)))
    assert "- `torch 2.13.0` returns `tensor(1)`\n- `torch 2.14.0` raises `RuntimeError: sizes differ`" in text
    assert "```python\nimport torch\n\nprint(torch.g1(torch.zeros(2)))\n```" in text
    link = f"[`tests/test loop(1).py:12`]({BLOB}/tests/test%20loop%281%29.py#L12) (`test_loop.py::test_focal`)"
    assert f"Calls in your tests: {link}." in text


def test_without_an_address_places_are_no_links() -> None:
    text = comment(result(changes=(change(),)), MARKER)
    assert "Calls in your tests: `tests/test loop(1).py:12` (`test_loop.py::test_focal`)." in text
    assert "](" not in text


def test_of_two_long_results_the_part_where_they_part_is_shown() -> None:
    before, after = (OutcomeEntry(kind="ok", text="0.0, " * 100 + end) for end in ("1.5", "2.5"))
    text = told(result(changes=(change("changed", before=before, after=after),)))
    assert re.search(r"2\.13\.0` returns `….*0\.0, 1\.5`\n.*2\.14\.0` returns `….*0\.0, 2\.5`", text)


def test_builds_that_are_called_the_same_are_told_apart() -> None:
    text = told(result(baseline=NEW.model_copy(update={"key": "mine"}), changes=(change(),)))
    assert "`torch 2.14.0 (mine)` → `torch 2.14.0 (torch-2.14.0)`" in text


def test_bugs_that_are_not_of_the_change_are_lines_without_known_and_fixed_ones() -> None:
    folded = told(eventful()).partition("other bugs without a known link to this change")[2].partition("</details>")[0]
    assert re.findall(r"torch\.f\d", folded) == ["torch.f5", "torch.f2"]


def test_one_entry_for_each_cause() -> None:
    first, second = bug(7, new=True), bug(3, new=True, cluster=f"{7:032x}", also=("torch.f7",))
    text = comment(result(baseline=None, bugs=(second, first)), MARKER)
    assert "nightfuzz: 2 new bugs (1 cause)" in text
    assert "torch.f7(x)" in text
    assert "torch.f3(x)" not in text
    assert "1 more bug with probably the same cause." in text


def test_one_new_check_is_one_entry_with_all_the_places_that_reach_it() -> None:
    other = SITE.model_copy(update={"line": 40})
    first, second, third = (
        change("changed", 1),
        change("changed", 2, sites=(SITE, other)),
        change("changed", 3, after=OK),
    )
    text = told(result(changes=(first, second, third)))
    assert "nightfuzz: 3 changed calls (2 causes)\n" in text
    assert re.findall(r"(?m)^#### `torch\.(g\d)", text) == ["g1", "g3"]
    assert "The same change in `torch.g2(torch.zeros(2))`." in text
    assert re.findall(r"\.py:(\d+)`", text.partition("torch.g3(")[0]) == ["12", "40"]


def test_what_the_run_withholds_and_could_not_do_is_said() -> None:
    text = told(eventful())
    assert (
        "2 private bugs may touch memory that does not belong to the library. This comment does not describe them."
        in text
    )
    assert "Some steps failed: test\\_data.py: ModuleNotFoundError: PIL." in text
    assert "Protection: Docker: no network, read-only root." in text
    stopped = told(result(stopped=True, figures=TotalsEntry(pending=3)))
    for gap in (
        "cancelled early",
        "3 findings that are not examined yet",
        "no test was run",
        "other hardware than cpu",
    ):
        assert gap in stopped


@pytest.mark.parametrize(
    "event",
    [
        {"changes": (change("changed"),)},
        {"changes": (change("fixed"),)},
        {"bugs": (bug(regression=True),)},
        {"bugs": (bug(new=True),), "baseline": None},
        {"bugs": (bug(new=True),), "mode": "nightly"},
        {"dropped": (RemovalEntry(api="torch.x", kind="deprecated"),)},
        {"turns": (StatusEntry(fingerprint="a" * 32, number=1, api="torch.x", turn="fixed", build="b"),)},
    ],
)
def test_what_is_worth_a_comment(event: dict[str, object]) -> None:
    assert worth_telling(result(**event))
    assert "nothing" not in headline(result(**event))


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"bugs": (bug(), bug(2, status="known", new=True), bug(3, status="fixed", regression=True))},
        {"bugs": (bug(new=True),)},
        {"private": 3},
        {"problems": ("no disk",)},
        {"turns": (StatusEntry(fingerprint="a" * 32, number=1, api="torch.x", turn="reopened", build="b"),)},
    ],
)
def test_what_is_not(event: dict[str, object]) -> None:
    assert not worth_telling(result(**event))
    assert "### nightfuzz: no change\n" in told(result(**event))


def test_a_run_that_tells_too_little_does_not_say_that_nothing_changes() -> None:
    for little in (result(stopped=True), result(figures=TotalsEntry())):
        assert "too few results" in told(little)
        assert "the same on both builds" not in told(little)
    assert "no new bug" in told(result(baseline=None))


REGRESSED, FRESH = result(changes=(change(),)), result(baseline=None, bugs=(bug(new=True),))
CHANGED, OLD_BUG = result(changes=(change("changed"),)), result(bugs=(bug(),))


UNTOUCHED = result(mode="pr", baseline=None, figures=TotalsEntry())


def test_a_pull_request_that_changes_no_seed_is_told_so() -> None:
    assert headline(UNTOUCHED) == "no seed is changed" and "no test was run" in told(UNTOUCHED)
    failed = UNTOUCHED.with_faults(["`nightfuzz run` failed: no changed seed could be traced"])
    assert "no changed seed could be traced" in told(failed) and "no seed is changed" not in told(failed)


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (REGRESSED, ("neutral", "failure", "failure", "failure")),
        (result(dropped=(RemovalEntry(api="torch.x", kind="removed"),)), ("neutral", "failure", "failure", "failure")),
        (FRESH, ("neutral", "neutral", "failure", "failure")),
        (CHANGED, ("neutral", "neutral", "neutral", "failure")),
        (OLD_BUG, ("success", "success", "success", "failure")),
        (result(private=1), ("success", "success", "success", "failure")),
        (result(changes=(change("fixed"),)), ("success",) * 4),
        (result(), ("success",) * 4),
        (result(stopped=True), ("neutral",) * 4),
        (result(figures=TotalsEntry()), ("neutral",) * 4),
        (UNTOUCHED, ("success",) * 4),
        (UNTOUCHED.with_faults(["`nightfuzz run` failed: no changed seed could be traced"]), ("failure",) * 4),
        (UNTOUCHED.model_copy(update={"stopped": True}), ("neutral",) * 4),
    ],
)
def test_the_conclusion_follows_from_what_to_fail_on(of: RunResult, expected: tuple[str, ...]) -> None:
    assert tuple(conclusion(of, fail_on) for fail_on in get_args(FailOn)) == expected


def test_an_unknown_value_is_refused() -> None:
    with pytest.raises(UserError, match="'always' is not a value of fail-on"):
        conclusion(result(), "always")  # type: ignore[arg-type]
    assert get_args(FailOn) == FAIL_ON


@given(texts)
@examples(20)
def test_a_check_has_a_short_title_and_the_comment_without_its_marker(text: str) -> None:
    made = check(hostile(text), "never", BLOB, RUN)
    assert len(made.title) <= 255
    assert made.title == "2 regressions, 1 changed call, 1 deprecated api and 2 fixed bugs"
    assert made.summary.startswith("### nightfuzz: ")


@pytest.mark.slow
@pytest.mark.parametrize("text", [sign * 100_000 for sign in "x`@\n|é"] + ["\N{PILE OF POO} " * 50_000])
def test_a_comment_fits_and_says_how_much_is_left_out(text: str) -> None:
    many = hostile(text if text.split() else f"x{text}", 400)
    body, summary = told(many), check(many, "never").summary
    assert len(body) <= BODY
    assert len(summary) <= OUTPUT
    assert body.count("<details>") == body.count("</details>") == 5
    shown = len(re.findall("(?m)^#### ", body.partition("#### Apis that are removed")[0]))
    left = [int(number) for number in re.findall(r"(\d+) more causes: see \[the report\]", body)]
    assert shown + left[0] == 1 + 400


def test_the_order_of_the_document_makes_no_difference_among_bugs() -> None:
    bugs = (bug(1, new=True), bug(2, new=True, grade="crash"), bug(3, new=True, validity="invalid"))
    made = {comment(result(baseline=None, bugs=order), MARKER) for order in itertools.permutations(bugs)}
    assert len(made) == 1
    (text,) = made
    assert re.findall(r"#### `torch\.f(\d)", text) == ["2", "1", "3"]


def test_templates_in_texts_are_not_rendered() -> None:
    for text in (text for text in NASTY if "{{" in text or "{%" in text):
        assert text in told(hostile(text))


def test_the_worst_five_are_in_sight_and_the_others_folded() -> None:
    text = comment(result(baseline=None, bugs=tuple(bug(number, new=True) for number in range(12))), MARKER)
    sight, _, folded = text.partition("<details><summary>7 more causes</summary>")
    assert re.findall(r"#### `torch\.f(\d+)", sight) == ["0", "1", "2", "3", "4"]
    assert re.findall(r"#### `torch\.f(\d+)", folded) == ["5", "6", "7", "8", "9"]
    assert "2 more causes: see the run's artifact." in folded
