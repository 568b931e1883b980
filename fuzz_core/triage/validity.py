"""Whether a bug's input is one that the library promises to handle, and how that is known."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.kinds import kind_of
from fuzz_core.triage.bug import Bug

STATUSES = ("valid", "unknown", "invalid")

# The library itself says that it does not take the argument; it says so by dying, which makes it no clean refusal.
_REFUSAL = re.compile(
    r"INVALID_ARGUMENT: *(?P<status>[^\n]{3,200}?)\)*$"
    r"|(?P<words>[^.:\n)\]]{0,80}\b(?:[Mm]ust be|(?:only|not) (?:yet )?supported|[Uu]nsupported|Unrecognized)\b"
    r"[^.\n]{0,80})",
    re.MULTILINE,
)
# A condition that the library checks of itself holds whatever the caller passes, so its text speaks of no argument;
# a pointer that must not be null is one of its own too.
_OWN_CHECK = re.compile(
    r"^.*?INTERNAL ASSERT FAILED at [^,\n]*,? ?(?:please report a bug to [\w ]+\.?)?|'[^'\n]{0,200}' Must be non NULL",
    re.MULTILINE,
)


class Validity(NamedTuple):
    """status: valid, unknown or invalid. reason: how it is known, for a reader."""

    status: str
    reason: str


class Ruling(NamedTuple):
    """What documentation says of a test case.

    text: the words, source: where they stand. untold: arguments of which too little is documented to call them valid.
    """

    holds: bool
    text: str
    source: str = ""
    untold: tuple[str, ...] = ()


Rule = Callable[[TestCase], Ruling | None]


def validity(bug: Bug, rules: Sequence[Rule] = (), accepted_by: Sequence[str] = ()) -> Validity:
    """Whether the bug's input is valid: by documentation first, then by its origin, then by what accepts it.

    rules: each gives the documentation's ruling on a test case, or None where it has nothing to say. accepted_by: other
    modes or targets on which the same test case returns. Only documentation or the library's own words make an input
    invalid.
    """
    rulings = [ruling for rule in rules if (ruling := rule(bug.test)) is not None]
    return (
        _violation(rulings)
        or _origin(bug)
        or _acceptance(bug.kind, accepted_by)
        or _refusal(bug)
        or _conformance(rulings)
        or Validity("unknown", "a mutated call that nothing else accepts or rejects")
    )


def _violation(rulings: Sequence[Ruling]) -> Validity | None:
    broken = next((ruling for ruling in rulings if not ruling.holds), None)
    return Validity("invalid", f"documented: {_cited(broken)}") if broken else None


def _conformance(rulings: Sequence[Ruling]) -> Validity | None:
    """Documentation that holds speaks for an input only where nothing speaks against it, and it tells of everything."""
    if not rulings:
        return None
    untold = list(dict.fromkeys(name for ruling in rulings for name in ruling.untold))
    if untold:
        return Validity("unknown", f"documented constraints hold, but say too little of {', '.join(untold)}")
    return Validity("valid", f"documented constraints hold: {'; '.join(map(_cited, rulings))}")


def _cited(ruling: Ruling) -> str:
    return f"{ruling.text} ({ruling.source})" if ruling.source else ruling.text


def _origin(bug: Bug) -> Validity | None:
    if bug.test.program:
        return Validity("valid", "a model program each block of which works by itself")
    if bug.test.rules:
        return None
    if bug.minimised:
        return Validity("valid", "found by a traced call that no rule had changed; the script is simpler")
    return Validity("valid", "a traced call as its seed makes it")


def _acceptance(kind: str, accepted_by: Sequence[str]) -> Validity | None:
    if accepted_by:
        return Validity("valid", f"accepted by {', '.join(accepted_by)}")
    # A judgement over a call that has returned: the library took the input.
    returned = kind_of(kind).validity
    return Validity("valid", returned) if returned else None


def _refusal(bug: Bug) -> Validity | None:
    """Other deaths have no last words: what stands in their output is warnings.

    Of modes that disagree whether to accept a call, the words are those of the one that is on trial.
    """
    outcome = bug.outcome
    spoken = (outcome.kind == "exception" or outcome.name == "SIGABRT") and bug.kind != "inconsistent"
    found = _REFUSAL.search(_OWN_CHECK.sub("", outcome.text[:4000])) if spoken else None
    if found is None:
        return None
    return Validity("invalid", f"the library's own words: {(found['status'] or found['words']).strip()}")
