"""Signatures of PyTorch's apis: from the schemas of its operators, from Python's signatures for the remaining ones."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import Any

import torch

from fuzz_core.adapters.definitions import python_signatures
from fuzz_core.adapters.inventory import Listed
from fuzz_core.ir.catalogue import ApiParameter, expression
from fuzz_core.ir.signatures import LOOSE, ApiSignature, SignatureParameter
from fuzz_core.ir.values import Ref, Value, prim

# Spaces of names whose functions are operators with a prefix: `torch.linalg.det` is `aten::linalg_det`.
_PREFIXES = ("linalg", "fft", "special", "sparse", "nn.functional", "nested", "ao.nn.quantized.functional")
_NAMESPACES = ("aten", "quantized", "prims")
_TYPES: dict[str, tuple[str, str]] = {
    "Tensor": ("tensor", ""),
    "List[Tensor]": ("tensor", "*"),
    "List[Optional[Tensor]]": ("tensor", "*"),
    "int": ("int", ""),
    "SymInt": ("int", ""),
    "List[int]": ("int", "*"),
    "List[SymInt]": ("int", "*"),
    "float": ("float", ""),
    "List[float]": ("float", "*"),
    "number": ("number", ""),
    "Scalar": ("number", ""),
    "bool": ("bool", ""),
    "List[bool]": ("bool", "*"),
    "str": ("str", ""),
    "ScalarType": ("dtype", ""),
}
_CHOICES: dict[str, tuple[Value, ...]] = {
    "Device": (Ref("device", "cpu"),),
    "Layout": (Ref("name", "torch.strided"),),
    "MemoryFormat": (Ref("name", "torch.contiguous_format"), Ref("name", "torch.channels_last")),
    "Dimname": (prim("N"), prim("C")),
}
_SIZES = re.compile(r"(?:^|_)(?:size|shape)s?$")


def signatures(entry: Listed, then: str) -> list[ApiSignature]:
    """Return the signatures of an api, one for each overload.

    Args:
        then: the method that is called on an instance of a class.
    """
    found = [_signature(entry.api.name, schema) for schema in _schemas(entry.api.name)]
    kept = [each for each in found if each is not None]
    return kept or [_on_cpu(each) for each in python_signatures(entry, then)]


def _on_cpu(signature: ApiSignature) -> ApiSignature:
    """Return the signature of Python code, whose argument `device` has no type there, with the CPU as the device."""
    made = (
        each._replace(choices=_CHOICES["Device"]) if each.name == "device" and each.kind == "any" else each
        for each in signature.parameters
    )
    return signature._replace(parameters=tuple(made))


def _schemas(api: str) -> list[Any]:
    path = api.removeprefix("torch.").removeprefix("Tensor.")
    names = [path]
    for prefix in _PREFIXES:
        if path.startswith(f"{prefix}."):
            short = path.removeprefix(f"{prefix}.")
            names = [f"{prefix.rpartition('.')[2]}_{short}", short]
    if any("." in name for name in names):
        return []
    full = [f"{namespace}::{name}" for name in names for namespace in _NAMESPACES]
    schemas = [torch._C._jit_get_schemas_for_operator(name) for name in full]
    return next((found for found in schemas if found), [])


def shared_parameters(api: str) -> tuple[tuple[ApiParameter, ...], bool]:
    """Return the first parameters of an operator, as far as the names of all its overloads agree.

    The second part of the result says whether these are all parameters.
    """
    overloads = [list(schema.arguments) for schema in _schemas(api)]
    overloads = [each for each in overloads if not any(argument.is_out for argument in each)]
    longest: list[Any] = max(overloads, key=len, default=[])
    names = [[argument.name for argument in each] for each in overloads]
    agreed = (all(each[place : place + 1] in ([], [one.name]) for each in names) for place, one in enumerate(longest))
    shared = [_declared(argument) for argument, _ in zip(longest, takewhile(bool, agreed), strict=False)]
    return tuple(shared), len(shared) == len(longest)


def _declared(argument: Any) -> ApiParameter:
    required = not argument.has_default_value()
    default = None if required else expression(repr(argument.default_value))
    return ApiParameter(argument.name, default, required, not argument.kwarg_only)


def _signature(api: str, schema: Any) -> ApiSignature | None:
    parameters = []
    for argument in schema.arguments:
        if argument.is_out:
            return None
        made = _parameter(argument)
        if made is None:
            if not argument.has_default_value():
                return None
            continue
        parameters.append(made)
    return ApiSignature(api, tuple(parameters))


def _parameter(argument: Any) -> SignatureParameter | None:
    required = not argument.has_default_value()
    text = str(argument.real_type if hasattr(argument, "real_type") else argument.type)
    inner = re.sub(r"^Optional\[(.*)\]$", r"\1", text)
    positional = required and not argument.kwarg_only
    if inner in _CHOICES:
        return SignatureParameter(argument.name, "any", required, positional, choices=_CHOICES[inner])
    if inner not in _TYPES:
        return None
    kind, many = _TYPES[inner]
    if kind == "int" and many and _SIZES.search(argument.name):
        kind, many = "shape", ""
    group = LOOSE if kind == "tensor" else ""
    return SignatureParameter(
        argument.name, kind, required, positional, many, group, least=argument.N if many else None
    )


_LACKS = {
    r"CUDA|[cC]u[dD][nN][nN]": "needs a CUDA device",
    r"miopen|MIOpen|\bROCm\b": "needs a ROCm device",
    r"(?i)\b(?:MPS|XPU|HPU|XLA|MTIA|IPU|Vulkan|Metal)\b": "needs another device",
    r"and is now removed|\(\) was removed\b": "was removed from the library: only its name is left",
    r"not (?:compiled|built) with|without \w+ support|support is not enabled": "the build lacks an optional part",
    r"cannot be instantiated|Can't instantiate abstract|No constructor defined": "has no constructor of its own",
}


def missing_requirement(message: str) -> str:
    """See `Adapter.missing_requirement`.

    An operator that no backend of the CPU has names the backends that have it. A refusal of the name of a device lists
    all devices, the CPU among them.
    """
    if re.search(r"\bone of\b[^.]*\bcpu\b", message):
        return ""
    said, _, backends = message.partition("only available for these backends")
    if backends and not re.search(r"CPU|Composite", backends):
        return "needs a device: no backend of the CPU has the operator"
    return next((reason for pattern, reason in _LACKS.items() if re.search(pattern, said)), "")
