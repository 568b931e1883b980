"""Seeds, invocations and the argument value space."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fuzz_core.ir import codec
from fuzz_core.ir.tree import argument_names, children, fuzz_type, walk
from fuzz_core.ir.values import Invocation, Value
from fuzz_core.store.base import Base, text, to_json
from fuzz_core.store.records import Body, InvocationRow, SeedRecord

PAGE = 1000
_WORKING = "target = ? AND valid = 1 AND expected = 'ok'"
# Numbers first: sorting whole bodies would copy them.
_SAMPLES = f"""
SELECT id, api, body FROM invocations JOIN (
    SELECT id AS chosen, ROW_NUMBER() OVER (PARTITION BY api ORDER BY instr(body, ?) = 0, id) AS place
    FROM invocations WHERE {_WORKING} AND api IN (SELECT value FROM json_each(?))
) ON chosen = id WHERE place <= ? ORDER BY api, place
"""
_TENSOR = re.compile(r"(?:tensor|parameter|variable|ndarray)<(\d+,\w+)>")
Counts = Mapping[tuple[str, str], int]

# An error input that some seed calls without an exception is no error input: its elements decide.
_SAVE_INVOCATION = """
INSERT INTO invocations (target, api, digest, body, expected) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (target, digest) DO UPDATE
    SET expected = 'ok', body = excluded.body, valid = NULL, reason = '', outcome_kind = ''
    WHERE expected = 'exception' AND excluded.expected = 'ok'
"""
_LINK = """
INSERT OR IGNORE INTO provenance (invocation, seed, part)
SELECT id, ?, ? FROM invocations WHERE target = ? AND digest = ?
"""
_UNLINK = "DELETE FROM provenance WHERE seed = ? AND invocation IN (SELECT id FROM invocations WHERE target = ?)"


class TraceTables(Base):
    """The tables `seeds`, `invocations`, `provenance`, `undescribed`, `dropped` and `argument_values`."""

    def traced(self, target: str) -> set[str]:
        """Digests of the seeds that were traced, whatever came of it."""
        return {row["digest"] for row in self._rows("SELECT digest FROM seeds WHERE target = ?", target)}

    def seeds(self, target: str) -> list[SeedRecord]:
        """How tracing went, by source and name."""
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
        """Saves all that one seed brought, or nothing; saving it again replaces its counts and changes nothing else.

        invocations: with what is expected of them, `ok` or `exception`. undescribed and dropped: counts by
        (api, type) and (api, reason). parts: the test of the seed that an invocation comes from. Error inputs add
        nothing to the argument value space.
        Returns how many invocations were new to the target.
        """
        with self._transaction():
            self._save_seed(target, seed)
            new = self._save_invocations(target, seed.digest, invocations, parts)
            self._save_counts(target, seed.digest, "undescribed", undescribed)
            self._save_counts(target, seed.digest, "dropped", dropped)
            self._save_arguments(target, [invocation for invocation, expected in new if expected == "ok"])
        return len(new)

    def _save_seed(self, target: str, seed: SeedRecord) -> None:
        self._insert("seeds", verb="INSERT OR REPLACE", target=target, **seed._asdict(), traced_at=self._now())

    def _save_invocations(
        self, target: str, seed: str, found: Iterable[tuple[Invocation, str]], parts: Mapping[Invocation, str]
    ) -> list[tuple[Invocation, str]]:
        self._db.execute(_UNLINK, (seed, target))
        new: dict[str, tuple[Invocation, str]] = {}
        digests = []
        for invocation, expected in found:
            digest = codec.digest(invocation)
            row = (target, text(invocation.api), digest, codec.dumps(invocation), expected)
            if self._db.conn.execute(_SAVE_INVOCATION, row).rowcount:
                new[digest] = (invocation, expected)
            digests.append((seed, text(parts.get(invocation, "")), target, digest))
        self._db.conn.executemany(_LINK, digests)
        return list(new.values())

    def _save_counts(self, target: str, seed: str, table: str, counts: Counts) -> None:
        self._db.execute(f"DELETE FROM {table} WHERE target = ? AND seed = ?", (target, seed))
        self._insert_all(table, ((target, seed, *why, count) for why, count in counts.items()), "INSERT OR REPLACE")

    def _save_arguments(self, target: str, invocations: list[Invocation]) -> None:
        params = self._params(target) if invocations else {}
        rows = [
            (target, name, fuzz_type(value), api, codec.digest(value), codec.dumps(value))
            for invocation in invocations
            for api, name, value in named_values(invocation, params)
        ]
        self._insert_all("argument_values", rows)

    def _params(self, target: str) -> dict[str, list[str]]:
        if target not in self._known_params:
            rows = self._rows("SELECT name, params FROM apis WHERE target = ?", target)
            self._known_params[target] = {row["name"]: json.loads(row["params"]) for row in rows}
        return self._known_params[target]

    def invocations(
        self, target: str, api: str | None = None, valid: bool | None = None, *, unchecked: bool = False
    ) -> Iterator[InvocationRow]:
        """Entries of the API value space in the order they came; other methods may be called in between.

        api: of this one only. valid: only those that re-ran so. unchecked: only those not re-run yet.
        """
        where, parameters = "target = ? AND id > ?", [target, 0]
        for condition, value in (("api", api), ("valid", valid)):
            if value is not None:
                where, parameters = f"{where} AND {condition} = ?", [*parameters, value]
        where += " AND valid IS NULL" if unchecked else ""
        sql = f"SELECT *, body AS invocation FROM invocations WHERE {where} ORDER BY id LIMIT {PAGE}"
        while rows := self._records(InvocationRow, sql, *parameters):
            yield from rows
            parameters[1] = rows[-1].id

    def bodies(self, target: str, *, unchecked: bool = False) -> list[Body]:
        """Entries of the API value space undecoded, in the order they came; decoding 100,000 takes half a minute."""
        where = "target = ?" + (" AND valid IS NULL" if unchecked else "")
        return self._records(Body, f"SELECT * FROM invocations WHERE {where} ORDER BY id", target)

    def apis_with(self, target: str, part: str) -> set[str]:
        """Apis with a valid invocation whose JSON text has this part."""
        sql = f"SELECT DISTINCT api FROM invocations WHERE {_WORKING} AND instr(body, ?)"
        return {row["api"] for row in self._rows(sql, target, part)}

    def samples(self, target: str, apis: Iterable[str], part: str, most: int) -> Iterator[tuple[int, str, str]]:
        """(id, api, JSON text) of valid invocations of these apis, by api; of each the first `most`.

        Those whose text has the part come before others, else in the order they came.
        """
        for row in self._each(_SAMPLES, part, target, to_json(sorted(apis)), most):
            yield row["id"], row["api"], row["body"]

    def set_validity(self, rows: Iterable[tuple[int, str, str]]) -> None:
        """Records how invocations re-ran unmutated: (id, kind of the outcome, reason); those that were ok are valid."""
        with self._transaction():
            named = [(kind == "ok", kind, text(reason), number) for number, kind, reason in rows]
            sql = "UPDATE invocations SET valid = ?, outcome_kind = ?, reason = ? WHERE id = ?"
            self._db.conn.executemany(sql, named)

    def argument_space(self, target: str, cap: int = 20) -> dict[str, dict[str, dict[str, list[Any]]]]:
        """The argument value space as JSON data: {argument: {FuzzType: {api: [encoded value, …]}}}.

        cap: at most so many values per (argument, FuzzType, api), the same ones every time.
        """
        sql = "SELECT argument, type, api, value FROM argument_values WHERE target = ? ORDER BY 1, 2, 3, digest"
        space: dict[str, dict[str, dict[str, list[Any]]]] = {}
        for row in self._each(sql, target):
            values = space.setdefault(row["argument"], {}).setdefault(row["type"], {}).setdefault(row["api"], [])
            if len(values) < cap:
                values.append(json.loads(row["value"]))
        return space

    def tensor_space(self, target: str, cap: int = 20) -> dict[str, list[Any]]:
        """The tensors of the argument value space as JSON data: {"rank,dtype": [encoded tensor, …]}, `cap` of each."""
        sql = "SELECT type, value FROM argument_values WHERE target = ? AND type LIKE '%>' ORDER BY digest, argument"
        space: dict[str, dict[str, None]] = {}
        for row in self._each(sql, target):
            found = _TENSOR.fullmatch(row["type"])
            values = space.setdefault(found[1], {}) if found else None
            if values is not None and len(values) < cap:
                values[row["value"]] = None
        return {key: [json.loads(value) for value in space[key]] for key in sorted(space)}


def named_values(invocation: Invocation, params: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str, Value]]:
    """Every argument as (api, argument name, value), those of nested invocations too.

    params: names of the positional parameters by api. The names are those that mutation looks values up by.
    """
    for call in walk(invocation):
        if isinstance(call, Invocation):
            for name, value in zip(argument_names(call, params), children(call), strict=True):
                yield call.api, name, value
