"""Which rule, or kind of rule, mostly makes a mutant: a choice per lease, so that a bandit can learn what pays.

A focus is a name of FOCI or of a rule; where it is a rule, the shares are those of EVEN.
"""

from __future__ import annotations

from typing import NamedTuple


class Shares(NamedTuple):
    """How often a choice that the paper leaves open falls on each side.

    type: doTypeMutation of line 11. random: random against database values, selectRandOverDB of line 13. beyond:
    mutations by a rule beyond the paper. call: cases that end with a rule for the whole call.
    """

    type: float = 0.25
    random: float = 0.5
    beyond: float = 0.4
    call: float = 0.2


FOCI: dict[str, Shares] = {
    "even": Shares(),
    "type": Shares(type=0.7, beyond=0.15, call=0.1),
    "random": Shares(type=0.1, random=0.9, beyond=0.1, call=0.1),
    "database": Shares(type=0.1, random=0.1, beyond=0.1, call=0.1),
    "beyond": Shares(type=0.1, beyond=0.85, call=0.1),
    "call": Shares(call=0.7),
}
EVEN = "even"
# Where the focus is one rule: it makes so many of the mutations that it can make.
FAVOURED_SHARE = 0.6
