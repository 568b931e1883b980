"""Groups of similar bug places. Only places that share a key can be similar, so few pairs need the full comparison."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence

from fuzz_core.triage.place import BugPlace


def grouped(
    places: Sequence[BugPlace], similar: Callable[[BugPlace, BugPlace], bool], quorum: float
) -> list[list[int]]:
    """Return the numbers of the places in groups.

    A place joins the group of which it resembles the largest share.

    Args:
        similar: must imply a key that both places have, see `_keys`.
        quorum: the least share that a place must resemble; below it the place begins a group.
    """
    groups: list[list[int]] = []
    home: list[int] = []
    known: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, place in enumerate(places):
        keys = set(_keys(place))
        near = {other for key in keys for other in known[key]}
        alike = Counter(home[other] for other in near if similar(place, places[other]))
        shares = {group: count / len(groups[group]) for group, count in alike.items()}
        # Among equals, the group that began first.
        best = max(shares, key=lambda group: (shares[group], -group), default=-1)
        if shares.get(best, 0.0) < quorum:
            best = len(groups)
            groups.append([])
        groups[best].append(number)
        home.append(best)
        for key in keys:
            known[key].append(number)
    return groups


def _keys(place: BugPlace) -> Iterator[tuple[str, ...]]:
    """Yield keys so that each condition of `similar` implies a key that both places have."""
    library, kind = place.library, (place.library, place.nature, place.fault)
    how = place.difference.rpartition(": ")[2]
    if place.check:
        yield "check", library
    if place.fault:
        yield "fault", library, place.fault
    if place.difference:
        yield "difference", library, place.difference
    if how:
        yield "how", library, place.family, how
    if place.words:
        yield "words", *kind
    for frame in place.frames:
        yield "frame", *kind, frame
    for name in place.names:
        yield "name", *kind, name
    # A corrupted heap has no place of its own: the family of its api may be a function among the frames of another.
    functions = {frame.rpartition("::")[2].replace("_", "") for frame in place.frames}
    for function in functions | ({place.family} if place.vague else set()):
        yield "function", *kind, function
