"""A new build takes over what an earlier one of the same library has on record, where the seeds are the same."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from typing import NamedTuple

from fuzz_core.ir.codec import decode_invocation
from fuzz_core.store.base import to_json
from fuzz_core.store.traces import TraceTables

# Names of apis stand in a body as JSON strings: those of the call, of calls among its arguments, and references.
_QUOTED = re.compile(r'"([^"\\]+)"')

_SEEDS = """
INSERT OR IGNORE INTO seeds
SELECT :target, digest, source, named.name, status, reason, seconds, statements, statements_failed, traced_at,
    outcome_kind
FROM seeds JOIN temp.named USING (digest) WHERE target = :since
"""
_NAMED = "IN (SELECT digest FROM temp.named)"
_TAKEN = """
INSERT INTO temp.taken SELECT id, mentions_gone(body), mentions_changed(body) FROM invocations
WHERE target = :since AND EXISTS (SELECT 1 FROM provenance JOIN temp.named ON digest = seed WHERE invocation = id)
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
_PROVENANCE = f"""
INSERT OR IGNORE INTO provenance (invocation, seed, part)
SELECT new.id, seed, part FROM invocations AS old JOIN temp.taken ON taken.id = old.id
JOIN invocations AS new ON new.target = :target AND new.digest = old.digest
JOIN provenance ON provenance.invocation = old.id WHERE NOT gone AND seed {_NAMED}
"""
_COUNTS = f"""
INSERT OR IGNORE INTO {{table}}
SELECT :target, seed, api, {{column}}, count FROM {{table}}
WHERE target = :since AND seed {_NAMED} AND api NOT IN (SELECT value FROM json_each(:gone))
"""
_ARGUMENTS = """
INSERT OR IGNORE INTO argument_values SELECT :target, argument, type, api, digest, value FROM argument_values
WHERE target = :since AND api NOT IN (SELECT value FROM json_each(:gone))
    AND api NOT IN (SELECT value FROM json_each(:touched))
"""
_LEFT = """
SELECT body FROM invocations LEFT JOIN temp.taken USING (id)
WHERE target = :since AND expected = 'ok' AND (gone IS NULL OR gone)
"""
_KEPT = """
SELECT body FROM invocations JOIN temp.taken USING (id)
WHERE NOT gone AND expected = 'ok' AND mentions_touched(body) ORDER BY id
"""
_MENTIONING = """
SELECT DISTINCT seed FROM invocations JOIN provenance ON invocation = id WHERE target = ? AND mentions_api(body)
"""
_TEMPORARY = {
    "named": "digest TEXT PRIMARY KEY, name TEXT",
    "taken": "id INTEGER PRIMARY KEY, gone INTEGER, changed INTEGER",
}
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
        self._define("api", apis)
        return {row["seed"] for row in self._rows(_MENTIONING, target)}

    def carry(
        self,
        target: str,
        since: str,
        seeds: Mapping[str, str],
        gone: Collection[str],
        changed: Collection[str],
    ) -> Carried:
        """Copies what these seeds (name by digest) brought to an earlier target, all of it or nothing.

        gone: apis that the target does not have: what mentions one stays behind. changed: apis with another signature:
        what mentions one counts as not re-run yet.
        """
        names = {"target": target, "since": since, "gone": to_json(sorted(gone))}
        self._define("gone", gone)
        self._define("changed", changed)
        with self._transaction():
            execute = self._db.conn.execute
            for name, columns in _TEMPORARY.items():
                execute(f"DROP TABLE IF EXISTS temp.{name}")
                execute(f"CREATE TEMP TABLE {name} ({columns})")
            self._insert_all("temp.named", seeds.items(), "INSERT")
            execute(_TAKEN, names)
            counts = "SELECT COUNT(*) FILTER (WHERE gone), COUNT(*) FILTER (WHERE changed AND NOT gone) FROM temp.taken"
            retired, anew = execute(counts).fetchone()
            copied, taken = (execute(sql, names).rowcount for sql in (_SEEDS, _INVOCATIONS))
            execute(_PROVENANCE, names)
            for table, column in (("undescribed", "type"), ("dropped", "reason")):
                execute(_COUNTS.format(table=table, column=column), names)
            self._carry_arguments(names, changed)
            execute("UPDATE targets SET info = json_set(info, '$.since', :since) WHERE key = :target", names)
        return Carried(copied, taken, retired, anew)

    def _define(self, name: str, apis: Collection[str]) -> None:
        """Makes the SQL function `mentions_NAME`: whether the body of an invocation has one of these apis in it."""
        wanted = frozenset(apis)

        def mentions(body: str) -> bool:
            return bool(wanted) and not wanted.isdisjoint(_QUOTED.findall(body))

        self._db.conn.create_function(f"mentions_{name}", 1, mentions, deterministic=True)

    def _carry_arguments(self, names: Mapping[str, str], changed: Collection[str]) -> None:
        """Values have no seed on record: those of apis that lose an invocation are found anew in what they keep."""
        execute = self._db.conn.execute
        listed = {api for (api,) in execute("SELECT DISTINCT api FROM argument_values WHERE target = :since", names)}
        left = (_QUOTED.findall(body) for (body,) in execute(_LEFT, names))
        touched = listed.intersection(chain.from_iterable(left)).union(changed)
        execute(_ARGUMENTS, {**names, "touched": to_json(sorted(touched))})
        self._define("touched", touched)
        kept = [decode_invocation(json.loads(body)) for (body,) in execute(_KEPT)]
        self._save_arguments(names["target"], kept)

    def twins(self, target: str, since: str) -> list[Twin]:
        """The invocations that are in the value spaces of both, error inputs left out."""
        rows = self._rows(_BOTH, since, target)
        return [Twin(row["id"], row["api"], _truth(row["valid"]), _truth(row["before"])) for row in rows]

    def doubt(self, invocations: Iterable[int]) -> None:
        """These count as not re-run yet."""
        sql = "UPDATE invocations SET valid = NULL, reason = '', outcome_kind = '' WHERE id = ?"
        with self._transaction():
            self._db.conn.executemany(sql, ((number,) for number in invocations))


def _truth(stored: int | None) -> bool | None:
    return None if stored is None else bool(stored)
