"""State of a bug on another build: the result of a run, of all runs, and the events that close and reopen the bug."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fuzz_core.adapters.dialect import Dialect
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.oracles.contract import oracle_of
from fuzz_core.oracles.kinds import WRONG
from fuzz_core.triage.cluster import Bug
from fuzz_core.triage.script import parsed
from fuzz_core.triage.signature import normalised, signature

SHOWN, CHANGED, FLAKY, CLEAN, UNRUNNABLE = "shown", "changed", "flaky", "clean", "unrunnable"
FIXED, REGRESSED = "fixed", "regressed"
CLEAN_BUILDS = 2

_CRASH = oracle_of("crash")
_ATTRIBUTE = re.compile(r"(?:^module|^type object|object)\b.* has no attribute '(\w+)'", re.DOTALL)
_IMPORTS = ("ImportError", "ModuleNotFoundError")
# Python's messages for a call that does not fit the parameters of its function.
_UNFIT = re.compile(
    r"unexpected keyword argument|got multiple values for (?:keyword )?argument|missing \d+ required \w+"
    r"|missing a required argument|takes (?:no|at most|exactly|from)?\s?[\d\w ]*(?:positional |keyword )?arguments?\b"
)
# Libraries keep a removed name for a while, which only raises that it was removed.
_WITHDRAWN = re.compile(r"\b(?:has been|have been|is now|was|been) removed\b|\bno longer (?:available|exists)\b")


class SingleRun(NamedTuple):
    """The result of one run."""

    status: str  # shown, changed, clean or unrunnable
    outcome: Outcome
    said: str = ""  # the signature that the run has, or the reason for the status


class BuildVerdict(NamedTuple):
    """The combined result of all runs on one build."""

    status: str  # shown (all runs), flaky (some), else changed, unrunnable or clean
    hits: int  # how many of `runs` show the bug
    runs: int
    outcome: Outcome  # outcome of the run that decides the status
    said: str = ""


class Mark(NamedTuple):
    """A check as it is on record: on which build, and its status."""

    build: str
    status: str


class Event(NamedTuple):
    """An event in the life of a bug."""

    kind: str  # fixed (on the first clean build) or regressed
    build: str  # the build that shows the event


def summed(sightings: Sequence[SingleRun]) -> BuildVerdict:
    """Combine the runs of one script.

    A build is clean only if every run is.
    """
    first = {seen.status: seen for seen in reversed(sightings)}
    decisive = next(first[status] for status in (SHOWN, CHANGED, UNRUNNABLE, CLEAN) if status in first)
    hits = sum(seen.status == SHOWN for seen in sightings)
    status = FLAKY if 0 < hits < len(sightings) else decisive.status
    return BuildVerdict(status, hits, len(sightings), decisive.outcome, decisive.said)


def with_own_failure(seen: Sequence[SingleRun], own: SingleRun) -> list[SingleRun]:
    """Return the runs, in which the failure that the bug's own build shows today counts as the bug.

    Other processors run other kernels, and another nightfuzz may write a signature in another way.
    """
    if own.status != CHANGED:
        return list(seen)
    return [each._replace(status=SHOWN) if each.said == own.said else each for each in seen]


def by_failure(bug: Bug, outcome: Outcome, dialect: Dialect) -> SingleRun:
    """Judge a script that fails by itself.

    The crash oracle decides whether it has failed, the signature whether it shows the same bug.
    An exception with the signature of the bug is the bug, even if the crash oracle, which knows less, calls it clean.
    """
    verdict = _CRASH.judge({"cpu": outcome}, dialect)
    own = Verdict(bug.oracle, bug.kind)
    said = signature(bug.api, own if verdict.clean else verdict, outcome).text
    # The bug's signature as it is on record, or as it would be written today.
    ours = said in (bug.signature_text, signature(bug.api, own, bug.outcome).text)
    if verdict.clean and not (ours and outcome.kind == bug.outcome.kind == "exception"):
        why = why_unrunnable(outcome, bug.script)
        return SingleRun(UNRUNNABLE if why else CLEAN, outcome, why)
    return SingleRun(SHOWN if ours else CHANGED, outcome, said)


def asserted(found: Outcome, ran: Outcome) -> Outcome:
    """Return the outcome of a comparison with the values that its script printed.

    The lines that say how the results differ, and which one is wrong, stay as they are.
    """
    if (ran.kind, ran.name) != ("exception", "AssertionError") or not ran.text:
        return found
    lines = (found.text.partition("\n")[0], ran.text, blame_in(found.text))
    return found._replace(text="\n".join(filter(None, lines)))


def blame_in(text: str) -> str:
    """Return the line of a difference that says which mode is wrong; empty if no evidence decides."""
    last = text.rpartition("\n")[2]
    return last if last.startswith(WRONG) else ""


def by_assertion(bug: Bug, outcome: Outcome, dialect: Dialect) -> SingleRun:
    """Judge a script that asserts what should hold: the assertion is the bug, any other failure is another bug."""
    if (outcome.kind, outcome.name) == ("exception", "AssertionError"):
        return SingleRun(SHOWN, outcome, bug.signature_text)
    seen = by_failure(bug, outcome, dialect)
    if seen.status == CLEAN and outcome.kind != "ok":
        return SingleRun(CHANGED, outcome, f"{bug.api}: {_words(outcome)}")
    return _another(seen)


def _another(seen: SingleRun) -> SingleRun:
    return seen._replace(status=CHANGED) if seen.status == SHOWN else seen


def beside_plain(seen: SingleRun, plain: Outcome, script: str) -> SingleRun:
    """Judge an asserting script that does not show the bug, by the outcome of the plain call alone.

    Two modes that fail alike satisfy some assertions. If the plain call is refused as well, no two modes differ.
    """
    why = why_unrunnable(plain, script)
    if why:
        return SingleRun(UNRUNNABLE, plain, why)
    refused = plain.kind == "exception" and _words(plain) == _words(seen.outcome)
    return SingleRun(CLEAN, seen.outcome) if refused and seen.status == CHANGED else seen


def by_verdicts(
    bug: Bug, found: Iterable[tuple[Verdict, Outcome]], wanted: str, first: Outcome, dialect: Dialect
) -> SingleRun:
    """Judge a replayed test case that no script can show, by its verdicts.

    `first` is the outcome of the plain call.
    """
    ours = []
    for verdict, outcome in found:
        if verdict.oracle == bug.oracle:
            text = signature(bug.api, verdict, outcome).text
            ours.append(SingleRun(SHOWN if (verdict.kind, text) == (bug.kind, wanted) else CHANGED, outcome, text))
    if ours:
        return next((seen for seen in ours if seen.status == SHOWN), ours[0])
    if first.kind == "skipped":
        return SingleRun(UNRUNNABLE, first, first.text or first.name)
    return _another(by_failure(bug, first, dialect))


def _words(outcome: Outcome) -> str:
    return f"{outcome.name}: {normalised(outcome.text)}"


def why_unrunnable(outcome: Outcome, script: str) -> str:
    """Return why a script that did not fail like its bug gives no answer about the bug; empty if it gives one.

    The reasons: a name is gone, a call does not fit its function any more, or the process ended early.
    """
    said = f"{outcome.name}: {outcome.text.strip().partition(chr(10))[0]}"
    if outcome.kind == "exit" or outcome.name == "SIGKILL":
        return f"the process ended: {said}"
    unfit = outcome.name == "TypeError" and _UNFIT.search(outcome.text)
    return said if outcome.kind == "exception" and (unfit or _misses(outcome, script)) else ""


def _misses(outcome: Outcome, script: str) -> bool:
    if outcome.name in (*_IMPORTS, "SyntaxError"):
        return True
    if outcome.name == "NameError":
        return not outcome.frames
    if outcome.name != "AttributeError":
        return bool(_WITHDRAWN.search(outcome.text))
    missing = _ATTRIBUTE.search(outcome.text)
    # Inside the library the same words may be about any object. A message about a module names what the script asked
    # for.
    asked = not outcome.frames or outcome.text.startswith("module ")
    names = (node.attr for node in ast.walk(parsed(script)) if isinstance(node, ast.Attribute))
    return missing is not None and asked and missing[1] in names


def events(found: str, order: Sequence[str], marks: Iterable[Mark]) -> tuple[Event, ...]:
    """Return the events in the life of a bug, from its checks.

    A bug is fixed if the two newest checked builds are clean and later than the build on which it was found. Its script
    must also have shown it on that build after the first of those checks. A bug has regressed if a build after the
    first clean one shows it again. If the first clean build itself shows it again, the bug never was fixed.

    Args:
        found: the build on which the bug was found.
        order: all builds of the library, the oldest first.
        marks: the checks, the oldest first.
    """
    place = {build: number for number, build in enumerate(order)}
    newest: dict[str, str] = {}
    past: list[Event] = []
    verified = False
    for mark in marks:
        if mark.build == found:
            verified = mark.status == SHOWN and CLEAN in newest.values()
        newest[mark.build] = mark.status
        if past and past[-1].kind == FIXED:
            behind = place[mark.build] - place[past[-1].build]
            if mark.status in (SHOWN, FLAKY) and behind >= 0:
                verified = False
                if behind:
                    past.append(Event(REGRESSED, mark.build))
                else:
                    past.pop()
        elif verified and (first := first_clean(found, order, newest)):
            past.append(Event(FIXED, first))
    return tuple(past)


def first_clean(found: str, order: Sequence[str], newest: Mapping[str, str]) -> str:
    """Return the first of the clean builds that lead up to the newest checked one; empty if they are too few."""
    later = (build for build in reversed(order[order.index(found) + 1 :]) if build in newest)
    clean = list(itertools.takewhile(lambda build: newest[build] == CLEAN, later))
    return clean[-1] if len(clean) >= CLEAN_BUILDS else ""
