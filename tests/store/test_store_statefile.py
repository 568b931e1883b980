import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from sqlite_utils import Database
from store_values import CRASH, DEAD, KEY, TARGET, add, case

from fuzz_core.ir import codec
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.errors import UserError
from fuzz_core.store import open_store
from fuzz_core.store.schema import MIGRATIONS, NEWEST, SCRIPTS, version_of

VERSION_1 = Path(__file__).with_name("version_1.sql")

# Status and reason of seeds of an older version, and the kind of outcome that each seed gets.
SEEDS = {
    ("crashed", "signal SIGSEGV: at 0xdead"): "signal",
    ("crashed", "exit 3: bye"): "exit",
    ("timeout", "longer than 60 s"): "timeout",
    ("ok", ""): "",
    ("failed", "exception of its own"): "",
    ("failed", "Signal SIGBUS: in a test"): "signal",
}
INVOCATIONS = {
    (1, ""): "ok",
    (0, "signal SIGSEGV: "): "signal",
    (0, "exception ValueError: no"): "exception",
    (0, "timeout 5 s: "): "timeout",
    (0, "signals"): "",
    (0, ""): "",
    (None, ""): "",
}
NEWS = {
    "ok ('Tensor', 'f', 1)": "ok",
    "signal SIGABRT": "signal",
    "exception E # is no size": "exception",
    "oom ": "oom",
}


def restore(sql: Path, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.executescript(sql.read_text())
    connection.close()


def version(path: Path) -> int:
    connection = sqlite3.connect(path)
    try:
        return version_of(Database(connection))
    finally:
        connection.close()


def tables(path: Path) -> dict[str, str]:
    connection = sqlite3.connect(path)
    try:
        return dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
    finally:
        connection.close()


class DescribeMigrations:
    def test_a_file_of_version_1_comes_up_to_date_with_its_rows(self, path: Path) -> None:
        restore(VERSION_1, path)
        assert version(path) == 1
        with open_store(path) as store:
            assert store.target(KEY).version == "2.13.0"
            assert store.apis(KEY) == [Api("torch.add", "function", ("input", "other"), "torch.add(input, other)")]
            assert store.traced(KEY) == {"d1"}
            assert [row.invocation for row in store.invocations(KEY, valid=True)] == [add(1, 2)]
            run = store.start_run(KEY, 1, {})
            assert store.add_finding(KEY, run, case(), CRASH, DEAD)
        assert version(path) == NEWEST

    def test_an_old_file_ends_with_the_same_tables_as_a_new_one(self, path: Path, tmp_path: Path) -> None:
        restore(VERSION_1, path)
        open_store(path).close()
        open_store(tmp_path / "new.db").close()
        assert tables(path) == tables(tmp_path / "new.db")

    def test_rows_from_before_kinds_were_on_record_get_the_kind_that_their_text_tells(self, path: Path) -> None:
        restore(VERSION_1, path)
        with sqlite3.connect(path) as connection:
            MIGRATIONS.apply(Database(connection), stop_before="m0010_outcome_kind")
            for number, (status, reason) in enumerate(SEEDS):
                row = (KEY, f"s{number}", "docs", "n", status, reason, 0, 0, 0, "")
                connection.execute(f"INSERT INTO seeds VALUES ({', '.join('?' * len(row))})", row)
            for number, (valid, reason) in enumerate(INVOCATIONS, 2):
                call = add(number)
                row = (number, KEY, call.api, codec.digest(call), codec.dumps(call), "ok", valid, reason)
                connection.execute(f"INSERT INTO invocations VALUES ({', '.join('?' * len(row))})", row)
            for name in NEWS:
                connection.execute("INSERT INTO news (target, api, class) VALUES (?, 'a', ?)", (KEY, name))
        connection.close()
        with open_store(path) as store:
            found = {
                table: [row["outcome_kind"] for row in store._rows(f"SELECT outcome_kind FROM {table} ORDER BY {by}")]
                for table, by in (("seeds", "digest"), ("validity", "id"), ("news", "id"))
            }
        assert found == {
            "seeds": ["", *SEEDS.values()],
            "validity": ["ok", *INVOCATIONS.values()],
            "news": [*NEWS.values()],
        }

    def test_the_newest_version_counts_all_migrations(self) -> None:
        assert len(MIGRATIONS.pending(Database(memory=True))) == NEWEST

    def test_a_reader_does_not_migrate(self, path: Path) -> None:
        restore(VERSION_1, path)
        with pytest.raises(UserError, match=f"schema 1, but this nightfuzz reads schema {NEWEST}"):
            open_store(path, read_only=True)
        assert version(path) == 1

    def test_a_failing_migration_leaves_the_file_as_it_was(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        restore(VERSION_1, path)
        monkeypatch.setitem(SCRIPTS, "m0002_results", "CREATE TABLE runs (id); CREATE TABLE bugs (nonsense")
        with pytest.raises(sqlite3.OperationalError):
            open_store(path)
        assert version(path) == 1
        assert "runs" not in tables(path)
        monkeypatch.undo()
        open_store(path).close()
        assert version(path) == NEWEST

    def test_a_file_whose_very_first_migration_did_not_happen_is_taken_up(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(SCRIPTS, "m0001_value_spaces", "CREATE TABLE targets (nonsense")
        with pytest.raises(sqlite3.OperationalError):
            open_store(path)
        assert version(path) == 0
        monkeypatch.undo()
        with open_store(path) as store:
            assert store.targets() == []

    @pytest.mark.parametrize("read_only", [False, True])
    def test_a_newer_schema_is_refused_and_both_versions_named(self, path: Path, read_only: bool) -> None:
        open_store(path).close()
        connection = sqlite3.connect(path)
        connection.execute("INSERT INTO _sqlite_migrations VALUES (99, 'nightfuzz', 'm9999_later', '2030')")
        connection.commit()
        connection.close()
        with pytest.raises(UserError, match=f"schema {NEWEST + 1}, but this nightfuzz knows schemas up to {NEWEST}"):
            open_store(path, read_only=read_only)
        assert version(path) == NEWEST + 1


class DescribeDamage:
    def test_a_file_that_is_no_database_is_kept_aside(self, path: Path) -> None:
        path.parent.mkdir()
        path.write_bytes(b"this is no database" * 100)
        with pytest.raises(UserError, match=r"damaged.*kept as.*corrupt-1") as error:
            open_store(path)
        assert "run again to begin a fresh state" in error.value.remedy
        assert path.with_name("state.db.corrupt-1").read_bytes() == b"this is no database" * 100
        assert not path.exists()

    def test_running_again_starts_afresh_and_a_second_damaged_file_gets_another_name(self, path: Path) -> None:
        for number, content in enumerate((b"first" * 500, b"second" * 500), 1):
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
            with pytest.raises(UserError, match=f"corrupt-{number}"):
                open_store(path)
            with open_store(path) as store:
                assert store.targets() == []
            path.unlink()
        assert path.with_name("state.db.corrupt-1").read_bytes() == b"first" * 500
        assert path.with_name("state.db.corrupt-2").read_bytes() == b"second" * 500

    def test_damaged_pages_are_found_and_the_log_of_a_killed_controller_is_kept_too(self, path: Path) -> None:
        killed = path.parent.with_name("killed")
        with open_store(path) as store:
            store.save_target(TARGET)
            store.save_apis(KEY, [Api(f"torch.f{n}", "function", (), "x" * 50) for n in range(500)])
            store._db.execute("PRAGMA wal_checkpoint")
            store.start_run(KEY, 1, {})
            shutil.copytree(path.parent, killed)
        log = (killed / "state.db-wal").read_bytes()
        content = (killed / "state.db").read_bytes()
        middle = len(content) // 2
        damaged = content[:middle] + b"\xa5" * 5000 + content[middle + 5000 :]
        (killed / "state.db").write_bytes(damaged)
        with pytest.raises(UserError, match="kept as"):
            open_store(killed / "state.db")
        assert (killed / "state.db.corrupt-1").read_bytes() == damaged
        assert (killed / "state.db.corrupt-1-wal").read_bytes() == log != b""
        assert sorted(file.name for file in killed.iterdir()) == [
            "state.db.corrupt-1",
            "state.db.corrupt-1-shm",
            "state.db.corrupt-1-wal",
            "state.db.lock",
        ]

    def test_a_log_that_a_killed_controller_left_is_taken_in(self, path: Path) -> None:
        killed = path.parent.with_name("killed")
        with open_store(path) as store:
            store.save_target(TARGET)
            shutil.copytree(path.parent, killed)
        with open_store(killed / "state.db") as store:
            assert store.target(KEY).spec == TARGET.spec

    def test_a_reader_leaves_a_damaged_file_where_it_is(self, path: Path) -> None:
        path.parent.mkdir()
        path.write_bytes(b"this is no database" * 100)
        with pytest.raises(UserError, match="damaged"):
            open_store(path, read_only=True)
        assert path.read_bytes() == b"this is no database" * 100

    def test_a_database_of_another_program_is_left_untouched(self, path: Path) -> None:
        path.parent.mkdir()
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE theirs (x)")
        connection.close()
        before = path.read_bytes()
        with pytest.raises(UserError, match="another program"):
            open_store(path)
        assert path.read_bytes() == before


class DescribePlaces:
    def test_missing_directories_are_made(self, tmp_path: Path) -> None:
        with open_store(tmp_path / "a" / "b" / "state.db") as store:
            assert store.targets() == []

    def test_a_path_under_a_file_is_a_clear_error(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(UserError, match="cannot be written"):
            open_store(tmp_path / "file" / "state.db")

    def test_a_directory_is_no_state_file(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="is a directory"):
            open_store(tmp_path)

    def test_a_reader_needs_a_file(self, path: Path) -> None:
        with pytest.raises(UserError, match="there is no state file") as error:
            open_store(path, read_only=True)
        assert "nightfuzz" in error.value.remedy
        assert not path.parent.exists()


def as_nobody(code: str, path: Path) -> str:
    """Returns the output of a process without root's rights."""
    drop = (
        "import os, sys, pathlib\nfrom fuzz_core.ir.errors import UserError\nfrom fuzz_core.store import open_store\n"
    )
    drop += "if os.geteuid() == 0: os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
    drop += "path = pathlib.Path(sys.argv[1])\n"
    done = subprocess.run([sys.executable, "-c", drop + code, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def public():
    """Yields a directory that another user may enter, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="nightfuzz-store-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


OPEN = "try: open_store(path)\nexcept UserError as error: print(error)\nelse: print('opened')\n"


class DescribePermissions:
    def test_a_read_only_directory_is_a_clear_error(self, public: Path) -> None:
        public.chmod(0o555)
        said = as_nobody(OPEN, public / "state.db")
        assert "cannot be written" in said and "choose another directory with --state" in said

    def test_a_read_only_file_is_a_clear_error_and_stays(self, public: Path) -> None:
        path = public / "state.db"
        open_store(path).close()
        path.chmod(0o444)
        public.chmod(0o777)
        path.with_name("state.db.lock").chmod(0o666)
        said = as_nobody(OPEN, path)
        assert "cannot be written" in said
        assert list(public.glob("*corrupt*")) == []

    def test_a_reader_reads_in_a_read_only_directory(self, public: Path) -> None:
        path = public / "state.db"
        with open_store(path) as store:
            store.save_target(TARGET)
        path.chmod(0o444)
        public.chmod(0o555)
        code = "with open_store(path, read_only=True) as store: print(store.targets()[0].key)\n"
        assert as_nobody(code, path) == f"{KEY}\n"


class DescribeTheLock:
    def test_a_second_controller_is_told_who_holds_it(self, path: Path) -> None:
        with open_store(path), pytest.raises(UserError) as error:
            open_store(path)
        assert f"process {os.getpid()}" in error.value.problem
        assert str(path.with_name("state.db.lock")) in error.value.problem

    def test_another_process_is_told_and_the_holder_stays_named(self, path: Path) -> None:
        code = "import sys, pathlib\nfrom fuzz_core.store import open_store\nopen_store(pathlib.Path(sys.argv[1]))"
        with open_store(path):
            for _ in range(2):
                done = subprocess.run(
                    [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False
                )
                assert f"another nightfuzz (process {os.getpid()})" in done.stderr

    def test_the_lock_is_free_again_after_closing(self, path: Path) -> None:
        open_store(path).close()
        with open_store(path) as store:
            assert store.targets() == []

    def test_the_lock_is_free_again_after_a_refusal(self, path: Path) -> None:
        path.parent.mkdir()
        path.write_bytes(b"garbage" * 999)
        with pytest.raises(UserError, match="kept as"):
            open_store(path)
        open_store(path).close()

    def test_a_reader_sees_what_the_writer_committed(self, path: Path) -> None:
        with open_store(path) as writer, open_store(path, read_only=True) as reader:
            assert reader.targets() == []
            writer.save_target(TARGET)
            assert reader.target(KEY).spec == TARGET.spec

    def test_a_reader_cannot_write(self, path: Path) -> None:
        open_store(path).close()
        with open_store(path, read_only=True) as reader, pytest.raises(UserError, match="cannot be written"):
            reader.save_target(TARGET)

    def test_a_write_against_another_programs_lock_is_a_clear_error(self, path: Path) -> None:
        with open_store(path) as store:
            store._db.execute("PRAGMA busy_timeout = 1")
            other = sqlite3.connect(path, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(UserError, match="another program is writing"):
                store.save_target(TARGET)
            other.execute("ROLLBACK")
            other.close()
            store.save_target(TARGET)
            assert len(store.targets()) == 1

    def test_a_full_disk_is_a_clear_error_and_loses_nothing(self, path: Path) -> None:
        with open_store(path) as store:
            store.save_target(TARGET)
            pages = store._db.execute("PRAGMA page_count").fetchone()[0]
            store._db.execute(f"PRAGMA max_page_count = {pages}")
            with pytest.raises(UserError, match="no space left"):
                store.save_apis(KEY, [Api(f"torch.f{n}", "function", (), "x" * 500) for n in range(500)])
            assert store.apis(KEY) == []
            assert store.target(KEY).spec == TARGET.spec
