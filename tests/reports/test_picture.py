"""The picture of a run: a chart for the job's summary, and an SVG file that stays well-formed."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import given
from result_cases import bug, hostile, result, texts

from nightfuzz.reports.picture import NAME, _even, picture
from nightfuzz.reports.results import POINTS, RunResult, merged
from nightfuzz.reports.summary import summary, write_report

CURVE = ((0.0, 0), (150.0, 60), (300.0, 90), (450.0, 95), (600.0, 100))


def night(**fields: object) -> RunResult:
    """Returns a night with a curve."""
    return result(mode="nightly", growth=CURVE, **fields)


def test_the_summary_has_the_curve_as_a_chart_that_github_draws() -> None:
    text = summary(night())
    assert "100 new outcome classes in 10 min of fuzzing; 5% of them in the last quarter of the time." in text
    [chart] = re.findall(r"```mermaid\n(.*?)```", text, re.DOTALL)
    assert (
        '  x-axis "minutes of fuzzing" 0 --> 10.0\n' in chart and '  y-axis "new outcome classes" 0 --> 100\n' in chart
    )
    [amounts] = re.findall(r"line \[(.*)\]", chart)
    amounts = [int(amount) for amount in amounts.split(", ")]
    assert (amounts[0], amounts[6], amounts[12], amounts[-1]) == (0, 60, 90, 100) and amounts == sorted(amounts)
    # GitHub removes both from a summary.
    assert "<svg" not in text and "data:" not in text


def test_the_report_of_a_run_here_shows_the_file_beside_it(tmp_path: Path) -> None:
    text = write_report(tmp_path / "report.md", night(bugs=(bug(1, new=True), bug(2)))).read_text()
    assert f"({NAME})" in text and "mermaid" not in text
    drawn = (tmp_path / NAME).read_text()
    assert "polyline" in drawn and "2, 1 new" in drawn


def test_a_run_without_a_curve_has_no_picture(tmp_path: Path) -> None:
    made = result(mode="nightly", bugs=(bug(),))
    write_report(tmp_path / "report.md", made)
    assert picture(made) == "" and not (tmp_path / NAME).exists() and "mermaid" not in summary(made)


@given(texts)
def test_hostile_text_leaves_the_picture_well_formed(text: str) -> None:
    made = hostile(text).model_copy(update={"growth": CURVE})
    names = {element.tag.partition("}")[2] for element in ElementTree.fromstring(picture(made)).iter()}
    assert names == {"svg", "rect", "text", "line", "polygon", "polyline"}
    assert summary(made).count("```mermaid") == 1


def test_curves_of_shards_add_up() -> None:
    other = ((0.0, 0), (200.0, 10), (700.0, 20))
    both = merged([night(shard=0, shards=2), night(shard=1, shards=2).model_copy(update={"growth": other})])
    assert both.growth == ((0, 0), (150, 60), (200, 70), (300, 100), (450, 105), (600, 110), (700, 120))
    long = tuple((float(second), second) for second in range(POINTS))
    many = [night().model_copy(update={"growth": tuple((at + n / 8, amount) for at, amount in long)}) for n in range(8)]
    assert len(merged(many).growth) == POINTS and merged(many).growth[-1][1] == 8 * (POINTS - 1)


def test_a_chart_ends_with_the_last_point() -> None:
    assert _even([(1.0, 3), (5642.76, 9)], 25)[-1] == 9
