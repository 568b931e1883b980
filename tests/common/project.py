"""A user's project that nightfuzz watches: a repository on a GitHub server, a runner, an index with nightly builds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fakenights
from githubserver import Repository, token_of
from platformdirs import user_cache_path
from runner import ActionRun, Runner

ROOT = Path(__file__).parents[2]
NIGHTFUZZ = str(Path(sys.executable).with_name("nightfuzz"))
TESTS = ROOT / "tests" / "fixtures" / "tinyfake"
INSTALLED = {"look": {"python": "/usr/bin/python3"}, "install": {"command": NIGHTFUZZ}}


class Project:
    """A project whose workflow jobs run one after another, with files between them, as in GitHub.

    Args:
        steps: outputs of those steps of the Action that are not run.
    """

    def __init__(self, home: Path, repo: Repository, index: str, steps: Mapping[str, Mapping[str, str]]) -> None:
        self.home, self.repo, self.index, self.steps = home, repo, index, steps
        self.runs = 0
        self.adapter = fakenights.adapter(home / "adapters")
        self.remote = home / "remotes" / f"{repo.name}.git"
        git(home, "init", "--quiet", "--bare", str(self.remote))
        self.workspace = home / "runner" / "workspace"
        shutil.copytree(TESTS, self.workspace)
        git(self.workspace, "init", "--quiet", "--initial-branch=main")
        self.commit("The project")

    def write(self, name: str, text: str) -> None:
        """Writes a file of the project."""
        (self.workspace / name).write_text(text)

    def commit(self, message: str) -> None:
        """Commits all files of the workspace."""
        git(self.workspace, "add", "--all")
        git(self.workspace, "commit", "--quiet", "-m", message)

    def build(self, day: int, edits: Mapping[str, str] | None = None) -> None:
        """Adds the night's wheel to the index."""
        fakenights.night(self.home / "nights", day, edits)

    def init(self, *flags: str) -> list[str]:
        """Runs `nightfuzz init`; returns the names of its workflow files."""
        command = [NIGHTFUZZ, "init", "--yes", "--no-pin", *flags]
        own = {**os.environ, "XDG_CONFIG_HOME": str(self.home / "config")}
        subprocess.run(command, cwd=self.workspace, env=own, check=True, capture_output=True)
        self.commit("nightfuzz")
        return sorted(path.name for path in (self.workspace / ".github" / "workflows").iterdir())

    def night(self, **inputs: str) -> ActionRun:
        """Runs plan, fuzz and report of a night."""
        return self.workflow({"mode": "nightly", "target": f"index:{self.index}#fakelib", **inputs})

    def bump(self, pull: Pull, **inputs: str) -> ActionRun:
        """Runs the jobs for a pull request; the two builds are read from its changes."""
        return self.workflow({"mode": "bump", "tests": "tests", **inputs}, pull)

    def workflow(self, inputs: Mapping[str, str], pull: Pull | None = None) -> ActionRun:
        """Runs the three jobs; returns the last one's run. A job that fails ends the test."""
        self.runs += 1
        home = self.home / "runner"
        plan, results = home / f"plan-{self.runs}", home / f"results-{self.runs}"
        # Runners are new for each workflow: only artifacts and the branch are left of the one before.
        self.temp = home / f"temp-{self.runs}"
        self.temp.mkdir()
        self._job({**inputs, "plan-only": "true", "results": str(plan)}, pull)
        state = {"state": "artifact", "state-path": str(plan)}
        self._job({**inputs, **state, "results": str(results / "shard-0"), "artifact": "a", "sandbox": "none"}, None)
        (results / "plan").mkdir()
        shutil.copy(plan / "plan.json", results / "plan")
        told = {"mode": "report", "results": str(results), "github-token": self.repo.token}
        return self._job(told, pull)

    def _job(self, inputs: Mapping[str, str], pull: Pull | None) -> ActionRun:
        event = self.home / "event.json"
        event.write_text(json.dumps({} if pull is None else {"pull_request": pull.event}))
        environment = {
            "GITHUB_REPOSITORY": self.repo.name,
            "GITHUB_SERVER_URL": f"file://{self.home / 'remotes'}",
            "GITHUB_API_URL": self.repo.server.url,
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_RUN_ID": str(self.runs),
            "RUNNER_TEMP": str(self.temp),
            "NIGHTFUZZ_CACHE": os.environ.get("NIGHTFUZZ_CACHE", str(user_cache_path("nightfuzz"))),
            "NIGHTFUZZ_PATH": str(self.adapter),
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(self.adapter)]),
        }
        done = Runner(self.home / "runner", environment).run(ROOT, inputs, self.steps)
        assert self.repo.token not in done.log.replace(f"::add-mask::{self.repo.token}", "")
        assert done.outcome == "success", done.log
        return done

    def issues(self) -> list[dict[str, Any]]:
        """Returns all issues on the server, the oldest first."""
        found = self.repo.all("/issues?state=all&sort=created&direction=asc")
        return [each for each in found if "pull_request" not in each]

    def comments(self, number: int) -> list[str]:
        """Returns the comments of an issue or a pull request."""
        return [each["body"] for each in self.repo.all(f"/issues/{number}/comments")]

    def say(self, number: int, text: str) -> None:
        """Adds a maintainer's comment."""
        self.repo.send("POST", f"/issues/{number}/comments", {"body": text}, token_of("maintainer"))


class Pull:
    """A pull request whose commits change files of the project."""

    def __init__(self, project: Project) -> None:
        self.project, repo = project, project.repo
        base = repo.get("/git/ref/heads/main")["object"]["sha"]
        repo.send("POST", "/git/refs", {"ref": "refs/heads/change", "sha": base})
        repo.send("PUT", "/contents/file", {"message": "m", "content": "Zg==", "branch": "change"})
        self.number = int(repo.send("POST", "/pulls", {"title": "bump", "head": "change", "base": "main"})["number"])

    def push(self, files: Mapping[str, str]) -> None:
        """Adds a commit to the pull request and checks out its merge, as GitHub does."""
        for name, text in files.items():
            self.project.write(name, text)
        self.project.commit("A push")
        self.project.repo.send("PUT", f"/pulls/{self.number}/update-branch", {})

    @property
    def event(self) -> dict[str, Any]:
        """The pull request as in the payload of the event."""
        found = self.project.repo.get(f"/pulls/{self.number}")
        return {"number": self.number, "head": {"sha": found["head"]["sha"]}}


def git(folder: Path, *arguments: str) -> str:
    """Runs git with an identity of its own."""
    who = ["-c", "user.name=A Person", "-c", "user.email=person@example.org"]
    done = subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout
