"""Plain words: how many sentences of the project's own code may break a rule of CONTRIBUTING.md."""

from __future__ import annotations

import ast
import builtins
from functools import cache
from pathlib import Path

import pytest
from prose import FIRST, LONG, RULES, Measure, comments, form_faults, sentences

ROOT = Path(__file__).parent.parent
FOLDERS = {"project": ("fuzz_core", "bot", "reports", "bench"), "tests": ("tests",)}
OPENER, VAGUE, COINED = RULES
# Largest share of sentences that break a rule.
MOST = {OPENER: 0.015, VAGUE: 0.03, COINED: 0.003, LONG: 0.03, FIRST: 0.02}


@cache
def measured(name: str) -> Measure:
    return Measure(ROOT, FOLDERS[name])


@pytest.fixture(scope="module", params=FOLDERS)
def measure(request: pytest.FixtureRequest) -> Measure:
    assert measured(request.param).sentences > 1500
    return measured(request.param)


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


def test_docstrings_say_arguments_results_and_errors_in_sections() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in measured("project").files}
    classes = {
        node.name for text in texts.values() for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)
    }
    exceptions = classes | set(dir(builtins))
    assert [f"{path}:{fault}" for path, text in texts.items() for fault in form_faults(text, exceptions)] == []


@pytest.mark.parametrize(
    ("docstring", "fault"),
    [
        ("Read a file. Raises OSError.", "Raises OSError."),
        ("Read a file.\n\n    path: of it.", "path"),
        ("Read a file.\n\n    Args:\n        name: of it.", "name"),
        ("Read a file.\n\n    Raises:\n        NoError: never.", "NoError"),
    ],
)
def test_a_fault_of_form_is_found(docstring: str, fault: str) -> None:
    source = f'def read(path):\n    """{docstring}"""\n'
    assert list(form_faults(source, {"OSError"})) == [f"1 read: {fault}"]


def test_sections_are_no_faults_of_form() -> None:
    docstring = "Read a file.\n\n    Args:\n        path: of it.\n\n    Raises:\n        OSError: a: b.\n    "
    assert list(form_faults(f'def read(path):\n    """{docstring}"""\n', {"OSError"})) == []
