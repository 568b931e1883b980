"""The steps of a composite action, run as a runner does: bash, its files, its order, its way to cancel. No GitHub.

`uses` steps of other repositories are not run: their inputs are recorded, and the test gives their outputs.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from expressions import condition, substituted
from ruamel.yaml import YAML

INTERRUPT_SECONDS, TERMINATE_SECONDS = 7.5, 2.5
_FILES = ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STEP_SUMMARY", "GITHUB_STATE")


@dataclass
class Step:
    """The result of a step."""

    id: str
    name: str
    outcome: str
    log: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    given: dict[str, str] = field(default_factory=dict)  # inputs of a `uses` step
    environment: dict[str, str] = field(default_factory=dict)
    summary: str = ""


@dataclass
class ActionRun:
    """A whole run of an action."""

    outcome: str
    outputs: dict[str, str]
    steps: list[Step]

    @property
    def log(self) -> str:
        """The printed text of all steps."""
        return "".join(step.log for step in self.steps)

    def step(self, name: str) -> Step:
        """Returns the step with that id or name."""
        return next(step for step in self.steps if name in (step.id, step.name))


class Runner:
    """A runner of composite actions in a folder of its own; PATH alone is taken from the test's environment."""

    def __init__(self, home: Path, environment: Mapping[str, str] | None = None, system: str = "Linux") -> None:
        self.home = home
        self.workspace, self.temp = home / "workspace", home / "temp"
        for folder in (self.workspace, self.temp, home / "home"):
            folder.mkdir(parents=True, exist_ok=True)
        self.contexts: dict[str, Any] = {
            "github": {"api_url": "https://api.github.com", "token": "", "event": {}, "repository": "owner/project"},
            "runner": {"os": system, "temp": str(self.temp), "arch": "X64"},
        }
        self.base = {
            "PATH": os.environ["PATH"], "HOME": str(home / "home"), "GITHUB_ACTIONS": "true", "CI": "true",
            "RUNNER_TEMP": str(self.temp), "RUNNER_OS": system, "GITHUB_WORKSPACE": str(self.workspace),
            "GITHUB_REPOSITORY": "owner/project", "GITHUB_API_URL": "https://api.github.com", **(environment or {}),
        }  # fmt: skip

    def run(
        self,
        action: Path,
        inputs: Mapping[str, str],
        put_out: Mapping[str, Mapping[str, str]] | None = None,
        cancel_when: Path | None = None,
    ) -> ActionRun:
        """Runs `action/action.yml`.

        Args:
            put_out: outputs of the steps that are not run, by the id of the step.
            cancel_when: the job is cancelled as soon as this file exists.
        """
        data = YAML(typ="safe", pure=True).load((action / "action.yml").read_text())
        job = _Job(self, action, self._inputs(data["inputs"], inputs), dict(put_out or {}), cancel_when)
        for index, step in enumerate(data["runs"]["steps"]):
            job.do(index, step)
        outputs = {name: job.text(spec["value"]) for name, spec in data.get("outputs", {}).items()}
        return ActionRun(job.status, outputs, job.done)

    def _inputs(self, declared: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, str]:
        unknown = given.keys() - declared.keys()
        if unknown:
            raise ValueError(f"no inputs {unknown}")
        found = {}
        for name, spec in declared.items():
            if spec.get("required") and name not in given:
                raise ValueError(f"input {name} is required")
            default = substituted(str(spec.get("default", "")), self.contexts, {})
            found[name] = given.get(name, default)
        return found


class _Job:
    def __init__(
        self,
        runner: Runner,
        action: Path,
        inputs: dict[str, str],
        put_out: dict[str, Mapping[str, str]],
        cancel_when: Path | None,
    ) -> None:
        self.runner, self.action, self.put_out, self.cancel_when = runner, action, put_out, cancel_when
        self.status, self.done, self.environment = "success", list[Step](), dict(runner.base)
        self.environment["GITHUB_ACTION_PATH"] = str(action)
        self.contexts = {**runner.contexts, "inputs": inputs, "steps": {}, "env": self.environment}
        self.functions = {
            "success": lambda: self.status == "success",
            "failure": lambda: self.status == "failure",
            "cancelled": lambda: self.status == "cancelled",
            "always": lambda: True,
        }

    def text(self, source: object) -> str:
        return substituted(_plain(source), self.contexts, self.functions)

    def do(self, index: int, spec: Mapping[str, Any]) -> None:
        """Runs one step, or records that it was skipped."""
        identity = spec.get("id", f"__{index}")
        step = Step(identity, spec.get("name", ""), "skipped")
        self.done.append(step)
        if condition(_plain(spec.get("if", "success()")), self.contexts, self.functions):
            step.environment = {name: self.text(value) for name, value in spec.get("env", {}).items()}
            if "uses" in spec or identity in self.put_out:
                step.given = {name: self.text(value) for name, value in spec.get("with", {}).items()}
                step.outcome, step.outputs = "success", dict(self.put_out.get(identity, {}))
            else:
                self._bash(index, step, self.text(spec["run"]), spec.get("shell"))
            if step.outcome != "success":
                self.status = step.outcome if self.status == "success" else self.status
        self.contexts["steps"] = {
            **self.contexts["steps"],
            identity: {"outputs": step.outputs, "outcome": step.outcome, "conclusion": step.outcome},
        }

    def _bash(self, index: int, step: Step, script: str, shell: object) -> None:
        if shell != "bash":
            raise ValueError(f"step {step.id} has no shell: bash")
        folder = self.runner.home / f"step{index}-{len(list(self.runner.home.iterdir()))}"
        folder.mkdir()
        files = {name: folder / name for name in _FILES}
        for file in files.values():
            file.touch()
        (folder / "script.sh").write_text(script)
        environment = {**self.environment, **step.environment, **{name: str(file) for name, file in files.items()}}
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [str(shutil.which("bash")), "--noprofile", "--norc", "-eo", "pipefail", str(folder / "script.sh")],
                cwd=self.runner.workspace, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
            cancelled = self._wait(process)
        step.log = (folder / "log").read_text(errors="replace")
        step.summary = files["GITHUB_STEP_SUMMARY"].read_text()
        step.outputs = parsed(files["GITHUB_OUTPUT"].read_text())
        step.outcome = "cancelled" if cancelled else "failure" if process.returncode else "success"
        self.environment.update(parsed(files["GITHUB_ENV"].read_text()))
        for line in files["GITHUB_PATH"].read_text().splitlines():
            self.environment["PATH"] = f"{line}{os.pathsep}{self.environment['PATH']}"

    def _wait(self, process: subprocess.Popen[bytes]) -> bool:
        """Waits for the end; returns whether the process was cancelled. The signal does not go to its children."""
        while process.poll() is None:
            if self.status == "success" and self.cancel_when is not None and self.cancel_when.exists():
                for number, seconds in (
                    (signal.SIGINT, INTERRUPT_SECONDS), (signal.SIGTERM, TERMINATE_SECONDS), (signal.SIGKILL, 60.0),
                ):  # fmt: skip
                    process.send_signal(number)
                    try:
                        process.wait(seconds)
                        return True
                    except subprocess.TimeoutExpired:
                        continue
            time.sleep(0.01)
        return False


def parsed(text: str) -> dict[str, str]:
    """Reads GITHUB_OUTPUT or GITHUB_ENV: `name=value` and heredocs. Raises ValueError for other lines."""
    found, lines = {}, text.split("\n")
    while lines:
        line = lines.pop(0)
        heredoc = re.fullmatch(r"([^=<]+)<<(.+)", line)
        if heredoc:
            if heredoc[2] not in lines:
                raise ValueError(f"no end of {heredoc[1]}")
            end = lines.index(heredoc[2])
            found[heredoc[1]], lines = "\n".join(lines[:end]), lines[end + 1 :]
        elif "=" in line:
            name, _sign, value = line.partition("=")
            found[name] = value
        elif line:
            raise ValueError(f"not understood: {line!r}")
    return found


def _plain(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
