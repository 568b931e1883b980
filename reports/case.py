"""Material for the report of one bug, and the gaps that the report must name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.adapters.library import KNOWN_LIBRARIES, library_of
from fuzz_core.adapters.quotes import quoted_in
from fuzz_core.oracles.kinds import KINDS, Kind, kind_of
from fuzz_core.store.records import BugRow, TargetRecord
from fuzz_core.targets.facts import Environment
from fuzz_core.triage.assess import Severity, lacks_check
from nightfuzz.reports.contradiction import blame_sentence, contradiction
from nightfuzz.reports.text import SPAN, comment_text, one_line

SHOWN_WAYS = 3
SHOWS, DOES_NOT, NOT_CHECKED = "shows it", "does not", "not checked"
UNSEARCHED = "whether the bug is already reported: no issue tracker was searched"
# Names for modes without a record: devices, and the modes of whole programs.
_OTHERS = {
    "cpu": "the plain call on the CPU",
    "inductor": "`torch.compile` with inductor",
    "program": "the whole program; each of its blocks works alone",
    "training": "the gradients of what the model trains",
    "cuda": "the same call on a CUDA device",
    "fake": "fake tensors, without data",
    "backward": "the backward pass of the sum of the results",
}
# The end of a script that fails when its call returns.
_FAILS = re.compile(r"^actual = (.+)\nprint\(told := .*\nraise AssertionError\(.*$", re.MULTILINE)
# The code of a mutation operator in a bug's origin, such as `RG changed rate of …`.
_OPERATOR = re.compile(r": [A-Z]{2} (?=changed |put )")
# Oracles that compare modes of one build: the plain call does not show their bugs.
COMPARED = frozenset(kind.oracle for kind in KINDS.values() if kind.reproduction == "comparison") - {"versions"}


def meaning_of(mode: str) -> str:
    """Return a mode in words for readers who do not know nightfuzz; empty if the name explains itself."""
    return _meanings().get(mode, "")


@cache
def _meanings() -> dict[str, str]:
    modes = (item for library in KNOWN_LIBRARIES for item in dialect_of(library).modes.items())
    return _OTHERS | {name: mode.meaning for name, mode in modes if mode.meaning}


class Baseline(NamedTuple):
    """A build that does not show the bug: its version, and the script's result there in `runs` fresh processes."""

    version: str
    did: str
    runs: int


class MissingCheck(NamedTuple):
    """A call that returns although it should be refused.

    Attributes:
        argument: that the documentation forbids; else empty.
    """

    argument: str
    documented: str
    observed: str


class BugCase(NamedTuple):
    """A bug with everything that a maintainer asks about it."""

    bug: BugRow
    target: TargetRecord
    severity: Severity
    environment: Environment
    modes: Mapping[str, str] = {}  # for each mode, `SHOWS`, `DOES_NOT` or `NOT_CHECKED`
    output: str = ""  # full output of the script in a fresh process; empty if it was not run again
    baseline: Baseline | None = None
    first_bad: str = ""  # the first version known to show the bug
    also: Sequence[str] = ()  # other apis that fail in the same place
    shown_on: Sequence[str] = ()  # other versions on which the script showed the bug
    clean_on: Sequence[str] = ()  # other versions on which the script did not show the bug

    @property
    def expected(self) -> str:
        """The expected behaviour, in the words of the script."""
        return comment_text(self.bug.script, "expected") or KINDS["crash"].expected

    @property
    def happened(self) -> str:
        """The result of the call, and the expected result."""
        return contradiction(self.bug)

    @property
    def blame(self) -> str:
        """The wrong one of two results, with the evidence; empty without evidence."""
        return blame_sentence(self.bug)

    @property
    def one_line(self) -> str | None:
        """The script as a line to paste behind `python -c`; None if the line is too long."""
        return one_line(self.bug.script, SPAN)

    @property
    def missing_check(self) -> MissingCheck | None:
        """The check that should have refused the call; None for a bug of another kind."""
        if not lacks_check(self.bug):
            return None
        quoted = quoted_in(self.bug.outcome.text)
        if quoted is not None:
            return MissingCheck(quoted.argument, quoted.text, f"{quoted.argument}={quoted.value} is accepted")
        if self.happened.startswith("refused "):
            documented, _, accepted = self.happened.rpartition(", accepted ")
            return MissingCheck("", documented, f"accepted {accepted}")
        observed, _, refused = self.happened.partition(", refused ")
        return MissingCheck("", f"refused {refused}" if refused else "", observed)

    @property
    def plain_line(self) -> str | None:
        """The script as a line that makes the call and prints its result; None if the line is too long."""
        return one_line(_FAILS.sub(r"print(\1)", self.bug.script), SPAN)

    @property
    def origin(self) -> str:
        """The place in a model program that the bug comes from, in words; empty for a bug of a single call."""
        return _OPERATOR.sub(": fuzzing ", self.bug.origin)

    @property
    def nightly(self) -> bool:
        """Whether a nightly build shows it."""
        return any(".dev" in version for version in (self.target.version, *self.shown_on))

    @property
    def came(self) -> str:
        """The first version that shows the bug, or the reason why that version is unknown."""
        if self.first_bad:
            return self.first_bad
        if self.baseline:
            return f"after {self.baseline.version}"
        if self.shown_on:
            return f"unknown; also shown by {', '.join(self.shown_on)}"
        return "unknown; no other version was run"

    @property
    def devices(self) -> str:
        """The hardware that was there."""
        return ", ".join(map(str, self.target.info.get("devices", ("cpu",))))

    @property
    def kind(self) -> Kind:
        """The record of the verdict's kind."""
        return kind_of(self.bug.kind)

    @property
    def seen(self) -> dict[str, str]:
        """The modes that were tried."""
        return {mode: seen for mode, seen in self.modes.items() if seen != NOT_CHECKED}

    def unchecked(self) -> list[str]:
        """List the checks that were not made, although a reader may assume them."""
        ways = [(meaning_of(mode) or mode).replace("`", "") for mode, seen in self.modes.items() if seen == NOT_CHECKED]
        left = [f"{len(ways) - SHOWN_WAYS} more"] if len(ways) > SHOWN_WAYS else []
        gaps = {
            f"other ways to make the call: {'; '.join([*ways[:SHOWN_WAYS], *left])}": bool(ways),
            "nightly builds": bool(library_of(self.target.library).nightly) and not self.nightly,
            "the first version with the bug": not (self.first_bad or self.baseline),
            f"other hardware than {self.devices}, other operating systems, other versions of Python": True,
            "whether the input is valid": self.severity.validity.status == "unknown",
            UNSEARCHED: True,
        }
        return [gap for gap, there in gaps.items() if there]
