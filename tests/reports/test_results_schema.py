"""Tests that the published schema is the schema of the model, is valid, and separates good documents from bad ones."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from result_cases import NASTY, eventful, hostile

from nightfuzz.reports.results import schema

PUBLISHED = Path(str(files("nightfuzz.reports") / "schema" / "nightfuzz-results-1.json"))


def check(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_published_schema_is_that_of_the_model() -> None:
    assert json.loads(PUBLISHED.read_text()) == schema(), "write it anew: python tests/reports/test_results_schema.py"


def test_it_is_a_valid_schema() -> None:
    assert check("--check-metaschema", str(PUBLISHED)).returncode == 0
    Draft202012Validator.check_schema(schema())


def test_check_jsonschema_accepts_a_document_and_refuses_a_broken_one(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(eventful().to_json())
    bad.write_text(eventful().to_json().replace('"mode":', '"moda":'))
    assert check("--schemafile", str(PUBLISHED), str(good)).returncode == 0
    refused = check("--schemafile", str(PUBLISHED), str(bad))
    assert refused.returncode == 1
    assert "moda" in refused.stdout


@pytest.mark.parametrize("text", NASTY)
def test_documents_with_any_text_are_accepted(text: str) -> None:
    Draft202012Validator(schema()).validate(json.loads(hostile(text).to_json()))


BREAKS: dict[str, Any] = {
    "another schema": lambda document: document.update(schema="nightfuzz-results/2"),
    "no target": lambda document: document.pop("target"),
    "an unknown key": lambda document: document["bugs"][0].update(secret="x"),
    "a fingerprint that is none": lambda document: document["bugs"][0].update(fingerprint="../x"),
    "a negative number": lambda document: document.update(private=-1),
    "a text that is too long": lambda document: document["bugs"][0].update(title="x" * 2_001),
    "too many apis": lambda document: document.update(dropped=document["dropped"] * 5_001),
    "a status that there is not": lambda document: document["bugs"][0].update(status="private"),
    "line 0": lambda document: document["bugs"][0]["sites"][0].update(line=0),
}


@pytest.mark.parametrize("name", BREAKS)
def test_broken_documents_are_refused(name: str) -> None:
    document = copy.deepcopy(json.loads(eventful().to_json()))
    assert Draft202012Validator(schema()).is_valid(document)
    BREAKS[name](document)
    assert not Draft202012Validator(schema()).is_valid(document)


if __name__ == "__main__":
    PUBLISHED.write_text(json.dumps(schema(), indent=1) + "\n", encoding="utf-8")
