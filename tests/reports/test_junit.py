"""Tests of JUnit XML that Jenkins' schema accepts, in which new bugs are failures."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from examples import examples
from hypothesis import given
from result_cases import NASTY, bug, change, eventful, hostile, result, texts

from nightfuzz.reports.junit import junit
from nightfuzz.reports.results import RunResult
from nightfuzz.reports.text import clean

pytestmark = pytest.mark.skipif(
    find_spec("lxml") is None, reason="lxml, which checks XML schemas, is not installed: pip install lxml"
)
SCHEMA = Path(__file__).parent.parent / "fixtures" / "schemas" / "junit-10.xsd"


@cache
def schema() -> Any:
    from lxml import etree

    return etree.XMLSchema(etree.parse(str(SCHEMA)))


def accepted(text: str) -> ET.Element:
    """Returns the root element of a file, after a check that the schema accepts the file."""
    rules = schema()
    from lxml import etree

    rules.assertValid(etree.fromstring(text.encode()))
    return ET.fromstring(text)


def states(root: ET.Element) -> dict[str, str]:
    """Returns for each test case `passed`, or the failure or skip with its message."""
    return {
        str(case.get("name")).split(" [")[0].split("(")[0]: next(
            (f"{each.tag}: {each.get('message')}" for each in case if each.tag in ("failure", "skipped")), "passed"
        )
        for case in root.iter("testcase")
    }


def test_what_the_run_brings_fails_and_the_rest_is_skipped_with_its_reason() -> None:
    assert states(accepted(junit(eventful()))) == {
        "torch.f1": f"failure: a regression, shown by 5 of 5 fresh processes: {bug(1).title}",
        "torch.f2": "skipped: open, but not new",
        "torch.f3": "skipped: known",
        "torch.f4": "skipped: fixed",
        "torch.f5": "skipped: open, but not new",
        "torch.g1": "failure: raises RuntimeError: sizes differ; torch 2.13.0 returns tensor(1)",
        "torch.g2": "failure: raises RuntimeError: sizes differ; torch 2.13.0 returns tensor(1)",
        "torch.g3": "skipped: fixed: returns tensor(1); torch 2.13.0 raises RuntimeError: sizes differ",
        "removed: torch.gone": "failure: removed.",
        "deprecated: torch.old": "failure: deprecated. use torch.new",
    }


def test_suites_are_oracles_and_their_counts_add_up() -> None:
    root = accepted(junit(eventful()))
    counts = {suite.get("name"): [suite.get(key) for key in ("tests", "failures", "skipped")] for suite in root}
    assert counts == {
        "nightfuzz.crash": ["4", "1", "3"],
        "nightfuzz.differential": ["1", "0", "1"],
        "nightfuzz.versions": ["5", "4", "1"],
    }
    assert (root.get("tests"), root.get("failures"), root.get("time")) == ("10", "5", "548.200")
    assert [each.get("value") for each in root.iter("property")][:2] == ["torch-2.14.0", "torch-2.13.0"]


def test_the_script_is_the_output() -> None:
    (out,) = accepted(junit(result(bugs=(bug(),)))).iter("system-out")
    assert out.text == bug().script.strip()


def test_cases_of_one_title_have_names_of_their_own() -> None:
    bugs = tuple(bug(number, title="torch.f(x)", api="torch.f", fingerprint=f"{number}" * 32) for number in range(1, 4))
    names = [case.get("name") for case in accepted(junit(result(bugs=bugs))).iter("testcase")]
    assert len(set(names)) == 3


def test_a_run_without_anything_is_a_file_without_suites() -> None:
    assert len(accepted(junit(result()))) == 0


def assert_only_text(text: str, of: RunResult) -> None:
    root = accepted(junit(of))
    assert {each.tag for each in root.iter()} == {
        "testsuites", "testsuite", "properties", "property", "testcase", "failure", "skipped", "system-out"
    }  # fmt: skip
    for out in root.iter("system-out"):
        assert (out.text or "") == clean(text.strip())


@pytest.mark.parametrize("text", [text for text in NASTY if text.split()])
def test_a_nasty_text_is_only_text(text: str) -> None:
    assert_only_text(text, hostile(text))


@given(texts)
@examples(60)
def test_any_text_gives_a_valid_file(text: str) -> None:
    assert_only_text(text, hostile(text))


def test_long_texts_are_cut() -> None:
    many = result(changes=tuple(change(number=number, script="x = 1\n" * 15_000) for number in range(20)))
    assert len(junit(many)) < 20 * 25_000
