"""Scripts of bugs on one build: the limits that each kind of bug needs, and what an end by itself does not tell."""

from __future__ import annotations

from collections.abc import Callable

from fuzz_core.adapters.dialect import Dialect
from fuzz_core.execution.scratch import scratch
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.oracles.contract import oracle_of
from fuzz_core.triage.confirm import Confirmation, confirm, run_script
from fuzz_core.triage.native import frames
from fuzz_core.triage.process import DEFAULT_MEMORY, Processes

IMPORT_SECONDS = 30.0
GDB_SECONDS = 120.0
HANG_IMPORT_SECONDS = 5.0
HANG_FACTOR = 5.0
CORRUPTION_FACTOR = 3
# For all that a script has its library compile, at the first run.
COMPILING_SECONDS = 180.0


class Scripts:
    """Runs scripts with a target's interpreter; `timeout` is a test's, in seconds."""

    def __init__(self, python: str, dialect: Dialect, processes: Processes, timeout: float) -> None:
        self.python = python
        self.dialect = dialect
        self.processes = processes
        self.timeout = timeout
        self.crash = oracle_of("crash")
        self.compiled: set[str] = set()

    def seconds(self, kind: str) -> float:
        """The time limit of a script that shows a bug of this kind."""
        return self.timeout * HANG_FACTOR + (HANG_IMPORT_SECONDS if kind == "hang" else IMPORT_SECONDS)

    def outcome(self, script: str, kind: str) -> Outcome:
        """What a script does in a fresh process, told by how it ends."""
        return run_script(self.python, script, self.dialect, self.seconds(kind), processes=self.processes)

    def failing(self, script: str, kind: str, runs: int, *, roomy: bool = False) -> Confirmation:
        """How often a script fails with a verdict of this kind; roomy: with as much address space as it asks for."""

        def same(outcome: Outcome) -> bool:
            return self.crash.judge({"cpu": outcome}, self.dialect).kind == kind

        if kind == "hang":
            self._compile(script)
        limits = (runs, self.seconds(kind), 0 if roomy else DEFAULT_MEMORY)
        return confirm(self.python, script, same, self.dialect, *limits, processes=self.processes)

    def ends(self, script: str, seconds: float) -> bool:
        """Whether a script comes to an end that is no finding within so many seconds. One that dies fails, too."""
        self._compile(script)
        limit = seconds + HANG_IMPORT_SECONDS
        outcome = run_script(self.python, script, self.dialect, limit, processes=self.processes)
        return self.crash.judge({"cpu": outcome}, self.dialect).clean

    def _compile(self, script: str) -> None:
        """Runs a script once, so that what it has its library compile takes none of the time that it may hang in."""
        if self.dialect.compiled and script not in self.compiled:
            self.compiled.add(script)
            run_script(self.python, script, self.dialect, COMPILING_SECONDS, processes=self.processes)

    def asserting(self, script: str, runs: int) -> Confirmation:
        """How often a script ends with its assertion."""
        return confirm(
            self.python, script, asserts, self.dialect, runs, self.seconds("assertion"), processes=self.processes
        )

    def saying(self, script: str, same: Callable[[Outcome], bool], runs: int) -> Confirmation:
        """How often a script ends in a way that is the same."""
        limits = (runs, self.seconds("exception"))
        return confirm(self.python, script, same, self.dialect, *limits, processes=self.processes)

    def with_frames(self, outcome: Outcome, script: str) -> Outcome:
        """A death with the native frames where it happened, unless it says by itself what it died of."""
        if outcome.kind != "signal" or outcome.frames or speaks(outcome):
            return outcome
        with scratch() as folder:
            path = folder / "repro.py"
            path.write_text(script, encoding="utf-8")
            found = frames(self.python, str(path), GDB_SECONDS, self.dialect, processes=self.processes)
        return outcome._replace(frames=found)


def asserts(outcome: Outcome) -> bool:
    """Whether a script has ended with its assertion."""
    return (outcome.kind, outcome.name) == ("exception", "AssertionError")


def mode_of(verdict: Verdict) -> str:
    """The mode that a verdict is about."""
    return verdict.detail.partition(":")[0]


def is_compared(verdict: Verdict, dialect: Dialect) -> bool:
    """Whether a script shows it by calling in two ways and asserting that they agree."""
    return verdict.oracle != "crash" and mode_of(verdict) in {*dialect.ways, *dialect.programs}


def speaks(outcome: Outcome) -> bool:
    """Whether the last words name the fault: then a debugger, which takes half a minute on TensorFlow, adds nothing."""
    return "Check failed" in outcome.text
