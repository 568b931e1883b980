"""Seeds, invocations and the argument value space."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from sqlite3 import Connection
from types import MappingProxyType
from typing import Any

from fuzz_core.ir import codec
from fuzz_core.ir.tree import argument_slots, children, fuzz_type, slot_name, walk
from fuzz_core.ir.values import Invocation, Value
from fuzz_core.store.base import Base, digest_of, text, to_json
from fuzz_core.store.records import InvocationRow, SeedRecord, UndecodedInvocation

PAGE = 1000
_INVOCATIONS = f"""
SELECT *, body AS invocation FROM calls
WHERE target = ?1 AND place > ?2 AND (?3 IS NULL OR api = ?3) AND (?4 IS NULL OR valid = ?4)
    AND (NOT ?5 OR valid IS NULL)
ORDER BY place LIMIT {PAGE}
"""
_WORKING = "target = ? AND valid = 1 AND expected = 'ok'"
# Numbers first: sorting whole bodies would copy them.
_SAMPLES = f"""
SELECT id, api, body FROM invocations JOIN (
    SELECT id AS chosen, ROW_NUMBER() OVER (PARTITION BY api ORDER BY instr(body, ?) = 0, place) AS nth
    FROM calls WHERE {_WORKING} AND api IN (SELECT value FROM json_each(?))
) ON chosen = id WHERE nth <= ? ORDER BY api, nth
"""
# If several invocations bring a value, the elements that came first are used.
_ARGUMENTS = """
SELECT slot_name(api, word, argument_values.place) AS argument, type, api, digest, value, MIN(validity.id)
FROM validity JOIN argument_values USING (invocation) JOIN arguments ON arguments.id = argument_values.argument
WHERE target = ? AND expected = 'ok' GROUP BY 1, 2, 3, 4
"""
_REFUSALS = """
SELECT DISTINCT api, reason FROM calls WHERE target = ? AND outcome_kind = 'exception' ORDER BY api, reason
"""
_TENSOR = re.compile(r"(?:tensor|parameter|variable|ndarray)<(\d+,\w+)>")
Counts = Mapping[tuple[str, str], int]

# An error input that some seed calls without an exception is no error input: its elements decide.
_SAVE_INVOCATION = """
INSERT INTO invocations (id, digest, api, body, expected) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET expected = 'ok', body = excluded.body
    WHERE expected = 'exception' AND excluded.expected = 'ok'
"""
SAVE_VALIDITY = """
INSERT INTO validity (target, invocation, expected, valid, reason, outcome_kind, shown) {values}
ON CONFLICT (invocation, target) DO UPDATE SET expected = 'ok', valid = excluded.valid, reason = excluded.reason,
    outcome_kind = excluded.outcome_kind, shown = excluded.shown
    WHERE expected = 'exception' AND excluded.expected = 'ok'
"""
_NEW_VALIDITY = SAVE_VALIDITY.format(values="VALUES (?, ?, ?, NULL, '', '', 0)")
# Bits of an integer that every reader of JSON reads exactly.
_BITS = 53


class TraceTables(Base):
    """The results of tracing.

    The tables `seeds`, `undescribed`, `dropped` and `validity` are by target. The tables `invocations`, `provenance`,
    `arguments` and `argument_values` are for all builds.
    """

    def traced(self, target: str) -> set[str]:
        """Return digests of the seeds that were traced, with or without success."""
        return {row["digest"] for row in self._rows("SELECT digest FROM seeds WHERE target = ?", target)}

    def seeds(self, target: str) -> list[SeedRecord]:
        """Return how tracing went, by source and name."""
        sql = "SELECT * FROM seeds WHERE target = ? ORDER BY source, name, digest"
        return self._records(SeedRecord, sql, target)

    def save_trace(
        self,
        target: str,
        seed: SeedRecord,
        invocations: Iterable[tuple[Invocation, str]],
        undescribed: Counts,
        dropped: Counts,
        parts: Mapping[Invocation, str] = {},
    ) -> int:
        """Save the whole trace of a seed in one transaction; saving it again replaces its counts alone.

        Args:
            invocations: with the expected outcome, `ok` or `exception`.
            undescribed, dropped: counts by (api, type) and (api, reason).
            parts: the test of the seed that an invocation comes from. Error inputs do not enter the argument value
                space.

        Returns:
            How many invocations were new to the target.
        """
        with self._transaction():
            self._insert("seeds", verb="INSERT OR REPLACE", target=target, **seed._asdict(), traced_at=self._now())
            new = self._save_invocations(target, seed.digest, invocations, parts)
            self._save_counts(target, seed.digest, "undescribed", undescribed)
            self._save_counts(target, seed.digest, "dropped", dropped)
        return new

    def _save_invocations(
        self, target: str, seed: str, found: Iterable[tuple[Invocation, str]], parts: Mapping[Invocation, str]
    ) -> int:
        execute, new = self._db.conn.execute, set[int]()
        for invocation, expected in found:
            digest = codec.digest(invocation)
            number = number_of(digest)
            row = (number, digest, text(invocation.api), codec.dumps(invocation), expected)
            if execute(_SAVE_INVOCATION, row).rowcount and expected == "ok":
                save_arguments(self._db.conn, number, invocation)
            if execute(_NEW_VALIDITY, (target, number, expected)).rowcount:
                new.add(number)
            self._insert_all("provenance", [(number, seed, parts.get(invocation, ""))])
        return len(new)

    def _save_counts(self, target: str, seed: str, table: str, counts: Counts) -> None:
        self._db.execute(f"DELETE FROM {table} WHERE target = ? AND seed = ?", (target, seed))
        self._insert_all(table, ((target, seed, *why, count) for why, count in counts.items()), "INSERT OR REPLACE")

    def invocations(
        self, target: str, api: str | None = None, valid: bool | None = None, *, unchecked: bool = False
    ) -> Iterator[InvocationRow]:
        """Yield entries of the API value space in the order they came; other methods may be called in between.

        Args:
            api: of this one only.
            valid: only those that re-ran so.
            unchecked: only those not re-run yet.
        """
        last = 0
        while rows := self._records(InvocationRow, _INVOCATIONS, target, last, api, valid, unchecked):
            yield from rows
            last = rows[-1].place

    def bodies(self, target: str, *, unchecked: bool = False) -> list[UndecodedInvocation]:
        """Return entries of the API value space undecoded, in the order they came.

        Decoding 100,000 entries takes half a minute.
        """
        where = "target = ?" + (" AND valid IS NULL" if unchecked else "")
        return self._records(UndecodedInvocation, f"SELECT * FROM calls WHERE {where} ORDER BY place", target)

    def called_apis(self, target: str) -> set[str]:
        """Return apis with an invocation that the library accepted and that has not failed since."""
        sql = "SELECT DISTINCT api FROM calls WHERE target = ? AND expected = 'ok' AND valid IS NOT 0"
        return {row["api"] for row in self._rows(sql, target)}

    def deadly_calls(self, target: str) -> list[tuple[str, str]]:
        """Return (JSON text, reason) of each invocation that a signal ended when it was last checked, by api."""
        sql = "SELECT body, reason FROM calls WHERE target = ? AND outcome_kind = 'signal' ORDER BY api, place"
        return [(row["body"], row["reason"]) for row in self._rows(sql, target)]

    def apis_with(self, target: str, part: str) -> set[str]:
        """Return apis with a valid invocation whose JSON text has this part."""
        sql = f"SELECT DISTINCT api FROM calls WHERE {_WORKING} AND instr(body, ?)"
        return {row["api"] for row in self._rows(sql, target, part)}

    def samples(self, target: str, apis: Iterable[str], part: str, most: int) -> Iterator[tuple[int, str, str]]:
        """Yield (id, api, JSON text) of valid invocations of these apis, by api; the first `most` of each api.

        Invocations whose text has the part come first, then the order in which they were saved.
        """
        for row in self._each(_SAMPLES, part, target, to_json(sorted(apis)), most):
            yield row["id"], row["api"], row["body"]

    def set_validity(
        self, target: str, rows: Iterable[tuple[int, str, str]], shown: Mapping[int, int] = MappingProxyType({})
    ) -> None:
        """Record how invocations re-ran unmutated: (id, kind of the outcome, reason); those that were ok are valid.

        Args:
            shown: digests of their outcome classes, by id.
        """
        with self._transaction():
            named = [
                (kind == "ok", kind, text(why), shown.get(number, 0), number, target) for number, kind, why in rows
            ]
            self._db.conn.executemany(
                "UPDATE validity SET valid = ?, outcome_kind = ?, reason = ?, shown = ?"
                " WHERE invocation = ? AND target = ?",
                named,
            )

    def argument_space(self, target: str, cap: int = 20) -> dict[str, dict[str, dict[str, list[Any]]]]:
        """Return the argument value space as JSON data: {argument: {FuzzType: {api: [encoded value, …]}}}.

        Args:
            cap: at most so many values per (argument, FuzzType, api), the same ones every time.
        """
        space: dict[str, dict[str, dict[str, list[Any]]]] = {}
        for row in self._arguments(_ARGUMENTS, target):
            values = space.setdefault(row["argument"], {}).setdefault(row["type"], {}).setdefault(row["api"], [])
            if len(values) < cap:
                values.append(json.loads(row["value"]))
        return space

    def tensor_space(self, target: str, cap: int = 20) -> dict[str, list[Any]]:
        """Return the tensors of the argument value space as JSON data, at most `cap` of each kind.

        The data has the form {"rank,dtype": [encoded tensor, …]}.
        """
        sql = f"SELECT type, value FROM ({_ARGUMENTS}) WHERE type LIKE '%>' ORDER BY digest, argument, api"
        space: dict[str, dict[str, None]] = {}
        for row in self._arguments(sql, target):
            found = _TENSOR.fullmatch(row["type"])
            values = space.setdefault(found[1], {}) if found else None
            if values is not None and len(values) < cap:
                values[row["value"]] = None
        return {key: [json.loads(value) for value in space[key]] for key in sorted(space)}

    def _arguments(self, sql: str, target: str) -> Iterator[dict[str, Any]]:
        """Return rows of `_ARGUMENTS`.

        Names are those that mutation looks values up by.
        """
        rows = self._rows("SELECT name, params FROM apis WHERE target = ?", target)
        name = partial(slot_name, params={row["name"]: json.loads(row["params"]) for row in rows})
        self._db.conn.create_function("slot_name", 3, name, deterministic=True)
        return self._each(sql, target)

    def refusals(self, target: str) -> list[tuple[str, str]]:
        """Return (api, message) of the exceptions that recorded invocations ended with when they were re-run."""
        return [(row["api"], row["reason"].partition(": ")[2]) for row in self._rows(_REFUSALS, target)]

    def seeds_of(self, invocation: int, target: str | None = None) -> list[str]:
        """Return names of the seeds that an invocation was traced from (for a target): `test_loss.py::test_focal`."""
        sql = (
            "SELECT DISTINCT name || CASE part WHEN '' THEN '' ELSE '::' || part END AS name"
            " FROM provenance JOIN seeds ON digest = seed"
            " WHERE invocation = ?1 AND (?2 IS NULL OR target = ?2) ORDER BY 1"
        )
        return [row["name"] for row in self._rows(sql, invocation, target)]

    def invocations_of(self, target: str, seeds: Iterable[str]) -> set[int]:
        """Return numbers of the invocations that come from any of these seeds."""
        sql = (
            "SELECT DISTINCT invocation FROM provenance JOIN validity USING (invocation)"
            " WHERE target = ? AND seed IN (SELECT value FROM json_each(?))"
        )
        return {row["invocation"] for row in self._rows(sql, target, to_json(list(seeds)))}


def number_of(digest: str) -> int:
    """Return the number of what has this digest in every state file: its first bits."""
    return int(digest, 16) >> 4 * len(digest) - _BITS


def save_arguments(connection: Connection, number: int, invocation: Invocation) -> None:
    """Add every argument of an invocation, those of nested ones too; of one that comes again, the first elements."""
    found: dict[tuple[str, str, int, str], Value] = {}
    for call in walk(invocation):
        if isinstance(call, Invocation):
            for slot, value in zip(argument_slots(call), children(call), strict=True):
                found.setdefault((call.api, *slot, codec.digest(value)), value)
    for (api, word, place, digest), value in found.items():
        body = codec.dumps(value)
        argument = number_of(digest_of(body))
        connection.execute(
            "INSERT OR IGNORE INTO arguments VALUES (?, ?, ?, ?)", (argument, digest, fuzz_type(value), body)
        )
        connection.execute(
            "INSERT OR IGNORE INTO argument_values VALUES (?, ?, ?, ?, ?)",
            (number, text(api), text(word), place, argument),
        )
