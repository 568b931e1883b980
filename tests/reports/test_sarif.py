"""Tests that SARIF fits the standard's schema and can be shown by code scanning, for any texts."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from examples import examples
from hypothesis import given
from jsonschema import Draft7Validator
from result_cases import NASTY, NEW, SITE, bug, change, eventful, hostile, result, texts

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.oracles.contract import ORACLES, oracle_of
from fuzz_core.oracles.kinds import RULES
from nightfuzz.reports.results import RemovalEntry, RunResult, Site
from nightfuzz.reports.sarif import LOCATIONS, PACKED, RESULTS, sarif

SCHEMA = Path(__file__).parent.parent / "fixtures" / "schemas" / "sarif-2.1.0.json"
WORKFLOW = ".github/workflows/nightfuzz.yml"


@cache
def validator() -> Draft7Validator:
    return Draft7Validator(json.loads(SCHEMA.read_text()), format_checker=Draft7Validator.FORMAT_CHECKER)


def run_of(of: RunResult, **given: Any) -> dict[str, Any]:
    """Returns the one run of a file, after a check that the schema accepts the file."""
    document = json.loads(sarif(of, **given))
    validator().validate(document)
    (run,) = document["runs"]
    return dict(run)


def results_of(of: RunResult, **given: Any) -> list[dict[str, Any]]:
    return list(run_of(of, **given)["results"])


def hash_of(found: dict[str, Any]) -> str:
    """Returns the hash by which code scanning recognises a result."""
    return str(found["partialFingerprints"]["primaryLocationLineHash"])


def test_check_jsonschema_accepts_the_file(tmp_path: Path) -> None:
    path = tmp_path / "nightfuzz.sarif"
    path.write_text(sarif(eventful(), WORKFLOW))
    options = ["--regex-variant", "nonunicode", "--schemafile", str(SCHEMA)]
    ran = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", *options, str(path)], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout


def test_what_is_open_or_changes_is_a_result_the_worst_first() -> None:
    found = results_of(eventful())
    assert [(each["ruleId"], each["level"], each["baselineState"]) for each in found] == [
        ("crash-internal-error", "error", "new"),
        ("versions-regression", "error", "new"),
        ("versions-removed", "error", "new"),
        ("differential-wrong-result", "error", "unchanged"),
        ("versions-changed", "warning", "new"),
        ("versions-deprecated", "warning", "new"),
        ("crash-internal-error", "warning", "unchanged"),
    ]
    assert run_of(eventful())["properties"] | {"figures": None} == {
        "mode": "bump", "figures": None, "known": 1, "fixed": 1, "private": 2, "target": "torch 2.14.0",
        "baseline": "torch 2.13.0",
    }  # fmt: skip


def test_a_result_is_at_the_line_of_the_test_and_knows_the_others() -> None:
    other = Site(path="tests/test_é#?%.py", line=3)
    (found,) = results_of(result(bugs=(bug(regression=True, sites=(SITE, other)),)), fallback=WORKFLOW)
    place = found["locations"][0]["physicalLocation"]
    assert place == {
        "artifactLocation": {"uri": "tests/test%20loop%281%29.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 12},
    }
    (related,) = found["relatedLocations"]
    uri = related["physicalLocation"]["artifactLocation"]["uri"]
    assert re.fullmatch(r"[\w/.%-]+", uri, re.ASCII)
    assert unquote(uri) == other.path


def test_without_a_line_the_api_is_named_and_the_file_that_stands_for_it() -> None:
    (alone,) = results_of(result(bugs=(bug(),)))[0]["locations"]
    assert alone == {"logicalLocations": [{"fullyQualifiedName": "torch.f1", "kind": "function"}]}
    (instead,) = results_of(result(bugs=(bug(),)), fallback=WORKFLOW)[0]["locations"]
    assert instead["physicalLocation"]["artifactLocation"]["uri"] == WORKFLOW
    assert "location of the whole run" in instead["message"]["text"]


def test_a_result_is_recognised_in_the_next_run_on_the_next_build_at_another_line() -> None:
    moved = Site(path=SITE.path, line=99)
    gone = RemovalEntry(api="torch.gone", kind="removed", sites=(SITE,))
    first = result(bugs=(bug(new=True, sites=(SITE,)),), changes=(change(),), dropped=(gone,))
    later = result(
        target=NEW.model_copy(update={"version": "2.15.0", "key": "later"}),
        mode="nightly",
        bugs=(bug(sites=(moved,), script="import torch\n", title="torch.f1(y)", hits=3),),
        changes=(change(sites=(moved,)),),
        dropped=(gone.model_copy(update={"said": "since 2.14", "sites": ()}),),
    )
    assert {hash_of(each) for each in results_of(first)} == {hash_of(each) for each in results_of(later)}
    assert len({hash_of(each) for each in results_of(first)}) == 3
    assert results_of(first)[0]["partialFingerprints"]["nightfuzz/v1"] in hash_of(results_of(first)[0])


def test_a_message_says_what_happens_and_where() -> None:
    (found,) = results_of(result(bugs=(bug(regression=True, title="torch.f1(torch.zeros(2)): wrong result"),)))
    assert (
        found["message"]["text"]
        == "torch.f1: wrong result. Seen with torch 2.14.0. torch 2.13.0 does not show the bug."
    )
    assert bug().script.strip() in found["message"]["markdown"]


def test_known_and_fixed_bugs_are_no_results() -> None:
    assert results_of(result(bugs=(bug(status="known", new=True), bug(2, status="fixed")))) == []


def test_there_is_a_rule_for_every_kind_that_an_oracle_knows() -> None:
    kinds = {
        (name, example.verdict)
        for name in ORACLES
        for library in ("torch", "tensorflow")
        for example in oracle_of(name).examples(dialect_of(library))
    }
    assert {(oracle, kind) for oracle, kind in kinds if kind != "clean"} <= RULES.keys()


def test_rules_are_the_same_in_every_run_and_say_what_they_mean() -> None:
    rules = run_of(result())["tool"]["driver"]["rules"]
    assert rules == run_of(eventful())["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(RULES) == len({rule["name"] for rule in rules})
    for rule in rules:
        assert len(rule["shortDescription"]["text"]) < 100 < len(rule["fullDescription"]["text"]) + 50 < 1_024


def test_an_oracle_from_outside_gets_a_rule_too() -> None:
    run = run_of(result(bugs=(bug(oracle="mine", kind="odd/?&"),)))
    (found,) = run["results"]
    assert run["tool"]["driver"]["rules"][found["ruleIndex"]]["id"] == found["ruleId"] == "mine-odd-"


def test_what_went_wrong_is_in_the_invocation() -> None:
    (invocation,) = run_of(eventful().model_copy(update={"stopped": True}))["invocations"]
    assert not invocation["executionSuccessful"]
    said = [each["message"]["text"] for each in invocation["toolExecutionNotifications"]]
    assert said == [
        "test_data.py: ModuleNotFoundError: PIL",
        "Omitted: 2 private bugs, which may touch memory outside the library.",
    ]


def test_the_tool_is_named() -> None:
    driver = run_of(result())["tool"]["driver"]
    assert driver["name"] == "nightfuzz"
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", driver["semanticVersion"])


def plain(text: str) -> str:
    """Returns a message as a reader of SARIF shows it: doubled braces are single, and links are links."""
    assert not re.search(r"\]\(", text)
    assert not re.search(r"(?<!\{)(?:\{\{)*\{\d+\}(?!\})", text)
    return text.replace("{{", "{").replace("}}", "}")


@pytest.mark.parametrize("text", [text for text in NASTY if text.split()])
def test_a_nasty_text_is_only_text(text: str) -> None:
    for found in results_of(hostile(text), fallback=WORKFLOW):
        plain(found["message"]["text"])


@given(texts)
@examples(40)
def test_any_text_gives_a_valid_file(text: str) -> None:
    written = sarif(hostile(text), WORKFLOW)
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", written)
    for found in results_of(hostile(text), fallback=WORKFLOW):
        assert "\n" not in plain(found["message"]["text"])
        uri = found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"tests/[\w.~%-]+", uri, re.ASCII)


@pytest.mark.slow
def test_the_limits_of_code_scanning_are_kept_and_what_is_left_out_is_said() -> None:
    sites = tuple(Site(path=f"tests/test_{number}.py", line=number + 1) for number in range(200))
    bugs = tuple(bug(number, sites=sites[: number % 201]) for number in range(RESULTS + 400))
    changes = tuple(change(number=number) for number in range(100))
    text = sarif(result(bugs=bugs, changes=changes))
    run = json.loads(text)["runs"][0]
    assert len(run["results"]) == RESULTS
    assert len(gzip.compress(text.encode())) <= PACKED
    assert max(len(each["relatedLocations"]) + 1 for each in run["results"]) == LOCATIONS
    assert run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"].startswith(
        "500 of the least severe results did not fit"
    )
    assert sum(each["ruleId"] == "versions-regression" for each in run["results"]) == 100


def test_the_category_of_the_upload_counts() -> None:
    """Code scanning prefers the file's own id, so with such an id each upload would replace all earlier uploads."""
    assert "automationDetails" not in run_of(eventful())
