"""The state under a ref of its own, which no clone fetches: always one commit, replaced in one step or not at all.

Two jobs may write the state at the same time, so a write is a compare-and-swap. The job reads the commit that the ref
names, builds new files from the files of that commit, and makes a commit without a parent. The push names the old
commit (`--force-with-lease`), and GitHub refuses the push if the ref names another one by then. In that case another
job was faster: the job reads its files and builds once more from them. A function of the current files makes the new
ones, so no job can lose another job's rows. A push whose answer is lost is settled by a look at the ref.

Earlier versions kept the state on a branch. The first write moves it from there and removes the branch.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.git import GitResult, Remote, Repository
from nightfuzz.bot.state.place import FOREIGN, FilesUpdate, Snapshot, checked, is_ours, marked

REF, BRANCH = "refs/nightfuzz/state", "refs/heads/nightfuzz-state"
BROKEN = "refs/nightfuzz/broken"
TRIES = 8
FIRST_SECONDS, LONGEST_SECONDS = 1.0, 30.0
_NAME = re.compile(r"refs(?:/[A-Za-z0-9][A-Za-z0-9._-]*){2,}")
_DENIED = re.compile(
    r"authentication failed|could not read (?:username|password)|permission|denied|forbidden|\b40[13]\b"
    r"|protected branch|not authorized|repository rule",
    re.IGNORECASE,
)
_WRITE = "give the report job `permissions: contents: write`, and let no rule of the repository protect the ref"


class Chance(NamedTuple):
    """Clock, sleep and random numbers of a storage.

    Attributes:
        jitter: a number in [0, 1).
    """

    clock: Callable[[], datetime]
    sleep: Callable[[float], None]
    jitter: Callable[[], float]


class StateRef:
    """A ref of a repository as a place for the state.

    No work tree is touched: commits are made by fast-import.

    A scratch repository keeps each fetched or pushed object for the lifetime of this `StateRef`, so that no object
    travels twice.

    Args:
        confidential: the repository is a private one for this purpose, so private parts lie there unencrypted.
    """

    def __init__(self, remote: Remote, chance: Chance, ref: str = REF, confidential: bool = False) -> None:
        if not _NAME.fullmatch(ref) or ".." in ref or ref.endswith((".lock", ".")):
            raise UserError(
                f"state-ref {ref[:100]!r} is not the full name of a ref", f"leave state-ref out to use {REF}"
            )
        self.remote, self.chance, self.ref = remote, chance, ref
        self.confidential = confidential
        self._last: Snapshot | None = None
        # The commit of the branch that the state was read from, where the ref is not there yet.
        self._moving = ""

    @cached_property
    def _git(self) -> Repository:
        folder = tempfile.mkdtemp(prefix="nightfuzz-state-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return Repository(Path(folder) / "repository.git", self.remote)

    def load(self) -> Snapshot | None:
        """Load the files of the ref; None if there is none, and no branch of an earlier version either.

        Raises:
            UserError: unreachable, no permission, or a ref that nightfuzz has not written.
        """
        for tried in range(TRIES):
            seen = self._seen(self.ref, BRANCH)
            self._moving = seen.get(BRANCH, "") if self.ref == REF and REF not in seen else ""
            commit = seen.get(self.ref) or self._moving
            if not commit:
                return None
            if self._last is not None and self._last.version == commit:
                return self._last
            done = self._git.run(
                "fetch", "--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head", self.remote.url, commit
            )
            if done.code == 0:
                self._last = self._read(commit)
                return self._last
            self._refuse_denied(done)
            # The ref was replaced between the two calls, or the connection broke.
            self._wait(tried)
        raise UserError(f"cannot fetch {self.ref}: {done.message}", "run the job again once GitHub is back")

    def store(self, build: FilesUpdate, message: str) -> Snapshot:
        """Replace the stored files: `build` gets the files of a faster run, if there was one.

        Args:
            build: from the current files to the new files.
            message: the subject of the commit.

        Raises:
            UserError: unreachable, no permission, a foreign ref, or other runs were faster each time.
        """
        for tried in range(TRIES):
            before = self.load()
            files = marked(build(before))
            if before is not None and before.files == files and not self._moving:
                return before
            commit = self._git.commit(files, message, self.chance.clock())
            if self._push(commit, self.ref, before.version if before and not self._moving else ""):
                self._last = Snapshot(files, commit)
                self._remove_branch()
                return self._last
            self._wait(tried)
        remedy = "let one workflow run at a time write the state: give the calling workflow a `concurrency` group"
        raise UserError(f"another job changed {self.ref} during each of {TRIES} tries to write it", remedy)

    def set_aside(self, snapshot: Snapshot) -> str:
        """Keep the files of a snapshot under a ref of their own, named by their content; return its name."""
        ref = f"{BROKEN}-{snapshot.version[:12]}"
        commit = self._git.commit(snapshot.files, "A state that could not be read", self.chance.clock())
        if not self._seen(ref):
            self._push(commit, ref, "")
        return ref

    def _remove_branch(self) -> None:
        """Remove the branch that held the state before.

        A branch that a rule protects stays, and is not read again.
        """
        if self._moving:
            lease = f"--force-with-lease={BRANCH}:{self._moving}"
            self._git.run("push", "--quiet", lease, self.remote.url, f":{BRANCH}")
            self._moving = ""

    def _wait(self, tried: int) -> None:
        longest = min(FIRST_SECONDS * 2**tried, LONGEST_SECONDS)
        self.chance.sleep(longest * (0.5 + self.chance.jitter() / 2))

    def _seen(self, *refs: str) -> dict[str, str]:
        """Return the commits that the remote has under these names now."""
        for tried in range(TRIES):
            done = self._git.run("ls-remote", "--refs", self.remote.url, *refs)
            if done.code == 0:
                found = [line.split("\t") for line in done.output.decode("utf-8", "replace").splitlines()]
                return {name: commit for commit, name in found if name in refs}
            self._refuse_denied(done)
            self._wait(tried)
        raise UserError(
            f"cannot reach the repository of the state: {done.message}",
            "correct the address of the repository, or run the job again once the network is back",
        )

    def _refuse_denied(self, done: GitResult) -> None:
        if _DENIED.search(done.message):
            raise UserError(f"no access to {self.ref}: {done.message}", _WRITE)

    def _read(self, commit: str) -> Snapshot:
        entries = list(_entries(self._git.call("ls-tree", "-r", "-z", "-l", "--full-tree", commit)))
        where = BRANCH if commit == self._moving else self.ref
        for mode, kind, _, _, name in entries:
            if mode != "100644" or kind != "blob":
                raise UserError(f"{where} has a link, an executable file or a submodule: {name[:100]!r}", FOREIGN)
        checked(((name, int(size)) for _, _, _, size, name in entries), where)
        files = {name: self._git.call("cat-file", "blob", blob) for _, _, blob, _, name in entries}
        if not is_ours(files):
            raise UserError(f"{where} exists already, and nightfuzz has not written it", FOREIGN)
        return Snapshot(files, commit)

    def _push(self, commit: str, ref: str, expected: str) -> bool:
        """Return whether the name now stands for the commit.

        The result is False if the name stood for another commit than the expected one.

        A connection may break after the push took effect, so the remote is asked rather than git's words read.
        """
        lease = f"--force-with-lease={ref}:{expected}"
        for tried in range(TRIES):
            done = self._git.run("push", "--quiet", "--porcelain", lease, self.remote.url, f"{commit}:{ref}")
            there = commit if done.code == 0 else self._seen(ref).get(ref, "")
            if there == commit or there != expected:
                return there == commit
            self._refuse_denied(done)
            self._wait(tried)
        raise UserError(f"cannot write {self.ref}: {done.message}", _WRITE)


def _entries(listed: bytes) -> Iterator[tuple[str, str, str, str, str]]:
    for entry in listed.decode("utf-8", "replace").split("\0"):
        if entry:
            head, _, name = entry.partition("\t")
            mode, kind, blob, size = head.split()
            yield mode, kind, blob, size, name
