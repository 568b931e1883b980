"""How many apis of a target have no valid call, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from fuzz_core.store.records import Coverage

# Reasons that a line names, the most frequent ones.
NAMED = 8


def gap_line(rows: Collection[Coverage]) -> str:
    """Return the number of apis without a valid call, by reason, in a sentence; empty if each api has one."""
    reasons = Counter(row.gap_class for row in rows if row.gap)
    if not reasons:
        return ""
    parts = [f"{reason} ({count:,})" for reason, count in reasons.most_common(NAMED)]
    others = reasons.total() - sum(count for _, count in reasons.most_common(NAMED))
    parts += [f"other reasons ({others:,})"] if others else []
    return f"Apis without a valid call: {reasons.total():,} of {len(rows):,}, by reason: {', '.join(parts)}."
