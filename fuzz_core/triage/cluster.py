"""Bugs that look like one cause: the same check, the same native frames, the same kernel, or aliases of one api.

One missing check fails under a hundred apis, each with a signature of its own; a reader wants one report. `similar`
compares two places (`triage.place`) by the most certain evidence that both have: location or words of a failed check
and the function that fails it, then the difference between two modes, then the words of the failure, then native frames
or called functions. Each bug, the simplest first, joins the cluster with the largest share of similar members, if that
share is at least QUORUM; otherwise it begins a cluster. So one odd member does not merge two causes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import compress, pairwise
from typing import Generic, NamedTuple, Protocol, TypeVar

from rapidfuzz.distance import Indel, LCSseq

from fuzz_core.ir.values import TestCase
from fuzz_core.triage.contrast import contrast_of
from fuzz_core.triage.cost import cost
from fuzz_core.triage.neighbours import grouped
from fuzz_core.triage.place import EXCEPTION, BugPlace, FailedCheck, Failure, disagreement, place_of

TOP = 3
IN_COMMON = 2
ALIKE = 0.8
# Functions of one family have names that share this part (`logical_or`, `logical_not`; `addmm`, `baddbmm`).
RELATED = 2 / 3
# A first word of so many letters names a family (`conv2d`, `conv_transpose2d`).
FAMILIAR = 4
# A frame that apis of this many families share does not locate a fault.
GENERIC_FROM = 3
# A bug joins a cluster if it resembles this share of the members: single likenesses form no chain.
QUORUM = 0.5


class Bug(Failure, Protocol):
    """A class of findings with one signature, shown by its simplest test case."""

    @property
    def id(self) -> int:
        """The bug's number in the store."""

    @property
    def oracle(self) -> str:
        """The oracle that found the bug."""

    @property
    def test(self) -> TestCase:
        """The simplest test case that shows the bug."""

    @property
    def script(self) -> str:
        """The bug's standalone script."""

    @property
    def minimised(self) -> bool:
        """Whether the test case is simpler than the one that was found."""


B = TypeVar("B", bound=Bug)


class BugPlaces:
    """Places of bugs that fresh interpreters have shown: a failure that looks like one needs no further interpreter."""

    def __init__(self, bugs: Iterable[Failure] = ()) -> None:
        self._places = [place_of(bug) for bug in bugs]

    def add(self, bug: Failure) -> None:
        """Add the place of a bug."""
        self._places.append(place_of(bug))

    def has(self, failure: Failure) -> bool:
        """Return whether a failure looks like a bug of these."""
        place = place_of(failure)
        return any(similar(place, other) for other in self._places)


class Cluster(NamedTuple, Generic[B]):
    """Bugs of one cause, the simplest test case first."""

    members: tuple[B, ...]
    apis: tuple[str, ...]  # names of the apis, each once, in the order of `members`

    @property
    def first(self) -> B:
        """The member to report."""
        return self.members[0]


def clusters(bugs: Sequence[B]) -> list[Cluster[B]]:
    """Return all bugs, each in one cluster, the cluster of the simplest bug first; their order has no effect."""
    ranked = sorted(bugs, key=lambda bug: (cost(bug.test), bug.target, bug.id))
    places = _informative(_with_callers([place_of(bug)._replace(contrast=_contrast(bug)) for bug in ranked]))
    groups = grouped(places, similar, QUORUM)
    members = [tuple(ranked[number] for number in group) for group in groups]
    return [Cluster(bugs, tuple(dict.fromkeys(bug.api for bug in bugs))) for bugs in members]


def _contrast(bug: Bug) -> tuple[str, ...]:
    return contrast_of(disagreement(bug)[0], bug.outcome.text, bug.test.invocation)


def _with_callers(places: Sequence[BugPlace]) -> list[BugPlace]:
    """Return the places, those that die of a check with the innermost function that few functions call.

    A check in a function that many kernels call, such as the size of a dimension, is a bug of each kernel that does not
    ask before it calls.
    """
    callers: dict[str, set[str]] = defaultdict(set)
    deaths = [place.check is not None and place.nature != EXCEPTION for place in places]
    for place in compress(places, deaths):
        for inner, outer in pairwise(place.frames):
            callers[inner].add(outer)
    return [
        place._replace(caller=next((f for f in place.frames if len(callers[f]) < GENERIC_FROM), "")) if dies else place
        for place, dies in zip(places, deaths, strict=True)
    ]


def _informative(places: Sequence[BugPlace]) -> list[BugPlace]:
    """Return the places without frames that apis of many families share, cut to the innermost frames."""
    families = Counter(frame for _, frame in {(place.family, frame) for place in places for frame in place.frames})
    return [
        place._replace(frames=tuple(f for f in place.frames if families[f] < GENERIC_FROM)[:TOP]) for place in places
    ]


def similar(one: BugPlace, other: BugPlace) -> bool:
    """Return whether two places look like the same one; the relation is symmetric."""
    if one.library != other.library:
        return False
    if one.check and other.check:
        return _same_check(one.check, other.check, one.target == other.target) and _same_caller(one, other)
    if _same_difference(one, other):
        return True
    if one.nature != other.nature or one.fault != other.fault:
        return False
    if one.words and other.words:
        return _ratio(one.words, other.words) > ALIKE and _same_caller(one, other)
    return _same_frames(one, other) or _same_call(one, other)


def _same_check(one: FailedCheck, other: FailedCheck, one_build: bool) -> bool:
    """Return whether two checks are the same: by location in one build, by words if lines may have moved."""
    if one.file and other.file and (one_build or one.file != other.file):
        return (one.file, one.line) == (other.file, other.line)
    return _ratio(one.words, other.words) > ALIKE


def _same_caller(one: BugPlace, other: BugPlace) -> bool:
    """Return whether one function calls both failed checks, or one kind of operator made code, as far as is known."""
    return not one.caller or not other.caller or one.caller == other.caller or _akin(one, other)


def _same_frames(one: BugPlace, other: BugPlace) -> bool:
    """Return whether both share two of the top frames, in the same order; with one frame only, the innermost one."""
    if one.vague or other.vague or not one.frames or not other.frames:
        return False
    if min(len(one.frames), len(other.frames)) < IN_COMMON:
        return one.frames[0] == other.frames[0]
    return LCSseq.similarity(one.frames, other.frames) >= IN_COMMON


def _same_call(one: BugPlace, other: BugPlace) -> bool:
    """Return whether two aliases fail in one place; frames may contradict it, except those of a corrupted heap."""
    if not _akin(one, other) or bool(one.words) != bool(other.words):
        return False
    told = one.frames and other.frames and not one.vague and not other.vague
    return not told or bool(set(one.frames) & set(other.frames))


def _same_difference(one: BugPlace, other: BugPlace) -> bool:
    """Return whether modes disagree about the same in two bugs of one family of functions.

    Functions of one family share their formulas and wrappers. If the plain call is wrong, the mode that shows it makes
    no difference. The family does not matter if shapes and keywords are the same, or a long text of documentation.
    It does not matter either if functions of one module do not check the same bounds of the same argument.
    """
    if one.fault and other.fault:
        return one.fault == other.fault and _same_family(one, other)
    if one.fault or other.fault:
        how, another = (place.difference.rpartition(": ")[2] for place in (one, other))
        return one.family == other.family and how == another != ""
    if not one.difference or one.difference != other.difference:
        return False
    keys = ((one.quoted, other.quoted), (one.bounds, other.bounds), (one.contrast, other.contrast))
    return any(key and key == same for key, same in keys) or _same_family(one, other)


def _same_family(one: BugPlace, other: BugPlace) -> bool:
    """Return whether two apis are of one family, by their names without the last words that they share (`loss`)."""
    first, second = list(one.words_of_name), list(other.words_of_name)
    while first and second and first[-1] == second[-1]:
        first.pop()
        second.pop()
    if first and second and len(first[0]) >= FAMILIAR and first[: len(second)] == second[: len(first)]:
        return True
    names = ("".join(first), "".join(second)) if first and second else (one.family, other.family)
    return _ratio(*names) >= RELATED


def _akin(one: BugPlace, other: BugPlace) -> bool:
    pairs = ((one, other), (other, one))
    return bool(one.names & other.names) or any(a.vague and a.family in _functions(b) for a, b in pairs)


def _functions(place: BugPlace) -> set[str]:
    return {frame.rpartition("::")[2].replace("_", "") for frame in place.frames}


def _ratio(one: str, other: str) -> float:
    return Indel.normalized_similarity(one, other)
