"""The settings that `--paper` changes: the documentation names each deviation with both values."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from fuzz_core.campaign.papers import PAPERS

DOCS = Path(__file__).resolve().parents[2] / "docs/explanation"
# A cell may hold a bar only in code.
_ROW = re.compile(
    r"^\| `(?P<name>\w+)` \| `(?P<own>[^`]+)` \| `(?P<published>[^`]+)` \| (?P<why>[^|]+) \|$", re.MULTILINE
)


@pytest.mark.parametrize("engine", PAPERS)
class DescribeDeviations:
    def test_each_is_a_row_of_the_documentation_with_both_values_and_a_reason(self, engine: str) -> None:
        paper = PAPERS[engine]
        rows = {row["name"]: row for row in _ROW.finditer((DOCS / f"{engine}.md").read_text())}
        assert list(rows) == [field.name for field in fields(paper.own)]
        for name, row in rows.items():
            values = repr(getattr(paper.own, name)), repr(getattr(paper.published, name))
            assert (row["own"], row["published"]) == values, f"{name}: {values}"

    def test_the_paper_has_another_value(self, engine: str) -> None:
        paper = PAPERS[engine]
        for field in fields(paper.own):
            assert getattr(paper.own, field.name) != getattr(paper.published, field.name), field.name

    def test_the_page_is_short(self, engine: str) -> None:
        assert len((DOCS / f"{engine}.md").read_text().splitlines()) < 150
