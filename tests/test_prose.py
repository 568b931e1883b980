"""Plain words: how many sentences of the project's own code may break a rule of CONTRIBUTING.md."""

from __future__ import annotations

from pathlib import Path

import pytest
from prose import FIRST, LONG, RULES, Measure, comments, sentences

ROOT = Path(__file__).parent.parent
FOLDERS = ("fuzz_core", "bot", "reports", "bench")
OPENER, VAGUE, COINED = RULES
# Largest share of sentences that break a rule.
MOST = {OPENER: 0.015, VAGUE: 0.03, COINED: 0.003, LONG: 0.03, FIRST: 0.02}


@pytest.fixture(scope="module")
def measure() -> Measure:
    found = Measure(ROOT, FOLDERS)
    assert found.sentences > 3000
    return found


@pytest.mark.parametrize("rule", MOST)
def test_few_sentences_break_a_rule(measure: Measure, rule: str) -> None:
    places = "\n".join(f"{each.place}: {each.text}" for each in measure.broken[rule])
    assert measure.share(rule) <= MOST[rule], f"sentences whose text {rule}:\n{places}"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Of numbers the ends.", OPENER),
        ("The examiner takes nothing.", VAGUE),
        ("The worker has told the controller.", COINED),
        (" ".join(["word"] * 26) + ".", LONG),
    ],
)
def test_each_rule_finds_a_sentence_that_breaks_it(tmp_path: Path, text: str, rule: str) -> None:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "module.py").write_text(f'"""{text}"""\n\n# {text}\nname = 1  # {text}\n')
    found = Measure(tmp_path, ["code"])
    assert [each.place for each in found.broken[rule]] == ["code/module.py:1", "code/module.py:3"]


def test_code_and_lists_are_no_sentences() -> None:
    assert list(sentences("Text says `nothing`.\n\n- nothing at all\n\n    nothing = 1\n")) == ["Text says CODE."]
    assert list(comments("a = 1\n# one\n# two\nb = 2\n\n# three\n")) == [(2, "one two"), (6, "three")]


def test_no_name_breaks_a_rule(measure: Measure) -> None:
    assert measure.gerunds() == []
    assert measure.namesakes() == {}


def test_a_class_and_a_module_have_a_name_of_their_own(tmp_path: Path) -> None:
    for name in ("mounting", "shaped", "seed", "scheduler"):
        (tmp_path / f"{name}.py").write_text("class Found:\n    pass\n")
    found = Measure(tmp_path, ["."])
    assert found.gerunds() == ["mounting", "shaped"] and found.namesakes() == {"Found": 4}
