"""The values in FreeFuzz's records. torch: bare values, `{shape, dtype}`; TensorFlow: labelled by `type` or `Label`."""

from __future__ import annotations

import json
import re
from typing import Any

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.errors import Undescribable
from fuzz_core.ir.values import NONE, Invocation, Map, Prim, Ref, Seq, Slice, Tensor, Value

MAX_DEPTH = 30
_TENSOR_LABELS = {"tensor": "tensor", "KerasTensor": "tensor", "variable": "variable", "nparray": "ndarray"}
_TORCH_NAMES = ("strided", "sparse_coo", "contiguous_format", "channels_last", "channels_last_3d", "preserve_format")
_DTYPE_ALIASES = {"half": "float16", "float": "float32", "double": "float64", "int": "int32", "long": "int64"}
# Where a value was no data, FreeFuzz wrote its module and class run together: torchdtype, argparseNamespace.
_CLASS_NAME = re.compile(
    r"(torch(?!\.)|_io|argparse|pathlib|numpy|collections|functools|builtins|tensorflow\.)\w[\w.]*"
)
# Classes of objects whose construction needs no argument, so that the class name says all.
_INITIALIZERS = ("Zeros", "Ones", "GlorotUniform", "GlorotNormal")


def value_of(raw: Any, depth: int = 0) -> Value:
    """A recorded value. Raises Undescribable with the reason."""
    if depth > MAX_DEPTH:
        raise Undescribable("nested too deeply")
    if raw is None:
        return NONE
    if isinstance(raw, bool | float):
        return Prim(type(raw).__name__, raw)
    if isinstance(raw, int):
        return Prim("int", int(raw))
    if isinstance(raw, bytes):
        return Prim("bytes", bytes(raw))
    if isinstance(raw, str):
        return _string(raw)
    if isinstance(raw, list):
        return Seq("list", tuple(value_of(item, depth + 1) for item in raw))
    if isinstance(raw, dict):
        return _record(raw, depth)
    raise Undescribable(f"BSON {type(raw).__name__}")


def labelled_list(raw: Any) -> Any:
    """The items of a record that is labelled as list or tuple; anything else as it is."""
    is_list = isinstance(raw, dict) and _label(raw) in ("list", "tuple")
    return _payload(raw) if is_list else raw


def dtype_of_output(signature: Any) -> Value:
    """The dtype that a call with a lost `dtype` argument had, by its result. Raises Undescribable."""
    name = dtype_name(signature.get("dtype")) if isinstance(signature, dict) else None
    if name is None:
        raise Undescribable("value lost: torchdtype")
    return Ref("dtype", name)


def dtype_name(raw: Any) -> str | None:
    """The library-neutral name of a dtype such as `torch.float32`, `tf.int32_ref`, `np.int64`; None for others."""
    if not isinstance(raw, str):
        return None
    name = raw.strip().rsplit(".", 1)[-1].removesuffix("_ref")
    name = _DTYPE_ALIASES.get(name, name)
    return name if name in DTYPES else None


def _string(raw: str) -> Value:
    if raw.startswith(("torch.", "tf.")):
        name = dtype_name(raw)
        if name is not None:
            return Ref("dtype", name)
        if raw.removeprefix("torch.") in _TORCH_NAMES:
            return Ref("name", raw)
    if _CLASS_NAME.fullmatch(raw):
        raise Undescribable(f"value lost: {raw[:60]}")
    return Prim("str", raw)


def _label(raw: dict[str, Any]) -> str:
    return str(raw.get("Label", raw.get("type", "")))


def _payload(raw: dict[str, Any]) -> Any:
    """`value`, which FreeFuzz's instrumentation writes as JSON text where it can."""
    value = raw.get("value")
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _record(raw: dict[str, Any], depth: int) -> Value:
    label = _label(raw)
    if label in _TENSOR_LABELS or (not label and {"shape", "dtype"} <= raw.keys()):
        return _tensor(raw, label)
    if label in ("list", "tuple"):
        return _sequence(label, _payload(raw), depth)
    if label == "raw":
        return value_of(_payload(raw), depth + 1)
    if label == "DType":
        return _dtype(raw.get("value"))
    if label in ("tf_object", "other"):
        return _object(raw)
    if raw.keys() == {"start", "stop", "step"}:
        return Slice(*(value_of(raw[part], depth + 1) for part in ("start", "stop", "step")))
    return Map(tuple((str(key), value_of(item, depth + 1)) for key, item in raw.items()))


def _sequence(kind: str, items: Any, depth: int) -> Value:
    if not isinstance(items, list):
        raise Undescribable(f"{kind} without items")
    return Seq(kind, tuple(value_of(item, depth + 1) for item in items))


def _tensor(raw: dict[str, Any], label: str) -> Value:
    name, shape = dtype_name(raw.get("dtype")), raw.get("shape")
    if name is None:
        raise Undescribable(f"tensor of dtype {str(raw.get('dtype'))[:40]}")
    if not isinstance(shape, list):
        raise Undescribable("tensor of unknown rank")
    # An open dimension (a Keras batch) is 1, as FreeFuzz reads it.
    sizes = [1 if size is None else size for size in shape]
    if not all(isinstance(size, int) and size >= 0 for size in sizes):
        raise Undescribable("tensor of odd shape")
    from_torch = str(raw["dtype"]).startswith("torch.")
    container = _TENSOR_LABELS[label] if label else "tensor" if from_torch else "ndarray"
    return Tensor(name, tuple(map(int, sizes)), container=container)


def _dtype(raw: Any) -> Value:
    name = dtype_name(raw)
    if name is None:
        raise Undescribable(f"dtype {str(raw)[:40]}")
    return Ref("dtype", name)


def _object(raw: dict[str, Any]) -> Value:
    shown = str(raw.get("value") or raw.get("class_name") or raw.get("type", ""))
    shown = shown.removeprefix("<class '").removesuffix("'>")
    if shown.endswith("dtypes.DType"):
        return _dtype(str(raw.get("to_str")).removeprefix("<dtype: '").removesuffix("'>"))
    name = shown.rsplit(".", 1)[-1]
    if name in _INITIALIZERS:
        return Invocation(f"tf.keras.initializers.{name}")
    if name in ("KerasTensor", "RefVariable") and "shape" in raw:
        return _tensor(raw, "variable" if name == "RefVariable" else "tensor")
    raise Undescribable(f"object known by its class alone: {name[:60]}")
