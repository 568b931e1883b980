"""Groups by the index of bug places are those of a comparison of all pairs."""

from __future__ import annotations

import random

import pytest

from fuzz_core.triage.cluster import QUORUM, similar
from fuzz_core.triage.neighbours import grouped
from fuzz_core.triage.place import BugPlace, FailedCheck

FRAMES = ("at::pool", "at::conv", "at::norm", "at::sort")
WORDS = ("", "", "index out of range in self", "index out of range", "size mismatch of a tensor")


def drawn(draw: random.Random) -> BugPlace:
    """A place with few different values in each part, so that pairs are similar for every reason."""
    family = draw.choice(("conv", "convtranspose", "pool", "scatter", "scatteradd"))
    check = FailedCheck(draw.choice(("", "a.cc")), "7", draw.choice(WORDS)) if draw.random() < 0.2 else None
    difference = draw.choice(("", "", "wrong-result vmap: other values", "inconsistent: refuses a call"))
    return BugPlace(
        draw.choice(("t-1", "t-2")),
        draw.choice(("torch", "tf")),
        family,
        frozenset({family, draw.choice(("a", "b", "c"))}),
        draw.choice(("memory", "SIGABRT", "exception", "wrong-result vmap")),
        check,
        tuple(draw.sample(FRAMES, draw.randint(0, 3))),
        draw.choice(WORDS),
        draw.random() < 0.2,
        difference,
        draw.choice(("", "", "", "plain call: shape")),
        (family,),
        draw.choice(((), ("x", "y"))),
        draw.choice(("", "a long text of documentation that is a copy of another one")),
        draw.choice(((), ("torch.nn", "bounds", "1.0"))),
    )


def by_all_pairs(places: list[BugPlace]) -> list[list[int]]:
    groups: list[list[int]] = []
    for number, place in enumerate(places):
        shares = [sum(similar(place, places[other]) for other in group) / len(group) for group in groups]
        best = max(shares, default=0.0)
        if best < QUORUM:
            groups.append([])
        groups[shares.index(best) if best >= QUORUM else -1].append(number)
    return groups


@pytest.mark.parametrize("seed", range(20))
def test_the_index_leaves_no_similar_pair_out(seed: int) -> None:
    draw = random.Random(seed)
    places = [drawn(draw) for _ in range(60)]
    groups = by_all_pairs(places)
    assert grouped(places, similar, QUORUM) == groups
    assert 1 < len(groups) < len(places)
