"""From invocations to the argument value space: every value under its api and argument name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fuzz_core.ir.fuzztype import arguments
from fuzz_core.ir.values import Invocation, Map, Seq, Value
from fuzz_core.mutation.slots import argument_names


def named_values(invocation: Invocation, params: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str, Value]]:
    """Every argument as (api, argument name, value), those of nested invocations too.

    params: names of the positional parameters by api. The names are those that mutation looks values up by.
    """
    names = argument_names(invocation, params)
    for name, (_, _, value) in zip(names, arguments(invocation), strict=True):
        yield invocation.api, name, value
        for nested in _nested(value):
            yield from named_values(nested, params)


def _nested(value: Value) -> Iterator[Invocation]:
    if isinstance(value, Invocation):
        yield value
    elif isinstance(value, Seq):
        for item in value.items:
            yield from _nested(item)
    elif isinstance(value, Map):
        for _, item in value.entries:
            yield from _nested(item)
