"""Targets, their apis, what documentation says of these, and their coverage."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fuzz_core.ir.catalogue import Api, deprecated
from fuzz_core.ir.constraints import MAX_TEXT, Constraint
from fuzz_core.ir.errors import UserError
from fuzz_core.store.base import Base, digest_of, stored
from fuzz_core.store.records import Coverage, TargetRecord

_SAVE_TARGET = """
INSERT INTO targets VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET spec = excluded.spec, library = excluded.library, version = excluded.version,
    python = excluded.python, info = CASE WHEN json_extract(targets.info, '$.since') IS NULL THEN excluded.info
        ELSE json_set(excluded.info, '$.since', json_extract(targets.info, '$.since')) END
"""
_APIS = """
SELECT name, kind, params, definition, substr(doc, 1, instr(doc || ':', ':') - 1) AS doc, aliases, '[]' AS signature
FROM apis WHERE target = ? ORDER BY name
"""
_COVERAGE = """
WITH counts AS (
    SELECT api, COUNT(*) AS invocations, SUM(valid IS 1 AND expected = 'ok') AS valid,
        SUM(valid IS NULL AND expected = 'ok') AS unchecked
    FROM calls WHERE target = ?1 GROUP BY api
), origins AS (
    SELECT api, COUNT(DISTINCT seed) AS seeds FROM calls JOIN provenance ON invocation = id
    JOIN seeds ON (seeds.target, seeds.digest) = (calls.target, seed) WHERE calls.target = ?1 GROUP BY api
), silent AS (
    SELECT api, json_group_object(type, n) AS undescribed FROM (
        SELECT api, type, SUM(count) AS n FROM undescribed WHERE target = ?1 GROUP BY 1, 2 ORDER BY 1, 2) GROUP BY api
), gone AS (
    SELECT api, json_group_object(reason, n) AS dropped FROM (
        SELECT api, reason, SUM(count) AS n FROM dropped WHERE target = ?1 GROUP BY 1, 2 ORDER BY 1, 2) GROUP BY api
), ways AS (
    SELECT api, json_group_object(source, n) AS sources FROM (
        SELECT api, source, COUNT(DISTINCT id) AS n FROM calls JOIN provenance ON invocation = id
        JOIN seeds ON (seeds.target, seeds.digest) = (calls.target, seed)
        WHERE calls.target = ?1 AND valid = 1 AND expected = 'ok' GROUP BY 1, 2 ORDER BY 1, 2) GROUP BY api
), searches AS (
    SELECT name AS api, reason AS searched, outcome_kind AS ended FROM seeds
    WHERE target = ?1 AND source = 'search' AND status <> 'ok'
), listed AS (SELECT name AS api, kind FROM apis WHERE target = ?1)
SELECT api, COALESCE(kind, 'unlisted') AS kind, COALESCE(invocations, 0) AS invocations, COALESCE(valid, 0) AS valid,
    COALESCE(unchecked, 0) AS unchecked, COALESCE(seeds, 0) AS seeds, COALESCE(undescribed, '{}') AS undescribed,
    COALESCE(dropped, '{}') AS dropped, COALESCE(sources, '{}') AS sources, COALESCE(searched, '') AS searched,
    COALESCE(ended, '') AS ended
FROM (SELECT api FROM listed UNION SELECT api FROM counts UNION SELECT api FROM silent UNION SELECT api FROM gone)
LEFT JOIN listed USING (api) LEFT JOIN counts USING (api) LEFT JOIN origins USING (api) LEFT JOIN silent USING (api)
LEFT JOIN gone USING (api) LEFT JOIN ways USING (api) LEFT JOIN searches USING (api)
ORDER BY api
"""


class ApiTables(Base):
    """The tables `targets`, `apis` and `constraints`, what documentation says of arguments."""

    def save_target(self, target: TargetRecord) -> None:
        """Add a target, or update it.

        The time of its making stays, and the target that it has taken over from.
        """
        cells = [stored(cell) for cell in target._replace(made_at=target.made_at or self._now())]
        with self._transaction():
            self._db.execute(_SAVE_TARGET, cells)

    def target(self, key: str) -> TargetRecord:
        """Return the target with this key.

        Raises:
            UserError: there is no such target; the message names those there are.
        """
        for target in self.targets():
            if target.key == key:
                return target
        known = ", ".join(target.key for target in self.targets())
        remedy = f"name one of its targets: {known}" if known else "make one: `nightfuzz pull torch==2.13.0`"
        raise UserError(f"the state file {self.path} has no target {key!r}", remedy)

    def targets(self) -> list[TargetRecord]:
        """List the targets, the oldest first."""
        return self._records(TargetRecord, "SELECT * FROM targets ORDER BY made_at, key")

    def save_apis(self, target: str, apis: Iterable[Api]) -> None:
        """Replace the target's apis.

        A docstring is kept as its digest and the names that it says are deprecated.
        """
        rows = [_api_row(target, api) for api in apis]
        with self._transaction():
            self._db.execute("DELETE FROM apis WHERE target = ?", (target,))
            self._insert_all("apis", rows, "INSERT OR REPLACE")

    def apis(self, target: str) -> list[Api]:
        """Return the target's apis by name; `doc` holds the digest of the docstring (empty where there is none)."""
        return self._records(Api, _APIS, target)

    def deprecated(self, target: str) -> dict[str, frozenset[str]]:
        """Return the deprecated names in each api's docstring, see `ir.catalogue`.

        Apis that an older nightfuzz saved are left out.
        """
        rows = self._rows("SELECT name, doc FROM apis WHERE target = ? AND doc LIKE '%:%'", target)
        return {row["name"]: frozenset(row["doc"].partition(":")[2].split()) for row in rows}

    def save_constraints(self, target: str, constraints: Iterable[Constraint]) -> None:
        """Replace the target's constraints; where several sources bound the same, the first one stays."""
        with self._transaction():
            self._db.execute("DELETE FROM constraints WHERE target = ?", (target,))
            # Longer ones would be refused where the state, or a space file of it, is read as a stranger's.
            cut = (each._replace(text=each.text[:MAX_TEXT]) for each in constraints)
            self._insert_all("constraints", ((target, *each) for each in cut))

    def constraints(self, target: str) -> list[Constraint]:
        """Return the target's constraints, by api, argument and kind."""
        sql = "SELECT * FROM constraints WHERE target = ? ORDER BY api, argument, kind"
        return self._records(Constraint, sql, target)

    def coverage(self, target: str) -> list[Coverage]:
        """Return a record per api of the target, and per api that only a seed knew (kind `unlisted`), by name."""
        return self._records(Coverage, _COVERAGE, target)


def _api_row(target: str, api: Api) -> tuple[Any, ...]:
    doc = digest_of(api.doc) if api.doc else ""
    told = f"{doc}:{' '.join(deprecated(api))}"
    return (target, api.name, api.kind, api.definition, api.params, api.aliases, told)
