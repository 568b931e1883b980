"""The FreeFuzz authors' published MongoDB dump: one BSON file per api, one document per traced call.

A document holds `parameter:0`, `parameter:1`, … and keywords, with `input_signature` (what a class's instance was
called with) and `output_signature`. Tensors are shapes and dtypes without values; objects are class names. What cannot
become an invocation is counted by (api, reason).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bson import decode_file_iter
from bson.errors import InvalidBSON

from fuzz_core.ir.errors import Undescribable, UserError
from fuzz_core.ir.values import Invocation, Seq, Then, Value
from fuzz_core.store.freefuzz_values import dtype_of_output, labelled_list, value_of

LIBRARIES = ("torch.", "tf.")
_NOT_ARGUMENTS = ("_id", "input_signature", "output_signature")
_RECEIVER = "_input_tensor"


def read_dump(directory: Path, unmapped: Counter[tuple[str, str]] | None = None) -> Iterator[Invocation]:
    """Every call of every collection in the directory that an invocation can describe.

    unmapped: counts the others by (api, reason). Raises UserError where the directory holds no such dump.
    """
    counts = Counter() if unmapped is None else unmapped
    for file in collections(directory):
        yield from read_collection(file, counts)


def collections(directory: Path) -> list[Path]:
    """The dump's files that hold calls, one api each, by name. Raises UserError where there is none."""
    if not directory.is_dir():
        raise UserError(f"there is no directory {directory}", "give the one that holds the dump's *.bson files")
    found = sorted(file for file in directory.glob("*.bson") if file.name.startswith(LIBRARIES))
    if not found:
        nested = ", ".join(sorted({str(file.parent) for file in directory.glob("*/*.bson")}))
        hint = f"it may be one of: {nested}" if nested else "unpack the dump; its files are named like torch.add.bson"
        raise UserError(f"{directory} holds no FreeFuzz collection (torch.*.bson, tf.*.bson)", hint)
    return found


def read_collection(file: Path, unmapped: Counter[tuple[str, str]]) -> Iterator[Invocation]:
    """The calls in one file; the rest of a broken one is one count. Raises UserError where it cannot be read."""
    api = file.name.removesuffix(".bson")
    for document in _documents(file, api, unmapped):
        try:
            yield _invocation(api, document)
        except Undescribable as reason:
            unmapped[api, str(reason)] += 1


def _documents(file: Path, api: str, unmapped: Counter[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    try:
        with file.open("rb") as stream:
            yield from decode_file_iter(stream)
    except (InvalidBSON, RecursionError) as error:
        unmapped[api, f"broken BSON: {str(error)[:100]}"] += 1
    except OSError as error:
        raise UserError(f"{file} cannot be read ({error})", "check its permissions") from error


def _invocation(api: str, document: dict[str, Any]) -> Invocation:
    places = sorted(int(key[10:]) for key in document if _is_place(key))
    if places != list(range(len(places))):
        raise Undescribable("positions with a gap")
    args = [value_of(document[f"parameter:{place}"]) for place in places]
    if _RECEIVER in document:
        args.insert(0, value_of(document[_RECEIVER]))
    kwargs = []
    for key, raw in document.items():
        if key in _NOT_ARGUMENTS or key == _RECEIVER or _is_place(key):
            continue
        if not key.isidentifier():
            raise Undescribable(f"no keyword: {key[:40]}")
        kwargs.append((key, _keyword(key, raw, document)))
    return Invocation(api, tuple(args), tuple(kwargs), _then(document.get("input_signature")))


def _is_place(key: str) -> bool:
    return key.startswith("parameter:") and key[10:].isascii() and key[10:].isdigit()


def _keyword(key: str, raw: Any, document: dict[str, Any]) -> Value:
    # FreeFuzz lost which dtype it was; what came out tells.
    if raw == "torchdtype" and key == "dtype":
        return dtype_of_output(document.get("output_signature"))
    return value_of(raw)


def _then(signature: Any) -> Then | None:
    if signature is None:
        return None
    inputs = value_of(labelled_list(signature))
    return Then("__call__", inputs.items if isinstance(inputs, Seq) else (inputs,))
