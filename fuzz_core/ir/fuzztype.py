"""FuzzType, the fine-grained type system of the FreeFuzz paper (section 3.2, figure 5)."""

from fuzz_core.ir.values import Map, Prim, Ref, Seq, Slice, Tensor, Value

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
