"""What tracing and fuzzing have left of builds that nobody works with any more: tens of megabytes for every night."""

from __future__ import annotations

from fuzz_core.store.store import Store

# The target, its baseline, and the one that the next target takes over from.
KEEP = 3
_USED = """
SELECT key FROM (
    SELECT key, made_at, ROW_NUMBER() OVER (PARTITION BY library ORDER BY MAX(made_at,
        COALESCE((SELECT MAX(started) FROM runs WHERE target = key), ''),
        COALESCE((SELECT MAX(traced_at) FROM seeds WHERE target = key), ''),
        COALESCE((SELECT MAX(found_at) FROM changes WHERE key IN (target, baseline)), '')) DESC, key DESC) AS place
    FROM targets)
WHERE place > ? ORDER BY made_at, key
"""
_TOLD = " UNION ".join(
    f"SELECT json_extract(test, '$[2]') FROM {table} WHERE ?1 IN ({targets})"
    for table, targets in (("bugs", "target"), ("findings", "target"), ("changes", "target, baseline"))
)
_STATEMENTS = (
    f"DELETE FROM validity WHERE target = ?1 AND invocation NOT IN ({_TOLD})",
    """DELETE FROM seeds WHERE target = ?1 AND digest NOT IN (
        SELECT seed FROM provenance JOIN validity USING (invocation) WHERE target = ?1)""",
    "DELETE FROM moco_nodes WHERE tree IN (SELECT id FROM moco_trees WHERE target = ?1)",
    *(
        f"DELETE FROM {table} WHERE target = ?1"
        for table in ("moco_trees", "facts", "undescribed", "dropped", "news", "operators")
    ),
)

# What no build has any more.
_ORPHANS = tuple(
    f"DELETE FROM {table} WHERE {column} NOT IN (SELECT invocation FROM validity)"
    for table, column in (("argument_values", "invocation"), ("provenance", "invocation"), ("invocations", "id"))
)


def thin(store: Store, keep: int = KEEP) -> list[str]:
    """Forgets value spaces and corpora of all but the builds of each library that were used last.

    Bugs, findings, checks and changes stay with all builds, and with them the invocations that they were made from, the
    seeds of these, and what documentation says. Returns the keys of the targets that had something to forget.
    """
    with store._transaction():
        thinned = [row["key"] for row in store._rows(_USED, keep) if _forget(store, row["key"])]
        for sql in _ORPHANS:
            store._db.execute(sql)
    return thinned


def _forget(store: Store, target: str) -> bool:
    # One after the other: what is deleted later depends on what was deleted before.
    gone = [store._db.conn.execute(sql, (target,)).rowcount for sql in _STATEMENTS]
    return any(gone)
