"""Targets, their apis, what documentation says of these, and their coverage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

from fuzz_core.ir.catalogue import Api, deprecated
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.errors import UserError
from fuzz_core.store.base import Base, stored, text
from fuzz_core.store.records import Coverage, TargetRecord

_SAVE_TARGET = """
INSERT INTO targets VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET spec = excluded.spec, library = excluded.library, version = excluded.version,
    python = excluded.python, info = CASE WHEN json_extract(targets.info, '$.since') IS NULL THEN excluded.info
        ELSE json_set(excluded.info, '$.since', json_extract(targets.info, '$.since')) END
"""
_APIS = """
SELECT name, kind, params, definition, substr(doc, 1, instr(doc || ':', ':') - 1) AS doc, aliases FROM apis
WHERE target = ? ORDER BY name
"""
_INVOCATIONS_BY_API = """
SELECT api, COUNT(*) AS invocations, SUM(valid IS 1 AND expected = 'ok') AS valid,
    SUM(valid IS NULL AND expected = 'ok') AS unchecked
FROM calls WHERE target = ? GROUP BY api
"""
_SEEDS_BY_API = """
SELECT api, COUNT(DISTINCT seed) AS seeds FROM calls JOIN provenance ON invocation = id
JOIN seeds ON (seeds.target, seeds.digest) = (calls.target, seed) WHERE calls.target = ? GROUP BY api
"""


class ApiTables(Base):
    """The tables `targets`, `apis` and `constraints`, what documentation says of arguments."""

    def save_target(self, target: TargetRecord) -> None:
        """Adds a target or updates what is known of it; the time of making stays, and whom it has taken over from."""
        cells = [stored(cell) for cell in target._replace(made_at=target.made_at or self._now())]
        with self._transaction():
            self._db.execute(_SAVE_TARGET, cells)

    def target(self, key: str) -> TargetRecord:
        """The target with this key. Raises UserError that names those there are."""
        for target in self.targets():
            if target.key == key:
                return target
        known = ", ".join(target.key for target in self.targets()) or "none yet"
        raise UserError(f"no target {key!r} in {self.path}", f"`nightfuzz pull` makes one; there is: {known}")

    def targets(self) -> list[TargetRecord]:
        """All targets, the oldest first."""
        return self._records(TargetRecord, "SELECT * FROM targets ORDER BY made_at, key")

    def save_apis(self, target: str, apis: Iterable[Api]) -> None:
        """Replaces the target's apis. Of docstrings, digests are kept and what they say to be deprecated."""
        rows = [_api_row(target, api) for api in apis]
        self._known_params.pop(target, None)
        with self._transaction():
            self._db.execute("DELETE FROM apis WHERE target = ?", (target,))
            self._insert_all("apis", rows, "INSERT OR REPLACE")

    def apis(self, target: str) -> list[Api]:
        """The target's apis by name; `doc` holds the digest of the docstring (empty where there is none)."""
        return self._records(Api, _APIS, target)

    def deprecated(self, target: str) -> dict[str, frozenset[str]]:
        """By api, what its docstring says to be deprecated, see `ir.catalogue`; not of those saved earlier."""
        rows = self._rows("SELECT name, doc FROM apis WHERE target = ? AND doc LIKE '%:%'", target)
        return {row["name"]: frozenset(row["doc"].partition(":")[2].split()) for row in rows}

    def save_constraints(self, target: str, constraints: Iterable[Constraint]) -> None:
        """Replaces the target's constraints; where several sources bound the same, the first one stays."""
        with self._transaction():
            self._db.execute("DELETE FROM constraints WHERE target = ?", (target,))
            self._insert_all("constraints", ((target, *each) for each in constraints))

    def constraints(self, target: str) -> list[Constraint]:
        """The target's constraints, by api, argument and kind."""
        sql = "SELECT * FROM constraints WHERE target = ? ORDER BY api, argument, kind"
        return self._records(Constraint, sql, target)

    def coverage(self, target: str) -> list[Coverage]:
        """One record per api of the target, and per api that only a seed knew (kind `unlisted`), by name."""
        kinds = {row["name"]: row["kind"] for row in self._rows("SELECT name, kind FROM apis WHERE target = ?", target)}
        counts = {row["api"]: row for row in self._rows(_INVOCATIONS_BY_API, target)}
        seeds = {row["api"]: row["seeds"] for row in self._rows(_SEEDS_BY_API, target)}
        undescribed, dropped = self._gaps(target, "undescribed", "type"), self._gaps(target, "dropped", "reason")
        found = []
        for api in sorted({*kinds, *counts, *undescribed, *dropped}):
            count = counts.get(api, {"invocations": 0, "valid": 0, "unchecked": 0})
            numbers = (count["invocations"], count["valid"], count["unchecked"], seeds.get(api, 0))
            why = (undescribed.get(api, {}), dropped.get(api, {}))
            found.append(Coverage(api, kinds.get(api, "unlisted"), *numbers, *why))
        return found

    def _gaps(self, target: str, table: str, column: str) -> dict[str, dict[str, int]]:
        sql = f"SELECT api, {column} AS why, SUM(count) AS n FROM {table} WHERE target = ? GROUP BY 1, 2 ORDER BY 1, 2"
        found: dict[str, dict[str, int]] = defaultdict(dict)
        for row in self._rows(sql, target):
            found[row["api"]][row["why"]] = row["n"]
        return dict(found)


def _api_row(target: str, api: Api) -> tuple[Any, ...]:
    doc = blake2b(text(api.doc).encode(), digest_size=16).hexdigest() if api.doc else ""
    told = f"{doc}:{' '.join(deprecated(api))}"
    return (target, api.name, api.kind, api.definition, api.params, api.aliases, told)
