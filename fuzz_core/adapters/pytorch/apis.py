"""PyTorch's apis: which are public, what is declared of their arguments, and the operators that they dispatch to."""

from __future__ import annotations

import typing
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Literal

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from fuzz_core.adapters.inventory import MAX_DEFINITION, Listed, doc, folded, imported, members, methods
from fuzz_core.adapters.pytorch.signatures import shared_parameters
from fuzz_core.ir.constraints import Constraint

MODULES = (
    "torch",
    "torch.nn",
    "torch.nn.functional",
    "torch.linalg",
    "torch.fft",
    "torch.special",
    "torch.sparse",
    "torch.signal.windows",
    "torch.distributions",
    "torch.distributions.transforms",
    "torch.optim",
    "torch.optim.lr_scheduler",
    "torch.nn.init",
    "torch.nn.utils",
    "torch.nn.utils.rnn",
    "torch.nn.utils.parametrizations",
    "torch.autograd.functional",
    "torch.func",
    "torch.nested",
    "torch.masked",
    "torch.ao.nn.quantized",
    "torch.ao.nn.quantized.functional",
)


def listed() -> list[Listed]:
    """Return functions and classes of the documented modules, then Tensor methods; one entry per object."""
    free = folded(members(imported(MODULES), _is_api, _public_names))
    every = map(_with_schema, free + methods(torch.Tensor, "torch.Tensor"))
    return sorted(every, key=lambda each: each.api.name)


def _with_schema(entry: Listed) -> Listed:
    """Return an api that neither Python nor its docstring has a signature of with the one that its schemas share.

    If the schemas share the first parameters alone, the definition stays the name.
    """
    api = entry.api
    shared, complete = shared_parameters(api.name)
    if api.signature or isinstance(entry.found, type) or not shared:
        return entry
    is_method = api.kind == "method"
    # The parser of Python's arguments has this name for the tensor of a function.
    first = shared[0]._replace(name="input") if shared[0].name == "self" else shared[0]
    signature = shared[1:] if is_method else (first, *shared[1:])
    params = tuple(each.name for each in signature if each.positional)
    made = api._replace(params=("self", *params) if is_method else params)
    if complete:
        text = ", ".join(each.name if each.required else f"{each.name}={each.default}" for each in signature)
        made = made._replace(definition=f"{api.name}({text})"[:MAX_DEFINITION], signature=signature)
    return entry._replace(api=made)


def _public_names(module: ModuleType) -> list[str]:
    """Return `__all__` and, since that may be incomplete, every name whose home is the module or native code."""
    native = ("", "torch._C", "torch._jit_internal", "torch.functional")
    declared = set(getattr(module, "__all__", ()))
    for name, value in vars(module).items():
        home = str(getattr(value, "__module__", None) or "")
        own = home == module.__name__ or home.startswith(module.__name__ + ".")
        if own or home.startswith("torch._C._") or (callable(value) and home in native):
            declared.add(name)
    return sorted(name for name in declared if not name.startswith("_"))


def _is_api(found: Any) -> bool:
    if not isinstance(found, type | FunctionType | BuiltinFunctionType):
        return False
    if isinstance(found, type) and (not doc(found) or issubclass(found, BaseException)):
        return False
    home = getattr(found, "__module__", None) or "torch"
    return isinstance(home, str) and home.split(".")[0] in ("torch", "builtins", "_tensor")


Lengths = dict[str, dict[str, tuple[tuple[int, ...], str]]]


def definitions(listed: Iterable[Listed]) -> Iterator[Constraint]:
    """Yield the constraints of every listed api: of native ones by their schemas, of others by their annotations."""
    lengths = _lengths()
    for entry in listed:
        if isinstance(entry.found, type) or hasattr(entry.found, "__code__"):
            yield from _annotated(entry)
            continue
        for argument, (allowed, text) in lengths.get(entry.found.__name__, {}).items():
            yield Constraint(entry.api.name, argument, "lengths", allowed, text, "schema")


def _lengths() -> Lengths:
    """Return lengths of lists, by operator and argument, if all overloads agree: a single number stands for all."""
    seen: defaultdict[str, defaultdict[str, dict[tuple[int, ...], str]]] = defaultdict(lambda: defaultdict(dict))
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, name = schema.name.partition("::")
        for argument in schema.arguments if namespace == "aten" else ():
            seen[name][argument.name][_allowed(argument)] = f"{argument.type}[{argument.N}] {argument.name}"
    return {
        name: {word: found.popitem() for word, found in arguments.items() if len(found) == 1 and () not in found}
        for name, arguments in seen.items()
    }


def _allowed(argument: Any) -> tuple[int, ...]:
    """Return the lengths that a declared list may have, with that of a default; () if any length is allowed."""
    if not isinstance(argument.N, int) or argument.N < 2 or "Optional" in str(argument.type):
        return ()
    default = argument.default_value if argument.has_default_value() else None
    own = {len(default)} if isinstance(default, list) else set()
    return tuple(sorted({1, argument.N, *own}))


def _annotated(entry: Listed) -> Iterator[Constraint]:
    """Yield constraints from Literal types of parameters.

    Annotations that cannot be resolved yield none.
    """
    function = vars(entry.found).get("__init__") if isinstance(entry.found, type) else entry.found
    try:
        hints = typing.get_type_hints(function)
    except (NameError, TypeError, AttributeError):
        return
    for argument, hint in hints.items():
        parts = [part for part in (hint, *typing.get_args(hint)) if typing.get_origin(part) is Literal]
        values = [value for part in parts for value in typing.get_args(part)]
        texts = tuple(value for value in values if isinstance(value, str))
        if texts and argument != "return":
            words = f"{argument}: Literal[{', '.join(map(repr, values))}]"
            yield Constraint(entry.api.name, argument, "choices", texts, words, "annotation")


class Operators(TorchDispatchMode):  # type: ignore[misc]
    """Mode that passes `name dtype` of every operator executed within it to `seen`.

    The dtype is that of the first tensor.
    """

    def __init__(self, seen: Callable[[str], None]) -> None:
        super().__init__()
        self.seen = seen

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Return False, since this mode is never compiled.

        True would import the compiler, a second per process.
        """
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run the operator as it is."""
        self.seen(f"{func} {_dtype(args)}")
        return func(*args, **(kwargs or {}))


def _dtype(args: tuple[Any, ...]) -> str:
    for value in args:
        part = value[0] if isinstance(value, list | tuple) and value else value
        if isinstance(part, torch.Tensor):
            return str(part.dtype).removeprefix("torch.")
    return "-"
