"""FuzzType, the fine-grained type system of the FreeFuzz paper (section 3.2, figure 5)."""

from fuzz_core.ir.values import Invocation, Map, Prim, Ref, Seq, Slice, Tensor, Value

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


def arguments(invocation: Invocation) -> list[tuple[str, int | str, Value]]:
    """Every argument as (part, position or keyword, value); part is `args`, `kwargs`, `then.args`, `then.kwargs`."""
    found: list[tuple[str, int | str, Value]] = []
    found += [("args", index, value) for index, value in enumerate(invocation.args)]
    found += [("kwargs", name, value) for name, value in invocation.kwargs]
    if invocation.then is not None:
        found += [("then.args", index, value) for index, value in enumerate(invocation.then.args)]
        found += [("then.kwargs", name, value) for name, value in invocation.then.kwargs]
    return found
