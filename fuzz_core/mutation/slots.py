"""The names of the arguments of an invocation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuzz_core.ir.values import Invocation

Params = Mapping[str, Sequence[str]]
_CALLED = ("forward", "call", "__call__")


def argument_names(invocation: Invocation, params: Params) -> list[str]:
    """The argument name of every value of `ir.tree.children`, in its order: what the value space is keyed by.

    params: names of the positional parameters by api. A keyword names itself; a position takes its parameter's name,
    else `arg0`, `arg1`, … What an instance is called with takes the parameters of `api.forward`, `api.call` or
    `api.method`, whichever is known, else `input0`, `input1`, …
    """
    names = _positional(params.get(invocation.api, ()), len(invocation.args), "arg")
    names += [name for name, _ in invocation.kwargs]
    then = invocation.then
    if then is not None:
        names += _positional(_then_params(invocation.api, then.method, params), len(then.args), "input")
        names += [name for name, _ in then.kwargs]
    return names


def _then_params(api: str, method: str, params: Params) -> Sequence[str]:
    for name in _CALLED if method == "__call__" else (method,):
        found = params.get(f"{api}.{name}")
        if found is not None:
            return found[1:] if found[:1] == ("self",) or found[:1] == ["self"] else found
    return ()


def _positional(params: Sequence[str], count: int, prefix: str) -> list[str]:
    return [*params[:count], *(f"{prefix}{index}" for index in range(len(params), count))]
