"""Scripts that print what a call comes to, for a look at two builds."""

from __future__ import annotations

from fuzz_core.adapters.dialect import Dialect
from fuzz_core.adapters.surroundings import surroundings
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import TestCase
from fuzz_core.triage.confirm import KEPT_TEXT, SCRIPT_NAME, classify
from fuzz_core.triage.process import DEFAULT_MEMORY, Processes, checked_python, run
from fuzz_core.triage.script import Writer, imports


def render_printing(test: TestCase, dialect: Dialect) -> str:
    """A standalone script that makes the call and prints the result.

    Raises CodecError for a name that is none, and BuildError for a dtype that the library does not have.
    """
    *before, last = Writer(dialect).statements(test.invocation)
    lines = [*before, f"print({last})"]
    return "\n".join([*imports(dialect, lines), "", *lines]) + "\n"


def printed(python: str, script: str, dialect: Dialect, timeout: float, processes: Processes) -> Outcome:
    """Runs a script in a fresh, limited process; the text of an `ok` outcome is what it printed."""
    command = [checked_python(python), SCRIPT_NAME]
    finished = run(command, {SCRIPT_NAME: script}, timeout, DEFAULT_MEMORY, surroundings(dialect, python), processes)
    outcome = classify(finished, dialect)
    return outcome._replace(text=finished.stdout.strip()[:KEPT_TEXT]) if outcome.kind == "ok" else outcome
