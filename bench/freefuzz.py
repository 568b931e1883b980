"""The FreeFuzz authors' published MongoDB dump, as seeds of a target: `python -m bench freefuzz DIR --target KEY`.

The dump has one BSON file per api, one document per traced call. A document holds `parameter:0`, `parameter:1`, … and
keywords, with `input_signature` (the arguments of a class's instance) and `output_signature`. Tensors are shapes and
dtypes without values; objects are class names. Values of torch are bare or `{shape, dtype}`; values of TensorFlow are
labelled by `type` or `Label`. Calls that no invocation can describe are counted by (api, reason).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from bson import decode_file_iter
from bson.errors import InvalidBSON

from bench.harness import STATE_FILE, Measurement
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.errors import Undescribable, UserError
from fuzz_core.ir.values import NONE, Invocation, Map, Prim, Ref, Seq, Slice, Tensor, Then, Value
from fuzz_core.store import Store
from fuzz_core.store.records import SeedRecord
from fuzz_core.store.statefile import open_store

LIBRARIES = ("torch.", "tf.")
_NOT_ARGUMENTS = ("_id", "input_signature", "output_signature")
_RECEIVER = "_input_tensor"
_PLACE = re.compile(r"parameter:[0-9]+")
MAX_DEPTH = 30
PLAIN_TYPES: tuple[type[Any], ...] = (bool, int, float, bytes)
_TENSOR_LABELS = {"tensor": "tensor", "KerasTensor": "tensor", "variable": "variable", "nparray": "ndarray"}
_TORCH_NAMES = ("strided", "sparse_coo", "contiguous_format", "channels_last", "channels_last_3d", "preserve_format")
_DTYPE_ALIASES = {"half": "float16", "float": "float32", "double": "float64", "int": "int32", "long": "int64"}
# FreeFuzz wrote the module and class of a value without data as one word: torchdtype, argparseNamespace.
_CLASS_NAME = re.compile(
    r"(torch(?!\.)|_io|argparse|pathlib|numpy|collections|functools|builtins|tensorflow\.)\w[\w.]*"
)
# Classes of objects whose construction needs no argument, so that the class name says all.
_INITIALIZERS = ("Zeros", "Ones", "GlorotUniform", "GlorotNormal")


def measure(
    directory: Annotated[Path, typer.Argument(help="Directory of the database dump (*.bson files)")],
    target: Annotated[str, typer.Option(help="Name of a traced build, as `nightfuzz history` prints it")],
    state: Annotated[Path, typer.Option(help="State directory")] = Path(".nightfuzz"),
) -> Measurement:
    """Import the dump and count its calls; the next `nightfuzz trace` runs the new invocations."""
    with open_store(state / STATE_FILE) as store:
        new, unmapped = save_dump(store, target, directory)
    reasons = [{"api": api, "reason": reason, "records": count} for (api, reason), count in unmapped.most_common()]
    return Measurement([{"new invocations": new, "not imported": unmapped.total()}], {"not_imported": reasons})


def save_dump(store: Store, target: str, directory: Path) -> tuple[int, Counter[tuple[str, str]]]:
    """Save the calls of the target's apis.

    Returns:
        The number of new calls, and the count of unmapped ones by (api, reason).

    Raises:
        UserError: an unknown target or a directory without a dump.
    """
    if all(target != record.key for record in store.targets()):
        raise UserError(
            f"the state has no target {target!r}", f"name one of: {', '.join(record.key for record in store.targets())}"
        )
    unmapped: Counter[tuple[str, str]] = Counter()
    names = {name: api.name for api in store.apis(target) for name in (api.name, *api.aliases)}
    brought = []
    for invocation in read_dump(directory, unmapped):
        if invocation.api in names:
            brought.append((invocation._replace(api=names[invocation.api]), "ok"))
        else:
            unmapped[invocation.api, "no api of this target"] += 1
    record = SeedRecord(f"freefuzz:{directory.resolve()}", "import", f"FreeFuzz dump {directory.name}", "ok")
    return store.save_trace(target, record, brought, unmapped, {}), unmapped


def read_dump(directory: Path, unmapped: Counter[tuple[str, str]]) -> Iterator[Invocation]:
    """Yield every call in the directory that an invocation can describe.

    Args:
        directory: holds the collections of the dump.
        unmapped: counts the calls that no invocation can describe, by (api, reason).

    Raises:
        UserError: the directory holds no such dump.
    """
    for file in collections(directory):
        api = file.name.removesuffix(".bson")
        for document in _documents(file, api, unmapped):
            try:
                yield _invocation(api, document)
            except Undescribable as reason:
                unmapped[api, str(reason)] += 1


def collections(directory: Path) -> list[Path]:
    """Return the dump's files that hold calls, one api each, by name.

    Raises:
        UserError: the dump has no such file.
    """
    if not directory.is_dir():
        raise UserError(
            f"there is no directory {directory}", "name the directory that holds the *.bson files of the dump"
        )
    found = sorted(file for file in directory.glob("*.bson") if file.name.startswith(LIBRARIES))
    if not found:
        nested = ", ".join(sorted({str(file.parent) for file in directory.glob("*/*.bson")}))
        hint = (
            f"name one of: {nested}"
            if nested
            else "unpack the dump, and name the directory with files such as torch.add.bson"
        )
        raise UserError(f"{directory} holds no FreeFuzz collection (torch.*.bson, tf.*.bson)", hint)
    return found


def _documents(file: Path, api: str, unmapped: Counter[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    """Yield a file's records; a broken record ends the file and counts once.

    Raises:
        UserError: unreadable files.
    """
    try:
        with file.open("rb") as stream:
            yield from decode_file_iter(stream)
    except (InvalidBSON, RecursionError) as error:
        unmapped[api, f"broken BSON: {str(error)[:100]}"] += 1
    except OSError as error:
        raise UserError(f"cannot read {file}: {error}", "make the file readable") from error


def _invocation(api: str, document: dict[str, Any]) -> Invocation:
    named = {key: raw for key, raw in document.items() if key not in _NOT_ARGUMENTS}
    receiver = [named.pop(_RECEIVER)] if _RECEIVER in named else []
    placed = {int(key[10:]): named.pop(key) for key in list(named) if _PLACE.fullmatch(key)}
    if sorted(placed) != list(range(len(placed))):
        raise Undescribable("positions with a gap")
    for key in named:
        if not key.isidentifier():
            raise Undescribable(f"no keyword: {key[:40]}")
        if key == "dtype" and named[key] == "torchdtype":
            # FreeFuzz lost the dtype; the result's dtype shows which it was.
            result = document.get("output_signature")
            name = dtype_name(result.get("dtype")) if isinstance(result, dict) else None
            named[key] = f"torch.{name}" if name else named[key]
    args = tuple(value_of(raw) for raw in (*receiver, *(placed[at] for at in sorted(placed))))
    kwargs = tuple((key, value_of(raw)) for key, raw in named.items())
    return Invocation(api, args, kwargs, _then(document.get("input_signature")))


def _then(signature: Any) -> Then | None:
    if signature is None:
        return None
    is_list = isinstance(signature, dict) and _label(signature) in ("list", "tuple")
    inputs = value_of(_payload(signature) if is_list else signature)
    return Then("__call__", inputs.items if isinstance(inputs, Seq) else (inputs,))


def value_of(raw: Any, depth: int = 0) -> Value:
    """Return a recorded value.

    Raises:
        Undescribable: the value fits no description; the message has the reason.
    """
    if depth > MAX_DEPTH:
        raise Undescribable("nested too deeply")
    if raw is None:
        return NONE
    for kind in PLAIN_TYPES:
        if isinstance(raw, kind):
            return Prim(kind.__name__, kind(raw))
    if isinstance(raw, str):
        return _string(raw)
    if isinstance(raw, list):
        return Seq("list", tuple(value_of(item, depth + 1) for item in raw))
    if isinstance(raw, dict):
        return _record(raw, depth)
    raise Undescribable(f"BSON {type(raw).__name__}")


def dtype_name(raw: Any) -> str | None:
    """Return the library-neutral name of a dtype such as `torch.float32`, `tf.int32_ref`, `np.int64`; else None."""
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
    """Return `value`, which FreeFuzz's instrumentation writes as JSON text if it can."""
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
        items = _payload(raw)
        if not isinstance(items, list):
            raise Undescribable(f"{label} without items")
        return Seq(label, tuple(value_of(item, depth + 1) for item in items))
    if label == "raw":
        return value_of(_payload(raw), depth + 1)
    if label == "DType":
        return _dtype(raw.get("value"))
    if label in ("tf_object", "other"):
        return _object(raw)
    if raw.keys() == {"start", "stop", "step"}:
        return Slice(*(value_of(raw[part], depth + 1) for part in ("start", "stop", "step")))
    return Map(tuple((str(key), value_of(item, depth + 1)) for key, item in raw.items()))


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
