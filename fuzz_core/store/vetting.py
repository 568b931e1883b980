"""Whether a row of an untrusted state file says something that the store could have written itself."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from importlib.util import find_spec
from typing import Any

import numpy as np

from fuzz_core.adapters.dialect import DIALECTS
from fuzz_core.ir import codec
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.outcome import KINDS, Outcome
from fuzz_core.ir.values import Prim, Ref, Tensor, TestCase
from fuzz_core.oracles.kinds import CHANGES, check_kind
from fuzz_core.store.base import text
from fuzz_core.store.cells import MAX_COUNT, Refused
from fuzz_core.store.checks import FIXED
from fuzz_core.store.facts import is_body
from fuzz_core.store.findings import finding_key, signature_digest
from fuzz_core.store.known import KNOWN, OPEN

Row = Mapping[str, Any]
MAX_DEPTH = 20
MAX_ELEMENTS = 1 << 22
# What readers take for granted of JSON that is otherwise free.
_TARGET = {"devices": list, "notes": list, "summary": str, "since": str, "commit": str | None, "origin": dict | None}
_PROBE = {"version": str, "day": str, "commit": str, "reason": str, "made": bool}
_DIGEST = re.compile(r"[0-9a-f]{32}")


class Vetting:
    """Judges the rows of one file, one by one. What builds share was found sound once, and is not looked at again."""

    def __init__(self) -> None:
        self._sound: set[bytes] = set()

    def row(self, table: str, row: Row) -> None:
        """Raises Refused for a row whose cells are sound and that is not fit for its table."""
        if table not in _ROWS:
            return
        try:
            _ROWS[table](self, row)
        except CodecError as error:
            raise Refused("describes no value") from error

    def once(self, check: Callable[[], None], *parts: str) -> None:
        """Checks what these parts say, unless the same was found sound before."""
        key = _digest(*parts)
        if key not in self._sound:
            check()
            self._sound.add(key)


def _digest(*parts: str) -> bytes:
    return blake2b("\x1f".join(parts).encode(), digest_size=16).digest()


def parsed(name: str, body: str) -> Any:
    """JSON as every reader understands it. Raises Refused: not JSON, `NaN`, nested too deeply, too long an integer."""
    try:
        data = _JSON.decode(body)
    except (ValueError, RecursionError) as error:
        raise Refused(f"{name}: no JSON") from error
    return data


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


# Made once: `json.loads` makes one for each text.
_JSON = json.JSONDecoder(parse_constant=_no_constant)


def _shallow(name: str, data: Any, depth: int = 0) -> Any:
    if depth > MAX_DEPTH:
        raise Refused(f"{name}: too deep")
    if isinstance(data, list | dict):
        for part in data.values() if isinstance(data, dict) else data:
            _shallow(name, part, depth + 1)
    return data


def _mapping(name: str, body: str) -> dict[str, Any]:
    data = _shallow(name, parsed(name, body))
    if not isinstance(data, dict):
        raise Refused(f"{name}: no object")
    return data


def _names(name: str, body: str) -> None:
    if not _is(parsed(name, body), list):
        raise Refused(f"{name}: no list of names")


def _is(data: Any, kind: Any) -> bool:
    """Whether it is of a type; a list is one of texts."""
    return isinstance(data, kind) and (kind is not list or all(isinstance(each, str) for each in data))


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise Refused(f"{name}: none of {', '.join(allowed)}")


def _outcome(name: str, body: str) -> None:
    Outcome.from_json(_shallow(name, parsed(name, body)))


def _test(body: str) -> TestCase:
    test = codec.decode_test(parsed("test", body))
    if not (0 <= test.origin <= MAX_COUNT and 0 <= test.seed < 2**64):
        raise Refused("test: no number of an invocation, or no seed")
    for tensor in _tensors(test.invocation):
        _drawable(tensor)
    return test


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple) and not isinstance(value, Prim | Ref):
        for part in value:
            yield from _tensors(part)


def _drawable(tensor: Tensor) -> None:
    """Triage looks at the elements that are given, in this process."""
    if tensor.fill.kind != "values":
        return
    storage = DTYPES[tensor.dtype].storage
    width = 1 if storage == "object" else np.dtype(storage).itemsize
    if tensor.size > MAX_ELEMENTS or len(tensor.fill.data) % width or (tensor.size and not tensor.fill.data):
        raise Refused("test: no elements of its tensor")


def _target(vetting: Vetting, row: Row) -> None:
    info = _mapping("info", row["info"])
    if not all(_is(told, _TARGET[key]) for key, told in info.items() if key in _TARGET):
        raise Refused("info: not what is told of a build")
    if not row["library"].isidentifier() or not _is_known(row["library"]):
        raise Refused("library: none that is known here")


def _is_known(library: str) -> bool:
    """Whether this installation can speak of it; nothing is imported to find out."""
    return library in DIALECTS or find_spec(f"nightfuzz_{library}") is not None


def _api(vetting: Vetting, row: Row) -> None:
    _names("params", row["params"])
    _names("aliases", row["aliases"])


def _ended(row: Row, needed: bool) -> str | None:
    """The kind of the outcome; None in a file from before it was on record."""
    kind = row.get("outcome_kind")
    if kind is not None and (kind or needed):
        _one_of("outcome_kind", kind, KINDS)
    return kind


def _seed(vetting: Vetting, row: Row) -> None:
    _ended(row, row["status"] == "crashed")


def _invocation(vetting: Vetting, row: Row) -> None:
    kind = _ended(row, bool(row["reason"]))
    if kind is not None and (kind == "ok") != (row["valid"] == 1):
        raise Refused("outcome_kind: not that of its validity")

    def check() -> None:
        found = codec.decode_invocation(parsed("body", row["body"]))
        if codec.digest(found) != row["digest"] or text(found.api) != row["api"]:
            raise Refused("digest: not that of the body")

    vetting.once(check, "invocation", row["digest"], row["api"], row["body"])


def _argument(vetting: Vetting, row: Row) -> None:
    def check() -> None:
        if codec.digest(codec.decode(parsed("value", row["value"]))) != row["digest"]:
            raise Refused("digest: not that of the value")

    vetting.once(check, "value", row["digest"], row["value"])


def _constraint(vetting: Vetting, row: Row) -> None:
    bounds = _shallow("bounds", parsed("bounds", row["bounds"]))
    told = [row["api"], row["argument"], row["kind"], bounds, row["text"], row["source"]]
    if Constraint.from_json(told).to_json() != told:
        raise Refused("bounds: no constraint")


def _facts(vetting: Vetting, row: Row) -> None:
    def check() -> None:
        _shallow("body", parsed("body", row["body"]))
        if not is_body(row["body"], row["api"]):
            raise Refused("body: no facts of the api")

    vetting.once(check, "facts", row["api"], row["body"])


def _run(vetting: Vetting, row: Row) -> None:
    _mapping("options", row["options"])
    _mapping("summary", row["summary"])
    if not re.fullmatch(r"-?\d{1,40}", row["seed"]):
        raise Refused("seed: no number")


def _bug(vetting: Vetting, row: Row) -> None:
    _test(row["test"])
    _outcome("outcome", row["outcome"])
    _one_of("status", row["status"], (OPEN, KNOWN, FIXED))
    check_kind(row["oracle"], row["kind"])
    if signature_digest(row["signature_text"]) != row["signature"]:
        raise Refused("signature: not that of its text")


def _finding(vetting: Vetting, row: Row) -> None:
    test = _test(row["test"])
    _outcome("outcome", row["outcome"])
    match parsed("verdict", row["verdict"]):
        case [str(oracle), str(kind), str()]:
            check_kind(oracle, kind)
        case _:
            raise Refused("verdict: none")
    if finding_key(test, oracle) != row["key"] or text(test.invocation.api) != row["api"]:
        raise Refused("key: not that of the test")


def _check(vetting: Vetting, row: Row) -> None:
    _outcome("outcome", row["outcome"])


def _change(vetting: Vetting, row: Row) -> None:
    _test(row["test"])
    _outcome("before", row["before"])
    _outcome("after", row["after"])
    _one_of("kind", row["kind"], CHANGES)


def _probe(vetting: Vetting, row: Row) -> None:
    info = _mapping("info", row["info"])
    if not all(_is(info.get(key), kind) for key, kind in _PROBE.items()):
        raise Refused("info: not what is told of a probe")


def _news(vetting: Vetting, row: Row) -> None:
    _ended(row, True)

    def check() -> None:
        if text(_test(row["test"]).invocation.api) != row["api"]:
            raise Refused("test: of another api")

    if row["test"] is not None:
        vetting.once(check, "news", row["api"], row["test"])


def _similarity(vetting: Vetting, row: Row) -> None:
    if len(row["row"]) % 2:
        raise Refused("row: no similarities")


def _definitions(vetting: Vetting, row: Row) -> None:
    if not _DIGEST.fullmatch(row["definitions"]):
        raise Refused("definitions: no digest")


_ROWS: dict[str, Callable[[Vetting, Row], None]] = {
    "targets": _target,
    "apis": _api,
    "seeds": _seed,
    "invocations": _invocation,
    "argument_values": _argument,
    "constraints": _constraint,
    "facts": _facts,
    "runs": _run,
    "bugs": _bug,
    "findings": _finding,
    "checks": _check,
    "changes": _change,
    "probes": _probe,
    "news": _news,
    "similarity": _similarity,
    "similarity_of": _definitions,
}
