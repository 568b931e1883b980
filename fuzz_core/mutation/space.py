"""The argument value space as one worker uses it: read once from JSON, decoded and weighed as it is asked for."""

from __future__ import annotations

from base64 import b64decode
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import exp
from typing import Any, NamedTuple

import numpy as np

from fuzz_core.ir.codec import decode
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.rng import Rng
from fuzz_core.ir.values import Value

FULL_SIMILARITY = 65535


class ValuePool:
    """Encoded values, each decoded when it is first picked.

    Raises:
        CodecError: one that is no value.
    """

    __slots__ = ("_encoded", "_values")

    def __init__(self, encoded: Sequence[Any]) -> None:
        self._encoded = encoded
        self._values: list[Value | None] = [None] * len(encoded)

    def pick(self, rng: Rng) -> Value:
        """Draw one of the values, all equally likely."""
        at = rng.below(len(self._values))
        value = self._values[at]
        if value is None:
            value = self._values[at] = decode(self._encoded[at])
        return value


class DrawEntry(NamedTuple):
    """The apis that an api draws values from for one argument and FuzzType, with their cumulative probabilities."""

    apis: tuple[str, ...]
    cumulative: tuple[float, ...]
    pools: tuple[ValuePool, ...]

    def pick(self, rng: Rng) -> Value:
        """Return a value of an api sampled by its probability."""
        at = bisect_right(self.cumulative, rng.random())
        return self.pools[min(at, len(self.pools) - 1)].pick(rng)


_Raw = Mapping[str, Mapping[str, Mapping[str, Sequence[Any]]]]


class ArgumentSpace:
    """Values by argument name, FuzzType and api; tensors by rank and dtype; similarities between apis.

    Args:
        values: {argument: {FuzzType: {api: [encoded value]}}}.
        apis: the columns of the similarity rows, sorted.
        similarity: {api: base64 of little-endian uint16, 65535 for equal definitions}; for an api without a row, all
            apis are equally similar.
        tensors: {"rank,dtype": [encoded tensor]}.
    """

    def __init__(
        self, values: _Raw, apis: Sequence[str], similarity: Mapping[str, str], tensors: Mapping[str, Sequence[Any]]
    ) -> None:
        self._raw = values
        self._columns = {name: column for column, name in enumerate(apis)}
        self._similarity = similarity
        self._tensors = {key: ValuePool(encoded) for key, encoded in tensors.items() if encoded}
        self._pools: dict[tuple[str, str], dict[str, ValuePool]] = {}
        self._entries: dict[tuple[str, str, str], DrawEntry | None] = {}
        self._types = {argument: sorted(by_type) for argument, by_type in values.items()}
        self._arguments: dict[str, list[str]] = {}

    @classmethod
    def from_json(cls, data: Any) -> ArgumentSpace:
        """Read the space.

        Raises:
            CodecError: a part is missing or of the wrong form.
        """
        forms = {"values": Mapping, "apis": list, "similarity": Mapping, "tensors": Mapping}
        for part, form in forms.items():
            if not isinstance(data, Mapping) or not isinstance(data.get(part), form):
                raise CodecError(f"not an argument value space: {part} is missing or has the wrong form")
        return cls(**{part: data[part] for part in forms})

    def pick(self, rng: Rng, api: str, argument: str, fuzz_type: str) -> Value | None:
        """See `contract.ValueSource`."""
        if not argument:
            argument = _any_of(self._holders(fuzz_type), rng)
        if not fuzz_type:
            fuzz_type = _any_of(self._types.get(argument, ()), rng)
        key = (api, argument, fuzz_type)
        try:
            entry = self._entries[key]
        except KeyError:
            entry = self._entries[key] = self.entry(*key)
        return None if entry is None else entry.pick(rng)

    def pick_tensor(self, rng: Rng, rank: int, dtype: str) -> Value | None:
        """See `contract.ValueSource`."""
        pool = self._tensors.get(f"{rank},{dtype}")
        return None if pool is None else pool.pick(rng)

    def _holders(self, fuzz_type: str) -> Sequence[str]:
        found = self._arguments.get(fuzz_type)
        if found is None:
            found = sorted(name for name, types in self._raw.items() if not fuzz_type or fuzz_type in types)
            self._arguments[fuzz_type] = found
        return found

    def entry(self, api: str, argument: str, fuzz_type: str) -> DrawEntry | None:
        """Return the softmax of the similarities of apis that share the argument (lines 21 to 23), if any does."""
        pools = self._pools.get((argument, fuzz_type))
        if pools is None:
            raw = self._raw.get(argument, {}).get(fuzz_type, {})
            pools = self._pools[argument, fuzz_type] = {
                name: ValuePool(encoded) for name, encoded in raw.items() if encoded
            }
        if not pools:
            return None
        apis = tuple(sorted(pools))
        weights = [exp(number) for number in self._similarities(api, apis)]
        total = sum(weights)
        cumulative = tuple(accumulate(weight / total for weight in weights))
        return DrawEntry(apis, cumulative, tuple(pools[name] for name in apis))

    def _similarities(self, api: str, others: Sequence[str]) -> list[float]:
        """Return the similarities between 0 and 1, one for each api in `others`."""
        text = self._similarity.get(api)
        if text is None:
            return [0.0] * len(others)
        try:
            row = np.frombuffer(b64decode(text, validate=True), dtype="<u2")
        except (ValueError, TypeError) as error:
            raise CodecError(f"not a similarity row: {error}") from error
        if len(row) != len(self._columns):
            raise CodecError(f"similarity row of {api} has {len(row)} columns instead of {len(self._columns)}")
        columns = [self._columns.get(other) for other in others]
        return [0.0 if column is None else int(row[column]) / FULL_SIMILARITY for column in columns]


def _any_of(names: Sequence[str], rng: Rng) -> str:
    return rng.choice(names) if names else ""
