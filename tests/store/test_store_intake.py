"""Tests of state files from untrusted jobs: foreign files are refused, rows that no store would write are dropped."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from examples import examples
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from statecases import OLD, call, copied, earlier, fresh, histories, lived, said, settled

from fuzz_core.campaign.partition import split
from fuzz_core.ir.errors import UserError
from fuzz_core.store import SeedRecord, intake, open_store
from fuzz_core.store.findings import News
from fuzz_core.store.intake import take_in
from fuzz_core.store.merge import merge
from fuzz_core.triage.cost import cost

Damage = Callable[[sqlite3.Connection], object]


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a state that has a row in every table."""
    path = fresh(tmp_path_factory.mktemp("full") / "state.db")
    history = [(what, OLD, one, 1) for one in (0, 1) for what in ("trace", "find", "news", "run", "learn", "change")]
    history += [(what, OLD, 0, 1) for what in ("settle", "check", "known", "probe", "settle")]
    return lived(path, history, 1)


@pytest.fixture
def path(full: Path, tmp_path: Path) -> Path:
    return copied(full, tmp_path / "shard.db")


def changed(path: Path, *statements: str) -> Path:
    connection = sqlite3.connect(path)
    for sql in statements:
        connection.executescript(sql)
    connection.close()
    return path


def merged(base: Path, shard: Path, known: Path | None) -> dict[str, list[tuple[object, ...]]]:
    """Returns the contents of a state after a shard was taken in and merged into it."""
    clean, whole = (base.with_name(f"{name}.db") for name in ("clean", "merged"))
    assert take_in(shard, clean, known).dropped == {}
    with open_store(copied(base, whole)) as store:
        merge(store, [clean], cost)
    return said(whole, numbered=True)


class DescribeTakeIn:
    @examples(15, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(history=histories)
    def test_what_a_store_has_written_is_taken_whole(self, tmp_path: Path, full: Path, history: list) -> None:
        path = lived(copied(full, tmp_path / "shard.db"), history, 2)
        taken = take_in(path, tmp_path / "clean.db")
        assert taken.dropped == {}
        assert said(tmp_path / "clean.db", numbered=True) == said(path, numbered=True)

    @examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(before=histories, since=histories, later=st.booleans())
    def test_merged_into_what_is_known_it_is_as_if_nothing_were_known(
        self, tmp_path: Path, full: Path, before: list, since: list, later: bool
    ) -> None:
        """Holds for a shard that began with an older state, too."""
        known = lived(copied(full, tmp_path / "known.db"), before, 2)
        shard = lived(copied(known if later else full, tmp_path / "shard.db"), since, 3)
        assert merged(known, shard, known) == merged(known, shard, None)

    def test_a_number_that_stands_for_something_else_is_not_mistaken(self, full: Path, tmp_path: Path) -> None:
        """The two states have a new call by the same number from the same seed: their rows of provenance are alike."""
        known, shard = (copied(full, tmp_path / f"{name}.db") for name in ("known", "shard"))
        for path, number in ((known, 50), (shard, 51)):
            with open_store(path) as store:
                store.save_trace(OLD, SeedRecord("s9", "docs", "seed 9", "ok"), [(call(number), "ok")], {}, {})
            settled(path)
        found = merged(known, shard, known)
        assert len([row for row in found["provenance"] if "s9" in row]) == 2
        assert found == merged(known, shard, None)

    def test_what_is_known_is_not_looked_at_again(self, path: Path, full: Path, tmp_path: Path) -> None:
        with open_store(path) as store:
            store.save_news(OLD, [News("lib.f0", "ok new", "ok", None)], [])
        settled(path)
        taken = take_in(path, tmp_path / "clean.db", full)
        assert taken.rows.keys() == {"targets", "invocations", "arguments", "runs", "bugs", "news"}
        assert (taken.rows["news"], taken.dropped) == (1, {})
        same = take_in(path, tmp_path / "same.db").rows
        assert {name: taken.rows[name] for name in ("targets", "invocations", "runs", "bugs")}.items() <= same.items()

    def test_a_job_of_untrusted_code_cannot_judge(self, path: Path, tmp_path: Path) -> None:
        with open_store(path) as store:
            store.save_judgements([store.bugs()[0].id], "not-real", "says a shard")
        settled(path)
        take_in(path, tmp_path / "clean.db")
        with open_store(tmp_path / "clean.db", read_only=True) as store:
            assert store.judgements() == {}
            assert store.bugs()

    @pytest.mark.parametrize("version", [9, 10])
    def test_an_older_file_says_the_same_once_it_is_taken_in(self, path: Path, tmp_path: Path, version: int) -> None:
        taken = take_in(earlier(path, tmp_path / "old.db", version), tmp_path / "clean.db")
        assert taken.dropped == {}
        assert said(tmp_path / "clean.db", numbered=True) == said(path, numbered=True)

    def test_an_older_schema_is_brought_up_to_date(self, tmp_path: Path) -> None:
        connection = sqlite3.connect(tmp_path / "old.db")
        connection.executescript((Path(__file__).parent / "version_1.sql").read_text())
        connection.execute(f"PRAGMA application_id = {intake.APPLICATION_ID}")
        connection.close()
        take_in(tmp_path / "old.db", tmp_path / "clean.db")
        with open_store(tmp_path / "clean.db", read_only=True) as store:
            assert store.targets()

    @pytest.mark.parametrize("kind", ["", "ok", "exception", "signal"])
    def test_what_tells_of_a_death_is_private_whatever_kind_it_claims(
        self, path: Path, tmp_path: Path, kind: str
    ) -> None:
        told = f"'signal SIGSEGV: at 0xdead', outcome_kind = '{kind}'"
        changed(
            path,
            f"UPDATE seeds SET status = 'failed', reason = {told}",
            f"UPDATE validity SET valid = {int(kind == 'ok')}, reason = {told}",
            f"UPDATE news SET class = {told}",
        )
        take_in(path, tmp_path / "clean.db")
        settled(tmp_path / "clean.db")
        split(tmp_path / "clean.db", tmp_path / "public.db", tmp_path / "private.db")
        assert b"0xdead" not in (tmp_path / "public.db").read_bytes()

    def test_a_file_from_before_kinds_were_on_record_keeps_its_deaths_private(self, path: Path, tmp_path: Path) -> None:
        told = "'signal SIGSEGV: at 0xdead'"
        old = changed(
            earlier(path, tmp_path / "old.db", 9),
            f"UPDATE seeds SET status = 'crashed', reason = {told}",
            f"UPDATE invocations SET valid = 0, reason = {told}",
            f"UPDATE news SET class = {told}",
        )
        take_in(old, tmp_path / "clean.db")
        settled(tmp_path / "clean.db")
        split(tmp_path / "clean.db", tmp_path / "public.db", tmp_path / "private.db")
        assert b"0xdead" not in (tmp_path / "public.db").read_bytes()
        assert (tmp_path / "private.db").read_bytes().count(b"0xdead") >= 3


class DescribeForeignFiles:
    @pytest.mark.parametrize(
        "sql",
        [
            "CREATE TRIGGER t AFTER INSERT ON bugs BEGIN DELETE FROM bugs; END",
            "CREATE VIEW v AS SELECT * FROM bugs",
            "CREATE VIRTUAL TABLE f USING fts5(x)",
            "CREATE INDEX i ON bugs (api)",
            "CREATE TABLE more (x)",
            "ALTER TABLE bugs ADD COLUMN more TEXT DEFAULT 'x'",
            "ALTER TABLE bugs ADD COLUMN made TEXT GENERATED ALWAYS AS (api || 'x') VIRTUAL",
            "DROP TABLE probes",
            "DROP TABLE bugs; CREATE VIEW bugs AS SELECT 1 AS id",
            "PRAGMA application_id = 7",
            "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, 'TEXT NOT NULL', 'TEXT')",
        ],
    )
    def test_another_schema_is_refused(self, path: Path, tmp_path: Path, sql: str) -> None:
        with pytest.raises(UserError, match=r"shard\.db"):
            take_in(changed(path, sql), tmp_path / "clean.db")
        assert not (tmp_path / "clean.db").exists()

    @pytest.mark.parametrize("content", [b"", b"SQLite format 3\0", b"SQLite format 3\0" + b"x" * 5000, b"PK\3\4" * 99])
    def test_other_files_are_refused(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "shard.db").write_bytes(content)
        with pytest.raises(UserError):
            take_in(tmp_path / "shard.db", tmp_path / "clean.db")

    def test_links_directories_and_nothing_are_refused(self, path: Path, tmp_path: Path) -> None:
        (tmp_path / "link.db").symlink_to(path)
        for name in ("link.db", ".", "missing.db"):
            with pytest.raises(UserError):
                take_in(tmp_path / name, tmp_path / "clean.db")

    def test_one_that_is_too_large_or_takes_too_long_is_refused(
        self, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(UserError, match="larger than"):
            take_in(path, tmp_path / "clean.db", max_bytes=1000)
        monkeypatch.setattr(intake, "EVERY", 1)
        monkeypatch.setattr(intake, "STEPS", 0)
        with pytest.raises(UserError, match="too long"):
            take_in(path, tmp_path / "clean.db")

    def test_a_log_beside_the_file_is_not_looked_at(self, path: Path, tmp_path: Path) -> None:
        expected = said(path)
        with open_store(copied(path, tmp_path / "other.db")) as store:
            store.add_findings(OLD, 1, [])
            store.start_run(OLD, 77, {})
            (tmp_path / "shard.db-wal").write_bytes((tmp_path / "other.db-wal").read_bytes())
        take_in(path, tmp_path / "clean.db")
        assert said(tmp_path / "clean.db") == expected

    @examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(flips=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), min_size=1, max_size=40))
    def test_a_damaged_file_is_refused_or_gives_a_sound_one(
        self, full: Path, tmp_path: Path, flips: list[tuple[float, int]]
    ) -> None:
        damaged = bytearray(full.read_bytes())
        for where, what in flips:
            damaged[int(where * len(damaged))] ^= what
        (tmp_path / "shard.db").write_bytes(damaged)
        try:
            take_in(tmp_path / "shard.db", tmp_path / "clean.db")
        except UserError:
            return
        with open_store(tmp_path / "clean.db", read_only=True) as store:
            assert [store.bug(row.id) for row in store.bugs()] == store.bugs()
            for target in store.targets():
                store.findings(target.key)
                list(store.invocations(target.key))


def _test(**parts: object) -> str:
    tensor = ["T", "float32", [2], ["values", "0.0", "1.0", 0, "AAAAAAAAAAA=", None], "tensor", None, False]
    return json.dumps([["I", "lib.f1", [parts.get("value", tensor)], [], None], parts.get("seed", 1), 0, []])


_HUGE = ["T", "float32", [10**9, 10**9], ["values", "0.0", "1.0", 0, "AAAAAA==", None], "tensor", None, False]
_ODD = ["T", "float32", [2], ["values", "0.0", "1.0", 0, "AAA=", None], "tensor", None, False]
_DEEP = "[" * 50_000 + "]" * 50_000


class DescribeRows:
    @pytest.mark.parametrize(
        "sql, reason",
        [
            ("UPDATE bugs SET test = 'no json'", "bugs: test: no JSON"),
            ("UPDATE bugs SET test = '[]'", "bugs: describes no value"),
            (f"UPDATE bugs SET test = '{_test(seed=-1)}'", "bugs: test: no number"),
            (f"UPDATE bugs SET test = '{_test(value=_HUGE)}'", "bugs: test: no elements"),
            (f"UPDATE bugs SET test = '{_test(value=_ODD)}'", "bugs: test: no elements"),
            ('UPDATE bugs SET outcome = \'["ok", "", "", [], NaN]\'', "bugs: outcome: no JSON"),
            ('UPDATE bugs SET outcome = \'["won", "", "", [], 1]\'', "bugs: describes no value"),
            (f"UPDATE bugs SET outcome = '{_DEEP}'", "bugs: outcome: no JSON"),
            ("UPDATE bugs SET kind = 'won'", "bugs: describes no value"),
            ("UPDATE findings SET verdict = json_set(verdict, '$[1]', 'won')", "findings: describes no value"),
            ("UPDATE bugs SET status = 'won'", "bugs: status: none of"),
            ("UPDATE bugs SET signature_text = 'another'", "bugs: signature: not that of its text"),
            ("UPDATE bugs SET script = CAST(x'00ff' AS BLOB)", "bugs: script: no text"),
            ("UPDATE bugs SET script = CAST(script AS BLOB)", "bugs: script: no text"),
            ("UPDATE bugs SET script = CAST(x'c3ff' AS TEXT)", "bugs: script: no text"),
            ("UPDATE bugs SET script = printf('%.*c', 2000000, 'x')", "bugs: script: no text, or too long"),
            ("UPDATE bugs SET first_found = 'yesterday'", "bugs: first_found: no time"),
            ("UPDATE bugs SET first_found = '2026-13-01T00:00:00+00:00'", "bugs: first_found: no time"),
            ("UPDATE bugs SET hits = -5", "bugs: hits: no count"),
            # This number and the number in the row have the same hash in Python.
            ("UPDATE bugs SET hits = hits + 2305843009213693951", "bugs: hits: no count"),
            ("UPDATE bugs SET hits = 9e30", "bugs: hits: no count"),
            ("UPDATE findings SET key = id", "findings: key: not that of the test"),
            ("UPDATE findings SET api = '@everyone'", "findings: key: not that of the test"),
            ("UPDATE findings SET verdict = '{}'", "findings: verdict: none"),
            ("UPDATE findings SET run = 99", "findings: run: refers to nothing"),
            ("UPDATE findings SET bug = 99", "findings: bug: refers to nothing"),
            ("DELETE FROM bugs", "findings: bug: refers to nothing"),
            ('UPDATE invocations SET body = \'["I", "x", [], [], null]\'', "invocations: digest: not that of the body"),
            ("UPDATE arguments SET value = '7'", "arguments: digest: not that of the value"),
            ("UPDATE arguments SET type = 'bool'", "arguments: digest: not that of the value"),
            ("UPDATE arguments SET id = id + 1", "arguments: id: not that of the value"),
            ("UPDATE validity SET valid = 0, outcome_kind = 'ok'", "validity: outcome_kind: not that of its"),
            ("UPDATE validity SET reason = 'it died', outcome_kind = ''", "validity: outcome_kind: none of"),
            ("UPDATE validity SET outcome_kind = 'won'", "validity: outcome_kind: none of"),
            ("UPDATE invocations SET id = id + 1", "invocations: id: not that of the digest"),
            ("DELETE FROM invocations", "validity: invocation: refers to nothing"),
            ("DELETE FROM invocations", "argument_values: invocation: refers to nothing"),
            ("DELETE FROM arguments", "argument_values: argument: refers to nothing"),
            ("UPDATE seeds SET status = 'crashed', outcome_kind = ''", "seeds: outcome_kind: none of"),
            ("UPDATE seeds SET outcome_kind = 'won'", "seeds: outcome_kind: none of"),
            ("UPDATE news SET outcome_kind = ''", "news: outcome_kind: none of"),
            ("UPDATE news SET test = '[1, 2'", "news: test: no JSON"),
            ("UPDATE targets SET library = 'os.path'", "targets: library: none that is known"),
            ("UPDATE targets SET library = 'nothing'", "targets: library: none that is known"),
            ("UPDATE targets SET version = printf('%.*c', 5000, '1')", "targets: version: no text, or too long"),
            ("UPDATE probes SET build = 'lib==' || printf('%.*c', 5000, '1')", "probes: build: no text, or too long"),
            ("UPDATE targets SET key = NULL", "targets: key: missing"),
            ("UPDATE targets SET info = '[]'", "targets: info: no object"),
            (f"UPDATE targets SET info = '{{\"a\":{'[' * 30}{']' * 30}}}'", "targets: info: too deep"),
            ("UPDATE targets SET info = '{\"devices\":7}'", "targets: info: not the facts"),
            ("UPDATE targets SET info = '{\"devices\":[7]}'", "targets: info: not the facts"),
            ('UPDATE probes SET info = \'{"version":"1"}\'', "probes: info: not the facts"),
            ("UPDATE apis SET params = '{}'", "apis: params: no list of names"),
            ("UPDATE runs SET seed = '1; DROP TABLE bugs'", "runs: seed: no number"),
            ("UPDATE runs SET tests = 1e300", "runs: tests: no count"),
            ("UPDATE changes SET kind = 'better'", "changes: kind: none of"),
            ("UPDATE probes SET info = '\"x\"'", "probes: info: no object"),
            ("UPDATE checks SET outcome = '7'", "checks: describes no value"),
            ("UPDATE constraints SET source = 'my word'", "constraints: describes no value"),
            ("UPDATE facts SET body = '{}'", "facts: body: no facts of the api"),
            ('UPDATE facts SET body = \'{"api":"lib.f1"}\'', "facts: body: no facts of the api"),
            ('UPDATE facts SET body = \'{"api": "lib.f0"}\'', "facts: body: no facts of the api"),
            ('UPDATE facts SET body = \'{"api":"lib.f0","x":1}\'', "facts: body: no facts of the api"),
            (
                "PRAGMA ignore_check_constraints = ON; UPDATE seeds SET status = 'won'",
                "seeds: breaks a rule of the table",
            ),
        ],
    )
    def test_what_no_store_would_have_written_is_dropped_and_counted(
        self, path: Path, full: Path, tmp_path: Path, sql: str, reason: str
    ) -> None:
        whole = take_in(path, tmp_path / "whole.db")
        taken = take_in(changed(path, sql), tmp_path / "clean.db")
        knowing = take_in(path, tmp_path / "again.db", full)
        # Rows that the known state has already are not the shard's own, so the shard may also lack them.
        assert sql.startswith("DELETE") or [why for why in knowing.dropped if why.startswith(reason)]
        assert knowing.dropped.items() <= taken.dropped.items()
        table = reason.partition(":")[0]
        assert [why for why in taken.dropped if why.startswith(reason)], taken.dropped
        assert taken.rows.get(table, 0) < whole.rows[table]
        with open_store(tmp_path / "clean.db") as store:
            store.bugs()

    def test_more_bugs_than_any_state_has_are_dropped(
        self, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(intake.MOST, "changes", 1)
        taken = take_in(path, tmp_path / "clean.db")
        assert (taken.rows["changes"], taken.dropped) == (1, {"changes: more than any state has": 1})

    def test_a_value_larger_than_any_is_refused_with_its_file(self, path: Path, tmp_path: Path) -> None:
        changed(path, "UPDATE bugs SET script = printf('%.*c', 20000000, 'x')")
        with pytest.raises(UserError, match="too big"):
            take_in(path, tmp_path / "clean.db")
