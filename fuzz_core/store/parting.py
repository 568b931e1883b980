"""One state file as two: what may be seen by everybody, and what may not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from sqlite3 import Connection
from typing import NamedTuple

from fuzz_core.ir.outcome import Outcome
from fuzz_core.store.merging import COUNT_FINDINGS
from fuzz_core.store.opening import now, open_store
from fuzz_core.store.store import Store

_PLAIN = ("apis", "undescribed", "dropped", "argument_values", "similarity", "similarity_of", "constraints", "facts")
_APART = {
    "findings": "SELECT id FROM other.findings WHERE bug IN temp.apart_bugs",
    "checks": "SELECT id FROM other.checks WHERE bug IN temp.apart_bugs",
    "changes": "",
    # A test case that died without a bug, and what looks like a private one.
    "news": """SELECT id FROM other.news WHERE outcome_kind = 'signal' OR json_extract(test, '$[0]') IN (
        SELECT json_extract(test, '$[0]') FROM other.bugs WHERE id IN temp.apart_bugs
        UNION SELECT json_extract(test, '$[0]') FROM other.findings WHERE id IN temp.apart_findings
        UNION SELECT json_extract(test, '$[0]') FROM other.changes WHERE id IN temp.apart_changes)""",
    "invocations": "SELECT id FROM other.invocations WHERE outcome_kind = 'signal'",
}
_WORDS = "CASE outcome_kind WHEN 'signal' THEN '' ELSE reason END"
_KIND = "CASE outcome_kind WHEN 'signal' THEN '' ELSE outcome_kind END"
_PUBLIC = (
    f"""INSERT INTO main.seeds SELECT target, digest, source, name,
        CASE outcome_kind WHEN 'signal' THEN 'failed' ELSE status END, {_WORDS}, seconds, statements,
        statements_failed, traced_at, {_KIND} FROM other.seeds""",
    f"""INSERT INTO main.invocations SELECT id, target, api, digest, body, expected, valid, {_WORDS}, {_KIND}
        FROM other.invocations""",
    "INSERT INTO main.provenance SELECT * FROM other.provenance",
    *(f"INSERT INTO main.{table} SELECT * FROM other.{table}" for table in (*_PLAIN, "operators", "runs")),
    "INSERT INTO main.bugs SELECT * FROM other.bugs WHERE id NOT IN temp.apart_bugs",
    *(
        f"INSERT INTO main.{table} SELECT * FROM other.{table} WHERE id NOT IN temp.apart_{table}"
        for table in ("findings", "checks", "changes", "news")
    ),
    *(
        f"INSERT INTO main.{table} SELECT * FROM other.{table} WHERE bug NOT IN temp.apart_bugs"
        for table in ("known_matches", "probes")
    ),
)
# What they refer to comes along.
_TESTED = " UNION ".join(
    f"SELECT json_extract(test, '$[2]') FROM other.{table} WHERE id IN temp.apart_{table}"
    for table in ("bugs", "findings", "changes", "news")
)
_PRIVATE = (
    "INSERT INTO main.seeds SELECT * FROM other.seeds WHERE outcome_kind = 'signal'",
    """INSERT INTO temp.apart_bugs SELECT bug FROM other.findings WHERE id IN temp.apart_findings AND bug IS NOT NULL
        UNION SELECT bug FROM other.checks WHERE id IN temp.apart_checks EXCEPT SELECT id FROM temp.apart_bugs""",
    f"""INSERT INTO main.invocations SELECT * FROM other.invocations WHERE id IN temp.apart_invocations
        OR id IN ({_TESTED})""",
    """INSERT INTO main.runs SELECT * FROM other.runs WHERE id IN (
        SELECT run FROM other.findings WHERE id IN temp.apart_findings)""",
    *(
        f"INSERT INTO main.{table} SELECT * FROM other.{table} WHERE id IN temp.apart_{table}"
        for table in ("bugs", "findings", "checks", "changes", "news")
    ),
    *(
        f"INSERT INTO main.{table} SELECT * FROM other.{table} WHERE bug IN temp.hidden_bugs"
        for table in ("known_matches", "probes")
    ),
)
_ANYTHING = """
SELECT EXISTS (SELECT 1 FROM bugs UNION SELECT 1 FROM findings UNION SELECT 1 FROM changes UNION SELECT 1 FROM news
    UNION SELECT 1 FROM seeds UNION SELECT 1 FROM invocations) AS there
"""


class Apart(NamedTuple):
    """What is private, by number. What belongs to a bug goes with it by itself."""

    bugs: frozenset[int] = frozenset()
    findings: frozenset[int] = frozenset()
    checks: frozenset[int] = frozenset()
    changes: frozenset[int] = frozenset()


class Shown(NamedTuple):
    """A change on record by its number, with what both builds did."""

    id: int
    before: Outcome
    after: Outcome


def shown_changes(store: Store) -> list[Shown]:
    """All changes on record, whichever builds they are about."""
    rows = store._rows("SELECT id, before, after FROM changes ORDER BY id")
    return [Shown(row["id"], _outcome(row["before"]), _outcome(row["after"])) for row in rows]


def _outcome(body: str) -> Outcome:
    return Outcome.from_json(json.loads(body))


def part(source: Path, public: Path, private: Path, apart: Apart, clock: Callable[[], datetime] = now) -> bool:
    """Writes two state files that merged are the one; where nothing is private, there is no second one.

    Both are written row by row into empty files, so that nothing of a row that is left out can be in one. Beyond what
    `apart` names, private is what deaths have left elsewhere: news of signals, test cases like private ones, and the
    words that traced code died with. Returns whether anything is private. Raises UserError for a source that
    `open_store` refuses.
    """
    open_store(source, read_only=True).close()
    _write(source, public, apart, _PUBLIC, clock)
    there = _write(source, private, apart, _PRIVATE, clock)
    if not there:
        private.unlink()
        private.with_name(f"{private.name}.lock").unlink(missing_ok=True)
    return there


def _write(source: Path, path: Path, apart: Apart, statements: tuple[str, ...], clock: Callable[[], datetime]) -> bool:
    path.unlink(missing_ok=True)
    with open_store(path, clock=clock) as store:
        connection = store._db.conn
        with _attached(connection, source, apart), store._transaction():
            connection.execute("INSERT INTO main.targets SELECT * FROM other.targets")
            for sql in statements:
                connection.execute(sql)
            connection.execute(COUNT_FINDINGS)
        return bool(connection.execute(_ANYTHING).fetchone()[0])


@contextmanager
def _attached(connection: Connection, source: Path, apart: Apart) -> Iterator[None]:
    connection.execute("ATTACH ? AS other", (str(source),))
    for name in ("apart_bugs", "hidden_bugs"):
        _numbers(connection, name, apart.bugs)
    for table, sql in _APART.items():
        _numbers(connection, f"apart_{table}", getattr(apart, table, ()))
        if sql:
            connection.execute(f"INSERT OR IGNORE INTO temp.apart_{table} {sql}")
    connection.commit()
    try:
        yield
    finally:
        connection.rollback()
        connection.execute("DETACH other")


def _numbers(connection: Connection, name: str, numbers: frozenset[int] | tuple[()]) -> None:
    connection.execute(f"CREATE TEMP TABLE {name} (id INTEGER PRIMARY KEY)")
    connection.executemany(f"INSERT INTO temp.{name} VALUES (?)", ((number,) for number in numbers))
