"""What the rows of a state file say without their numbers, which differ from file to file.

Numbers of invocations, runs and bugs become what identifies them, so rows of two files can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

_ORIGIN = "LEFT JOIN {db}.invocations AS origin ON origin.id = json_extract({row}.test, '$[2]')"
_ORIGINS = "origin.target AS origin_target, origin.digest AS origin_digest"
_BUG = "bug.target AS bug_target, bug.signature AS bug_signature"
_INTO_ORIGIN = """
LEFT JOIN main.invocations AS origin ON origin.target = best.origin_target AND origin.digest = best.origin_digest
"""
_INTO_BUG = "JOIN main.bugs AS bug ON bug.target = best.bug_target AND bug.signature = best.bug_signature"
# A test case carries the number of the invocation that it was made from; its text changes with that number alone.
_TEST = """CASE json_extract(best.test, '$[2]') WHEN COALESCE(origin.id, 0) THEN best.test
    ELSE json_set(best.test, '$[2]', COALESCE(origin.id, 0)) END"""

# Of two rows, what died is private in the one that stays.
_DIED = "outcome_kind = 'signal' DESC"


class Table(NamedTuple):
    """A table in which a row is found by what it says.

    key: the columns that identify a row. rest: its other columns. prefer: which of two rows with one key stays, as
    terms of ORDER BY; where these are equal, `rest` decides. fold: what is put together out of all rows with one key,
    by column. view: the rows of database {db} in these columns, where the table does not hold them itself. write: by
    column of the table that the view lacks or changes, where its value comes from. joins: what `write` needs. numbered:
    rows have an `id`.
    """

    name: str
    key: tuple[str, ...]
    rest: tuple[str, ...] = ()
    prefer: tuple[str, ...] = ()
    fold: Mapping[str, str] = {}
    view: str = ""
    write: Mapping[str, str] = {}
    joins: str = ""
    numbered: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of the view but the number."""
        return (*self.key, *self.rest)

    @property
    def order(self) -> str:
        """A total order on what rows with one key say, the one that stays first."""
        rest = ("json_set(test, '$[2]', 0)" if column == "test" else column for column in self.rest)
        return ", ".join([*self.prefer, *rest]) or "1"

    @property
    def select(self) -> str:
        """The rows of {db}, with their number where they have one."""
        number = "id, " if self.numbered else ""
        return self.view or f"SELECT {number}{', '.join(self.columns)} FROM {{db}}.{self.name}"


_TESTED = ("test", "origin_target", "origin_digest")
_NAMED = ("signature_text", "api", "oracle", "kind")
_RUN = ("run_target", "run_started", "run_seed", "run_options")
_SETTLED = ("status", "reason", "hits", "runs")
# In the order in which they refer to each other. Targets and similarity are not row by row: see `merging`.
TABLES = (
    Table("apis", ("target", "name"), ("doc", "definition", "params", "kind", "aliases"), ("length(doc) DESC",)),
    Table(
        "seeds",
        ("target", "digest"),
        (
            *("source", "name", "status", "reason", "seconds", "statements", "statements_failed", "traced_at"),
            "outcome_kind",
        ),
        ("traced_at DESC", _DIED, "reason DESC"),
    ),
    Table(
        "invocations",
        ("target", "digest"),
        ("api", "body", "expected", "valid", "reason", "outcome_kind"),
        ("expected = 'ok' DESC", "valid DESC", _DIED, "reason DESC"),
        numbered=True,
    ),
    Table(
        "provenance",
        ("target", "digest", "seed"),
        ("part",),
        ("part DESC",),
        view="""SELECT target, digest, seed, part FROM {db}.provenance JOIN {db}.invocations ON id = invocation""",
        write={"invocation": "origin.id", "seed": "best.seed", "part": "best.part"},
        joins="JOIN main.invocations AS origin USING (target, digest)",
    ),
    Table("undescribed", ("target", "seed", "api", "type"), ("count",), ("count DESC",)),
    Table("dropped", ("target", "seed", "api", "reason"), ("count",), ("count DESC",)),
    Table("argument_values", ("target", "argument", "type", "api", "digest"), ("value",), ("length(value)",)),
    Table("constraints", ("target", "api", "argument", "kind"), ("bounds", "text", "source")),
    Table(
        "facts",
        ("target", "api"),
        ("version", "unfinished", "embedding", "body"),
        ("version DESC", "unfinished", "length(body) DESC"),
    ),
    Table("operators", ("target", "name", "dtype"), ("api",)),
    Table(
        "runs",
        ("target", "started", "seed", "options"),
        ("finished", "tests", "seconds", "status", "summary"),
        ("finished IS NULL", "tests DESC", "seconds DESC"),
        view="""SELECT id, target, started, seed, options, finished, tests, seconds,
            CASE status WHEN 'running' THEN 'killed' ELSE status END AS status, summary FROM {db}.runs""",
        numbered=True,
    ),
    Table(
        "bugs",
        ("target", "signature"),
        (*_NAMED, *_TESTED, "script", "outcome", "hits", "runs", "first_found", "minimised", "status", "origin"),
        ("minimised DESC", "place_of(test)"),
        {
            "first_found": "MIN(first_found) {over}",
            "status": "rtrim(substr('open fixed known', MAX(instr('open fixed known', status)) {over}, 5))",
            "origin": "MAX(origin) {over}",
        },
        view=f"""SELECT bugs.id, bugs.target, signature, signature_text, bugs.api, oracle, kind, test, {_ORIGINS},
            script, outcome, hits, runs, first_found, minimised, status, bugs.origin
            FROM {{db}}.bugs {_ORIGIN.format(db="{db}", row="bugs")}""",
        write={
            "test": _TEST,
            "findings": "COALESCE((SELECT findings FROM main.bugs WHERE id = best.own), 0)",
        },
        joins=_INTO_ORIGIN,
        numbered=True,
    ),
    Table(
        "findings",
        ("target", "key"),
        (*_RUN, "api", *_TESTED, "verdict", "outcome", *_SETTLED, "bug_target", "bug_signature", "found_at", "origin"),
        ("instr('pending rejected flaky duplicate confirmed', status) DESC", "found_at"),
        view=f"""SELECT f.id, f.target, key, run.target AS run_target, run.started AS run_started, run.seed AS run_seed,
            run.options AS run_options, f.api, f.test, {_ORIGINS}, verdict, f.outcome, f.status, f.reason, f.hits,
            f.runs, {_BUG}, found_at, f.origin FROM {{db}}.findings AS f JOIN {{db}}.runs AS run ON run.id = f.run
            LEFT JOIN {{db}}.bugs AS bug ON bug.id = f.bug {_ORIGIN.format(db="{db}", row="f")}""",
        write={"run": "run.id", "test": _TEST, "bug": "bug.id"},
        joins=f"""JOIN main.runs AS run ON run.target = best.run_target AND run.started = best.run_started
            AND run.seed = best.run_seed AND run.options = best.run_options LEFT {_INTO_BUG} {_INTO_ORIGIN}""",
        numbered=True,
    ),
    Table(
        "known_matches",
        ("entry", "bug_target", "bug_signature"),
        ("findings", "last_seen"),
        ("findings DESC", "last_seen DESC"),
        view=f"SELECT entry, {_BUG}, k.findings, last_seen FROM {{db}}.known_matches AS k JOIN {{db}}.bugs AS bug"
        " ON bug.id = k.bug",
        write={"bug": "bug.id"},
        joins=_INTO_BUG,
    ),
    Table(
        "checks",
        ("bug_target", "bug_signature", "target", "status", "hits", "runs", "outcome", "checked_at"),
        view=f"""SELECT c.id, {_BUG}, c.target, c.status, c.hits, c.runs, c.outcome, checked_at
            FROM {{db}}.checks AS c JOIN {{db}}.bugs AS bug ON bug.id = c.bug""",
        write={"bug": "bug.id"},
        joins=_INTO_BUG,
        numbered=True,
    ),
    Table(
        "probes",
        ("bug_target", "bug_signature", "build"),
        ("status", "hits", "runs", "info", "probed_at"),
        ("probed_at DESC",),
        view=f"""SELECT {_BUG}, build, p.status, p.hits, p.runs, info, probed_at
            FROM {{db}}.probes AS p JOIN {{db}}.bugs AS bug ON bug.id = p.bug""",
        write={"bug": "bug.id"},
        joins=_INTO_BUG,
    ),
    Table(
        "changes",
        ("target", "baseline", "signature"),
        ("api", "kind", *_TESTED, "script", "before", "after", "hits", "runs", "found_at"),
        ("found_at DESC",),
        view=f"""SELECT c.id, c.target, baseline, signature, c.api, kind, test, {_ORIGINS}, script, before, after, hits,
            runs, found_at FROM {{db}}.changes AS c {_ORIGIN.format(db="{db}", row="c")}""",
        write={"test": _TEST},
        joins=_INTO_ORIGIN,
        numbered=True,
    ),
    Table(
        "news",
        ("target", "api", "class"),
        ("outcome_kind", *_TESTED),
        (_DIED, "test IS NULL", "length(json_set(test, '$[2]', 0))"),
        view=f"""SELECT n.id, n.target, n.api, class, n.outcome_kind, test, {_ORIGINS}
            FROM {{db}}.news AS n {_ORIGIN.format(db="{db}", row="n")}""",
        write={"test": _TEST},
        joins=_INTO_ORIGIN,
        numbered=True,
    ),
)
