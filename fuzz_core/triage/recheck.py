"""What has become of a bug on another build: what each run says, what they say together, what closes and reopens it."""

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
# What Python says where a call does not fit the parameters that the function has.
_UNFIT = re.compile(
    r"unexpected keyword argument|got multiple values for (?:keyword )?argument|missing \d+ required \w+"
    r"|missing a required argument|takes (?:no|at most|exactly|from)?\s?[\d\w ]*(?:positional |keyword )?arguments?\b"
)
# Libraries leave a name behind for a while whose only work is to say that it is gone.
_WITHDRAWN = re.compile(r"\b(?:has been|have been|is now|was|been) removed\b|\bno longer (?:available|exists)\b")


class Sighting(NamedTuple):
    """What one run says. status: shown, changed, clean or unrunnable; said: the signature that it has, or why."""

    status: str
    outcome: Outcome
    said: str = ""


class Check(NamedTuple):
    """What all runs on one build say together. hits: how many of `runs` show the bug; outcome: of the one that decides.

    status: shown (all runs), flaky (some), else changed, unrunnable or clean.
    """

    status: str
    hits: int
    runs: int
    outcome: Outcome
    said: str = ""


class Mark(NamedTuple):
    """A check as it is on record: on which build, and its status."""

    build: str
    status: str


class Event(NamedTuple):
    """A turn in the life of a bug. kind: fixed (on the first clean build) or regressed; build: where."""

    kind: str
    build: str


def summed(sightings: Sequence[Sighting]) -> Check:
    """The runs of one script together; no run that tells nothing makes a build clean."""
    first = {seen.status: seen for seen in reversed(sightings)}
    decisive = next(first[status] for status in (SHOWN, CHANGED, UNRUNNABLE, CLEAN) if status in first)
    hits = sum(seen.status == SHOWN for seen in sightings)
    status = FLAKY if 0 < hits < len(sightings) else decisive.status
    return Check(status, hits, len(sightings), decisive.outcome, decisive.said)


def recognised(seen: Sequence[Sighting], own: Sighting) -> list[Sighting]:
    """The same runs, where what the bug's own build says today is the bug, however it was signed when it was found.

    Other processors run other kernels, and another nightfuzz may write a signature in another way.
    """
    if own.status != CHANGED:
        return list(seen)
    return [each._replace(status=SHOWN) if each.said == own.said else each for each in seen]


def by_failure(bug: Bug, outcome: Outcome, dialect: Dialect) -> Sighting:
    """A script that fails by itself: the oracle of crashes tells whether, the signature whether it is the same bug.

    An exception that says what the bug's own said is the bug, whatever that oracle thinks of it without knowing more.
    """
    verdict = _CRASH.judge({"cpu": outcome}, dialect)
    own = Verdict(bug.oracle, bug.kind)
    said = signature(bug.api, own if verdict.clean else verdict, outcome).text
    # The bug's signature as it is on record, or as it would be written today.
    ours = said in (bug.signature_text, signature(bug.api, own, bug.outcome).text)
    if verdict.clean and not (ours and outcome.kind == bug.outcome.kind == "exception"):
        why = hindrance(outcome, bug.script)
        return Sighting(UNRUNNABLE if why else CLEAN, outcome, why)
    return Sighting(SHOWN if ours else CHANGED, outcome, said)


def asserted(found: Outcome, ran: Outcome) -> Outcome:
    """Returns the outcome of a comparison with the values that its script has told.

    How the results differ, and which of them is wrong, it says as before.
    """
    if (ran.kind, ran.name) != ("exception", "AssertionError") or not ran.text:
        return found
    lines = (found.text.partition("\n")[0], ran.text, blame_in(found.text))
    return found._replace(text="\n".join(filter(None, lines)))


def blame_in(text: str) -> str:
    """Return the line of a difference that says which mode is wrong; empty where no evidence tells."""
    last = text.rpartition("\n")[2]
    return last if last.startswith(WRONG) else ""


def by_assertion(bug: Bug, outcome: Outcome, dialect: Dialect) -> Sighting:
    """A script that asserts what should hold: the assertion is the bug, any other failure is another one."""
    if (outcome.kind, outcome.name) == ("exception", "AssertionError"):
        return Sighting(SHOWN, outcome, bug.signature_text)
    seen = by_failure(bug, outcome, dialect)
    if seen.status == CLEAN and outcome.kind != "ok":
        return Sighting(CHANGED, outcome, f"{bug.api}: {_words(outcome)}")
    return _another(seen)


def _another(seen: Sighting) -> Sighting:
    return seen._replace(status=CHANGED) if seen.status == SHOWN else seen


def beside_plain(seen: Sighting, plain: Outcome, script: str) -> Sighting:
    """What an asserting script says that shows nothing, in the light of the plain call alone.

    Two sides that fail alike satisfy some assertions; a call that is refused without any mode has no modes to differ.
    """
    why = hindrance(plain, script)
    if why:
        return Sighting(UNRUNNABLE, plain, why)
    refused = plain.kind == "exception" and _words(plain) == _words(seen.outcome)
    return Sighting(CLEAN, seen.outcome) if refused and seen.status == CHANGED else seen


def by_verdicts(
    bug: Bug, found: Iterable[tuple[Verdict, Outcome]], wanted: str, first: Outcome, dialect: Dialect
) -> Sighting:
    """A test case that no script can show, replayed: its verdicts tell. `first` is what the plain call did."""
    ours = []
    for verdict, outcome in found:
        if verdict.oracle == bug.oracle:
            text = signature(bug.api, verdict, outcome).text
            ours.append(Sighting(SHOWN if (verdict.kind, text) == (bug.kind, wanted) else CHANGED, outcome, text))
    if ours:
        return next((seen for seen in ours if seen.status == SHOWN), ours[0])
    if first.kind == "skipped":
        return Sighting(UNRUNNABLE, first, first.text or first.name)
    return _another(by_failure(bug, first, dialect))


def _words(outcome: Outcome) -> str:
    return f"{outcome.name}: {normalised(outcome.text)}"


def hindrance(outcome: Outcome, script: str) -> str:
    """Why a script that did not fail like its bug has told nothing of it; empty where it has.

    A name that is gone, a call that no longer fits its function, a process that ended before its time.
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
    # Inside the library the same words may be about anything; a module answers for the names that are asked of it.
    asked = not outcome.frames or outcome.text.startswith("module ")
    names = (node.attr for node in ast.walk(parsed(script)) if isinstance(node, ast.Attribute))
    return missing is not None and asked and missing[1] in names


def events(found: str, order: Sequence[str], marks: Iterable[Mark]) -> tuple[Event, ...]:
    """The life of a bug out of its checks, the oldest first; `order` has all builds of the library, oldest first.

    It is fixed where the two newest builds that were checked, both later than the one where it was found, are clean,
    and its script still showed it where it was found after the first of them. It has regressed where a build after the
    first clean one shows it again; where that one itself does, it never was fixed.
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
    """Where the clean builds begin that lead up to the newest checked one; empty where they are too few."""
    later = (build for build in reversed(order[order.index(found) + 1 :]) if build in newest)
    clean = list(itertools.takewhile(lambda build: newest[build] == CLEAN, later))
    return clean[-1] if len(clean) >= CLEAN_BUILDS else ""
