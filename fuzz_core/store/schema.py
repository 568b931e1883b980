"""The tables, as migrations that only ever get appended to: a released one is never edited.

A migration runs in one transaction with its record. So a kill in between leaves the file as it was before.
"""

from __future__ import annotations

import json

from sqlite_utils import Database
from sqlite_utils.migrations import Migrations

from fuzz_core.ir.codec import decode_invocation
from fuzz_core.store.traces import number_of, save_arguments

APPLICATION_ID = 0x4E46555A
MIGRATIONS = Migrations("nightfuzz")

_VALUE_SPACES = """
CREATE TABLE targets (
    key TEXT PRIMARY KEY, spec TEXT NOT NULL, library TEXT NOT NULL, version TEXT NOT NULL, python TEXT NOT NULL,
    info TEXT NOT NULL, made_at TEXT NOT NULL
);
CREATE TABLE apis (
    target TEXT NOT NULL REFERENCES targets(key), name TEXT NOT NULL, kind TEXT NOT NULL, definition TEXT NOT NULL,
    params TEXT NOT NULL, aliases TEXT NOT NULL, doc TEXT NOT NULL, PRIMARY KEY (target, name)
) WITHOUT ROWID;
CREATE TABLE seeds (
    target TEXT NOT NULL REFERENCES targets(key), digest TEXT NOT NULL, source TEXT NOT NULL, name TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('ok', 'partly', 'failed', 'timeout', 'crashed')), reason TEXT NOT NULL,
    seconds REAL NOT NULL, statements INTEGER NOT NULL, statements_failed INTEGER NOT NULL, traced_at TEXT NOT NULL,
    PRIMARY KEY (target, digest)
) WITHOUT ROWID;
CREATE TABLE invocations (
    id INTEGER PRIMARY KEY, target TEXT NOT NULL REFERENCES targets(key), api TEXT NOT NULL, digest TEXT NOT NULL,
    body TEXT NOT NULL, expected TEXT NOT NULL CHECK (expected IN ('ok', 'exception')),
    valid INTEGER CHECK (valid IN (0, 1)), reason TEXT NOT NULL DEFAULT '', UNIQUE (target, digest)
);
CREATE INDEX invocations_by_api ON invocations (target, api);
CREATE TABLE provenance (
    invocation INTEGER NOT NULL REFERENCES invocations(id), seed TEXT NOT NULL, PRIMARY KEY (invocation, seed)
) WITHOUT ROWID;
CREATE INDEX provenance_by_seed ON provenance (seed);
CREATE TABLE undescribed (
    target TEXT NOT NULL, seed TEXT NOT NULL, api TEXT NOT NULL, type TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (target, seed, api, type)
) WITHOUT ROWID;
CREATE TABLE dropped (
    target TEXT NOT NULL, seed TEXT NOT NULL, api TEXT NOT NULL, reason TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (target, seed, api, reason)
) WITHOUT ROWID;
CREATE TABLE argument_values (
    target TEXT NOT NULL, argument TEXT NOT NULL, type TEXT NOT NULL, api TEXT NOT NULL, digest TEXT NOT NULL,
    value TEXT NOT NULL, PRIMARY KEY (target, argument, type, api, digest)
) WITHOUT ROWID;
CREATE TABLE similarity (
    target TEXT NOT NULL, api TEXT NOT NULL, row BLOB NOT NULL, PRIMARY KEY (target, api)
) WITHOUT ROWID;
CREATE TABLE similarity_of (target TEXT PRIMARY KEY, definitions TEXT NOT NULL) WITHOUT ROWID;
"""

_RESULTS = """
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, target TEXT NOT NULL REFERENCES targets(key), started TEXT NOT NULL, finished TEXT,
    seed TEXT NOT NULL, options TEXT NOT NULL, tests INTEGER NOT NULL DEFAULT 0, seconds REAL NOT NULL DEFAULT 0,
    status TEXT NOT NULL DEFAULT 'running', summary TEXT NOT NULL DEFAULT '{}'
);
CREATE TABLE bugs (
    id INTEGER PRIMARY KEY, target TEXT NOT NULL REFERENCES targets(key), signature TEXT NOT NULL,
    signature_text TEXT NOT NULL, api TEXT NOT NULL, oracle TEXT NOT NULL, kind TEXT NOT NULL, test TEXT NOT NULL,
    script TEXT NOT NULL, outcome TEXT NOT NULL, hits INTEGER NOT NULL, runs INTEGER NOT NULL,
    findings INTEGER NOT NULL, first_found TEXT NOT NULL, minimised INTEGER NOT NULL CHECK (minimised IN (0, 1)),
    status TEXT NOT NULL DEFAULT 'open', UNIQUE (target, signature)
);
CREATE TABLE findings (
    id INTEGER PRIMARY KEY, target TEXT NOT NULL REFERENCES targets(key), run INTEGER NOT NULL REFERENCES runs(id),
    api TEXT NOT NULL, test TEXT NOT NULL, verdict TEXT NOT NULL, outcome TEXT NOT NULL, key TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'confirmed', 'flaky', 'rejected', 'duplicate')),
    reason TEXT NOT NULL DEFAULT '', hits INTEGER NOT NULL DEFAULT 0, runs INTEGER NOT NULL DEFAULT 0,
    bug INTEGER REFERENCES bugs(id), found_at TEXT NOT NULL, UNIQUE (target, key)
);
CREATE INDEX findings_by_status ON findings (target, status);
"""

_NEWS = """
CREATE TABLE news (
    id INTEGER PRIMARY KEY, target TEXT NOT NULL REFERENCES targets(key), api TEXT NOT NULL, class TEXT NOT NULL,
    test TEXT, UNIQUE (target, api, class)
);
CREATE TABLE operators (
    target TEXT NOT NULL REFERENCES targets(key), name TEXT NOT NULL, dtype TEXT NOT NULL, api TEXT NOT NULL,
    PRIMARY KEY (target, name, dtype)
) WITHOUT ROWID;
"""

_KNOWN = """
CREATE TABLE known_matches (
    entry TEXT NOT NULL, bug INTEGER NOT NULL REFERENCES bugs(id), findings INTEGER NOT NULL, last_seen TEXT NOT NULL,
    PRIMARY KEY (entry, bug)
) WITHOUT ROWID;
"""

_CONSTRAINTS = """
CREATE TABLE constraints (
    target TEXT NOT NULL REFERENCES targets(key), api TEXT NOT NULL, argument TEXT NOT NULL, kind TEXT NOT NULL,
    bounds TEXT NOT NULL, text TEXT NOT NULL, source TEXT NOT NULL, PRIMARY KEY (target, api, argument, kind)
) WITHOUT ROWID;
"""

_VERSIONS = """
ALTER TABLE provenance ADD COLUMN part TEXT NOT NULL DEFAULT '';
CREATE TABLE checks (
    id INTEGER PRIMARY KEY, bug INTEGER NOT NULL REFERENCES bugs(id), target TEXT NOT NULL REFERENCES targets(key),
    status TEXT NOT NULL CHECK (status IN ('shown', 'changed', 'flaky', 'clean', 'unrunnable')),
    hits INTEGER NOT NULL, runs INTEGER NOT NULL, outcome TEXT NOT NULL, checked_at TEXT NOT NULL
);
CREATE INDEX checks_by_bug ON checks (bug, id);
CREATE TABLE changes (
    id INTEGER PRIMARY KEY, target TEXT NOT NULL REFERENCES targets(key),
    baseline TEXT NOT NULL REFERENCES targets(key), api TEXT NOT NULL, kind TEXT NOT NULL, signature TEXT NOT NULL,
    test TEXT NOT NULL, script TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL, hits INTEGER NOT NULL,
    runs INTEGER NOT NULL, found_at TEXT NOT NULL, UNIQUE (target, baseline, signature)
);
CREATE TABLE probes (
    bug INTEGER NOT NULL REFERENCES bugs(id), build TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('good', 'bad', 'broken')), hits INTEGER NOT NULL, runs INTEGER NOT NULL,
    info TEXT NOT NULL, probed_at TEXT NOT NULL, PRIMARY KEY (bug, build)
) WITHOUT ROWID;
"""

_MOCO = """
CREATE TABLE moco_trees (
    id INTEGER PRIMARY KEY, target TEXT NOT NULL REFERENCES targets(key), program TEXT NOT NULL, digest TEXT NOT NULL,
    seed TEXT NOT NULL, options TEXT NOT NULL, begun TEXT NOT NULL
);
CREATE TABLE moco_nodes (
    tree INTEGER NOT NULL, number INTEGER NOT NULL, parent INTEGER, level INTEGER NOT NULL,
    block INTEGER, api TEXT NOT NULL, call TEXT NOT NULL, operator TEXT NOT NULL, parameter TEXT NOT NULL,
    old TEXT NOT NULL, new TEXT NOT NULL, line INTEGER NOT NULL, positive INTEGER NOT NULL CHECK (positive IN (0, 1)),
    base INTEGER, equivalence TEXT NOT NULL, state TEXT NOT NULL, why TEXT NOT NULL,
    kept INTEGER CHECK (kept IN (0, 1)), arrives TEXT NOT NULL, PRIMARY KEY (tree, number)
) WITHOUT ROWID;
"""

_ORIGIN = """
ALTER TABLE findings ADD COLUMN origin TEXT NOT NULL DEFAULT '';
ALTER TABLE bugs ADD COLUMN origin TEXT NOT NULL DEFAULT '';
"""

_FACTS = """
CREATE TABLE facts (
    target TEXT NOT NULL REFERENCES targets(key), api TEXT NOT NULL, version INTEGER NOT NULL,
    unfinished INTEGER NOT NULL CHECK (unfinished IN (0, 1)), embedding TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (target, api)
) WITHOUT ROWID;
"""

_OUTCOME_KIND = """
ALTER TABLE seeds ADD COLUMN outcome_kind TEXT NOT NULL DEFAULT '';
ALTER TABLE invocations ADD COLUMN outcome_kind TEXT NOT NULL DEFAULT '';
ALTER TABLE news ADD COLUMN outcome_kind TEXT NOT NULL DEFAULT '';
"""
_KIND_OF_TEXT = """
UPDATE {table} SET outcome_kind = {word}
WHERE {word} = 'signal' OR outcome_kind = '' AND {where} AND {word} IN ('ok', 'exception', 'timeout', 'oom', 'exit')
"""


def _kinds_of_texts(calls: str) -> tuple[str, ...]:
    """Return the statements that mark a row as died if its text says so.

    Args:
        calls: the table that says how invocations re-ran.
    """
    words = (("seeds", "reason", "status = 'crashed'"), (calls, "reason", "valid = 0"), ("news", "class", "true"))
    return (
        *(
            _KIND_OF_TEXT.format(table=table, where=where, word=f"lower(substr({text}, 1, instr({text}, ' ') - 1))")
            for table, text, where in words
        ),
        "UPDATE seeds SET outcome_kind = 'timeout' WHERE outcome_kind = '' AND status = 'timeout'",
        f"UPDATE {calls} SET outcome_kind = 'ok' WHERE outcome_kind = '' AND valid = 1",
    )


# For rows of an untrusted file.
KINDS_OF_TEXTS = _kinds_of_texts("validity")

_CONTENT = """
CREATE TEMP TABLE old_invocations AS SELECT *, number_of(digest) AS number FROM invocations;
CREATE INDEX temp.old_by_id ON old_invocations (id);
CREATE TEMP TABLE old_provenance AS SELECT * FROM provenance;
DROP TABLE provenance;
DROP TABLE invocations;
DROP TABLE argument_values;
DROP TABLE similarity;
DROP TABLE similarity_of;
CREATE TABLE invocations (
    id INTEGER PRIMARY KEY, digest TEXT NOT NULL, api TEXT NOT NULL, body TEXT NOT NULL,
    expected TEXT NOT NULL CHECK (expected IN ('ok', 'exception'))
);
CREATE TABLE validity (
    id INTEGER PRIMARY KEY, target TEXT NOT NULL REFERENCES targets(key),
    invocation INTEGER NOT NULL REFERENCES invocations(id),
    expected TEXT NOT NULL CHECK (expected IN ('ok', 'exception')), valid INTEGER CHECK (valid IN (0, 1)),
    reason TEXT NOT NULL DEFAULT '', outcome_kind TEXT NOT NULL DEFAULT '', UNIQUE (invocation, target)
);
CREATE TABLE provenance (
    invocation INTEGER NOT NULL REFERENCES invocations(id), seed TEXT NOT NULL, part TEXT NOT NULL,
    PRIMARY KEY (invocation, seed)
) WITHOUT ROWID;
CREATE INDEX provenance_by_seed ON provenance (seed);
CREATE TABLE arguments (
    id INTEGER PRIMARY KEY, digest TEXT NOT NULL, type TEXT NOT NULL, value TEXT NOT NULL
);
CREATE TABLE argument_values (
    invocation INTEGER NOT NULL REFERENCES invocations(id), api TEXT NOT NULL, word TEXT NOT NULL,
    place INTEGER NOT NULL, argument INTEGER NOT NULL REFERENCES arguments(id),
    PRIMARY KEY (invocation, api, word, place, argument)
) WITHOUT ROWID;
CREATE TABLE similarity (
    definitions TEXT NOT NULL, api TEXT NOT NULL, row BLOB NOT NULL, PRIMARY KEY (definitions, api)
) WITHOUT ROWID;
CREATE VIEW calls AS
SELECT invocations.id AS id, digest, api, body, target, validity.id AS place, validity.expected AS expected, valid,
    reason, outcome_kind
FROM validity JOIN invocations ON invocations.id = invocation;
INSERT INTO invocations SELECT number, digest, api, body, expected FROM (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY number ORDER BY expected = 'ok' DESC, id) AS nth FROM old_invocations
) WHERE nth = 1;
INSERT INTO validity SELECT id, target, number, expected, valid, reason, outcome_kind FROM old_invocations;
INSERT INTO provenance SELECT number, seed, MAX(part) FROM old_provenance JOIN old_invocations ON id = invocation
GROUP BY number, seed;
"""
_ORIGINS = """
UPDATE {table} SET test = json_set(test, '$[2]',
    COALESCE((SELECT number FROM old_invocations WHERE old_invocations.id = json_extract(test, '$[2]')), 0))
WHERE json_extract(test, '$[2]') <> 0
"""

_JUDGEMENTS = """
ALTER TABLE bugs ADD COLUMN suspicion TEXT NOT NULL DEFAULT '';
CREATE TABLE judgements (
    bug INTEGER PRIMARY KEY REFERENCES bugs(id),
    verdict TEXT NOT NULL CHECK (verdict IN ('real', 'not-real', 'duplicate', 'wont-fix')),
    reason TEXT NOT NULL, judged_at TEXT NOT NULL
);
"""


_CELLS = """
CREATE TABLE cells (
    target TEXT NOT NULL REFERENCES targets(key), api TEXT NOT NULL, argument TEXT NOT NULL, name TEXT NOT NULL,
    result TEXT NOT NULL CHECK (result IN
        ('valid', 'refused', 'crashed', 'hung', 'out-of-memory', 'exited', 'unreachable', 'postponed')),
    reason TEXT NOT NULL, PRIMARY KEY (target, api, argument, name)
) WITHOUT ROWID;
CREATE TABLE efforts (
    target TEXT NOT NULL REFERENCES targets(key), api TEXT NOT NULL, calls INTEGER NOT NULL, cells INTEGER NOT NULL,
    tests INTEGER NOT NULL, seconds REAL NOT NULL, PRIMARY KEY (target, api)
) WITHOUT ROWID;
"""

_SHOWN = """
ALTER TABLE cells ADD COLUMN shown INTEGER NOT NULL DEFAULT 0;
ALTER TABLE validity ADD COLUMN shown INTEGER NOT NULL DEFAULT 0;
ALTER TABLE efforts ADD COLUMN pairs INTEGER NOT NULL DEFAULT 0;
ALTER TABLE efforts ADD COLUMN paired INTEGER NOT NULL DEFAULT 0;
DROP VIEW calls;
CREATE VIEW calls AS
SELECT invocations.id AS id, digest, api, body, target, validity.id AS place, validity.expected AS expected, valid,
    reason, outcome_kind, shown
FROM validity JOIN invocations ON invocations.id = invocation;
UPDATE seeds SET outcome_kind = CASE
    WHEN reason LIKE '%calls ended their process:%signal %' THEN 'signal'
    WHEN reason LIKE '%calls ended their process:%' THEN 'exit'
    WHEN reason LIKE 'needs an object that no known call makes:%' THEN 'skipped'
    WHEN reason LIKE '%calls refused; the last new refusal:%' THEN 'exception' ELSE '' END
WHERE source = 'search' AND status <> 'ok' AND outcome_kind = '';
"""

# Further steps of the later migrations are in functions of their own.
SCRIPTS = {
    "m0001_value_spaces": _VALUE_SPACES,
    "m0002_results": _RESULTS,
    "m0003_news": _NEWS,
    "m0004_known": _KNOWN,
    "m0005_constraints": _CONSTRAINTS,
    "m0006_versions": _VERSIONS,
    "m0007_moco": _MOCO,
    "m0008_origin": _ORIGIN,
    "m0009_facts": _FACTS,
}


def _register(name: str) -> None:
    @MIGRATIONS(name=name)
    def run(db: Database) -> None:
        db.executescript(SCRIPTS[name])


for _name in SCRIPTS:
    _register(_name)


@MIGRATIONS()
def m0010_outcome_kind(db: Database) -> None:
    """Store how seeds, invocations and the tests of outcome classes ended, which decides what is private."""
    db.executescript(_OUTCOME_KIND)
    for sql in _kinds_of_texts("invocations"):
        db.execute(sql)


@MIGRATIONS()
def m0011_content(db: Database) -> None:
    """Store invocations and their descendants once for all builds, with numbers by content."""
    db.conn.create_function("number_of", 1, number_of, deterministic=True)
    db.executescript(_CONTENT)
    for table in ("bugs", "findings", "changes", "news"):
        db.execute(_ORIGINS.format(table=table))
    for number, body in db.execute("SELECT id, body FROM invocations WHERE expected = 'ok' ORDER BY id").fetchall():
        save_arguments(db.conn, number, decode_invocation(json.loads(body)))
    db.executescript("DROP TABLE temp.old_invocations; DROP TABLE temp.old_provenance;")


@MIGRATIONS()
def m0012_judgements(db: Database) -> None:
    """Store why a bug is private although its minimal script does not show it, and people's judgements of bugs."""
    db.executescript(_JUDGEMENTS)


@MIGRATIONS()
def m0013_cells(db: Database) -> None:
    """Store what the sweep has tried, cell by cell, and the tests and the time of each api."""
    db.executescript(_CELLS)


@MIGRATIONS()
def m0014_shown(db: Database) -> None:
    """Store digests of the outcome classes of calls and cells, and how many pairs of cells each api has had."""
    db.executescript(_SHOWN)


NEWEST = 14
# The tables that fuzzing fills, children first; tracing fills all further tables.
RESULT_TABLES = (
    *("judgements", "known_matches", "checks", "probes", "changes", "findings", "bugs", "runs", "news", "operators"),
    *("cells", "efforts"),
    *("moco_nodes", "moco_trees"),
)


def migrate(db: Database, version: int = NEWEST) -> None:
    """Bring a database to a schema version."""
    later = [migration.name for migration in MIGRATIONS.pending(db)][version - version_of(db) :]
    MIGRATIONS.apply(db, stop_before=later)


def version_of(db: Database) -> int:
    """Return the schema version of an open state file: how many migrations have been applied to it."""
    return len(MIGRATIONS.applied(db))
