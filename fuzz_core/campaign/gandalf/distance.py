"""How far two results of one node are apart, and how far rounding alone may have brought them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np

from fuzz_core.execution.replay import Array

# Results with larger elements are not compared: no model computes with such numbers, and they overflow soon.
MOST_MAGNITUDE = 1e4
# Smaller results are compared by their absolute difference: a sum that cancels may be any number near zero.
LEAST_MAGNITUDE = 1e-3
# A change of the data by so much of itself is a few roundings of single precision, which data is given in.
NUDGE = 1e-6
# A smaller difference, relative to the largest element, is rounding of constants, sums and approximations.
BOUNDS = {"float32": 1e-3, "float64": 1e-6}
# A result may be off by so many times as much as the perturbation moves it: every operation inside rounds once.
TIMES = 64.0
T = TypeVar("T")


def error(one: Array, other: Array) -> float:
    """Return the largest difference of two results, relative to the largest of their elements, or to a thousandth.

    Equal infinities and NaN at equal places are no difference. Results of different shapes differ by infinity, and so
    do elements of which only one is finite.
    """
    if one.shape != other.shape:
        return float("inf")
    return float(np.max(_errors(one, other), initial=0.0))


def worst(one: Array, other: Array) -> tuple[int, ...]:
    """Return the place of the largest difference of two results of one shape."""
    return tuple(int(each) for each in np.unravel_index(int(np.argmax(_errors(one, other))), one.shape))


def _errors(one: Array, other: Array) -> Array:
    left, right = one.astype(np.float64), other.astype(np.float64)
    finite = np.isfinite(left) & np.isfinite(right)
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    with np.errstate(invalid="ignore", over="ignore"):
        largest = float(np.max(np.maximum(np.abs(left), np.abs(right)), initial=0.0, where=finite))
        return np.where(same, 0.0, np.where(finite, np.abs(left - right) / max(largest, LEAST_MAGNITUDE), np.inf))


def moderate(arrays: Sequence[Array]) -> bool:
    """Return whether all elements are finite and of a magnitude that models compute with."""
    return all(bool(np.all(np.abs(each.astype(np.float64)) <= MOST_MAGNITUDE)) for each in arrays)


def nudged(array: Array, seed: int, sign: int = 1) -> Array:
    """Return the array with each element a little more or less; the other sign moves each the other way.

    A result that moves far by this is ill-conditioned, or there was a tie. One of two opposite moves shows a tie or a
    step at any place.
    """
    if array.dtype.kind != "f":
        return array
    scale = float(np.max(np.abs(array), initial=0.0)) or 1.0
    moved: Array = array + sign * np.random.RandomState(seed).uniform(-NUDGE, NUDGE, array.shape) * (
        np.abs(array) + scale
    )
    return moved


def bound(precision: str, plain: Array, moved: Array) -> float:
    """Return how far a result of this precision may be from another one of the same data."""
    return max(BOUNDS[precision], TIMES * error(plain, moved))


def parties(results: Mapping[T, Array], most: float) -> list[list[T]]:
    """Return the parties of results that agree, the largest first; each member agrees with the first of its party."""
    found: list[list[T]] = []
    for name, result in results.items():
        for party in found:
            if error(results[party[0]], result) <= most:
                party.append(name)
                break
        else:
            found.append([name])
    return sorted(found, key=len, reverse=True)
