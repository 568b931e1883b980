"""From invocations to the argument value space: every value under its api and argument name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fuzz_core.ir.fuzztype import argument_names
from fuzz_core.ir.tree import children, walk
from fuzz_core.ir.values import Invocation, Value


def named_values(invocation: Invocation, params: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str, Value]]:
    """Every argument as (api, argument name, value), those of nested invocations too.

    params: names of the positional parameters by api. The names are those that mutation looks values up by.
    """
    names = argument_names(invocation, params)
    for name, value in zip(names, children(invocation), strict=True):
        yield invocation.api, name, value
        for nested in walk(value, Invocation):
            if isinstance(nested, Invocation):
                yield from named_values(nested, params)
