"""The number of examples of a property: the one place that lets a test ask for more or fewer than others."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

THOROUGH = 100
FAST = 25
FEWEST = 5


def examples(number: int, **others: Any) -> settings:
    """Hypothesis settings for a property that costs more or less than others.

    Args:
        number: how many examples the thorough profile runs. Every other profile runs its own share of that number, and
            never fewer than five.
        others: further settings, as Hypothesis names them.
    """
    share = settings().max_examples / THOROUGH
    return settings(max_examples=max(FEWEST, round(number * share)), **others)
