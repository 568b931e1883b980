"""The description of the tables: the rows that two state files share, the row that stays of two, and the private rows.

Numbers of runs and bugs differ from file to file. So rows of two files are compared with the key of a row in the place
of its number. The number of an invocation follows from its content.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

# Columns that hold the number of a row of another table.
_NUMBERS = {"run": "runs", "bug": "bugs"}
# Tables that rows of other tables refer to.
PARENTS = {"targets", "invocations", "arguments", *_NUMBERS.values()}


# If two rows merge and one of them died, the row that stays is private.
_DIED = "outcome_kind = 'signal'"
_DIED_FIRST = f"{_DIED} DESC"
_OF_BUG = "bug IN temp.apart_bugs"
_FINDING = f"id IN temp.apart_findings OR {_OF_BUG}"
_CHANGE = "id IN temp.apart_changes"
# A test case that died without a bug, and what looks like a private one.
_NEWS = f"""{_DIED} OR json_extract(test, '$[0]') IN (
    SELECT json_extract(test, '$[0]') FROM other.bugs WHERE id IN temp.apart_bugs
    UNION SELECT json_extract(test, '$[0]') FROM other.findings WHERE {_FINDING}
    UNION SELECT json_extract(test, '$[0]') FROM other.changes WHERE {_CHANGE})"""


class Reference(NamedTuple):
    """A column that holds the number of a row of another table."""

    column: str
    parent: str
    key: tuple[str, ...]  # the columns that identify that row

    def join(self, said: str) -> str:
        """Return the SQL that joins the row that this row refers to.

        Args:
            said: the condition. A finding may have no bug.
        """
        return f"{'LEFT JOIN' if self.column == 'bug' else 'JOIN'} {{db}}.{self.parent} AS of_{self.column} ON {said}"


class Table(NamedTuple):
    """A table whose rows are found by their content."""

    name: str
    key: str  # the columns that identify a row, `rest`: its other columns, both divided by spaces
    rest: str = ""
    # The order of two rows with one key, as terms of ORDER BY; if these are equal, `rest` decides.
    prefer: tuple[str, ...] = ()
    fold: Mapping[str, str] = {}  # columns that are combined from all rows with one key, with their SQL
    shown: Mapping[str, str] = {}  # the SQL of columns whose shared content differs from the stored one
    counted: Mapping[str, str] = {}  # columns that only count rows of this file, with the SQL for a row that is merged
    numbered: bool = False  # rows have an `id`
    private: str = "false"  # the condition, on rows of the database `other`, for rows that not everybody may see
    masked: Mapping[str, str] = {}  # the public value of columns in a private row; if it is empty, the row is left out

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns of the table except the number and those that `counted` names."""
        return (*self.key.split(), *self.rest.split())

    @property
    def references(self) -> list[Reference]:
        """The columns that hold numbers of other rows."""
        return [
            Reference(name, parent, tuple(table_of(parent).key.split()))
            for name in self.stored
            if (parent := _NUMBERS.get(name))
        ]

    @property
    def identity(self) -> list[str]:
        """The columns that identify a row in any file."""
        return list(self._said(self.key))

    @property
    def columns(self) -> list[str]:
        """The content of a row: its columns, with keys in the place of numbers."""
        return [*self.identity, *self._said(self.rest)]

    def _said(self, columns: str) -> Iterator[str]:
        keys = {reference.column: reference.key for reference in self.references}
        for name in columns.split():
            yield from (f"{name}_{part}" for part in keys[name]) if name in keys else [name]

    @property
    def order(self) -> str:
        """A total order on what rows with one key say, the one that stays first."""
        return ", ".join([*self.prefer, *self._said(self.rest)]) or "1"

    @property
    def select(self) -> str:
        """The rows of {db}, with their number where they have one."""
        parts = {f"{each.column}_{part}": f"of_{each.column}.{part}" for each in self.references for part in each.key}
        said = [f"{self.shown.get(name, parts.get(name, f'its.{name}'))} AS {name}" for name in self.columns]
        joins = [each.join(f"of_{each.column}.id = its.{each.column}") for each in self.references]
        own = "its.id" if self.numbered else "NULL"
        return f"SELECT {own} AS number, {', '.join(said)} FROM {{db}}.{self.name} AS its {' '.join(joins)}"

    @property
    def column_values(self) -> dict[str, str]:
        """The value that the row `best` gives each column."""
        values = {name: f"best.{name}" for name in self.stored}
        values.update((each.column, f"of_{each.column}.id") for each in self.references)
        return {**({"id": "best.own"} if self.numbered else {}), **values, **self.counted}

    @property
    def joins(self) -> str:
        """The joins that `column_values` needs: the rows of the store that keys in `best` stand for."""
        return " ".join(
            each.join(" AND ".join(f"of_{each.column}.{part} = best.{each.column}_{part}" for part in each.key))
            for each in self.references
        ).format(db="main")


def table_of(name: str) -> Table:
    """Return the table of this name."""
    return next(table for table in TABLES if table.name == name)


# In the order in which they refer to each other.
TABLES = (
    Table(
        "targets",
        "key",
        "spec library version python info made_at",
        ("mine DESC",),
        {"info": "longer_texts(info) {over}", "made_at": "MIN(made_at) {over}"},
    ),
    Table("apis", "target name", "doc definition params kind aliases", ("length(doc) DESC",)),
    Table(
        "seeds",
        "target digest",
        "source name status reason seconds statements statements_failed traced_at outcome_kind",
        ("traced_at DESC", _DIED_FIRST, "reason DESC"),
        private=_DIED,
        masked={"status": "'failed'", "reason": "''", "outcome_kind": "''"},
    ),
    Table("invocations", "id", "digest api body expected", ("expected = 'ok' DESC", "length(body)")),
    Table(
        "validity",
        "target invocation",
        "expected valid reason outcome_kind shown",
        ("expected = 'ok' DESC", "valid DESC", _DIED_FIRST, "reason DESC"),
        numbered=True,
        private=_DIED,
        masked={"reason": "''", "outcome_kind": "''"},
    ),
    Table("provenance", "invocation seed", "part", ("part DESC",)),
    Table("undescribed", "target seed api type", "count", ("count DESC",)),
    Table("dropped", "target seed api reason", "count", ("count DESC",)),
    Table("arguments", "id", "digest type value"),
    Table("argument_values", "invocation api word place argument"),
    Table("constraints", "target api argument kind", "bounds text source"),
    Table(
        "facts",
        "target api",
        "version unfinished embedding body",
        ("version DESC", "unfinished", "length(body) DESC"),
    ),
    Table("operators", "target name dtype", "api"),
    Table(
        "runs",
        "target started seed options",
        "finished tests seconds status summary",
        ("finished IS NULL", "tests DESC", "seconds DESC"),
        shown={"status": "CASE its.status WHEN 'running' THEN 'killed' ELSE its.status END"},
        numbered=True,
    ),
    Table(
        "bugs",
        "target signature",
        "signature_text api oracle kind test script outcome hits runs first_found minimised status origin suspicion",
        ("minimised DESC", "place_of(test)"),
        {
            "first_found": "MIN(first_found) {over}",
            "status": "rtrim(substr('open fixed known', MAX(instr('open fixed known', status)) {over}, 5))",
            "origin": "MAX(origin) {over}",
            "suspicion": "MAX(suspicion) {over}",
        },
        counted={"findings": "COALESCE((SELECT findings FROM main.bugs WHERE id = best.own), 0)"},
        numbered=True,
        private="id IN temp.apart_bugs",
    ),
    Table(
        "findings",
        "target key",
        "run api test verdict outcome status reason hits runs bug found_at origin",
        ("instr('pending rejected flaky duplicate confirmed', status) DESC", "found_at"),
        numbered=True,
        private=_FINDING,
    ),
    Table(
        "known_matches",
        "entry bug",
        "findings last_seen",
        ("findings DESC", "last_seen DESC"),
        private=_OF_BUG,
    ),
    Table("judgements", "bug", "verdict reason judged_at", ("judged_at DESC",), private=_OF_BUG),
    Table(
        "checks",
        "bug target status hits runs outcome checked_at",
        numbered=True,
        private=f"id IN temp.apart_checks OR {_OF_BUG}",
    ),
    Table("probes", "bug build", "status hits runs info probed_at", ("probed_at DESC",), private=_OF_BUG),
    Table(
        "changes",
        "target baseline signature",
        "api kind test script before after hits runs found_at",
        ("found_at DESC",),
        numbered=True,
        private=_CHANGE,
    ),
    Table(
        "news",
        "target api class",
        "outcome_kind test",
        (_DIED_FIRST, "test IS NULL", "length(test)"),
        numbered=True,
        private=_NEWS,
    ),
    Table(
        "cells",
        "target api argument name",
        "result reason shown",
        ("result = 'postponed'", "result = 'crashed' DESC", "result", "reason"),
        private="result = 'crashed'",
    ),
    Table(
        "efforts",
        "target api",
        "calls cells tests seconds pairs paired",
        ("tests DESC", "seconds DESC", "cells DESC", "paired DESC"),
    ),
)

# Deletions of rows that no build uses any more.
ORPHANS = tuple(
    f"DELETE FROM {table} WHERE {column} NOT IN (SELECT {used})"
    for table, column, used in (
        ("argument_values", "invocation", "invocation FROM validity"),
        ("arguments", "id", "argument FROM argument_values"),
        ("provenance", "invocation", "invocation FROM validity"),
        ("invocations", "id", "invocation FROM validity"),
    )
)
