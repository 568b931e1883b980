"""What the value space is keyed by: FuzzTypes (the FreeFuzz paper, section 3.2, figure 5) and names of arguments."""

from collections.abc import Mapping, Sequence

from fuzz_core.ir.values import Invocation, Map, Prim, Ref, Seq, Slice, Tensor, Value

Params = Mapping[str, Sequence[str]]
_CALLED = ("forward", "call", "__call__")
_BRACKETS = {"tuple": ("(", ")"), "list": ("[", "]"), "set": ("{", "}")}


def fuzz_type(value: Value) -> str:
    """The FuzzType as text: `int`, `(int,int)`, `tensor<4,float32>`, `dtype`, `object<torch.nn.LSTM>`."""
    if isinstance(value, Prim):
        return value.type
    if isinstance(value, Tensor):
        return f"{value.container}<{len(value.shape)},{value.dtype}>"
    if isinstance(value, Seq):
        opening, closing = _BRACKETS[value.kind]
        return opening + ",".join(fuzz_type(item) for item in value.items) + closing
    if isinstance(value, Map):
        return "{" + ",".join(f"{key}:{fuzz_type(item)}" for key, item in value.entries) + "}"
    if isinstance(value, Slice):
        return "slice"
    if isinstance(value, Ref):
        return value.kind
    return f"object<{value.api}>"


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
