"""Performance bugs (FreeFuzz, section 3.4): less precision must not cost more time on the same machine."""

from __future__ import annotations

from collections.abc import Sequence

from fuzz_core.adapters.dialect import Dialect
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.parts import tensors_of
from fuzz_core.ir.values import TestCase, Value
from fuzz_core.oracles.contract import Example, Outcomes

PRECISIONS = ("float16", "float32", "float64")
RATIO = 3.0
NOISE_SECONDS = 1e-3


class Performance:
    """precision(DT1) < precision(DT2) implies cost(DT1) < cost(DT2); reported beyond a factor of 3 and 1 ms.

    A mode `cuda@float16` runs the test case with its floating-point tensors in that dtype; `seconds` is the median
    of repeated calls after a warm-up.
    """

    name = "performance"
    share = 0.02

    def plan(self, test: TestCase, modes: Sequence[str]) -> Sequence[str]:
        """The GPU in three precisions, for a test case that has floating-point tensors."""
        if "cuda" not in modes or not has_float_tensor(test.invocation):
            return ()
        return [f"cuda@{precision}" for precision in PRECISIONS]

    def judge(self, outcomes: Outcomes, dialect: Dialect) -> Verdict:
        """Compares each precision that returned with every higher one that did."""
        ran = [(p, outcomes[f"cuda@{p}"]) for p in PRECISIONS if f"cuda@{p}" in outcomes]
        times = [(p, outcome.seconds) for p, outcome in ran if outcome.kind == "ok"]
        for index, (low, cost) in enumerate(times):
            for high, bound in times[index + 1 :]:
                if cost > RATIO * bound + NOISE_SECONDS:
                    return Verdict(self.name, "slow", f"{low} takes {cost:.2e} s, {high} {bound:.2e} s")
        return Verdict(self.name, "clean")

    def examples(self, dialect: Dialect) -> Sequence[Example]:
        """A faster and a slower low precision, and one that the library does not support."""
        fast, slow = Outcome("ok", seconds=1e-3), Outcome("ok", seconds=9e-3)
        return (
            Example({"cuda@float16": fast, "cuda@float32": slow}, "clean"),
            Example({"cuda@float16": slow, "cuda@float32": fast}, "slow"),
            Example(
                {"cuda@float16": Outcome("exception", "RuntimeError", "unsupported"), "cuda@float32": fast}, "clean"
            ),
        )


def has_float_tensor(value: Value) -> bool:
    """Whether a tensor of PRECISIONS stands anywhere in the arguments."""
    return any(part.dtype in PRECISIONS for part in tensors_of(value))
