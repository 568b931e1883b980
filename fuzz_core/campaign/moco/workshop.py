"""The processes that one thread runs blocks and programs in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fuzz_core.adapters.dialect import Dialect
from fuzz_core.campaign.moco.judge import Verdicts
from fuzz_core.campaign.session import Session
from fuzz_core.execution.replay import Replayer
from fuzz_core.execution.zygote import Zygote
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.contract import oracle_of
from fuzz_core.oracles.crash import PROGRAM
from fuzz_core.worker.programs_ran import OWN, ProgramResult

# The mode that asks for gradients as training does.
BACKWARD = "backward"
# A program trains for an epoch, while a test case makes one call.
PROGRAM_TIMEOUT = 20.0
# Hooks make a program slower, and each program runs with hooks only once.
FLOW_TIMEOUT = 60.0
# An extreme value may ask for billions of layers. A timeout is no finding there, and long ones cost half of the time.
EXTREME_TIMEOUT = 1.0


class BlockWorkshop:
    """A process that tests blocks and a process that runs programs, so that a death costs only one of them."""

    def __init__(self, session: Session, plan: Path, timeout: float, weighing: bool = False) -> None:
        """Start the processes.

        Args:
            weighing: whether blocks are repeated as well, to see whether they leave memory behind.
        """
        target, self.weighing = session.target, weighing
        self.zygote = Zygote(target.python, target.library, "fuzz", plan, session.stopped)
        self.timeout = timeout
        self.tests = Replayer(self.zygote, timeout)
        self.programs = Replayer(self.zygote, max(timeout, PROGRAM_TIMEOUT))
        self.dialect: Dialect = session.dialect
        self.crash = oracle_of("crash")

    def alone(self, test: TestCase, extreme: bool = False) -> tuple[Outcome, Verdicts]:
        """Return the outcome of a block alone, and every verdict that is not clean.

        Args:
            extreme: whether the block has an extreme value. Then a hang is no finding, and gradients are asked for as
                well if the library does not compile.
        """
        self.tests.timeout = min(self.timeout, EXTREME_TIMEOUT) if extreme else self.timeout
        weighing = self.weighing and not extreme
        replayed = self.tests.run(test, weigh=weighing)
        if weighing and replayed.outcome.kind == "timeout":
            replayed = self.tests.run(test)
        verdicts = list(replayed.verdicts)
        crash = self.crash.judge({"cpu": replayed.outcome}, self.dialect)
        if not crash.clean and not any(verdict.oracle == crash.oracle for verdict, _ in verdicts):
            verdicts.append((crash, replayed.outcome))
        if extreme:
            verdicts = [each for each in verdicts if each[0].kind != "hang"]
            if replayed.outcome.kind == "ok" and not verdicts:
                verdicts.extend(self._backwards(test))
        return replayed.outcome, verdicts

    def _backwards(self, test: TestCase) -> Iterator[tuple[Verdict, Outcome]]:
        """Yield failures of a block that only its gradients show: the call may accept a value that they refuse."""
        if self.dialect.compiled:
            return
        for told in self.tests.tell(test, (BACKWARD,)).get(BACKWARD, ()):
            crash = self.crash.judge({BACKWARD: told.outcome}, self.dialect)
            if not crash.clean and crash.kind != "hang":
                yield crash, told.outcome

    def program(self, source: str, data: int, seed: int) -> ProgramResult:
        """Return the outcome of a program."""
        return self.programs.program(source, data, seed, settled=self.dialect.lazy)

    def flow(self, source: str) -> ProgramResult:
        """Return the outcome of a program with hooks, with the flow of activations."""
        before, self.programs.timeout = self.programs.timeout, FLOW_TIMEOUT
        try:
            return self.programs.program(source, hooked=True)
        finally:
            self.programs.timeout = before

    def judge(self, ran: ProgramResult) -> Verdicts:
        """Return the verdict of the crash oracle on a program; an exception of the program's own has none."""
        verdict = self.crash.judge({"cpu": ran.outcome}, self.dialect)
        return () if ran.how == OWN or verdict.clean else [(verdict, ran.outcome)]

    def verdicts_in_mode(self, test: TestCase, mode: str) -> Verdicts:
        """Return the verdicts on a working program in a mode, see `execution.replay`; empty without the mode."""
        if mode not in self.dialect.programs:
            return ()
        found = self.programs.run(test, mode=mode).verdicts
        return [each for each in found if not each[0].detail.startswith(PROGRAM)]

    def close(self) -> None:
        """End all of it."""
        self.tests.close()
        self.programs.close()
        self.zygote.close()
