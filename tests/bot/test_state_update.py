"""Packing, encryption, the storage in a directory, and the update of all of them at the end of a night."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tracemalloc
import zlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyrage
import pytest
from examples import examples
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from statecases import HARMLESS, OLD, WILD, case, clock, copied, earlier, fresh, histories, lived, settled

from fuzz_core.campaign.partition import split
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.store import NewBug, open_store
from nightfuzz.bot.git import remote_of
from nightfuzz.bot.github.redaction import Secret
from nightfuzz.bot.state import place as places
from nightfuzz.bot.state import private
from nightfuzz.bot.state.directory import StateDirectory, read_files, write_files
from nightfuzz.bot.state.place import (
    FILINGS,
    FINGERPRINTS,
    PLAIN,
    STATE,
    Files,
    StateStorage,
    compressed,
    expanded,
    pack,
    parts,
    revise,
    unpack,
    zstd,
)
from nightfuzz.bot.state.private import Keys, blobs, bounded, decrypt, encrypt, salt_of, salted, sealed
from nightfuzz.bot.state.ref import Chance, StateRef
from nightfuzz.bot.state.shards import Shards, take_in_all
from nightfuzz.bot.state.update import fetch_state, update_state

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def now() -> datetime:
    return NOW


@pytest.fixture(scope="module")
def beginning(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = fresh(tmp_path_factory.mktemp("beginning") / "state.db")
    settled(path)
    return path


@pytest.fixture
def key() -> Secret:
    return Secret(str(pyrage.x25519.Identity.generate()))


@pytest.fixture(params=["branch", "directory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> StateStorage:
    """A public storage of the state: a ref of a repository, or a directory that counts as public."""
    if request.param == "branch":
        subprocess.run(["git", "init", "--quiet", "--bare", str(tmp_path / "r.git")], check=True)
        return StateRef(remote_of((tmp_path / "r.git").as_uri()), Chance(now, lambda seconds: None, lambda: 0.0))
    made = StateDirectory(tmp_path / "kept")
    made.confidential = False
    return made


def shard(base: Path, name: str, *bugs: tuple[str, int, Outcome]) -> Path:
    """Returns a copy of a state that has found these bugs: signature, number of the test case, outcome."""
    path = copied(base, base.with_name(f"{name}.db"))
    with open_store(path, clock=clock(3)) as store:
        for signature, number, outcome in bugs:
            test = case(number, seed=90)
            finding = store.add_finding(OLD, 1, test, Verdict("crash", "crash"), outcome)
            assert finding is not None
            new = NewBug(signature, f"lib.f{number}", "crash", "crash", test, f"# {signature}\n", outcome, 3, 3)
            store.settle_finding(finding, "confirmed", hits=3, runs=3, bug=new)
    settled(path)
    return path


def parted(path: Path, recipients: list[str]) -> tuple[Path, bytes]:
    """Returns the export of a fuzz job: the public state, and the private part, encrypted for the recipients."""
    public, hidden = path.with_name(f"public-{path.name}"), path.with_name(f"private-{path.name}")
    split(path, public, hidden)
    return public, encrypt(hidden, recipients)


def signatures(path: Path | None) -> list[str]:
    if path is None:
        return []
    with open_store(path, read_only=True) as store:
        return [row.signature_text for row in store.bugs()]


def frame(content: bytes, told: bool) -> bytes:
    """Returns content packed by a foreign program, with or without its size in the header."""
    options = {zstd.CompressionParameter.content_size_flag: told, zstd.CompressionParameter.checksum_flag: True}
    return zstd.compress(content, options=options)


class DescribePacking:
    @given(content=st.binary(max_size=2000), times=st.integers(1, 50))
    @examples(30, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_what_was_packed_is_unpacked(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, times: int
    ) -> None:
        monkeypatch.setattr(places, "PART", 300)
        (tmp_path / "state.db").write_bytes(content * times)
        files = pack(tmp_path / "state.db")
        assert all(len(data) <= 300 for data in files.values())
        unpack(parts(files), tmp_path / "again.db")
        assert (tmp_path / "again.db").read_bytes() == content * times

    @pytest.mark.parametrize("told", [True, False])
    @pytest.mark.parametrize("before", [b"", compressed(b"x")], ids=["alone", "behind another"])
    def test_a_bomb_is_noticed_before_it_has_gone_off(self, tmp_path: Path, told: bool, before: bytes) -> None:
        """A bomb is refused even if it hides its size or follows a small frame."""
        bomb = before + frame(bytes(400 << 20), told)
        assert len(bomb) < 100_000
        tracemalloc.start()
        try:
            with pytest.raises(UserError, match="bytes follow its end" if before else "more than 8 MiB"):
                unpack([bomb], tmp_path / "state.db", max_bytes=8 << 20)
            assert tracemalloc.get_traced_memory()[1] < 4 << 20
        finally:
            tracemalloc.stop()
        assert not (tmp_path / "state.db").exists()

    def test_one_that_wants_all_the_memory_is_refused(self) -> None:
        writer = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 30})
        # A frame of one segment needs no window, so its content's size counts as the window's.
        segment = b"\x28\xb5\x2f\xfd\xa0" + (1 << 30).to_bytes(4, "little") + b"\x01\0\0"
        for greedy in (writer.compress(b"x") + writer.flush(), segment):
            with pytest.raises(UserError, match="too much memory"):
                expanded(greedy)

    @pytest.mark.parametrize(
        "how", ["cut", "cut before its end", "changed", "more", "twice", "empty", "of no size", "another format"]
    )
    def test_damage_is_said(self, tmp_path: Path, how: str) -> None:
        good = compressed(os.urandom(500_000))
        bad = {
            "cut": good[:-9],
            "cut before its end": good[:200_000],
            "changed": good[:3000] + bytes([good[3000] ^ 1]) + good[3001:],
            "more": good + b"more",
            "twice": good + compressed(b"more"),
            "empty": b"",
            "of no size": frame(b"x", told=False),
            "another format": zlib.compress(b"x"),
        }[how]
        with pytest.raises(UserError, match="damaged"):
            unpack([bad], tmp_path / "state.db")


class DescribeEncryption:
    def test_each_of_the_recipients_can_read_it_and_nobody_else(self, tmp_path: Path, key: Secret) -> None:
        (tmp_path / "state.db").write_bytes(b"secret " * 100)
        other, stranger = (Secret(str(pyrage.x25519.Identity.generate())) for _ in range(2))
        data = encrypt(tmp_path / "state.db", [private.public_key(key), private.public_key(other)])
        for each in (key, other):
            decrypt(data, each, tmp_path / "again.db")
            assert (tmp_path / "again.db").read_bytes() == b"secret " * 100
        assert b"secret" not in data
        for identity, bad in ((stranger, data), (key, data[:-5]), (key, b"rubbish"), (Secret("AGE-x"), data)):
            with pytest.raises(UserError) as caught:
                decrypt(bad, identity, tmp_path / "again.db")
            assert identity.reveal() not in str(caught.value)

    def test_salted_fingerprints_tell_nothing_without_the_salt(self, key: Secret) -> None:
        assert salted("a", b"1") != salted("a", b"2") != salted("b", b"2")
        assert salt_of(key) == salt_of(Secret(key.reveal() + "\n")) != key.reveal().encode()

    def test_parts_that_cannot_be_read_lie_side_by_side_up_to_a_bound_that_is_said(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(private, "MAX_BLOBS", 3)
        files: Files = {}
        problems: list[str] = []
        for day in range(5):
            kept = bounded({**files, **sealed([b"part %d" % day], NOW + timedelta(days=day))})
            files, problems = kept.files, [*problems, *kept.problems]
        assert list(blobs(files).values()) == [b"part 2", b"part 3", b"part 4"]
        assert len(problems) == 2 and "dropped" in problems[0]
        assert bounded({**files, **sealed([b"part 4"], NOW + timedelta(days=9))}) == (files, ())
        monkeypatch.setattr(private, "MAX_FILE", 5)
        assert bounded(files) == ({}, ("3 encrypted private parts were too large and are not kept",))


class DescribeDirectory:
    def test_what_was_stored_is_loaded_and_only_the_last_is_kept(self, tmp_path: Path) -> None:
        place = StateDirectory(tmp_path / "kept")
        assert place.load() is None
        for number in range(3):
            revise(place, "filings.json", lambda was, number=number: was + b"%d" % number, "more")
        snapshot = place.load()
        assert snapshot is not None and snapshot.files["filings.json"] == b"012"
        assert len(list((tmp_path / "kept").glob("state-*"))) == 1

    def test_several_at_once_lose_nothing(self, tmp_path: Path) -> None:
        program = f"""
import sys
from pathlib import Path
from nightfuzz.bot.state.directory import StateDirectory
from nightfuzz.bot.state.place import revise
for number in range(20):
    revise(StateDirectory(Path({str(tmp_path / "kept")!r})), "n", lambda was: was + sys.argv[1].encode(), "more")
"""
        running = [subprocess.Popen(["python3", "-c", program, name], env=_with_path()) for name in "abc"]
        assert [process.wait() for process in running] == [0, 0, 0]
        snapshot = StateDirectory(tmp_path / "kept").load()
        assert snapshot is not None and sorted(snapshot.files["n"].decode()) == sorted("abc" * 20)

    def test_files_of_something_else_are_refused(self, tmp_path: Path) -> None:
        (tmp_path / "home").mkdir()
        (tmp_path / "home" / "thesis.txt").write_text("x")
        with pytest.raises(UserError, match="nightfuzz has not written"):
            StateDirectory(tmp_path / "home").store(lambda before: {}, "x")
        (tmp_path / "home" / "current").write_text("../elsewhere")
        with pytest.raises(UserError, match="does not name a state"):
            StateDirectory(tmp_path / "home").load()

    @pytest.mark.parametrize("what", ["link", "inside", "pipe", "name", "deep"])
    def test_links_pipes_and_odd_names_of_an_artifact_are_refused(self, tmp_path: Path, what: str) -> None:
        folder = tmp_path / "artifact"
        write_files(folder, {"state.db.zst": b"x", "private/a.age": b"y"})
        assert read_files(folder) == {"state.db.zst": b"x", "private/a.age": b"y"}
        if what == "link":
            (folder / "secret").symlink_to("/etc/passwd")
        elif what == "inside":
            (folder / "private" / "b.age").symlink_to("/etc/passwd")
        elif what == "pipe":
            os.mkfifo(folder / "pipe")
        elif what == "name":
            (folder / "a\nb").write_bytes(b"x")
        else:
            (folder / "more" / "deeper").mkdir(parents=True)
            (folder / "more" / "deeper" / "file").write_bytes(b"x")
        with pytest.raises(UserError):
            read_files(folder)

    @pytest.mark.parametrize("name", ["../escape", "/etc/x", "a/../../x", "private/../../x"])
    def test_nothing_is_written_outside(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(UserError):
            write_files(tmp_path / "artifact", {name: b"x"})
        assert not list(tmp_path.rglob("*"))


def _with_path() -> dict[str, str]:
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


class DescribeKeep:
    @examples(5, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(nights=st.lists(st.lists(histories, min_size=1, max_size=2), min_size=2, max_size=2))
    @pytest.mark.slow
    def test_night_after_night_every_bug_keeps_its_number(self, tmp_path: Path, beginning: Path, nights: list) -> None:
        place = StateDirectory(tmp_path / f"kept-{len(list(tmp_path.iterdir()))}")
        update_state(place, Shards([beginning]), Keys(), tmp_path / "work", now)
        had: dict[str, int] = {}
        for night, shards in enumerate(nights):
            fetch_state(place, tmp_path / "base.db")
            base = (tmp_path / "base.db").read_bytes()
            files = [tmp_path / f"{number}.db" for number in range(len(shards))]
            for number, history in enumerate(shards):
                files[number].write_bytes(base)
                lived(files[number], history, 10 * night + number + 1)
            done = update_state(place, Shards(files), Keys(), tmp_path / "work", now)
            assert (done.dropped, done.problems) == ({}, ())
            numbers = {f"{key} {signature}": number for number, key, signature in _bugs(done.public)}
            found = [f"{key} {signature}" for path in files for _, key, signature in _bugs(path)]
            hidden = [f"{key} {signature}" for _, key, signature in _bugs(done.private)]
            assert {name: number for name, number in had.items() if name not in hidden}.items() <= numbers.items()
            assert {*found} <= {*numbers, *hidden}
            assert update_state(place, Shards(files), Keys(), tmp_path / "work", now).merged.rows == {}
            had = numbers

    def test_without_a_key_private_bugs_are_kept_sealed_and_with_it_they_are_put_together(
        self, place: StateStorage, beginning: Path, tmp_path: Path, key: Secret
    ) -> None:
        base = copied(beginning, tmp_path / "base.db")
        recipients = [private.public_key(key)]
        exported = [
            parted(shard(base, name, ("public", 1, HARMLESS), (f"secret {name}", 2, WILD)), recipients) for name in "ab"
        ]
        brought = Shards([path for path, _ in exported], [data for _, data in exported])
        night = update_state(place, brought, Keys(tuple(recipients)), tmp_path / "work", now)
        assert (signatures(night.public), night.private, night.problems) == (["public"], None, ())
        snapshot = place.load()
        assert snapshot is not None and len(blobs(snapshot.files)) == 2
        night = update_state(place, Shards(), Keys(tuple(recipients), key), tmp_path / "work", now)
        assert (signatures(night.public), sorted(signatures(night.private))) == (["public"], ["secret a", "secret b"])
        snapshot = place.load()
        assert snapshot is not None and len(blobs(snapshot.files)) == 1
        assert len(json.loads(snapshot.files[FINGERPRINTS])) == 2
        for data in snapshot.files.values():
            assert b"secret" not in data and key.reveal().encode() not in data
        unpack(parts(snapshot.files), tmp_path / "seen.db")
        assert b"secret" not in (tmp_path / "seen.db").read_bytes()

    def test_a_part_for_another_key_stays_as_it_is_and_is_said(
        self, beginning: Path, tmp_path: Path, key: Secret
    ) -> None:
        place = StateDirectory(tmp_path / "kept")
        place.confidential = False
        old = private.public_key(Secret(str(pyrage.x25519.Identity.generate())))
        base = copied(beginning, tmp_path / "b.db")
        data = [parted(shard(base, name, ("secret", 2, WILD)), [old])[1] for name in "ab"]
        update_state(place, Shards([], data[:1]), Keys((old,)), tmp_path / "work", now)
        night = update_state(place, Shards([], data[1:]), Keys((), key), tmp_path / "work", now)
        assert ["cannot be decrypted" in problem for problem in night.problems] == [True, True]
        snapshot = place.load()
        assert snapshot is not None and sorted(blobs(snapshot.files).values()) == sorted(data)

    def test_a_sealed_part_that_is_no_state_is_left_out_and_said(self, tmp_path: Path, key: Secret) -> None:
        place = StateDirectory(tmp_path / "kept")
        place.confidential = False
        (tmp_path / "rubbish").write_bytes(b"rubbish" * 1000)
        data = encrypt(tmp_path / "rubbish", [private.public_key(key)])
        night = update_state(place, Shards([], [data]), Keys((), key), tmp_path / "work", now)
        assert "is left out" in night.problems[0]
        snapshot = place.load()
        assert snapshot is not None and blobs(snapshot.files) == {}

    def test_where_others_only_claim_meanwhile_nothing_is_merged_again(
        self, beginning: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        subprocess.run(["git", "init", "--quiet", "--bare", str(tmp_path / "r.git")], check=True)
        remote, chance = remote_of((tmp_path / "r.git").as_uri()), Chance(now, lambda seconds: None, lambda: 0.0)
        place, other = StateRef(remote, chance), StateRef(remote, chance)
        state = shard(copied(beginning, tmp_path / "b.db"), "one", ("public", 1, HARMLESS))
        merged: list[str] = []

        def counted(path: Path, *rest: object) -> dict[str, bytes]:
            merged.append(path.name)
            if len(merged) == 1:
                revise(other, FILINGS, lambda content: b"run 2", "a claim")
            return pack(path)

        monkeypatch.setattr("nightfuzz.bot.state.update.pack", counted)
        update_state(place, Shards([state]), Keys(), tmp_path / "work", now)
        assert merged == ["public.db"]
        snapshot = place.load()
        assert snapshot is not None and b"run 2" in snapshot.files[FILINGS] and STATE in snapshot.files

    def test_a_shard_that_hides_a_private_bug_in_its_public_part_is_seen_through(
        self, place: StateStorage, beginning: Path, tmp_path: Path
    ) -> None:
        bad = shard(copied(beginning, tmp_path / "b.db"), "bad", ("secret", 2, WILD))
        night = update_state(place, Shards([bad]), Keys(), tmp_path / "work", now)
        assert signatures(night.public) == []
        assert "set private-recipient" in night.problems[0]
        snapshot = place.load()
        assert snapshot is not None and not blobs(snapshot.files) and PLAIN not in snapshot.files

    def test_in_a_place_of_ones_own_it_lies_as_it_is(self, beginning: Path, tmp_path: Path) -> None:
        place = StateDirectory(tmp_path / "kept")
        state = shard(copied(beginning, tmp_path / "b.db"), "one", ("secret", 2, WILD), ("public", 1, HARMLESS))
        for shards in ([state], []):
            night = update_state(place, Shards(shards), Keys(), tmp_path / "work", now)
            assert (signatures(night.public), signatures(night.private)) == (["public"], ["secret"])
            assert night.problems == ()

    def test_both_parts_of_an_earlier_nightfuzz_become_ones_of_the_newest_schema(
        self, beginning: Path, tmp_path: Path
    ) -> None:
        place = StateDirectory(tmp_path / "kept")
        state = shard(copied(beginning, tmp_path / "b.db"), "one", ("secret", 2, WILD), ("public", 1, HARMLESS))
        night = update_state(place, Shards([state]), Keys(), tmp_path / "work", now)
        assert night.private is not None
        files = pack(_earlier(night.public)) | pack(_earlier(night.private), PLAIN)
        place.store(lambda before: files, "earlier")
        night = update_state(place, Shards([]), Keys(), tmp_path / "again", now)
        assert (signatures(night.public), signatures(night.private)) == (["public"], ["secret"])
        assert night.problems == ()

    def test_shards_that_are_none_are_left_out_and_said(
        self, place: StateStorage, beginning: Path, tmp_path: Path
    ) -> None:
        good = shard(copied(beginning, tmp_path / "b.db"), "good", ("public", 1, HARMLESS))
        (tmp_path / "bad.db").write_bytes(b"rubbish")
        night = update_state(place, Shards([tmp_path / "bad.db", good]), Keys(), tmp_path / "work", now)
        assert signatures(night.public) == ["public"]
        assert night.refused[0].startswith("shard 0 is damaged: bad.db is not a state file")

    @pytest.mark.parametrize("how", ["rubbish", "cut", "trigger", "foreign"])
    def test_a_state_that_cannot_be_read_is_kept_aside_and_a_fresh_one_begins(
        self, place: StateStorage, beginning: Path, tmp_path: Path, how: str
    ) -> None:
        spoilt = copied(beginning, tmp_path / "spoilt.db")
        with sqlite3.connect(spoilt) as connection:
            if how == "trigger":
                connection.execute("CREATE TRIGGER t AFTER INSERT ON bugs BEGIN DELETE FROM bugs; END")
            elif how == "foreign":
                connection.execute("PRAGMA application_id = 7")
        connection.close()
        data = {"rubbish": b"rubbish", "cut": pack(spoilt)[STATE][:-20]}.get(how) or pack(spoilt)[STATE]
        place.store(lambda before: {STATE: data, "filings.json": b"mine"}, "spoilt")
        assert fetch_state(place, tmp_path / "base.db")[1]
        good = shard(copied(beginning, tmp_path / "b.db"), "good", ("public", 1, HARMLESS))
        night = update_state(place, Shards([good]), Keys(), tmp_path / "work", now)
        assert signatures(night.public) == ["public"]
        assert "is kept as" in night.refused[0]
        snapshot = place.load()
        assert snapshot is not None and snapshot.files["filings.json"] == b"mine"
        assert fetch_state(place, tmp_path / "base.db")[1] == ()

    def test_a_state_of_a_later_nightfuzz_is_left_alone(
        self, place: StateStorage, beginning: Path, tmp_path: Path
    ) -> None:
        later = copied(beginning, tmp_path / "later.db")
        with sqlite3.connect(later) as connection:
            connection.execute("CREATE TABLE more (x)")
            connection.execute(
                "INSERT INTO _sqlite_migrations (migration_set, name) VALUES ('nightfuzz', 'm9999_more')"
            )
        connection.close()
        stored = place.store(lambda before: pack(later), "later")
        with pytest.raises(UserError, match="schema"):
            update_state(place, Shards([beginning]), Keys(), tmp_path / "work", now)
        assert place.load() == stored


def _earlier(path: Path) -> Path:
    """Changes a state to the format before `outcome_kind`."""
    settled(path)
    return earlier(path, path.with_suffix(".old"), 9).replace(path)


def _bugs(path: Path | None) -> list[tuple[int, str, str]]:
    if path is None:
        return []
    with open_store(path, read_only=True) as store:
        return [(row.id, row.target, row.signature) for row in store.bugs()]


class DescribeReaders:
    """Processes that read shards."""

    def test_one_that_dies_leaves_its_shard_out(
        self, beginning: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "executable", "/bin/false")
        night = update_state(StateDirectory(tmp_path / "kept"), Shards([beginning]), Keys(), tmp_path / "work", now)
        assert "shard 0 is damaged: the check of its state ended with exit code 1" in night.refused[0]

    def test_none_of_them_has_a_token(self, beginning: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        told = tmp_path / "told"
        reader = tmp_path / "reader"
        reader.write_text(f"""#!/bin/sh\nenv > {told}\necho '{{"dropped": {{"x": 1}}, "problem": ""}}'\n""")
        reader.chmod(0o700)
        monkeypatch.setattr(sys, "executable", str(reader))
        monkeypatch.setenv("INPUT_GITHUB_TOKEN", "ghp_s3cr3t")
        assert take_in_all([beginning], [tmp_path / "clean.db"], beginning)[0].dropped == {"x": 1}
        assert "s3cr3t" not in told.read_text()
