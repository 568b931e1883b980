PRAGMA application_id = 1313232218;
BEGIN TRANSACTION;
CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
);
INSERT INTO "_sqlite_migrations" VALUES(1,'nightfuzz','m0001_value_spaces','2026-01-02 03:04:05.000000+00:00');
CREATE TABLE apis (
    target TEXT NOT NULL REFERENCES targets(key), name TEXT NOT NULL, kind TEXT NOT NULL, definition TEXT NOT NULL,
    params TEXT NOT NULL, aliases TEXT NOT NULL, doc TEXT NOT NULL, PRIMARY KEY (target, name)
) WITHOUT ROWID;
INSERT INTO "apis" VALUES('torch-2.13.0+cpu-cp311','torch.add','function','torch.add(input, other)','["input","other"]','[]','');
CREATE TABLE argument_values (
    target TEXT NOT NULL, argument TEXT NOT NULL, type TEXT NOT NULL, api TEXT NOT NULL, digest TEXT NOT NULL,
    value TEXT NOT NULL, PRIMARY KEY (target, argument, type, api, digest)
) WITHOUT ROWID;
CREATE TABLE dropped (
    target TEXT NOT NULL, seed TEXT NOT NULL, api TEXT NOT NULL, reason TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (target, seed, api, reason)
) WITHOUT ROWID;
CREATE TABLE invocations (
    id INTEGER PRIMARY KEY, target TEXT NOT NULL REFERENCES targets(key), api TEXT NOT NULL, digest TEXT NOT NULL,
    body TEXT NOT NULL, expected TEXT NOT NULL CHECK (expected IN ('ok', 'exception')),
    valid INTEGER CHECK (valid IN (0, 1)), reason TEXT NOT NULL DEFAULT '', UNIQUE (target, digest)
);
INSERT INTO "invocations" VALUES(1,'torch-2.13.0+cpu-cp311','torch.add','6ea1a35c1b36dc22d83e364063fb4cd9','["I","torch.add",[1,2],[],null]','ok',1,'');
CREATE TABLE provenance (
    invocation INTEGER NOT NULL REFERENCES invocations(id), seed TEXT NOT NULL, PRIMARY KEY (invocation, seed)
) WITHOUT ROWID;
INSERT INTO "provenance" VALUES(1,'d1');
CREATE TABLE seeds (
    target TEXT NOT NULL REFERENCES targets(key), digest TEXT NOT NULL, source TEXT NOT NULL, name TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('ok', 'partly', 'failed', 'timeout', 'crashed')), reason TEXT NOT NULL,
    seconds REAL NOT NULL, statements INTEGER NOT NULL, statements_failed INTEGER NOT NULL, traced_at TEXT NOT NULL,
    PRIMARY KEY (target, digest)
) WITHOUT ROWID;
INSERT INTO "seeds" VALUES('torch-2.13.0+cpu-cp311','d1','docs','torch.add#0','ok','',0.5,2,0,'2026-01-02T03:04:06.000+00:00');
CREATE TABLE similarity (
    target TEXT NOT NULL, api TEXT NOT NULL, row BLOB NOT NULL, PRIMARY KEY (target, api)
) WITHOUT ROWID;
CREATE TABLE similarity_of (target TEXT PRIMARY KEY, definitions TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE targets (
    key TEXT PRIMARY KEY, spec TEXT NOT NULL, library TEXT NOT NULL, version TEXT NOT NULL, python TEXT NOT NULL,
    info TEXT NOT NULL, made_at TEXT NOT NULL
);
INSERT INTO "targets" VALUES('torch-2.13.0+cpu-cp311','torch==2.13.0','torch','2.13.0','/envs/a/bin/python','{"devices":["cpu"]}','2026-01-02T03:04:05.000+00:00');
CREATE TABLE undescribed (
    target TEXT NOT NULL, seed TEXT NOT NULL, api TEXT NOT NULL, type TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (target, seed, api, type)
) WITHOUT ROWID;
CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name"
    ON "_sqlite_migrations" ("migration_set", "name");
CREATE INDEX invocations_by_api ON invocations (target, api);
CREATE INDEX provenance_by_seed ON provenance (seed);
COMMIT;
