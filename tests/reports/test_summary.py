"""Tests of the job's summary: all results, worst first, and at most as much text as GitHub shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from result_cases import BLOB, bug, change, eventful, hostile, result

from fuzz_core.modelgen.gandalf.scripts import RESULT
from nightfuzz.reports.results import TotalsEntry
from nightfuzz.reports.summary import STEP, summary, write_report


def test_regressions_first_then_changes_then_the_rest() -> None:
    text = summary(eventful(), BLOB)
    headings = re.findall(r"(?m)^#{1,2} (.*)$", text)
    assert headings == [
        "nightfuzz: torch 2.14.0, bump", "Problems", "Regressions", "Apis that are removed or deprecated",
        "Calls with another result", "Fixed", "Other open bugs", "About this report",
    ]  # fmt: skip
    assert text.index("torch.g1(") < text.index("torch.f1(x)") < text.index("torch.g2(")


def test_figures_builds_protection_and_budget_are_told() -> None:
    text = summary(eventful(), notes=["GitHub: 4,871 of 5,000 requests are left"])
    assert "| 49,265 | 283 | 42 | 17 | 0 | 9 min |" in text
    assert f"| baseline | torch-2.13.0 | 2026-05-01 | {'a' * 40} | cpu |" in text
    assert "- Protection: Docker: no network, read-only root" in text
    assert "- GitHub: 4,871 of 5,000 requests are left" in text
    assert "- 1 known bug and 1 fixed bug on record are not shown." in text
    assert "> **2 private bugs.**" in text


def test_what_is_not_there_is_not_told() -> None:
    text = summary(result())
    assert re.findall(r"(?m)^## (.*)$", text) == ["About this report"]
    assert "private" not in text
    assert "- Protection: unknown." in text


def test_new_bugs_of_a_night_have_scripts_and_old_ones_a_line() -> None:
    text = summary(result(mode="nightly", bugs=(bug(1), bug(2, new=True))))
    new, _, old = text.partition("## Other open bugs")
    assert "torch.f2(torch.zeros(2))" in new
    assert "- `torch.f1(x): RuntimeError: INTERNAL ASSERT FAILED`, first found on 2026-11-20\n" in old
    assert "torch.f1(torch" not in old


def test_the_mode_that_shows_a_bug_is_told_where_the_plain_call_does_not() -> None:
    modes = {"cpu": "does not", "vmap": "shows it", "cuda": "not checked"}
    text = summary(result(mode="nightly", bugs=(bug(new=True, modes=modes), bug(2, new=True))))
    assert text.count(" in the mode ") == 1
    assert "in the mode `vmap` (`torch.vmap` compared with a loop); input: valid" in text


def test_a_cancelled_run_says_so() -> None:
    assert "The run was cancelled early" in summary(result(stopped=True, figures=TotalsEntry(tests=5)))


@pytest.mark.parametrize(
    ("seconds", "told"), [(3.2, "3 s"), (59.7, "1 min"), (3_600, "1 h 0 min"), (9_000, "2 h 30 min")]
)
def test_times_are_for_people(seconds: float, told: str) -> None:
    assert f"| {told} |" in summary(result(figures=TotalsEntry(seconds=seconds)))


def test_a_thousand_bugs_fit_and_the_rest_is_counted() -> None:
    bugs = tuple(bug(number, new=True, script="import torch\n" + "x = 1\n" * 2_000) for number in range(1_000))
    text = summary(result(mode="nightly", bugs=bugs))
    shown = len(re.findall("(?m)^#### ", text))
    assert len(text.encode()) <= STEP
    assert f"{1_000 - shown} more causes: see `results.json`" in text
    assert "characters left out" in text


@pytest.mark.slow
@pytest.mark.parametrize("text", ["\N{PILE OF POO}" * 100_000, "`\n" * 50_000, "@" * 100_000])
def test_it_fits_in_bytes_whatever_the_texts_are(text: str) -> None:
    made = summary(hostile(text, 400), BLOB)
    assert len(made.encode()) <= STEP
    assert made.count("\n## About this report\n") == 1


def test_changes_for_the_better_are_lines() -> None:
    text = summary(result(changes=(change("fixed"),)))
    assert (
        "- `torch.g1(torch.zeros(2))`: `torch 2.13.0` raises `RuntimeError: sizes differ`, "
        "`torch 2.14.0` returns `tensor(1)`\n"
    ) in text


def test_the_report_of_a_run_here_is_its_summary(tmp_path: Path) -> None:
    made = result(mode="nightly", baseline=None, bugs=(bug(new=True), bug(2)))
    text = write_report(tmp_path / "report.md", made).read_text()
    assert text == Path(__file__).with_name("small_report.md").read_text()
    ours, its = text.splitlines(), summary(made).splitlines()
    assert ours[0] == "# nightfuzz: torch 2.14.0" and its[0] == "# nightfuzz: torch 2.14.0, nightly"
    assert [line for line in ours[1:] if ": nightfuzz " not in line] == its[1:]


def test_notes_of_a_run_here_stand_in_its_report(tmp_path: Path) -> None:
    text = write_report(tmp_path / "report.md", result(mode="nightly"), ["graphs: 7 of 9 operators"]).read_text()
    assert "- graphs: 7 of 9 operators" in text and "nightfuzz known list" in text


def test_models_that_libraries_disagree_about_are_drawn_beside_the_report(tmp_path: Path) -> None:
    script = f"x0 = lib.data((2, 3))\nn0 = lib.f(x0)\nassert n0 == 1, '{RESULT}: 1, here 2'"
    made = result(mode="nightly", bugs=(bug(3, regression=True, script=script),))
    assert "![The model](graphs/bug-3.svg)" in write_report(tmp_path / "report.md", made).read_text()
    assert "lib.f" in (tmp_path / "graphs" / "bug-3.svg").read_text()


def test_other_scripts_are_not_drawn(tmp_path: Path) -> None:
    made = result(mode="nightly", bugs=(bug(regression=True, script="x0 = 1\nn0 = lib.f(x0)"),))
    assert "![" not in write_report(tmp_path / "report.md", made).read_text()
    assert not (tmp_path / "graphs").exists()
