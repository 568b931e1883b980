"""A new build takes over what an earlier one of the same library has on record, where the seeds are the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fuzz_core.ir.codec import decode_invocation
from fuzz_core.store.base import text
from fuzz_core.store.traces import TraceTables

# Names of apis stand in a body as JSON strings: those of the call, of calls among its arguments, and references.
_QUOTED = re.compile(r'"([^"\\]+)"')
Choose = Callable[[Mapping[str, Sequence[int]]], Iterable[int]]

_SEEDS = """
INSERT OR IGNORE INTO seeds
SELECT :target, digest, source, named.name, status, reason, seconds, statements, statements_failed, traced_at,
    outcome_kind
FROM seeds JOIN temp.named USING (digest) WHERE target = :since
"""
_TAKEN = """
INSERT INTO temp.taken
SELECT id, mentions_gone(body), mentions_changed(body) FROM invocations WHERE target = :since AND EXISTS (
    SELECT 1 FROM provenance JOIN temp.named ON digest = seed WHERE invocation = id)
"""
_INVOCATIONS = """
INSERT INTO invocations (target, api, digest, body, expected, valid, reason, outcome_kind)
SELECT :target, api, digest, body, expected, CASE WHEN changed THEN NULL ELSE valid END,
    CASE WHEN changed THEN '' ELSE reason END, CASE WHEN changed THEN '' ELSE outcome_kind END
FROM invocations JOIN temp.taken USING (id) WHERE NOT gone ORDER BY id
ON CONFLICT (target, digest) DO UPDATE SET expected = 'ok', body = excluded.body, valid = excluded.valid,
    reason = excluded.reason, outcome_kind = excluded.outcome_kind
    WHERE expected = 'exception' AND excluded.expected = 'ok'
"""
_PROVENANCE = """
INSERT OR IGNORE INTO provenance (invocation, seed, part)
SELECT new.id, seed, part FROM invocations AS old JOIN temp.taken ON taken.id = old.id
JOIN invocations AS new ON new.target = :target AND new.digest = old.digest
JOIN provenance ON provenance.invocation = old.id JOIN temp.named ON named.digest = seed WHERE NOT gone
"""
_COUNTS = """
INSERT OR IGNORE INTO {table}
SELECT :target, seed, api, {column}, count FROM {table} JOIN temp.named ON digest = seed
WHERE target = :since AND api NOT IN (SELECT api FROM temp.gone)
"""
_ARGUMENTS = """
INSERT OR IGNORE INTO argument_values SELECT :target, argument, type, api, digest, value FROM argument_values
WHERE target = :since AND api NOT IN (SELECT api FROM temp.gone) AND api NOT IN (SELECT api FROM temp.touched)
"""
_BOTH = """
SELECT new.id, new.api, new.valid, old.valid AS before FROM invocations AS new
JOIN invocations AS old ON old.target = ? AND old.digest = new.digest
WHERE new.target = ? AND new.expected = 'ok' ORDER BY new.id
"""


class Carried(NamedTuple):
    """How much was taken over.

    retired: invocations that stayed behind, as they mention an api that is gone. changed: those that came along and
    mention an api with another signature.
    """

    seeds: int
    invocations: int
    retired: int
    changed: int


class Twin(NamedTuple):
    """An invocation that two targets have: its id and validity on the newer one, and what it was on the older."""

    id: int
    api: str
    valid: bool | None
    before: bool | None


class CarryTables(TraceTables):
    """What tracing has left of one target, copied to another."""

    def predecessor(self, target: str) -> str:
        """The newest target of the same library that came before this one and has been traced; empty: there is none."""
        sql = """
        SELECT old.key FROM targets AS new JOIN targets AS old ON old.library = new.library
        WHERE new.key = ? AND (old.made_at, old.key) < (new.made_at, new.key)
            AND EXISTS (SELECT 1 FROM seeds WHERE seeds.target = old.key)
        ORDER BY old.made_at DESC, old.key DESC LIMIT 1
        """
        rows = self._rows(sql, target)
        return str(rows[0]["key"]) if rows else ""

    def since(self, target: str) -> str:
        """The target that this one has taken over from; empty where it has not."""
        rows = self._rows("SELECT json_extract(info, '$.since') AS since FROM targets WHERE key = ?", target)
        return str(rows[0]["since"] or "") if rows else ""

    def seeds_mentioning(self, target: str, apis: Collection[str]) -> set[str]:
        """Digests of the seeds that brought invocations which mention one of these apis."""
        mentions = _mentions(apis)
        rows = self._each("SELECT id, body FROM invocations WHERE target = ?", target) if apis else ()
        found = [row["id"] for row in rows if mentions(row["body"])]
        brought: set[str] = set()
        for number in found:
            brought.update(
                row["seed"] for row in self._rows("SELECT seed FROM provenance WHERE invocation = ?", number)
            )
        return brought

    def carry(
        self,
        target: str,
        since: str,
        seeds: Mapping[str, str],
        gone: Collection[str],
        changed: Collection[str],
        choose: Choose,
    ) -> Carried:
        """Copies what these seeds (name by digest) brought to an earlier target, all of it or nothing.

        gone: apis that the target does not have: what mentions one stays behind. changed: apis with another signature:
        what mentions one counts as not re-run yet. choose: of the valid invocations carried over, as ids by api, those
        that count as not re-run yet too.
        """
        names = {"target": target, "since": since}
        with self._transaction():
            self._prepare(seeds, gone, changed)
            count = self._db.conn.execute
            copied = count(_SEEDS, names).rowcount
            count(_TAKEN, names)
            (retired,) = count("SELECT COUNT(*) FROM temp.taken WHERE gone").fetchone()
            (anew,) = count("SELECT COUNT(*) FROM temp.taken WHERE changed AND NOT gone").fetchone()
            taken = count(_INVOCATIONS, names).rowcount
            count(_PROVENANCE, names)
            for table, column in (("undescribed", "type"), ("dropped", "reason")):
                count(_COUNTS.format(table=table, column=column), names)
            self._carry_arguments(names, changed)
            self._doubt(choose(self._valid(target, since)))
            count("UPDATE targets SET info = json_set(info, '$.since', ?) WHERE key = ?", (since, target))
        return Carried(copied, taken, retired, anew)

    def _prepare(self, seeds: Mapping[str, str], gone: Collection[str], changed: Collection[str]) -> None:
        conn = self._db.conn
        for name, columns in _TEMPORARY.items():
            conn.execute(f"DROP TABLE IF EXISTS temp.{name}")
            conn.execute(f"CREATE TEMP TABLE {name} ({columns})")
        conn.executemany(
            "INSERT INTO temp.named VALUES (?, ?)", ((digest, text(name)) for digest, name in seeds.items())
        )
        conn.executemany("INSERT INTO temp.gone VALUES (?)", ((api,) for api in gone))
        for function, apis in (("mentions_gone", gone), ("mentions_changed", changed)):
            conn.create_function(function, 1, _mentions(apis), deterministic=True)

    def _carry_arguments(self, names: Mapping[str, str], changed: Collection[str]) -> None:
        """Values have no seed on record: those of apis that lose an invocation are found anew in what they keep."""
        conn = self._db.conn
        sql = """SELECT body FROM invocations LEFT JOIN temp.taken USING (id)
            WHERE target = ? AND expected = 'ok' AND (gone IS NULL OR gone)"""
        listed = {
            row[0]
            for row in conn.execute("SELECT DISTINCT api FROM argument_values WHERE target = ?", (names["since"],))
        }
        touched = {*changed}
        for (body,) in conn.execute(sql, (names["since"],)):
            touched |= listed.intersection(_QUOTED.findall(body))
        conn.executemany("INSERT OR IGNORE INTO temp.touched VALUES (?)", ((api,) for api in touched))
        conn.execute(_ARGUMENTS, names)
        self._save_arguments(names["target"], [decode_invocation(json.loads(body)) for body in self._kept(touched)])

    def _kept(self, apis: Collection[str]) -> Iterator[str]:
        mentions = _mentions(apis)
        sql = "SELECT body FROM invocations JOIN temp.taken USING (id) WHERE NOT gone AND expected = 'ok' ORDER BY id"
        return (body for (body,) in self._db.conn.execute(sql) if mentions(body))

    def _valid(self, target: str, since: str) -> dict[str, list[int]]:
        sql = """SELECT new.id, new.api FROM invocations AS old JOIN temp.taken ON taken.id = old.id
            JOIN invocations AS new ON new.target = ? AND new.digest = old.digest
            WHERE old.target = ? AND new.valid = 1 AND new.expected = 'ok' AND NOT gone ORDER BY new.id"""
        found: dict[str, list[int]] = {}
        for number, api in self._db.conn.execute(sql, (target, since)):
            found.setdefault(api, []).append(number)
        return found

    def twins(self, target: str, since: str) -> list[Twin]:
        """The invocations that are in the value spaces of both, error inputs left out."""
        return [
            Twin(row["id"], row["api"], _truth(row["valid"]), _truth(row["before"]))
            for row in self._rows(_BOTH, since, target)
        ]

    def doubt(self, invocations: Iterable[int]) -> None:
        """These count as not re-run yet."""
        with self._transaction():
            self._doubt(invocations)

    def _doubt(self, invocations: Iterable[int]) -> None:
        sql = "UPDATE invocations SET valid = NULL, reason = '', outcome_kind = '' WHERE id = ?"
        self._db.conn.executemany(sql, ((number,) for number in invocations))


_TEMPORARY = {
    "named": "digest TEXT PRIMARY KEY, name TEXT",
    "gone": "api TEXT PRIMARY KEY",
    "touched": "api TEXT PRIMARY KEY",
    "taken": "id INTEGER PRIMARY KEY, gone INTEGER, changed INTEGER",
}


def _mentions(apis: Collection[str]) -> Callable[[str], bool]:
    """Whether a body has one of these apis in it."""
    wanted = frozenset(apis)
    if not wanted:
        return lambda body: False
    return lambda body: not wanted.isdisjoint(_QUOTED.findall(body))


def _truth(stored: int | None) -> bool | None:
    return None if stored is None else bool(stored)
