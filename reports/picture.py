"""The picture of a run: new behaviour over its time, and the causes of its open bugs by grade.

GitHub removes `<svg>` and `data:` images from a job's summary, and draws Mermaid. So the summary has the curve as a
Mermaid chart, and the artifact and the report of a run on this machine have both charts as an SVG file.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape

from nightfuzz.reports import wording
from nightfuzz.reports.markdown import counted, duration
from nightfuzz.reports.results import RunResult
from nightfuzz.reports.text import bounded

NAME = "night.svg"
# A curve with fewer points says nothing. A Mermaid chart has so many values at even intervals.
LEAST_POINTS, MERMAID_VALUES = 3, 25
WIDTH, HEIGHT, LEFT, TOP, CHART_WIDTH, CHART_HEIGHT = 720, 230, 56, 62, 320, 122
BARS_LEFT, BAR_WIDTH, ROW, MOST_ROWS = 426, 96, 22, 6
LABEL, TITLE = 18, 90
# Mermaid's own line is too pale on a light page; this colour is seen on a dark page as well.
MERMAID_LOOK = (
    '%%{init: {"xyChart": {"width": 720, "height": 240}, '
    '"themeVariables": {"xyChart": {"plotColorPalette": "#7a6bdf"}}}}%%'
)
TEXT, MUTED, LINE, ACCENT, PALE = "#1d1d1f", "#63636a", "#d9d8d4", "#5746c6", "#d9d4f2"


def has_curve(result: RunResult) -> bool:
    """Return whether the run has kept a curve that is worth drawing."""
    return len(result.growth) >= LEAST_POINTS and result.growth[-1][0] > 0


def curve_sentence(result: RunResult) -> str:
    """Return how much new behaviour the run saw, and how much of it came late."""
    amounts = _even(result.growth, 5)
    share = (amounts[-1] - amounts[-2]) / amounts[-1] if amounts[-1] else 0.0
    classes = f"{amounts[-1]:,} new outcome {'class' if amounts[-1] == 1 else 'classes'}"
    spent = duration(result.growth[-1][0])
    return f"{classes} in {spent} of fuzzing; {share:.0%} of them in the last quarter of the time."


def curve_mermaid(result: RunResult) -> str:
    """Return the curve as a Mermaid chart of numbers alone, which GitHub draws."""
    unit, seconds = _unit(result.growth[-1][0])
    amounts = _even(result.growth, MERMAID_VALUES)
    return "\n".join(
        [
            MERMAID_LOOK,
            "xychart-beta",
            f'  x-axis "{unit} of fuzzing" 0 --> {result.growth[-1][0] / seconds:.1f}',
            f'  y-axis "new outcome classes" 0 --> {max(*amounts, 1)}',
            f"  line [{', '.join(map(str, amounts))}]",
        ]
    )


def picture(result: RunResult) -> str:
    """Return the picture as SVG; empty for a run without a curve."""
    if not has_curve(result):
        return ""
    figures = result.figures
    title = f"{result.target.key}: {counted(figures.tests, 'test')} in {duration(figures.seconds)}"
    body = [_text(LEFT - 40, 26, bounded(title, TITLE), size=15, weight="600")]
    body += [*_curve(result), *_bars(_grades(result))]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    ground = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
    return "\n".join([f'{head} font-family="sans-serif" font-size="12">', ground, *body, "</svg>", ""])


def _unit(seconds: float) -> tuple[str, int]:
    """Return the unit of an axis of time, and its length in seconds."""
    return next((each for each in (("hours", 3600), ("minutes", 60)) if seconds >= 2 * each[1]), ("seconds", 1))


def _even(points: Sequence[tuple[float, int]], many: int) -> list[int]:
    """Return the amounts at so many even times from the beginning to the end."""
    end = points[-1][0]
    places = (bisect_right(points, end * (number / (many - 1)), key=lambda point: point[0]) for number in range(many))
    return [points[place - 1][1] if place else 0 for place in places]


def _grades(result: RunResult) -> list[tuple[str, int, int]]:
    """Return (grade, new causes, all causes) of open bugs, the grave grades first."""
    entries = [cause.entry for cause in wording.causes(wording.opened(result))]
    new = Counter(entry.grade for entry in entries if entry.new)
    return [(grade, new[grade], count) for grade, count in Counter(entry.grade for entry in entries).items()]


def _curve(result: RunResult) -> Iterator[str]:
    yield _text(LEFT - 40, TOP - 14, "New outcome classes", MUTED)
    bottom = TOP + CHART_HEIGHT
    end, most = result.growth[-1][0], max(max(amount for _, amount in result.growth), 1)
    unit, seconds = _unit(end)
    for share in (0.0, 0.5, 1.0):
        y, x = bottom - CHART_HEIGHT * share, LEFT + CHART_WIDTH * share
        yield f'<line x1="{LEFT}" y1="{y:g}" x2="{LEFT + CHART_WIDTH}" y2="{y:g}" stroke="{LINE}"/>'
        yield _text(LEFT - 6, y + 4, f"{most * share:,.0f}", MUTED, "end")
        yield _text(x, bottom + 18, f"{end / seconds * share:.3g}{f' {unit}' * (share == 1.0)}", MUTED, "middle")
    places = " ".join(
        f"{LEFT + CHART_WIDTH * min(at / end, 1):.1f},{bottom - CHART_HEIGHT * amount / most:.1f}"
        for at, amount in result.growth
    )
    yield f'<polygon points="{LEFT},{bottom} {places} {LEFT + CHART_WIDTH},{bottom}" fill="{PALE}" opacity="0.5"/>'
    yield f'<polyline points="{places}" fill="none" stroke="{ACCENT}" stroke-width="2"/>'


def _bars(grades: Sequence[tuple[str, int, int]]) -> Iterator[str]:
    yield _text(BARS_LEFT, TOP - 14, "Causes of open bugs: new (dark) and older (pale)", MUTED)
    most = max((count for _, _, count in grades), default=1)
    for row, (grade, new, count) in enumerate(grades[:MOST_ROWS]):
        y, x = TOP + ROW * row, BARS_LEFT + 110
        yield _text(BARS_LEFT, y + 12, bounded(grade, LABEL), TEXT)
        for amount, colour in ((count, PALE), (new, ACCENT)):
            place = f'x="{x}" y="{y + 2}" width="{BAR_WIDTH * amount / most:.1f}" height="13"'
            yield f'<rect {place} rx="2" fill="{colour}"/>'
        yield _text(x + BAR_WIDTH * count / most + 6, y + 12, f"{count}, {new} new" if new else str(count), MUTED)
    if not grades:
        yield _text(BARS_LEFT, TOP + 20, "no open bug", MUTED)


def _text(
    x: float, y: float, text: str, colour: str = TEXT, anchor: str = "start", size: int = 12, weight: str = "400"
) -> str:
    look = f'fill="{colour}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}"'
    return f'<text x="{x:g}" y="{y:g}" {look}>{escape(text)}</text>'
