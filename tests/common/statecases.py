"""Random histories of state files, and the content of a state file without its numbers."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from sqlite_utils import Database

from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Invocation, TestCase, prim
from fuzz_core.modelgen.moco.facts import Facts, Knowledge
from fuzz_core.oracles.kinds import CHANGES
from fuzz_core.store import NewBug, SeedRecord, Store, TargetRecord, open_store
from fuzz_core.store.checks import BugTrial, Change, NewCheck
from fuzz_core.store.content import TABLES
from fuzz_core.store.findings import News, OperatorRow
from fuzz_core.store.schema import APPLICATION_ID, migrate

OLD, NEW = "lib-1", "lib-2"
HARMLESS = Outcome("signal", "SIGABRT", "Check failed: a == b", ("lib::check",))
WRONG = Outcome("ok", "", "other values")
HEAP = Outcome("signal", "SIGABRT", "free(): invalid pointer", ())
WILD = Outcome("signal", "SIGSEGV", "", ("lib::kernel",))
OUTCOMES = (HARMLESS, WRONG, HEAP, WILD)
CONFIRMED = ("confirmed", "duplicate")


def target(key: str, note: str = "") -> TargetRecord:
    """Returns a build; `note` is a fact that a later command has learnt."""
    info = {"devices": ["cpu"], "note": note} if note else {"devices": ["cpu"]}
    return TargetRecord(key, f"lib=={key[-1]}", "fakelib", key[-1], "/env/bin/python", info)


def call(number: int) -> Invocation:
    """Returns an invocation of one of three apis."""
    return Invocation(f"lib.f{number % 3}", (prim(number), prim("x")))


def case(number: int, origin: int = 0, seed: int = 1) -> TestCase:
    """Returns a test case made from the invocation whose number is `origin`."""
    return TestCase(call(number), seed, origin, ("Rule",))


# Event of a state's history: its function, its target, and two small numbers as arguments.
small = st.integers(0, 3)
what = st.sampled_from(
    [
        "trace",
        "valid",
        "find",
        "find",
        "settle",
        "settle",
        "check",
        "known",
        "news",
        "change",
        "probe",
        "run",
        "learn",
        "know",
    ]
)
events = st.tuples(what, st.sampled_from([OLD, NEW]), small, small)
histories = st.lists(events, max_size=14)


def fresh(path: Path) -> Path:
    """Makes a state with one target, some traces and a run."""
    with open_store(path, clock=clock(0)) as store:
        store.save_target(target(OLD))
        store.save_apis(OLD, [Api(f"lib.f{n}", "function", ("a", "b"), f"f{n}(a, b)", "Doc.") for n in range(3)])
        store.save_constraints(OLD, [Constraint("lib.f0", "a", "minimum", (0,), "at least 0", "docstring")])
        know(store, OLD, 1, 1)
        trace(store, OLD, 0)
        store.start_run(OLD, 1, {})
        store.finish_run(1, "done", {})
    return path


def copied(path: Path, to: Path) -> Path:
    """Copies a state that no store has open."""
    to.write_bytes(path.read_bytes())
    return to


def clock(start: int) -> Any:
    """Returns a clock that advances by a second at each reading."""
    now = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=start)]

    def read() -> datetime:
        now[0] += timedelta(seconds=1)
        return now[0]

    return read


def lived(path: Path, history: Sequence[tuple[str, str, int, int]], shard: int) -> Path:
    """Applies a history to a state."""
    with open_store(path, clock=clock(shard)) as store:
        for event, key, one, other in history:
            if key not in {each.key for each in store.targets()}:
                store.save_target(target(key))
            globals()[event](store, key, one, other)
    settled(path)
    return path


def settled(path: Path) -> None:
    """Folds the log into the file, so that it can be copied."""
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def trace(store: Store, key: str, one: int, other: int = 0) -> None:
    found = [(call(n), "exception" if n == other else "ok") for n in range(one, one + 3)]
    seed = SeedRecord(f"s{one}", "docs", f"seed {one}", "ok", "", 0.5, 3, 0)
    counts = {("lib.f1", "file"): one + 1}, {("lib.f2", "too large"): other + 1}
    store.save_trace(key, seed, found, *counts, {call(one): f"test_{other}"})


def valid(store: Store, key: str, one: int, other: int) -> None:
    numbers = [row.id for row in store.invocations(key)]
    store.set_validity(
        key,
        [(numbers[one], *(("ok", "") if other % 2 else ("exception", "exception ValueError: no")))]
        if one < len(numbers)
        else [],
    )


def ran(store: Store, key: str, *rows: tuple[int, str, str]) -> None:
    """Records how invocations re-ran: (which of the target's, counted from 1; kind of the outcome; reason)."""
    ids = [row.id for row in store.invocations(key)]
    store.set_validity(key, [(ids[nth - 1], kind, reason) for nth, kind, reason in rows])


def find(store: Store, key: str, one: int, other: int) -> None:
    origins = [row.id for row in store.invocations(key)]
    run = next((row.id for row in store.runs(key)), None) or store.start_run(key, 5, {})
    test = case(one, origins[other] if other < len(origins) else 0)
    store.add_finding(key, run, test, Verdict("crash", "crash", "cpu: died"), OUTCOMES[other])


def settle(store: Store, key: str, one: int, other: int) -> None:
    waiting = store.pending_findings(key)
    if not waiting:
        return
    row = waiting[one % len(waiting)]
    outcome = OUTCOMES[other]
    kind = "wrong-result" if outcome.kind == "ok" else "crash"
    script = f"import lib\nlib.f(the script number {one} of {other})\n"
    bug = NewBug(
        f"lib.f{other}: fault {other}", f"lib.f{other}", "crash", kind, row.test, script, outcome, 3, 3, one > 1
    )
    store.settle_finding(row.id, ("confirmed", "flaky")[one == 3], hits=one, runs=3, bug=None if one == 3 else bug)


def _bug(store: Store, key: str, one: int) -> int:
    rows = store.bugs(key)
    return rows[one % len(rows)].id if rows else 0


def check(store: Store, key: str, one: int, other: int) -> None:
    if number := _bug(store, key, one):
        status = ("shown", "clean", "changed", "flaky")[other]
        store.add_checks(number, [NewCheck(key, status, 1, 2, OUTCOMES[one])])
        store.set_status(number, ("open", "fixed")[other == 1])


def known(store: Store, key: str, one: int, other: int) -> None:
    if number := _bug(store, key, one):
        store.count_known(f"entry-{other}", number, other + 1)


def news(store: Store, key: str, one: int, other: int) -> None:
    origins = [row.id for row in store.invocations(key)]
    test = json.dumps(
        [["I", f"lib.f{one}", [other], [], None], 7, origins[0] if origins else 0, []], separators=(",", ":")
    )
    store.save_news(key, [News(f"lib.f{one}", f"ok {other}", "ok", test if other else None)], [])


def change(store: Store, key: str, one: int, other: int) -> None:
    origins = [row.id for row in store.invocations(key)]
    text = f"lib.f{one}: changed {other}"
    test = case(one, origins[-1] if origins else 0)
    outcomes = (OUTCOMES[1], OUTCOMES[other])
    store.save_change(
        key, OLD, Change(f"lib.f{one}", CHANGES[one % 3], text, test, f"# script {text}\n", *outcomes, 3, 3)
    )


def probe(store: Store, key: str, one: int, other: int) -> None:
    if number := _bug(store, key, one):
        info = {"version": str(other), "day": "", "commit": "", "reason": "", "made": True}
        store.save_probe(number, BugTrial(f"lib=={other}", ("good", "bad", "broken")[one % 3], one, 3, info))


def run(store: Store, key: str, one: int, other: int) -> None:
    number = store.start_run(key, one, {"seconds": other})
    store.finish_run(number, "done", {"tests": one})


def learn(store: Store, key: str, one: int, other: int) -> None:
    store.save_target(target(key, f"note {one}"))
    store.save_news(key, [], [OperatorRow(f"op{one}", "float32", f"lib.f{other}")])


def know(store: Store, key: str, one: int, other: int) -> None:
    apis = {f"lib.f{n}": Facts(api=f"lib.f{n}", ranks=(one,)) for n in range(other)}
    unfinished = ("lib.f0",) if one % 2 else ()
    store.save_knowledge(key, Knowledge(library="fakelib", build=key, unfinished=unfinished, apis=apis))


def said(path: Path, numbered: bool = False) -> dict[str, list[tuple[Any, ...]]]:
    """Returns the content of a state file by table, without numbers or with the row numbers of the tables."""
    connection = sqlite3.connect(path)
    try:
        found: dict[str, list[tuple[Any, ...]]] = {}
        for table in TABLES:
            columns = [*table.columns, *["number"] * (numbered and table.numbered)]
            sql = f"SELECT {', '.join(columns)} FROM ({table.select.format(db='main')})"
            found[table.name] = sorted(connection.execute(sql).fetchall(), key=repr)
        for sql in (
            "SELECT * FROM targets",
            "SELECT target, signature, findings FROM bugs",
        ):
            found[sql] = sorted(connection.execute(sql).fetchall(), key=repr)
        return found
    finally:
        connection.close()


# Content of an earlier schema's tables, for those that differ from today's.
_EARLIER = {
    "invocations": "(SELECT place AS id, api, digest, body, expected, target, valid, reason, outcome_kind FROM calls)",
    "provenance": "(SELECT place AS invocation, seed, part FROM newer.provenance JOIN calls ON calls.id = invocation)",
}
_ORIGIN = "json_set(test, '$[2]', COALESCE((SELECT place FROM calls WHERE calls.id = json_extract(test, '$[2]')), 0))"


def earlier(path: Path, to: Path, version: int) -> Path:
    """Writes the same state in an earlier schema."""
    db = Database(to)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    migrate(db, version)
    db.execute("ATTACH ? AS newer", [str(path)])
    db.execute("CREATE TEMP VIEW calls AS SELECT * FROM newer.calls")
    for table in TABLES:
        columns = [column.name for column in db[table.name].columns] if db[table.name].exists() else []
        if columns and table.name != "argument_values":
            cells = [_ORIGIN if name == "test" else name for name in columns]
            source = _EARLIER.get(table.name, f"newer.{table.name}")
            db.execute(f"INSERT INTO {table.name} ({', '.join(columns)}) SELECT {', '.join(cells)} FROM {source}")
    db.conn.commit()
    db.close()
    return to
