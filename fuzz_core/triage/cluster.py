"""Bugs that look like one cause: the same check, the same native frames, the same kernel, or aliases of one api."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from rapidfuzz.distance import Indel, LCSseq

from fuzz_core.triage.cost import cost
from fuzz_core.triage.location import Bug, Check, Place, place_of

TOP = 3
IN_COMMON = 2
ALIKE = 0.8
# Functions of one family have names that share this part (`logical_or`, `logical_not`; `addmm`, `baddbmm`).
RELATED = 2 / 3
# A frame that so many unrelated apis share tells nothing of where a fault is.
GENERIC_FROM = 3
# A bug joins those of which it resembles this share: no chain grows out of single likenesses.
QUORUM = 0.5

B = TypeVar("B", bound=Bug)


class Cluster(NamedTuple, Generic[B]):
    """Bugs of one cause, the simplest test case first. apis: their names, each once, in the same order."""

    members: tuple[B, ...]
    apis: tuple[str, ...]

    @property
    def first(self) -> B:
        """The member to report."""
        return self.members[0]


def clusters(bugs: Sequence[B]) -> list[Cluster[B]]:
    """All bugs, each in one cluster; the cluster of the simplest bug first. Their order makes no difference."""
    ranked = sorted(bugs, key=lambda bug: (cost(bug.test), bug.target, bug.id))
    places = _informative([place_of(bug) for bug in ranked])
    groups: list[list[int]] = []
    for number, place in enumerate(places):
        shares = [sum(similar(place, places[other]) for other in group) / len(group) for group in groups]
        best = max(range(len(groups)), key=lambda which: (shares[which], -which), default=None)
        if best is not None and shares[best] >= QUORUM:
            groups[best].append(number)
        else:
            groups.append([number])
    return [_cluster([ranked[number] for number in group]) for group in groups]


def _cluster(members: Sequence[B]) -> Cluster[B]:
    return Cluster(tuple(members), tuple(dict.fromkeys(bug.api for bug in members)))


def _informative(places: Sequence[Place]) -> list[Place]:
    """The places without frames that apis of many families share, and only the top of what is left."""
    families: dict[str, set[str]] = defaultdict(set)
    for place in places:
        for frame in place.frames:
            families[frame].add(place.family)
    return [
        place._replace(frames=tuple(f for f in place.frames if len(families[f]) < GENERIC_FROM)[:TOP])
        for place in places
    ]


def similar(one: Place, other: Place) -> bool:
    """Whether two places look like one. Symmetric."""
    if one.library != other.library:
        return False
    if one.check and other.check:
        return _same_check(one.check, other.check, one.target == other.target)
    if _same_difference(one, other):
        return True
    if one.nature != other.nature:
        return False
    if one.words and other.words:
        return _ratio(one.words, other.words) > ALIKE
    return _same_frames(one, other) or _same_call(one, other)


def _same_check(one: Check, other: Check, one_build: bool) -> bool:
    """By location in one build, where lines are exact; by its words where lines are missing or may have moved."""
    if one.file and other.file and (one_build or one.file != other.file):
        return (one.file, one.line) == (other.file, other.line)
    return _ratio(one.words, other.words) > ALIKE


def _same_frames(one: Place, other: Place) -> bool:
    """Two of the top frames in common order; where there is one, the innermost."""
    if one.vague or other.vague or not one.frames or not other.frames:
        return False
    if min(len(one.frames), len(other.frames)) < IN_COMMON:
        return one.frames[0] == other.frames[0]
    return LCSseq.similarity(one.frames, other.frames) >= IN_COMMON


def _same_call(one: Place, other: Place) -> bool:
    """Aliases fall over in one place unless their frames say otherwise, which those of a corrupted heap cannot."""
    if not _akin(one, other) or bool(one.words) != bool(other.words):
        return False
    told = one.frames and other.frames and not one.vague and not other.vague
    return not told or bool(set(one.frames) & set(other.frames))


def _same_difference(one: Place, other: Place) -> bool:
    """Functions of one family in which modes disagree about the same: they share their formulas and wrappers.

    Of whatever family where a long text of documentation is the same.
    """
    if not one.difference or one.difference != other.difference:
        return False
    copied = bool(one.quoted) and one.quoted == other.quoted
    return copied or _ratio(one.family, other.family) >= RELATED


def _akin(one: Place, other: Place) -> bool:
    if one.names & other.names:
        return True
    return (one.vague and one.family in _functions(other)) or (other.vague and other.family in _functions(one))


def _functions(place: Place) -> set[str]:
    return {frame.rpartition("::")[2].replace("_", "") for frame in place.frames}


def _ratio(one: str, other: str) -> float:
    return Indel.normalized_similarity(one, other)
