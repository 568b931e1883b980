"""Reusable workflows of ours, run as GitHub does: jobs in order, shards, artifacts, outputs.

Each job has a machine of its own. The job `plan` alone gets a checkout, and jobs without permissions get no token. A
resource that the file does not give to a job is missing here, too.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from expressions import condition, evaluate, substituted
from runner import ActionRun, Runner
from workflow_checks import ROOT, loaded

WORKFLOWS = ROOT / ".github" / "workflows"


@dataclass
class Job:
    """A run of a job; a matrix has several runs."""

    name: str
    outcome: str = "skipped"
    outputs: dict[str, str] = field(default_factory=dict)
    runs: list[ActionRun] = field(default_factory=list)
    given: dict[str, dict[str, str]] = field(default_factory=dict)  # inputs of each third-party action, by its name


@dataclass
class Called:
    """A whole run of a reusable workflow."""

    jobs: list[Job]
    outputs: dict[str, str]

    def job(self, name: str) -> Job:
        """Returns the first run of a job."""
        return next(job for job in self.jobs if job.name == name)


class Hosting:
    """A stand-in for GitHub: sources, artifacts, events, tokens.

    Args:
        put_out: outputs of the steps of the Action that are not run.
    """

    def __init__(
        self,
        home: Path,
        sources: Path,
        put_out: Mapping[str, Mapping[str, str]],
        environment: Mapping[str, str] | None = None,
        token: str = "ghs_token_of_the_job",
    ) -> None:
        self.home, self.sources, self.put_out, self.token = home, sources, put_out, token
        self.environment = dict(environment or {})
        self.artifacts = home / "artifacts"
        self.machines = 0

    def call(
        self, name: str, inputs: Mapping[str, Any], event: Mapping[str, Any] | None = None, secrets: Any = None
    ) -> Called:
        """Runs `.github/workflows/NAME.yml` with these inputs, for an event's payload."""
        shutil.rmtree(self.artifacts, ignore_errors=True)
        data = loaded(WORKFLOWS / f"{name}.yml")
        declared = data["on"]["workflow_call"]
        unknown = inputs.keys() - declared["inputs"].keys()
        if unknown:
            raise ValueError(f"no inputs {unknown}")
        values = {key: inputs.get(key, spec["default"]) for key, spec in declared["inputs"].items()}
        github = {"event": dict(event or {}), "repository": self.environment.get("GITHUB_REPOSITORY", "owner/project")}
        github |= {
            "ref": "refs/heads/main",
            "api_url": self.environment.get("GITHUB_API_URL", "https://api.github.com"),
        }
        contexts: dict[str, Any] = {"inputs": values, "github": github, "secrets": secrets or {}, "needs": {}}
        done: list[Job] = []
        for key, spec in data["jobs"].items():
            done += self._job(key, spec, contexts)
        jobs = {job.name: {"outputs": job.outputs, "result": job.outcome} for job in done}
        outputs = {key: substituted(spec["value"], {"jobs": jobs}, {}) for key, spec in declared["outputs"].items()}
        return Called(done, outputs)

    def _job(self, name: str, spec: Mapping[str, Any], contexts: dict[str, Any]) -> list[Job]:
        needs = [contexts["needs"][each] for each in _listed(spec.get("needs", []))]
        functions = {
            "success": lambda: all(each["result"] == "success" for each in needs),
            "cancelled": lambda: False,
            "always": lambda: True,
        }
        runs = [Job(name)]
        if condition(str(spec.get("if", "success()")), contexts, functions):
            runs = [self._once(name, spec, {**contexts, "matrix": matrix}) for matrix in _matrices(spec, contexts)]
        outcomes = {job.outcome for job in runs}
        result = next(each for each in ("failure", "skipped", "success") if each in outcomes)
        contexts["needs"] = {**contexts["needs"], name: {"outputs": runs[0].outputs, "result": result}}
        return runs

    def _once(self, name: str, spec: Mapping[str, Any], contexts: dict[str, Any]) -> Job:
        self.machines += 1
        machine = Runner(self.home / f"machine-{self.machines}", self.environment)
        token = self.token if spec["permissions"] else ""
        github = {**contexts["github"], "token": token}
        machine.contexts["github"] |= github
        contexts = {**contexts, "github": github, "runner": machine.contexts["runner"], "steps": {}}
        job, state = Job(name, "success"), {"failed": False}
        functions = {"success": lambda: not state["failed"], "cancelled": lambda: False, "always": lambda: True}
        for step in spec["steps"]:
            if not condition(str(step.get("if", "success()")), contexts, functions):
                continue
            given = {key: substituted(str(value), contexts, functions) for key, value in step.get("with", {}).items()}
            outputs, fine = self._step(job, machine, step["uses"].partition("@")[0], given)
            state["failed"] = state["failed"] or not (fine or step.get("continue-on-error"))
            contexts["steps"] = {**contexts["steps"], step.get("id", ""): {"outputs": outputs}}
        job.outcome = "failure" if state["failed"] else "success"
        job.outputs = {key: substituted(value, contexts, functions) for key, value in spec.get("outputs", {}).items()}
        return job

    def _step(self, job: Job, machine: Runner, uses: str, given: dict[str, str]) -> tuple[dict[str, str], bool]:
        if uses == "$/":
            run = machine.run(ROOT, given, self.put_out)
            job.runs.append(run)
            for step in run.steps:
                if step.name == "Upload the results" and step.outcome == "success":
                    shutil.copytree(machine.workspace / step.given["path"], self.artifacts / step.given["name"])
            return run.outputs, run.outcome == "success"
        job.given[uses] = given
        if uses == "actions/checkout":
            shutil.copytree(self.sources, machine.workspace, dirs_exist_ok=True, symlinks=True)
        elif uses == "actions/download-artifact":
            self._download(given)
        return {}, True

    def _download(self, given: Mapping[str, str]) -> None:
        target = Path(given["path"])
        if "name" in given:
            shutil.copytree(self.artifacts / given["name"], target, dirs_exist_ok=True)
            return
        for artifact in sorted(self.artifacts.iterdir()):
            if fnmatch(artifact.name, given["pattern"]):
                shutil.copytree(artifact, target / artifact.name)


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _matrices(spec: Mapping[str, Any], contexts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the values of the matrix for each run of a job, from the one form of expression that we use."""
    text = spec.get("strategy", {}).get("matrix")
    if text is None:
        return [{}]
    ((key, values),) = evaluate(text.strip()[3:-2], contexts, {"fromJSON": json.loads}).items()
    return [{key: value} for value in values]
