"""Constraints from the library's own clean refusals: "`padding` must be non-negative"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fuzz_core.collect.constraints.phrases import stated
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.docstrings import plain

SOURCE = "error message"
# All further numbers in a message come from the call that was refused: sizes, ranks, indices.
UNIVERSAL = (0, 1)
_KINDS = ("minimum", "above", "maximum", "below")
_HEDGED = re.compile(
    r"\b(?:if|when|unless|otherwise|for|in order|elements?|each|at least one|dimensions?|sizes?)\b", re.I
)
# "The length of x" is not x; "the number of steps" is `steps`.
_ITSELF = r"(?<![\w.])(?:(?<=number of )|(?<!of ))"
_SENTENCE = re.compile(r"(?<=[.;!])\s+|\n")
_RECEIVED = re.compile(r",?\s*(?:\b(?:but )?(?:got|received|found|was|is)\b|\(got\b|\. Received).*")


def from_message(api: str, params: Sequence[str], message: str) -> list[Constraint]:
    """Return the constraints that an exception of an api states, if they hold for every call."""
    found = []
    for sentence in map(plain, _SENTENCE.split(message)):
        words = _RECEIVED.sub("", sentence)
        for argument in () if _HEDGED.search(words) else params:
            name = re.search(rf"{_ITSELF}['\"]?{re.escape(argument)}['\"]? (?:must|should|has to) be ", words)
            for kind, bounds in stated(words, name.end()) if name else ():
                if kind in _KINDS and bounds[0] in UNIVERSAL:
                    found.append(Constraint(api, argument, kind, bounds, sentence, SOURCE))
    return found
