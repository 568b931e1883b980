"""A new build takes over what an earlier one of the same library has on record, where the seeds are the same."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from fuzz_core.store.base import text, to_json
from fuzz_core.store.traces import SAVE_VALIDITY, TraceTables

# Names of apis stand in a body as JSON strings: those of the call, of calls among its arguments, and references.
_QUOTED = re.compile(r'"([^"\\]+)"')

_SEEDS = """
INSERT OR IGNORE INTO seeds
SELECT :target, digest, source, value, status, reason, seconds, statements, statements_failed, traced_at, outcome_kind
FROM seeds JOIN json_each(:seeds) ON key = digest WHERE target = :since
"""
_TAKEN = """
CREATE TEMP TABLE taken AS
SELECT id, mentions_gone(body) AS gone, mentions_changed(body) AS changed, expected, valid, reason, outcome_kind,
    shown
FROM calls
WHERE target = :since
    AND id IN (SELECT invocation FROM provenance WHERE seed IN (SELECT key FROM json_each(:seeds)))
ORDER BY place
"""
_VALIDITY = """
SELECT :target, id, expected, iif(changed, NULL, valid), iif(changed, '', reason), iif(changed, '', outcome_kind),
    iif(changed, 0, shown)
FROM temp.taken WHERE NOT gone ORDER BY rowid
"""
_COUNTS = """
INSERT OR IGNORE INTO {table}
SELECT :target, seed, api, {column}, count FROM {table}
WHERE target = :since AND seed IN (SELECT key FROM json_each(:seeds))
    AND api NOT IN (SELECT value FROM json_each(:gone))
"""
_MENTIONING = """
SELECT DISTINCT seed FROM calls JOIN provenance ON invocation = id
JOIN seeds ON (seeds.target, seeds.digest) = (calls.target, seed) WHERE calls.target = ? AND mentions_api(body)
"""
_BOTH = """
SELECT new.id, new.api, new.valid, old.valid AS before FROM calls AS new
JOIN validity AS old ON old.target = ? AND old.invocation = new.id
WHERE new.target = ? AND new.expected = 'ok' ORDER BY new.place
"""


class Carried(NamedTuple):
    """How much was taken over."""

    seeds: int
    invocations: int
    retired: int  # invocations that stayed behind, as they mention an api that is gone
    changed: int  # those that came along and mention an api with another signature


class Twin(NamedTuple):
    """An invocation that two targets have: its id and validity on the newer one, and what it was on the older."""

    id: int
    api: str
    valid: bool | None
    before: bool | None


class CarryTables(TraceTables):
    """The tables that a new target takes over from an earlier target."""

    def predecessor(self, target: str) -> str:
        """Return the newest traced target of the same library that came before this one.

        The result is empty if there is none.
        """
        sql = """
        SELECT old.key FROM targets AS new JOIN targets AS old ON old.library = new.library
        WHERE new.key = ? AND (old.made_at, old.key) < (new.made_at, new.key)
            AND EXISTS (SELECT 1 FROM seeds WHERE seeds.target = old.key)
        ORDER BY old.made_at DESC, old.key DESC LIMIT 1
        """
        return next((row["key"] for row in self._rows(sql, target)), "")

    def since(self, target: str) -> str:
        """Return the target that this one has taken over from; empty where it has not."""
        sql = "SELECT COALESCE(json_extract(info, '$.since'), '') AS since FROM targets WHERE key = ?"
        return next((row["since"] for row in self._rows(sql, target)), "")

    def seeds_mentioning(self, target: str, apis: Collection[str]) -> set[str]:
        """Return digests of the seeds that brought invocations which mention one of these apis."""
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
        """Copy the rows that these seeds (name by digest) brought to an earlier target, in one transaction.

        Args:
            gone: apis that the target does not have. Rows that mention such an api are left out.
            changed: apis with another signature. Rows that mention such an api count as not re-run yet.
        """
        named = {digest: text(name) for digest, name in seeds.items()}
        names = {"target": target, "since": since, "seeds": to_json(named), "gone": to_json(sorted(gone))}
        self._define("gone", gone)
        self._define("changed", changed)
        with self._transaction():
            execute = self._db.conn.execute
            execute("DROP TABLE IF EXISTS temp.taken")
            execute(_TAKEN, names)
            counts = "SELECT COUNT(*) FILTER (WHERE gone), COUNT(*) FILTER (WHERE changed AND NOT gone) FROM temp.taken"
            retired, anew = execute(counts).fetchone()
            copied, taken = (execute(sql, names).rowcount for sql in (_SEEDS, SAVE_VALIDITY.format(values=_VALIDITY)))
            for table, column in (("undescribed", "type"), ("dropped", "reason")):
                execute(_COUNTS.format(table=table, column=column), names)
            execute("UPDATE targets SET info = json_set(info, '$.since', :since) WHERE key = :target", names)
        return Carried(copied, taken, retired, anew)

    def _define(self, name: str, apis: Collection[str]) -> None:
        """Make the SQL function `mentions_NAME`: whether the body of an invocation has one of these apis in it."""
        wanted = frozenset(apis)

        def mentions(body: str) -> bool:
            return bool(wanted) and not wanted.isdisjoint(_QUOTED.findall(body))

        self._db.conn.create_function(f"mentions_{name}", 1, mentions, deterministic=True)

    def twins(self, target: str, since: str) -> list[Twin]:
        """Return the invocations that are in the value spaces of both, error inputs left out."""
        return self._records(Twin, _BOTH, since, target)

    def mark_unchecked(self, target: str, invocations: Iterable[int]) -> None:
        """Mark these invocations as not re-run yet."""
        sql = "UPDATE validity SET valid = NULL, reason = '', outcome_kind = '' WHERE invocation = ? AND target = ?"
        with self._transaction():
            self._db.conn.executemany(sql, ((number, target) for number in invocations))
