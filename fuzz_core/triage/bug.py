"""What triage asks of a bug: the row of the store has it, and so has whatever else knows what happened."""

from __future__ import annotations

from typing import Protocol

from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import TestCase


class Bug(Protocol):
    """A class of findings with one signature, shown by its simplest test case."""

    @property
    def id(self) -> int:
        """Its number in the store."""

    @property
    def target(self) -> str:
        """The key of the installed build that shows it."""

    @property
    def signature_text(self) -> str:
        """`API: FAULT`, without what varies from run to run."""

    @property
    def api(self) -> str:
        """The canonical public name of what was called."""

    @property
    def kind(self) -> str:
        """The kind of verdict: crash, internal-error, hang, wrong-result, …"""

    @property
    def test(self) -> TestCase:
        """The simplest test case that shows it."""

    @property
    def outcome(self) -> Outcome:
        """What that test case did in a fresh process."""

    @property
    def minimised(self) -> bool:
        """Whether the test case is simpler than the one that was found."""
