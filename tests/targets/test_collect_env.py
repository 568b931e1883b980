"""Tests of a target's versions: its own interpreter collects them, only text is kept, and a failure is reported."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.targets.facts import Environment, collect_env, environment_from_json, without_places


@pytest.mark.real
def test_torch_says_it_in_its_own_form(torch_python: Path) -> None:
    found = collect_env(str(torch_python), "torch")
    assert found.problem == ""
    for part in (
        "PyTorch version: 2.13.0",
        "Is debug build: False",
        "OS: ",
        "Python version: ",
        "CPU:",
        "Git version: ",
    ):
        assert part in found.text
    assert found.facts["version"].startswith("2.13.0") and len(found.facts["git_version"]) == 40
    assert str(torch_python.parent) not in found.text


@pytest.mark.real
def test_tensorflow_says_what_its_form_asks_for(tensorflow_python: Path) -> None:
    found = collect_env(str(tensorflow_python), "tensorflow")
    assert (found.problem, found.facts["version"]) == ("", "2.21.0")
    for name in ("git_version", "os", "python", "cpu", "numpy", "keras", "compiler"):
        assert found.facts[name]
        assert found.facts[name] in found.text


@pytest.mark.real
def test_jittor_says_what_it_is_compiled_with_and_not_where(jittor_python: Path) -> None:
    found = collect_env(str(jittor_python), "jittor")
    assert (found.problem, found.facts["version"]) == ("", "1.3.11.0")
    assert "g++" in found.facts["compiler"] and found.facts["compiler"] in found.text
    assert found.facts["options"] == "use_mkl=0 use_cuda=0"
    assert found.facts["cache"].startswith("jt1.3.11/") and "/.cache/" not in found.text
    assert str(jittor_python.parent.parent) not in found.text


def test_any_library_says_something(fakelib_python: str) -> None:
    found = collect_env(fakelib_python, "fakelib")
    assert found.text.startswith("fakelib version: ")
    assert "Compiled with" not in found.text
    assert "Git version: N/A" in found.text and found.facts["numpy"]


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("exit 1", "gathering failed: exit status 1"),
        ("echo oops >&2; exit 3", "gathering failed: oops"),
        ("exit 0", "gathering failed: exit status 0"),
        ("echo 'nightfuzz-facts {]'", "the answer is none"),
        ("echo 'nightfuzz-facts [1]'", "the answer is none"),
        ("sleep 60", "gathering took longer than 1 s"),
    ],
)
def test_a_failure_is_said_and_not_raised(tmp_path: Path, script: str, problem: str) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    found = collect_env(str(python), "lib", timeout=1.0 if "sleep" in script else 60.0)
    assert (found.text, problem in found.problem) == ("", True), found
    assert "cannot be run" in collect_env(str(tmp_path / "none"), "lib").problem


@given(st.recursive(st.none() | st.integers() | st.text(), lambda c: st.lists(c) | st.dictionaries(st.text(), c)))
def test_what_is_no_environment_is_none(data: Any) -> None:
    assert environment_from_json(data) is None


@given(st.text(max_size=99), st.dictionaries(st.sampled_from(["os", "cpu", "strange"]), st.text(max_size=500)))
def test_what_is_kept_reads_back_bounded(text: str, facts: dict[str, str]) -> None:
    found = environment_from_json(asdict(Environment(text, facts)))
    assert found is not None and found.text == text
    assert found.facts == {name: facts[name][:300] for name in ("os", "cpu") if facts.get(name)}


def test_places_on_this_machine_are_left_out() -> None:
    text = 'File "/home/me/.cache/t/env-1/lib/python3/site-packages/torch/x.py"\n/root/a /Users/you/b /rooted /home/me'
    assert without_places(text, "/home/me/.cache/t/env-1/bin/python") == (
        'File "<env>/lib/python3/site-packages/torch/x.py"\n~/a ~/b /rooted ~'
    )
    script = f'File "{tempfile.gettempdir()}/nightfuzz-a1_b/repro.py", line 3'
    assert without_places(script, "/env/bin/python") == 'File "repro.py", line 3'
