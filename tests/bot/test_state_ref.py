"""The state under a ref of its own, in real repositories: over file:// and HTTP, with other writers and faults."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from githttp import GitServer, serving

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.git import Remote, remote_of
from nightfuzz.bot.github.redaction import Secret
from nightfuzz.bot.jobs.issues import revised
from nightfuzz.bot.state.place import MARKER, README, Files, Snapshot
from nightfuzz.bot.state.ref import REF, TRIES, Chance, StateRef

TOKEN = "ghs_" + "T0kenThatNobodyMaySee"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def chance(slept: list[float] | None = None) -> Chance:
    return Chance(lambda: NOW, (slept if slept is not None else []).append, lambda: 0.5)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    path = tmp_path / "remote.git"
    git(path.parent, "init", "--quiet", "--bare", str(path))
    return path


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    (tmp_path / "served").mkdir()
    with serving(tmp_path / "served", TOKEN) as made:
        yield made


@pytest.fixture(params=["file", "http"])
def remote(request: pytest.FixtureRequest, bare: Path, server: GitServer) -> Remote:
    if request.param == "file":
        return remote_of(bare.as_uri())
    return remote_of(server.add("owner-repository.git"), Secret(TOKEN))


def git(folder: Path, *arguments: str, given: str = "") -> str:
    who = {f"GIT_{role}_{part}": "x" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    environment = {**os.environ, **who}
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(
        command, check=True, capture_output=True, text=True, input=given, env=environment
    ).stdout.strip()


def put(branch: StateRef, **files: bytes) -> Snapshot:
    return branch.store(lambda before: {**(before.files if before else {}), **files}, "a message")


def plain(snapshot: Snapshot | None) -> Files:
    assert snapshot is not None
    return {name: data for name, data in snapshot.files.items() if name not in (README, MARKER)}


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


class DescribeRef:
    def test_what_was_stored_is_loaded(self, remote: Remote) -> None:
        branch = StateRef(remote, chance())
        assert branch.load() is None
        files = {"state.db.zst": os.urandom(3 << 20), "private/20260101T000000-ab.age": b"x", "filings.json": b"{}"}
        stored = branch.store(lambda before: files, "the first")
        assert plain(stored) == files
        assert branch.load() == stored

    def test_it_has_one_commit_whatever_is_stored_and_other_branches_stay(self, bare: Path) -> None:
        tree = git(bare, "mktree", given="")
        git(bare, "update-ref", "refs/heads/main", git(bare, "commit-tree", tree, "-m", "theirs"))
        before = git(bare, "rev-parse", "main")
        branch = StateRef(remote_of(bare.as_uri()), chance())
        for number in range(3):
            put(branch, **{"state.db.zst": b"%d" % number})
        assert git(bare, "rev-list", "--count", REF) == "1"
        assert git(bare, "log", "-1", "--format=%s %an %ad", "--date=iso-strict", REF) == (
            "a message nightfuzz 2026-01-02T03:04:05+00:00"
        )
        assert git(bare, "rev-parse", "main") == before
        assert git(bare, "for-each-ref", "--format=%(refname)").split() == ["refs/heads/main", REF]

    def test_nothing_is_pushed_where_nothing_changed(self, bare: Path) -> None:
        first = put(StateRef(remote_of(bare.as_uri()), chance()), a=b"1")
        later = StateRef(remote_of(bare.as_uri()), chance()._replace(clock=lambda: datetime(2027, 1, 1, tzinfo=UTC)))
        assert put(later, a=b"1").version == first.version

    def test_what_is_known_already_does_not_travel_again(self, bare: Path) -> None:
        """A large file is downloaded once; a writer that leaves it unchanged does not upload it."""
        put(StateRef(remote_of(bare.as_uri()), chance()), large=os.urandom(3 << 20))
        branch = StateRef(remote_of(bare.as_uri()), chance())
        before = branch.load()
        had = _size(bare)
        for number in range(3):
            stored = put(branch, small=b"%d" % number)
            assert branch.load() is stored
        assert before is not None and stored.files["large"] == before.files["large"]
        assert _size(bare) < had + (1 << 20)

    def test_the_scratch_goes_with_the_branch(self, bare: Path) -> None:
        branch = StateRef(remote_of(bare.as_uri()), chance())
        put(branch, a=b"1")
        scratch = branch._git.folder.parent
        assert scratch.exists()
        del branch
        assert not scratch.exists()

    def test_who_was_slower_builds_on_what_the_faster_one_stored(self, remote: Remote) -> None:
        branch, other = StateRef(remote, chance()), StateRef(remote, chance())
        seen: list[Files] = []

        def build(before: Snapshot | None) -> Files:
            seen.append(plain(before) if before else {})
            if len(seen) < 3:
                put(other, **{f"theirs-{len(seen)}": b"x"})
            return {**(before.files if before else {}), "ours": b"y"}

        assert set(plain(branch.store(build, "ours"))) == {"theirs-1", "theirs-2", "ours"}
        assert seen == [{}, {"theirs-1": b"x"}, {"theirs-1": b"x", "theirs-2": b"x"}]

    def test_a_branch_that_is_pushed_over_or_deleted_meanwhile_is_taken_as_it_is_then(self, bare: Path) -> None:
        branch = StateRef(remote_of(bare.as_uri()), chance())
        put(branch, old=b"x")
        calls = []

        def build(before: Snapshot | None) -> Files:
            calls.append(before)
            if len(calls) == 1:
                git(bare, "update-ref", "-d", REF)
            return {**(before.files if before else {}), "ours": b"y"}

        assert set(plain(branch.store(build, "ours"))) == {"ours"}
        assert calls[1] is None

    def test_always_too_slow_it_gives_up_and_says_what_to_do(self, bare: Path) -> None:
        slept: list[float] = []
        branch, other = (
            StateRef(remote_of(bare.as_uri()), chance(slept)),
            StateRef(remote_of(bare.as_uri()), chance()),
        )

        def build(before: Snapshot | None) -> Files:
            put(other, theirs=b"%d" % len(slept))
            return {"ours": b"y"}

        with pytest.raises(UserError, match="concurrency"):
            branch.store(build, "ours")
        assert len(slept) == TRIES
        assert slept == sorted(slept)
        assert max(slept) <= 30

    def test_many_processes_at_once_lose_nothing(self, remote: Remote) -> None:
        program = f"""
import os, random, sys, time
from datetime import UTC, datetime
from nightfuzz.bot.github.redaction import Secret
from nightfuzz.bot.state.ref import StateRef, Chance
from nightfuzz.bot.git import remote_of
from nightfuzz.bot.state.place import revise
chance = Chance(lambda: datetime.now(UTC), lambda seconds: time.sleep(seconds / 50), random.random)
branch = StateRef(remote_of({remote.url!r}, Secret(os.environ["TOKEN"])), chance)
for number in range(3):
    revise(branch, "filings.json", lambda was: was + f"{{sys.argv[1]}}{{number}} ".encode(), "more")
"""
        environment = {**os.environ, "TOKEN": TOKEN}
        running = [subprocess.Popen([sys.executable, "-c", program, name], env=environment) for name in "abc"]
        assert [process.wait() for process in running] == [0, 0, 0]
        words = plain(StateRef(remote, chance()).load())["filings.json"].decode().split()
        assert sorted(words) == [f"{name}{number}" for name in "abc" for number in range(3)]


class DescribeClaims:
    def test_of_two_runners_one_files_each_bug(self, bare: Path) -> None:
        """The second runner claims between the first runner's read and its push."""
        one, other = (StateRef(remote_of(bare.as_uri()), chance()) for _ in range(2))
        put(one, kept=b"as it is")
        a, b, c = ("a" * 32, "b" * 32, "c" * 32)

        def claim(place: StateRef, wanted: list[str], run: str) -> set[str]:
            kept = revised(place, lambda now: now.with_claims(wanted, run, NOW), run)
            return {key for key in wanted if not kept.claimed(key, run, NOW)}

        theirs: list[set[str]] = []

        class Late(StateRef):
            def _push(self, *arguments: object) -> bool:
                if not theirs:
                    theirs.append(claim(other, [b, c], "run 2"))
                return super()._push(*arguments)  # type: ignore[arg-type]

        assert claim(Late(remote_of(bare.as_uri()), chance()), [a, b], "run 1") == {a}
        assert theirs == [{b, c}]
        assert claim(one, [a, b], "run 1") == {a}
        assert plain(one.load())["kept"] == b"as it is"


class DescribeForeignContent:
    def test_a_branch_of_somebody_else_is_never_written(self, bare: Path) -> None:
        blob = git(bare, "hash-object", "-w", "--stdin", given="their work")
        tree = git(bare, "mktree", given=f"100644 blob {blob}\tREADME.md\n")
        git(bare, "update-ref", REF, git(bare, "commit-tree", tree, "-m", "theirs"))
        before = git(bare, "rev-parse", REF)
        branch = StateRef(remote_of(bare.as_uri()), chance())
        for call in (branch.load, lambda: put(branch, a=b"1")):
            with pytest.raises(UserError, match="has not written it"):
                call()
        assert git(bare, "rev-parse", REF) == before

    @pytest.mark.parametrize(
        "entry",
        [
            "120000 blob {blob}\tstate.db.zst",
            "100755 blob {blob}\tstate.db.zst",
            "160000 commit {commit}\tmodule",
            "100644 blob {blob}\t-option",
            "100644 blob {blob}\tstate db",
            "040000 tree {tree}\tfolder",
        ],
    )
    def test_links_programs_submodules_and_odd_names_are_refused(self, bare: Path, entry: str) -> None:
        put(StateRef(remote_of(bare.as_uri()), chance()), a=b"1")
        blob = git(bare, "hash-object", "-w", "--stdin", given="/etc/passwd")
        inner = git(bare, "mktree", given=f"100644 blob {blob}\tfile\n")
        listed = (
            git(bare, "ls-tree", REF)
            + "\n"
            + entry.format(blob=blob, tree=inner, commit=git(bare, "rev-parse", REF))
            + "\n"
        )
        tree = git(bare, "mktree", given=listed)
        git(bare, "update-ref", REF, git(bare, "commit-tree", tree, "-m", "x"))
        with pytest.raises(UserError, match=REF):
            StateRef(remote_of(bare.as_uri()), chance()).load()

    def test_what_is_broken_is_kept_under_a_ref_of_its_own(self, bare: Path) -> None:
        branch = StateRef(remote_of(bare.as_uri()), chance())
        broken = put(branch, **{"state.db.zst": b"rubbish"})
        told = branch.set_aside(broken)
        assert branch.set_aside(broken) == told
        assert git(bare, "show", f"{told}:state.db.zst") == "rubbish"

    @pytest.mark.parametrize(
        "name",
        [
            "",
            "-f",
            "main",
            "refs/x",
            "refs/a b/c",
            "refs/heads/a..b",
            "refs/heads/x:y",
            "refs/heads/x.lock",
            "refs/a/b\n",
            "refs/heads/x/",
        ],
    )
    def test_names_that_git_would_misread_are_refused(self, bare: Path, name: str) -> None:
        with pytest.raises(UserError):
            StateRef(remote_of(bare.as_uri()), chance(), name)

    @pytest.mark.parametrize(
        "name", ["../escape", "/absolute", "a/b", ".hidden", "a\0b", "-x", "private/../x", "x" * 200]
    )
    def test_names_of_files_that_no_state_has_are_not_written(self, bare: Path, name: str) -> None:
        with pytest.raises(UserError):
            put(StateRef(remote_of(bare.as_uri()), chance()), **{name: b"x"})


class DescribeAccess:
    @pytest.mark.parametrize("token", [None, "ghs_" + "AnotherTokenThatIsWrong"])
    def test_without_the_right_token_it_says_which_permission_is_missing(
        self, server: GitServer, token: str | None
    ) -> None:
        remote = remote_of(server.add("r.git"), Secret(token) if token else None)
        with pytest.raises(UserError, match="contents: write") as caught:
            StateRef(remote, chance()).load()
        assert token is None or token not in str(caught.value)

    def test_the_token_is_in_no_address_no_argument_and_no_error(self, server: GitServer, tmp_path: Path) -> None:
        remote = remote_of(server.add("r.git"), Secret(TOKEN))
        spied = tmp_path / "bin"
        spied.mkdir()
        real = subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout.strip()
        (spied / "git").write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> {tmp_path}/arguments\nexec {real} "$@"\n')
        (spied / "git").chmod(0o755)
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv("PATH", f"{spied}:{os.environ['PATH']}")
            put(StateRef(remote, chance()), a=b"1")
        told = (tmp_path / "arguments").read_text()
        assert "push" in told and TOKEN not in told and "Authorization" not in told
        assert not [path for _, path in server.seen if TOKEN in path]
        server.fault = lambda path: "500"
        with pytest.raises(UserError) as caught:
            StateRef(remote, chance()).load()
        assert TOKEN not in str(caught.value)
        assert TOKEN not in repr(remote)

    @pytest.mark.parametrize(
        "url",
        [
            "https://user:s3cr3t@host/r.git",
            "https://s3cr3t@host/r",
            "ssh://host/r",
            "ext::sh -c touch% x",
            "-u",
            "git@host:r",
            "https:///r",
            "https://host/a\nb",
            "http://host/a b",
        ],
    )
    def test_addresses_that_hold_secrets_or_run_programs_are_refused(self, url: str) -> None:
        with pytest.raises(UserError) as caught:
            remote_of(url)
        assert "s3cr3t" not in str(caught.value)

    def test_settings_of_the_user_and_of_the_machine_do_not_matter(
        self, bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "evil").write_text(
            f'[alias]\nls-remote = !touch {tmp_path}/ran\n[url "file:///nowhere"]\ninsteadOf = file:///'
        )
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "evil"))
        monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
        monkeypatch.setenv("GIT_SSH_COMMAND", f"touch {tmp_path}/ran")
        put(StateRef(remote_of(bare.as_uri()), chance()), a=b"1")
        assert not (tmp_path / "ran").exists()


class DescribeFaults:
    @pytest.mark.parametrize("kind", ["500", "503", "cut"])
    def test_what_passes_is_waited_for(self, server: GitServer, kind: str) -> None:
        branch = StateRef(remote_of(server.add("r.git"), Secret(TOKEN)), chance())
        asked: list[str] = []

        def fault(path: str) -> str:
            asked.append(path)
            return kind if len(asked) in (1, 2, 5, 9, 10, 14) else ""

        server.fault = fault
        assert plain(put(branch, a=b"1")) == {"a": b"1"}
        server.fault = lambda path: ""
        assert plain(branch.load()) == {"a": b"1"}

    def test_a_push_whose_answer_is_lost_has_happened_once(self, server: GitServer) -> None:
        branch = StateRef(remote_of(server.add("r.git"), Secret(TOKEN)), chance())
        lost: list[str] = []

        def fault(path: str) -> str:
            if path.endswith("git-receive-pack") and "?" not in path and not lost:
                lost.append(path)
                return "lose"
            return ""

        server.fault = fault
        calls: list[Snapshot | None] = []

        def build(before: Snapshot | None) -> Files:
            calls.append(before)
            return {**(before.files if before else {}), "a": b"1"}

        stored = branch.store(build, "once")
        assert lost and calls == [None]
        assert branch.load() == stored

    def test_a_git_that_is_missing_or_too_old_is_said(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        branch = StateRef(remote_of("file:///nowhere"), chance())
        with pytest.raises(UserError, match="this machine has no git"):
            branch.load()
        (tmp_path / "git").write_text("#!/bin/sh\necho git version 2.25.1\n")
        (tmp_path / "git").chmod(0o755)
        with pytest.raises(UserError, match="too old"):
            branch.load()

    def test_a_repository_that_is_not_there_is_said(self, server: GitServer) -> None:
        slept: list[float] = []
        with pytest.raises(UserError, match="cannot reach"):
            StateRef(remote_of(f"{server.url}/nothing.git", Secret(TOKEN)), chance(slept)).load()
