"""Oracles of costs: less precision must not take more time (FreeFuzz, section 3.4), and calls must give memory back."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations, permutations

import numpy as np

from fuzz_core.adapters.dialect import DEVICE, Dialect
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.rng import derive
from fuzz_core.ir.tree import tensors_of
from fuzz_core.ir.values import TestCase, Value
from fuzz_core.oracles.contract import EachMode, Outcomes, VerdictExample, each

PRECISIONS = ("float16", "float32", "float64")
RATIO = 3.0
# For modes that do the same work by other code. A factor of ten is more than layouts and copies cost, both ways.
EQUIVALENT_RATIO = 10.0
NOISE_SECONDS = 1e-3
LEAST_SAMPLES = 5
SIGNIFICANCE = 0.01


class Performance:
    """Less precision costs more time, or one of two equivalent modes takes ten times as long as the other.

    precision(DT1) < precision(DT2) implies cost(DT1) < cost(DT2). A mode `cuda@float16` runs the test case with its
    floating-point tensors in that dtype, a mode `strided@` runs it unchanged. Each mode is repeated after a warm-up:
    the text of its outcome holds the seconds of every repetition. A finding needs medians that differ beyond the ratio
    and 1 ms, and samples that differ by the test of Mann and Whitney.
    """

    name = "performance"
    share = 0.005

    def plan(self, test: TestCase, modes: Sequence[str], dialect: Dialect) -> Sequence[str]:
        """Return the first mode and an equivalent one, and the GPU in three precisions.

        A test case without floating-point tensors has none.
        """
        if not has_float_tensor(test.invocation):
            return ()
        equivalent = [mode for mode in modes if dialect.modes.get(mode, DEVICE).equivalent]
        drawn = derive(test.seed, "equivalent") % max(len(equivalent), 1)
        pair = [f"{modes[0]}@", f"{equivalent[drawn]}@"] if equivalent else []
        return pair + ([f"cuda@{precision}" for precision in PRECISIONS] if "cuda" in modes else [])

    def judge(self, outcomes: Outcomes, dialect: Dialect) -> Verdict:
        """Compare each precision that returned with every higher one, and equivalent modes both ways."""
        samples = {mode: sampled(outcome) for mode, outcome in outcomes.items() if outcome.kind == "ok"}
        for slow, fast, ratio in _pairs(samples):
            if slower(samples[slow], samples[fast], ratio):
                costs = [f"{mode} takes {np.median(samples[mode]):.2e} s" for mode in (slow, fast)]
                return Verdict(self.name, "slow", f"{slow}: {', '.join(costs)}")
        return Verdict(self.name, "clean")

    def examples(self, dialect: Dialect) -> Sequence[VerdictExample]:
        """Return examples: a fast, a slow and an unsupported low precision, and equivalent modes in both orders."""
        fast, slow, slowest = timed([1e-3] * 7), timed([9e-3] * 7), timed([9e-1] * 7)
        once, refused = timed([9e-1]), Outcome("exception", "RuntimeError", "unsupported")
        return (
            VerdictExample({"cuda@float16": fast, "cuda@float32": slow}, "clean"),
            VerdictExample({"cuda@float16": slow, "cuda@float32": fast}, "slow"),
            VerdictExample({"cuda@float16": refused, "cuda@float32": fast}, "clean"),
            VerdictExample({"cpu@": fast, "strided@": slowest}, "slow"),
            VerdictExample({"cpu@": slowest, "onednn-off@": fast}, "slow"),
            VerdictExample({"cpu@": fast, "strided@": slow}, "clean"),
            VerdictExample({"cpu@": fast, "strided@": once}, "clean"),
        )


def _pairs(modes: Collection[str]) -> Iterator[tuple[str, str, float]]:
    """Yield (mode that must not be slower, mode that it is compared with, ratio)."""
    by_precision = {mode.split("@")[1]: mode for mode in modes}
    precise = [by_precision[precision] for precision in PRECISIONS if precision in by_precision]
    yield from ((low, high, RATIO) for low, high in combinations(precise, 2))
    plain = [mode for mode in modes if mode.endswith("@")]
    yield from ((one, other, EQUIVALENT_RATIO) for one, other in permutations(plain, 2))


def timed(seconds: Sequence[float]) -> Outcome:
    """Return the outcome of a mode that was repeated, from the seconds of each repetition."""
    return Outcome("ok", text=" ".join(f"{second:.3e}" for second in seconds), seconds=float(np.median(seconds)))


def sampled(outcome: Outcome) -> list[float]:
    """Return the seconds of each repetition."""
    return [float(second) for second in outcome.text.split()]


def slower(slow: Sequence[float], fast: Sequence[float], ratio: float) -> bool:
    """Return whether medians differ by more than a ratio and the noise, and samples by more than chance."""
    if min(len(slow), len(fast)) < LEAST_SAMPLES:
        return False
    return bool(np.median(slow) > ratio * np.median(fast) + NOISE_SECONDS) and chance(slow, fast) < SIGNIFICANCE


def chance(larger: Sequence[float], smaller: Sequence[float]) -> float:
    """Return the probability that samples of one distribution differ as much, in this direction.

    The test of Mann and Whitney, one-sided, by the normal approximation with the correction for continuity.
    """
    a, b = np.asarray(larger)[:, None], np.asarray(smaller)[None, :]
    wins = float((a > b).sum() + (a == b).sum() / 2)
    n, m = len(larger), len(smaller)
    deviation = math.sqrt(n * m * (n + m + 1) / 12)
    return 0.5 * math.erfc((wins - n * m / 2 - 0.5) / deviation / math.sqrt(2))


def has_float_tensor(value: Value) -> bool:
    """Return whether a tensor of PRECISIONS stands anywhere in the arguments."""
    return any(part.dtype in PRECISIONS for part in tensors_of(value))


class Leak(EachMode):
    """Every repetition of a call leaves memory behind.

    Suspects alone are judged: tests of a lease during which the worker's memory has grown. The text of a repeated
    mode's outcome is the amount of memory. An empty text means that memory settles, or that it grows too little for a
    leak.
    """

    name = "leak"
    share = 0.0

    def plan(self, test: TestCase, modes: Sequence[str], dialect: Dialect) -> Sequence[str]:
        """Return the first mode, repeated."""
        return [f"{mode}*" for mode in modes[:1]]

    def examples(self, dialect: Dialect) -> Sequence[VerdictExample]:
        """Return examples: memory that settles, memory that grows, and a call that fails."""
        grows = Outcome("ok", text="every call leaves 4096 bytes")
        failed = Outcome("exception", "ValueError", "expected a positive size")
        return each("cpu*", [(Outcome("ok"), "clean"), (grows, self.name), (failed, "clean")])
