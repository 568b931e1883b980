"""What each kind of verdict means, for readers who do not know nightfuzz: the rules of the SARIF file."""

from __future__ import annotations

from fuzz_core.oracles.kinds import KINDS, Rule

# By oracle and kind, as the oracles name them; of an api that is gone, no oracle speaks.
RULES: dict[tuple[str, str], Rule] = {
    **{(kind.oracle, kind.name): kind.rule for kind in KINDS.values()},
    ("versions", "removed"): Rule(
        "Removed",
        "The target has removed an api that your tests call.",
        "The apis of both builds were listed.",
        "error",
    ),
    ("versions", "deprecated"): Rule(
        "Deprecated",
        "The target calls an api deprecated that your tests call.",
        "Its documentation says so.",
        "warning",
    ),
}
