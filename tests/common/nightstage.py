"""Nights of a watched repository without fuzzing: the real steps `plan` and `report`, shards as files, and faults.

The steps run in this process on injected time. The API is the emulated server behind the fault proxy. The state is in a
real git repository behind HTTP. A killed runner gets no more answers, and its next look at the clock ends it.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import faultproxy
import githttp
from actioninputs import variables
from clocks import FakeTime
from githubserver import Repository
from leavings import leave

from fuzz_core.store.statefile import open_store
from nightfuzz.bot.git import remote_of
from nightfuzz.bot.github.marker import parsed
from nightfuzz.bot.issues.filings import Filings
from nightfuzz.bot.issues.health import MARKER
from nightfuzz.bot.jobs import steps
from nightfuzz.bot.jobs.issues import read
from nightfuzz.bot.jobs.note import read_note
from nightfuzz.bot.jobs.workspace import PLAN, PLAN_FOLDER
from nightfuzz.bot.state.place import FILINGS, parts, unpack
from nightfuzz.bot.state.ref import Chance, StateRef

KILLED = -9
SHARDS = 2
SETTINGS = {"max_new_issues": 100, "shards": SHARDS}


class KilledError(BaseException):
    """The runner is killed. No error handler may catch this, so it is a BaseException."""


class StepResult(NamedTuple):
    """The results of a step: exit code, printed output, the job's summary and the step's outputs."""

    code: int
    log: str
    summary: str
    outputs: Mapping[str, str]

    @property
    def said(self) -> str:
        """The text of the step that a person can read."""
        return self.log + self.summary


class NightStage:
    """A repository, its runs, and the faults that are planned for them."""

    def __init__(self, home: Path, repo: Repository, proxy: faultproxy.Proxy, git: githttp.GitServer) -> None:
        self.home, self.repo, self.proxy, self.git = home, repo, proxy, git
        self.time = FakeTime()
        proxy.clock = self.time.clock
        self.url = git.add(f"{repo.name}.git")
        self.environment: dict[str, str] = {}
        self.is_dead = False
        self.count = self.strikes = 0
        self.workspace = home / "workspace"
        self.workspace.mkdir()
        (self.workspace / "test_it.py").write_text("import torch\n")
        run = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
            subprocess.run([*run, *command], cwd=self.workspace, check=True)

    @property
    def bare(self) -> Path:
        """The state's repository as files."""
        return self.git.root / f"{self.repo.name}.git"

    @property
    def place(self) -> StateRef:
        """The state, read without faults. Hold it for as long as it is used."""
        return StateRef(remote_of(self.bare.as_uri()), Chance(self.time.clock, self.time.sleep, lambda: 0.5))

    def strike(self) -> None:
        """Counts a fault that has happened."""
        self.strikes += 1

    def heal(self) -> None:
        """Ends all faults and starts a new runner."""
        self.is_dead = False
        self.proxy.plan = faultproxy.Plan(1, {})
        self.proxy.instead = lambda verb, path: None
        self.proxy.forwarded = lambda verb, path: False
        self.git.fault = lambda path: ""
        self.environment.clear()

    def kill(self) -> None:
        """Kills the runner: it gets no more answers."""
        self.is_dead = True
        self.proxy.plan = faultproxy.Plan(1, {"cut-before": 1_000_000}, density=1.0)
        self.git.fault = lambda path: "cut"

    def clock(self) -> datetime:
        """Returns the runner's time."""
        if self.is_dead:
            raise KilledError
        return self.time.now

    def sleep(self, seconds: float) -> None:
        """Passes the seconds at once."""
        if self.is_dead:
            raise KilledError
        self.time.sleep(seconds)

    def plan(self, run: str) -> StepResult:
        """Runs the plan job of a run."""
        given = {
            "mode": "nightly",
            # This target can be resolved on a runner alone, so no package index is asked.
            "target": "python:/usr/bin/python3",
            "plan_only": "true",
            "results": self.home / f"plan-{run}",
        }
        return self._step("plan", run, given)

    def shards(self, run: str, *found: Sequence[str]) -> list[Path]:
        """Makes the results of a run's fuzz jobs: one folder per job, with the bugs that it has found."""
        return [self.shard(run, number, apis) for number, apis in enumerate(found)]

    def shard(self, run: str, number: int, found: Sequence[str], name: str = "", **ran: Any) -> Path:
        """Makes the results of one fuzz job.

        Args:
            name: name of the artifact, if it is not the usual one.
            ran: further arguments of `leave`.
        """
        folder = self.results(run) / (name or f"nightfuzz-results-{number}-nightly")
        given = {"shard": number, "shards": SHARDS, "plan": self.identity(run), **ran}
        return leave(folder, list(found), **given)

    def identity(self, run: str) -> str:
        """Returns the digest of a run's plan; empty if there was no plan job."""
        plan = self.home / f"plan-{run}" / PLAN
        return read_note(plan).identity if plan.is_file() else ""

    def results(self, run: str) -> Path:
        """Returns the folder in which the report of a run finds the artifacts."""
        return self.home / f"results-{run}"

    def report(self, run: str) -> StepResult:
        """Runs the report job of a run; a second call for the same run is "Re-run failed jobs"."""
        plan = self.home / f"plan-{run}" / PLAN
        if plan.is_file():
            folder = self.results(run) / PLAN_FOLDER
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy(plan, folder)
        self.results(run).mkdir(exist_ok=True)
        return self._step("report", run, {"mode": "report", "results": self.results(run)})

    def _step(self, name: str, run: str, given: Mapping[str, object]) -> StepResult:
        self.count += 1
        folder = self.home / f"step-{self.count}"
        folder.mkdir()
        event = folder / "event.json"
        event.write_text("{}")
        environment = {
            **variables(github_token=self.repo.token, **SETTINGS, **given),
            "GITHUB_REPOSITORY": self.repo.name,
            "GITHUB_SERVER_URL": self.git.url,
            "GITHUB_API_URL": self.proxy.url,
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_RUN_ID": run,
            "GITHUB_WORKSPACE": str(self.workspace),
            "GITHUB_STEP_SUMMARY": str(folder / "summary"),
            "GITHUB_OUTPUT": str(folder / "output"),
            "RUNNER_TEMP": str(folder),
            **self.environment,
        }
        log = io.StringIO()
        chance = Chance(self.clock, self.sleep, lambda: 0.5)
        with redirect_stdout(log), redirect_stderr(log):
            try:
                code = steps.run_step(getattr(steps, f"{name}_step"), environment, chance)
            except KilledError:
                code = KILLED
        return StepResult(code, log.getvalue(), _text(folder / "summary"), _outputs(_text(folder / "output")))

    @property
    def bugs(self) -> list[str]:
        """Apis of the bugs in the kept state."""
        snapshot = self.place.load()
        if snapshot is None:
            return []
        path = self.home / "kept.db"
        unpack(parts(snapshot.files), path)
        with open_store(path, read_only=True) as store:
            return sorted(bug.api for bug in store.bugs())

    @property
    def filings(self) -> Filings:
        """The bot's record of its issues, from the kept state."""
        snapshot = self.place.load()
        return Filings() if snapshot is None else read(snapshot.files.get(FILINGS, b""))

    @property
    def issues(self) -> Counter[str]:
        """The number of issues on the server about each api of torch."""
        found: Counter[str] = Counter()
        for issue in self.repo.all("/issues?state=all"):
            marker = parsed(issue["body"])
            if marker is not None and marker.kind == "bug":
                found[re.findall(r"torch\.\w+", issue["title"])[0]] += 1
        return found

    @property
    def health(self) -> list[tuple[str, str]]:
        """State and text of each health issue on the server."""
        found = [each for each in self.repo.all("/issues?state=all") if MARKER.marks(each["body"])]
        return [(each["state"], each["body"]) for each in found]

    @property
    def claims(self) -> list[str]:
        """Labels with which a runner announces a write."""
        return [each["name"] for each in self.repo.all("/labels") if each["name"].startswith("nightfuzz:filing-")]


@contextmanager
def night_stage(home: Path, repo: Repository) -> Iterator[NightStage]:
    """Yields a stage with its proxy and its git server."""
    root = home / "git"
    root.mkdir()
    with (
        faultproxy.fault_proxy(repo.server.url, faultproxy.Plan(1, {})) as proxy,
        githttp.serving(root, repo.token) as git,
    ):
        yield NightStage(home, repo, proxy, git)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _outputs(text: str) -> dict[str, str]:
    return {found[1]: found[3] for found in re.finditer(r"^([a-z-]+)<<(\S+)\n(.*?)\n\2$", text, re.M | re.S)}
