"""Lines over time as an SVG file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot

mpl.use("svg")
# The same lines give the same file.
mpl.rcParams["svg.hashsalt"] = "nightfuzz"


def line_plot(path: Path, series: Mapping[str, Sequence[tuple[float, float]]], x: str, y: str) -> None:
    """One line per name through its (x, y) points."""
    figure, axes = pyplot.subplots(figsize=(7, 4))
    for name, points in series.items():
        axes.plot([p[0] for p in points], [p[1] for p in points], label=name)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.legend(fontsize="small")
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    pyplot.close(figure)
