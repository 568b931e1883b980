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
    """The argument name of every value of `ir.tree.children`, in its order: what the value space is keyed by."""
    return [slot_name(invocation.api, *slot, params) for slot in argument_slots(invocation)]


def argument_slots(invocation: Invocation) -> list[tuple[str, int]]:
    """Where in its call each value of `ir.tree.children` stands, in its order.

    The first position is `("", 1)`, a keyword `("dim", 0)`; what an instance is called with has its method's name.
    """
    slots = [("", place + 1) for place in range(len(invocation.args))] + [(name, 0) for name, _ in invocation.kwargs]
    if (then := invocation.then) is not None:
        slots += [(then.method, place + 1) for place in range(len(then.args))] + [(name, 0) for name, _ in then.kwargs]
    return slots


def slot_name(api: str, word: str, place: int, params: Params) -> str:
    """The name of the argument in a slot of a call of this api.

    params: names of the positional parameters by api. A keyword names itself; a position takes its parameter's name,
    else `arg0`, `arg1`, … What an instance is called with takes the parameters of `api.forward`, `api.call` or
    `api.method`, whichever is known, else `input0`, `input1`, …
    """
    if not place:
        return word
    names = _then_params(api, word, params) if word else params.get(api, ())
    return names[place - 1] if place <= len(names) else f"{'input' if word else 'arg'}{place - 1}"


def _then_params(api: str, method: str, params: Params) -> Sequence[str]:
    for name in _CALLED if method == "__call__" else (method,):
        found = params.get(f"{api}.{name}")
        if found is not None:
            return found[1:] if found[:1] == ("self",) or found[:1] == ["self"] else found
    return ()
