"""Modules that a command loads: only those that it works with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fuzz_core.store.statefile import open_store

# Packages that take long to load, grouped by the commands that may load them.
WORKING = {"docker", "github", "requests", "jinja2", "bs4", "openai", "bson", "pyrage"}
READING = {"numpy", "sqlite_utils", "ruamel", "rapidfuzz", "fuzz_core.store", "fuzz_core.campaign", "fuzz_core.triage"}
SETTINGS = {"pydantic", "fuzz_core.cli.settings", "fuzz_core.targets"}
PROGRAM = """
import sys
from nightfuzz.bot.main import main
try:
    main()
except SystemExit as end:
    print(*sys.modules, file=sys.stderr)
    raise
"""


def loaded(*words: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


@pytest.mark.parametrize("word", ["--version", "--help"])
def test_what_the_program_is_and_can_do_is_told_without_what_it_works_with(word: str) -> None:
    assert not loaded(word) & (WORKING | READING | SETTINGS)


@pytest.mark.parametrize("words", ["run", "report", "init", "advise", "moco knowledge", "known", "action fuzz"])
def test_so_are_the_flags_of_a_command(words: str) -> None:
    # Flags are made from the settings, which are a pydantic model.
    assert not loaded(*words.split(), "--help") & (WORKING | READING | {"fuzz_core.targets"})


@pytest.mark.parametrize("words", ["bugs", "history", "known list"])
def test_a_command_that_only_reads_loads_nothing_that_others_work_with(tmp_path: Path, words: str) -> None:
    with open_store(tmp_path / "state.db"):
        pass
    assert not loaded(*words.split(), "--state", str(tmp_path)) & WORKING
