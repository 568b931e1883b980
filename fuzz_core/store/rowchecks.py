"""Checks of untrusted rows: whether the store could have written a row of a state file itself.

Each cell is checked by its type and by the meaning of its column. Then the cells of a row are checked against each
other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from importlib.util import find_spec
from itertools import chain
from typing import Any

from fuzz_core.adapters.dialect import DIALECTS
from fuzz_core.ir import codec
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.outcome import KINDS, Outcome
from fuzz_core.ir.tree import fuzz_type, tensors_of
from fuzz_core.ir.values import Tensor, TestCase
from fuzz_core.oracles.kinds import CHANGES, check_kind
from fuzz_core.store.base import digest_of, text
from fuzz_core.store.cells import CELL_RESULTS
from fuzz_core.store.checks import FIXED, KNOWN, OPEN
from fuzz_core.store.findings import finding_key, signature_digest
from fuzz_core.store.moco import is_body
from fuzz_core.store.traces import number_of

Row = Mapping[str, Any]
Rule = Callable[[Row], None]
# Names are parsed as versions and paths, of which no real one is as long.
NAME, SHORT, LONG = 1_000, 8_000, 1 << 20
MAX_COUNT = 2**53
MAX_DEPTH = 20
MAX_ELEMENTS = 1 << 22
_TYPES: dict[str, tuple[Any, str]] = {
    "TEXT": (str, "no text, or too long"),
    "INTEGER": (int, "no count"),
    "REAL": (int | float, "no count"),
    "BLOB": (bytes, "no bytes, or too many"),
}
_LONG = {"body", "value", "test", "script", "outcome", "before", "after", "info", "options", "summary"}
_NAMES = {"key", "spec", "library", "version", "python", "target", "baseline", "build", "entry", "kind", "oracle"}
_TIMES = (
    *("made_at", "traced_at", "started", "finished", "found_at", "first_found"),
    *("last_seen", "checked_at", "probed_at"),
)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?\+00:00")
# Keys and types that readers expect in JSON that is otherwise free.
_TARGET = {"devices": list, "notes": list, "summary": str, "since": str, "commit": str | None, "origin": dict | None}
_PROBE = {"version": str, "day": str, "commit": str, "reason": str, "made": bool}


class RefusedRow(Exception):  # noqa: N818 - named for what became of the row
    """No store would have written the row; the text names the column and the fault."""


def cell(table: str, name: str, kind: str, required: bool) -> Callable[[Any], None]:
    """Return the check of a column of this name and type: it raises RefusedRow for a bad value."""
    types, problem = _TYPES[kind]
    wrong = f"{name}: {problem}"
    limit = MAX_COUNT if kind in ("INTEGER", "REAL") else LONG if name in _LONG else NAME if name in _NAMES else SHORT
    meaning = _MEANINGS.get(f"{table}.{name}") or _MEANINGS.get(name)

    def check(value: Any) -> None:
        if value is None:
            need(not required, f"{name}: missing")
            return
        sized = isinstance(value, types) and 0 <= (len(value) if isinstance(value, str | bytes) else value) <= limit
        need(sized, wrong)
        try:
            if meaning is not None:
                meaning(value)
        except RefusedRow as fault:
            raise RefusedRow(f"{name}: {fault}") from fault

    return check


def check_row(table: str, cells: Mapping[str, Callable[[Any], None]], row: Row) -> None:
    """Raise RefusedRow for a row with a cell that is not sound, or whose cells do not fit each other."""
    try:
        for name, check in cells.items():
            check(row[name])
        if table in _RULES:
            _RULES[table](row)
    except CodecError as fault:
        raise RefusedRow("describes no value") from fault


def need(sound: bool, problem: str) -> None:
    """Raise RefusedRow for a bad value."""
    if not sound:
        raise RefusedRow(problem)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


# Made once: `json.loads` makes one for each text.
_JSON = json.JSONDecoder(parse_constant=_no_constant)


def parsed(body: str) -> Any:
    """Parse JSON as every reader does.

    Raises:
        RefusedRow: not JSON, `NaN`, nested too deeply, too long an integer.
    """
    try:
        return _JSON.decode(body)
    except (ValueError, RecursionError) as error:
        raise RefusedRow("no JSON") from error


def _shallow(body: str) -> Any:
    data = parsed(body)
    level = [data]
    for _ in range(MAX_DEPTH + 1):
        level = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, list | dict)]
        level = [*chain.from_iterable(level)]
    need(not level, "too deep")
    return data


def _object(body: str) -> dict[str, Any]:
    data: dict[str, Any] = _shallow(body)
    need(isinstance(data, dict), "no object")
    return data


def _is(data: Any, kind: Any) -> bool:
    """Return whether it is of a type; a list is one of texts."""
    return isinstance(data, kind) and (kind is not list or all(isinstance(each, str) for each in data))


def _target(body: str) -> None:
    told = _object(body)
    need(all(_is(told[key], _TARGET[key]) for key in told.keys() & _TARGET), "not the facts of a build")


def _probe(body: str) -> None:
    info = _object(body)
    need(all(_is(info.get(key), kind) for key, kind in _PROBE.items()), "not the facts of a probe")


def _names(body: str) -> None:
    need(_is(parsed(body), list), "no list of names")


def _library(name: str) -> None:
    """Check that this installation knows the library, without an import."""
    known = name.isidentifier() and (name in DIALECTS or find_spec(f"nightfuzz_{name}") is not None)
    need(known, "none that is known here")


def _time(value: str) -> None:
    try:
        if _TIME.fullmatch(value) and datetime.fromisoformat(value):
            return
    except ValueError:
        pass
    raise RefusedRow("no time")


def _outcome(body: str) -> None:
    Outcome.from_json(_shallow(body))


def _test(body: str) -> TestCase:
    test = codec.decode_test(parsed(body))
    need(0 <= test.origin <= MAX_COUNT and 0 <= test.seed < 2**64, "no number of an invocation, or no seed")
    need(all(map(_is_drawable, tensors_of(test.invocation))), "no elements of its tensor")
    return test


def _is_drawable(tensor: Tensor) -> bool:
    """Triage looks at the elements that are given, in this process."""
    if tensor.fill.kind != "values":
        return True
    width = DTYPES[tensor.dtype].width
    whole = len(tensor.fill.data) % width == 0 and bool(tensor.fill.data or not tensor.size)
    return whole and tensor.size <= MAX_ELEMENTS


def _one_of(*allowed: str) -> Callable[[str], None]:
    return lambda value: need(value in allowed, f"none of {', '.join(allowed)}")


def _whole(value: str) -> None:
    need(re.fullmatch(r"-?\d{1,40}", value) is not None, "no number")


# Checks by name of a column, in one table or in all.
_MEANINGS: dict[str, Callable[[Any], object]] = {
    **dict.fromkeys(_TIMES, _time),
    **dict.fromkeys(("outcome", "before", "after"), _outcome),
    **dict.fromkeys(("options", "summary"), _object),
    **dict.fromkeys(("params", "aliases"), _names),
    **dict.fromkeys(("seeds.outcome_kind", "validity.outcome_kind", "invocations.outcome_kind"), _one_of(*KINDS, "")),
    "test": _test,
    "bounds": _shallow,
    "targets.info": _target,
    "targets.library": _library,
    "probes.info": _probe,
    "news.outcome_kind": _one_of(*KINDS),
    "bugs.status": _one_of(OPEN, KNOWN, FIXED),
    "changes.kind": _one_of(*CHANGES),
    "cells.result": _one_of(*CELL_RESULTS),
    "runs.seed": _whole,
}


def _json(row: Row, name: str) -> Any:
    try:
        return parsed(row[name])
    except RefusedRow as fault:
        raise RefusedRow(f"{name}: {fault}") from fault


def _ended(row: Row, needed: bool) -> None:
    """Check the kind of an outcome; a file from before kinds were on record has none."""
    need(not needed or row.get("outcome_kind") != "", f"outcome_kind: none of {', '.join(KINDS)}")


def _seed(row: Row) -> None:
    _ended(row, row["status"] == "crashed")


def _validity(row: Row) -> None:
    _ended(row, bool(row["reason"]))
    kind = row.get("outcome_kind")
    need(kind is None or (kind == "ok") == (row["valid"] == 1), "outcome_kind: not that of its validity")


def _invocation(row: Row) -> None:
    found = codec.decode_invocation(_json(row, "body"))
    need((codec.digest(found), text(found.api)) == (row["digest"], row["api"]), "digest: not that of the body")
    if "target" in row:
        # A file from before there was one of it for all builds.
        _validity(row)
    else:
        need(row["id"] == number_of(row["digest"]), "id: not that of the digest")


def _argument(row: Row) -> None:
    found = codec.decode(_json(row, "value"))
    need((codec.digest(found), fuzz_type(found)) == (row["digest"], row["type"]), "digest: not that of the value")
    need(row["id"] == number_of(digest_of(row["value"])), "id: not that of the value")


def _constraint(row: Row) -> None:
    told = [row["api"], row["argument"], row["kind"], _json(row, "bounds"), row["text"], row["source"]]
    need(Constraint.from_json(told).text == row["text"], "bounds: no constraint")


def _facts(row: Row) -> None:
    need(is_body(row["body"], row["api"]), "body: no facts of the api")


def _bug(row: Row) -> None:
    check_kind(row["oracle"], row["kind"])
    need(signature_digest(row["signature_text"]) == row["signature"], "signature: not that of its text")


def _finding(row: Row) -> None:
    match _json(row, "verdict"):
        case [str(oracle), str(kind), str()]:
            check_kind(oracle, kind)
        case _:
            raise RefusedRow("verdict: none")
    test = _test(row["test"])
    same = (finding_key(test, oracle), text(test.invocation.api)) == (row["key"], row["api"])
    need(same, "key: not that of the test")


def _news(row: Row) -> None:
    if row["test"] is not None:
        need(text(_test(row["test"]).invocation.api) == row["api"], "test: of another api")


_RULES: dict[str, Rule] = {
    "seeds": _seed,
    "invocations": _invocation,
    "validity": _validity,
    "arguments": _argument,
    "constraints": _constraint,
    "facts": _facts,
    "bugs": _bug,
    "findings": _finding,
    "news": _news,
}
