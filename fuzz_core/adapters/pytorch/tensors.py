"""PyTorch tensors as descriptions, and back; and when two results agree."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import torch
from torch.testing._comparison import default_tolerances

from fuzz_core.adapters.arrays import MAX_COPIED, buffer, check_readable, check_size, fill_of, masters, span
from fuzz_core.adapters.base import Describe
from fuzz_core.adapters.compare import Array, Comparer, Leaf, LeafPair, named
from fuzz_core.ir.dtypes import DTYPES, Tolerance
from fuzz_core.ir.elements import elements
from fuzz_core.ir.errors import BuildError, Undescribable
from fuzz_core.ir.values import Invocation, Ref, Seq, Tensor, Value, prim

TORCH_DTYPES = {name: getattr(torch, name) for name in DTYPES if hasattr(torch, name)}
STORAGES = (torch.UntypedStorage, torch.TypedStorage)
NAMES = {dtype: name for name, dtype in TORCH_DTYPES.items()}
_STORAGE = {name: getattr(torch, DTYPES[name].storage, None) for name in TORCH_DTYPES}


def describe_tensor(tensor: torch.Tensor, describe: Describe) -> Value:
    """Return a Tensor, or the construction of a sparse, quantised or nested one.

    Raises:
        Undescribable: the tensor fits no description.
    """
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        raise Undescribable(f"{type(tensor).__module__}.{type(tensor).__qualname__}")
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor) or torch._is_functional_tensor(tensor):
        raise Undescribable("functorch-wrapped tensor")
    if tensor.is_nested:
        parts = tuple(describe(part) for part in tensor.detach().unbind())
        return Invocation("torch.nested.nested_tensor", (Seq("list", parts),))
    if tensor.is_quantized:
        return _quantised(tensor, describe)
    if tensor.layout is not torch.strided:
        return _sparse(tensor.detach(), describe)
    if tensor.dtype not in NAMES:
        raise Undescribable(f"tensor of {tensor.dtype}")
    if tensor.device.type == "meta":
        size = tuple(prim(int(n)) for n in tensor.shape)
        return Invocation(
            "torch.empty",
            (Seq("tuple", size),),
            (("dtype", Ref("dtype", NAMES[tensor.dtype])), ("device", Ref("device", "meta"))),
        )
    return _dense(tensor)


def _dense(tensor: torch.Tensor) -> Tensor:
    check_readable(tensor.numel() * tensor.element_size())
    name = NAMES[tensor.dtype]
    strides = None if tensor.is_contiguous() else tuple(tensor.stride())
    container = "parameter" if type(tensor) is torch.nn.Parameter else "tensor"
    shape = tuple(int(n) for n in tensor.shape)
    # If gradients are off, requires_grad has no effect. A replay runs with gradients on.
    requires_grad = tensor.requires_grad and torch.is_grad_enabled()
    plain = tensor.detach().resolve_conj().resolve_neg().cpu().to(_STORAGE[name]).contiguous()
    return Tensor(name, shape, fill_of(plain.numpy(), DTYPES[name].kind), container, strides, requires_grad)


def _quantised(tensor: torch.Tensor, describe: Describe) -> Value:
    if tensor.qscheme() not in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        raise Undescribable("per-channel quantised tensor")
    plain = describe(tensor.detach().dequantize())
    name = Ref("name", str(tensor.dtype))
    return Invocation(
        "torch.quantize_per_tensor", (plain, prim(float(tensor.q_scale())), prim(int(tensor.q_zero_point())), name)
    )


_COMPRESSED = {
    torch.sparse_csr: ("crow_indices", "col_indices"),
    torch.sparse_bsr: ("crow_indices", "col_indices"),
    torch.sparse_csc: ("ccol_indices", "row_indices"),
    torch.sparse_bsc: ("ccol_indices", "row_indices"),
}


def _sparse(tensor: torch.Tensor, describe: Describe) -> Value:
    size = Seq("tuple", tuple(prim(int(n)) for n in tensor.shape))
    if tensor.layout is torch.sparse_coo:
        return Invocation("torch.sparse_coo_tensor", (describe(tensor._indices()), describe(tensor._values()), size))
    if tensor.layout not in _COMPRESSED:
        raise Undescribable(f"tensor of layout {tensor.layout}")
    outer, inner = (describe(getattr(tensor, part)()) for part in _COMPRESSED[tensor.layout])
    layout = (("layout", Ref("name", str(tensor.layout))),)
    return Invocation("torch.sparse_compressed_tensor", (outer, inner, describe(tensor.values()), size), layout)


# PyTorch 2.0 has no such argument.
_TAKES_COALESCED = "is_coalesced" in (torch.sparse_coo_tensor.__doc__ or "")


def refusal(value: Any) -> str:
    """Return why PyTorch's check of invariants refuses a sparse tensor; empty for any other value."""
    if not isinstance(value, torch.Tensor) or value.layout is torch.strided:
        return ""
    try:
        if value.layout is torch.sparse_coo:
            parts = (value._indices(), value._values())
            coalesced = {"is_coalesced": value.is_coalesced()} if _TAKES_COALESCED else {}
            torch.sparse_coo_tensor(*parts, value.shape, check_invariants=True, **coalesced)
        elif value.layout in _COMPRESSED:
            parts = tuple(getattr(value, part)() for part in _COMPRESSED[value.layout])
            made = (*parts, value.values(), value.shape)
            torch.sparse_compressed_tensor(*made, layout=value.layout, check_invariants=True)
    except RuntimeError as error:
        return str(error)
    return ""


def build_tensor(tensor: Tensor, device: str) -> Any:
    """Return a live tensor (numpy array for container `ndarray`) with the elements of `fuzz_core.ir.elements`."""
    if tensor.container == "ndarray":
        check_size(tensor.size)
        return elements(tensor).reshape(tensor.shape)
    made = _drawn(tensor) if _reach(tensor) > MAX_COPIED else _master(tensor).clone()
    if tensor.strides is not None and tensor.size:
        made = made.as_strided(tensor.shape, tensor.strides)
    if device != "cpu":
        made = made.to(device)
    wanted = tensor.requires_grad and DTYPES[tensor.dtype].floating
    if tensor.container == "parameter":
        return torch.nn.Parameter(made, requires_grad=wanted)
    return made.requires_grad_() if wanted else made


def _reach(tensor: Tensor) -> int:
    """Return how many elements of a storage a tensor needs."""
    return tensor.size if tensor.strides is None else span(tensor.shape, tensor.strides)


def _drawn(tensor: Tensor) -> torch.Tensor:
    """Return the tensor itself, or the flat storage that its strides reach over.

    Raises:
        BuildError: the elements cannot be drawn.
    """
    if tensor.dtype not in TORCH_DTYPES:
        raise BuildError(f"no dtype {tensor.dtype} in this target")
    strided, reach = tensor.strides is not None and tensor.size > 0, _reach(tensor)
    told = strided and tensor.fill.kind == "values"
    check_size(max(tensor.size, reach) if told else reach)
    # The elements are written in numpy: torch cannot write single elements of its rarer dtypes.
    flat = buffer(tensor, reach) if told else elements(tensor, reach)
    made = torch.from_numpy(np.ascontiguousarray(flat)).to(TORCH_DTYPES[tensor.dtype])
    return made if strided else made.view(tensor.shape)


_master = masters(_drawn)


MAX_TEXT = 500
_ATTRIBUTE = re.compile(r"attribute '(\w+)'")


class TorchComparer(Comparer):
    """Compares as `torch.testing.assert_close` does with its default tolerances."""

    strict = True
    another = "another {what}\n{actual}, expected {expected}"
    slope = "another derivative\nby tensor {place}: {actual}, expected {expected}"

    def leaf(self, value: Any) -> Leaf | None:
        """See `Comparer`; numbers have no shape or dtype to foresee.

        Quantised tensors have data.

        Nested tensors have no shape.
        """
        if isinstance(value, torch.Tensor) and not value.is_nested:
            dtype, strided = value.dtype, value.layout is torch.strided
            kind = "f" if dtype.is_floating_point else "c" if dtype.is_complex else "b" if dtype is torch.bool else "i"
            return Leaf(
                tuple(value.shape),
                str(dtype),
                kind,
                float(torch.finfo(dtype).max) if kind in "fc" else 0.0,
                Tolerance(*default_tolerances(dtype)),
                lambda: _read(value) if strided and not value.is_quantized else None,
                tuple(value.stride()) if strided else None,
                value.is_quantized,
            )
        if isinstance(value, bool | int | float | complex):
            number = super().leaf(value)
            return number and number._replace(vague=True)
        return None

    def close(self, first: Any, second: Any, place: tuple[Any, ...] = ()) -> str:
        """Return the difference that `torch.testing.assert_close` finds.

        Objects that it cannot compare must have equal types. Storages are not compared, because
        `assert_close` reads them byte by byte: a megabyte takes seconds.
        """
        if isinstance(first, STORAGES) and isinstance(second, STORAGES):
            return self._typed(first, second)
        try:
            torch.testing.assert_close(second, first, equal_nan=True, check_device=False, check_stride=False)
        except AssertionError as error:
            return _worded(str(error), place)
        except TypeError as error:
            if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor):
                return f"not comparable\n{error}"[:MAX_TEXT]
            return self._typed(first, second)
        except (ValueError, RuntimeError):
            return ""
        return ""

    def _typed(self, first: Any, second: Any) -> str:
        one, other = self.kinds(first, second)
        return self.said("type of result", one, other) if one != other else ""

    def structure(self, reference: Any, other: Any, pair: LeafPair, relation: str) -> str:
        """Return the difference in the words of `assert_close`, if it is asked and has any."""
        return self.close(pair.first, pair.second, pair.place) if relation in ("values", "behaviour", "memory") else ""

    def has_whole_numbers(self, result: Any) -> bool:
        """See `Adapter.whole`, of tensors."""
        tensors = (value for value in self.leaves(result) if isinstance(value, torch.Tensor))
        return any(not (tensor.is_floating_point() or tensor.is_complex()) for tensor in tensors)


def _worded(text: str, place: tuple[Any, ...]) -> str:
    """Return the differing attribute in the first line, and the amount in the second."""
    attribute = _ATTRIBUTE.search(text)
    head = f"another {attribute.group(1)}" if attribute else "other values"
    where = f" The failure occurred for item {named(place)}" if place else ""
    return f"{head}\n{' '.join((text + where).split())}"[:MAX_TEXT]


def _read(tensor: torch.Tensor) -> Array | None:
    """Return the elements; None if PyTorch does not give them: on the meta device, or for an impossible size."""
    try:
        return numbers(tensor)
    except (RuntimeError, ValueError):
        return None


def numbers(tensor: torch.Tensor) -> Array:
    """Return the elements as numbers of a numpy dtype that has room for them."""
    wide = tensor.detach().resolve_conj().resolve_neg().cpu()
    if tensor.dtype.is_complex:
        wide = wide.to(torch.complex128)
    elif tensor.dtype.is_floating_point:
        wide = wide.to(torch.float64)
    array: Array = wide.numpy()
    return array


COMPARER = TorchComparer(lambda value: None)
