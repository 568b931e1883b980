"""The steps of action.yml as a runner runs them, with a stand-in for the command: its inputs and its outputs."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from runner import ActionRun, Runner

import fuzz_core
from nightfuzz.bot.action.inputs import Inputs

ROOT = Path(__file__).parents[2]
NIGHTFUZZ = str(Path(sys.executable).with_name("nightfuzz"))
PYTHON = {"look": {"python": "/usr/bin/python3"}}
HOSTILE = [
    '"; rm -rf "$GITHUB_WORKSPACE"; echo "',
    "$(touch pwned)`touch pwned`",
    "a\nb\r\nINPUT_MODE=report\n::error::c",
    "${{ github.token }} %0A::set-output name=x::y",
    "'; touch pwned #",
    "\\\" $HOME * ~ !! {1..9}",
]  # fmt: skip
STAND_IN = """#!{python}
import json, os, signal, sys, time
signal.signal(signal.SIGINT, lambda *_: (print("interrupted", flush=True), sys.exit(130)))
with open(os.environ["HOME"] + "/" + sys.argv[2], "w") as file:
    json.dump(dict(os.environ), file)
for line in os.environ.get("HOME_OUTPUTS", "").splitlines():
    job, _, rest = line.partition(" ")
    if job == sys.argv[2]:
        print(rest, file=open(os.environ["GITHUB_OUTPUT"], "a"))
if sys.argv[2] == os.environ.get("HANGS"):
    open(os.environ["HOME"] + "/hangs", "w").close()
    time.sleep(60)
sys.exit(3 if sys.argv[2] == os.environ.get("FAILS") else 0)
"""


class Standing:
    """A runner whose `install` step returns the stand-in."""

    def __init__(self, home: Path, **environment: str) -> None:
        self.runner = Runner(home, environment)
        self.command = home / "nightfuzz"
        self.command.write_text(STAND_IN.replace("{python}", sys.executable))
        self.command.chmod(self.command.stat().st_mode | stat.S_IXUSR)
        self.home = home / "home"

    def run(self, inputs: Mapping[str, str], cancel: bool = False) -> ActionRun:
        given = {**PYTHON, "install": {"command": str(self.command)}}
        return self.runner.run(ROOT, inputs, given, self.home / "hangs" if cancel else None)

    def told(self, job: str) -> dict[str, str]:
        """Returns the environment in which `nightfuzz action JOB` ran."""
        found: dict[str, str] = json.loads((self.home / job).read_text())
        return found


class DescribeWhatArrives:
    @pytest.mark.parametrize("text", HOSTILE)
    def test_hostile_inputs_are_data(self, text: str, tmp_path: Path) -> None:
        standing = Standing(tmp_path)
        names = ["target", "baseline", "tests", "time", "settings", "results", "artifact", "sandbox"]
        done = standing.run({**dict.fromkeys(names, text), "mode": "nightly"})
        assert done.outcome == "success"
        told = standing.told("fuzz")
        assert {told[f"INPUT_{name.upper().replace('-', '_')}"] for name in names} == {text}
        assert told["INPUT_MODE"] == "nightly"
        assert list(standing.runner.workspace.iterdir()) == []

    @pytest.mark.parametrize(
        ("inputs", "job"),
        [
            ({}, "fuzz"),
            ({"mode": "bump"}, "fuzz"),
            ({"mode": "report"}, "report"),
            ({"mode": "pr", "plan-only": "true"}, "plan"),
        ],
    )
    def test_one_command_does_the_work(self, inputs: dict[str, str], job: str, tmp_path: Path) -> None:
        standing = Standing(tmp_path)
        done = standing.run(inputs)
        ran = {path.name for path in standing.home.iterdir()}
        assert ran == ({"fuzz", "export"} if job == "fuzz" else {job})
        assert done.step("export").outcome == ("success" if job == "fuzz" else "skipped")

    def test_every_input_arrives(self, tmp_path: Path) -> None:
        standing = Standing(tmp_path)
        declared = standing.run({"mode": "report"})
        names = {name for name in declared.step("work").environment if name.startswith("INPUT_")}
        assert names == {f"INPUT_{name.upper()}" for name in Inputs.model_fields}

    def test_no_secret_gets_where_untrusted_code_runs(self, tmp_path: Path) -> None:
        standing = Standing(tmp_path)
        secrets = {"github-token": "ghp_s3cr3t", "app-private-key": "PEM_s3cr3t"}
        standing.run({"mode": "nightly", **secrets})
        assert "s3cr3t" not in json.dumps([standing.told("fuzz"), standing.told("export")])
        standing.run({"mode": "report", **secrets})
        assert standing.told("report")["INPUT_GITHUB_TOKEN"] == "ghp_s3cr3t"
        standing.run({"mode": "nightly", "plan-only": "true", **secrets})
        assert standing.told("plan")["INPUT_GITHUB_TOKEN"] == "ghp_s3cr3t"
        assert "PEM" not in json.dumps(standing.told("plan"))


class DescribeWrongValues:
    """Wrong inputs, given to the real command."""

    @pytest.mark.parametrize(
        ("inputs", "said"),
        [
            ({"mode": "nighty"}, "input mode: 'nighty' does not fit"),
            ({"time": "$(touch pwned)"}, "input time: '$(touch pwned)' does not fit"),
            ({"mode": "report"}, "github-token: ${{ github.token }}"),
        ],
    )
    def test_they_end_the_step_with_what_would_fit(self, inputs: dict[str, str], said: str, tmp_path: Path) -> None:
        runner = Runner(tmp_path)
        done = runner.run(ROOT, inputs, {**PYTHON, "install": {"command": NIGHTFUZZ}})
        assert done.step("work").outcome == done.outcome == "failure"
        assert said in done.step("work").log
        assert "Traceback" not in done.log
        assert list(runner.workspace.iterdir()) == []


class DescribeWhatComesOut:
    OUTPUTS = "export bugs-total=3\nexport bugs-new=1\nexport report-path=r/report.md\nreport bugs-total=4"

    def test_outputs_are_those_of_the_job(self, tmp_path: Path) -> None:
        standing = Standing(tmp_path, HOME_OUTPUTS=self.OUTPUTS)
        done = standing.run({})
        assert done.outputs["bugs-total"] == "3"
        assert done.outputs["report-path"] == "r/report.md"
        assert done.outputs["fixed"] == ""
        assert standing.run({"mode": "report"}).outputs["bugs-total"] == "4"

    def test_a_plan_gives_the_matrix_and_is_uploaded(self, tmp_path: Path) -> None:
        standing = Standing(tmp_path, HOME_OUTPUTS='plan matrix={"shard": [0, 1]}\nplan shards=2')
        done = standing.run({"plan-only": "true", "artifact": "nightfuzz-plan", "results": "plan"})
        assert json.loads(done.outputs["matrix"]) == {"shard": [0, 1]}
        given = done.step("Upload the results").given
        assert (given["name"], given["path"]) == ("nightfuzz-plan", "plan")

    def test_no_artifact_without_a_name_or_without_results(self, tmp_path: Path) -> None:
        standing = Standing(tmp_path, HOME_OUTPUTS=self.OUTPUTS)
        assert standing.run({}).step("Upload the results").outcome == "skipped"
        assert standing.run({"artifact": "a", "mode": "report"}).step("Upload the results").outcome == "skipped"

    def test_a_cancelled_job_leaves_its_findings(self, tmp_path: Path) -> None:
        standing = Standing(tmp_path, HOME_OUTPUTS=self.OUTPUTS, HANGS="fuzz")
        done = standing.run({"artifact": "found"}, cancel=True)
        assert done.outcome == "cancelled"
        assert done.step("work").log == "interrupted\n"
        assert standing.told("export")["FUZZED"] == "cancelled"
        assert done.step("Upload the results").given["name"] == "found"

    @pytest.mark.parametrize("job", ["fuzz", "export"])
    def test_a_failed_job_leaves_its_findings_and_fails(self, job: str, tmp_path: Path) -> None:
        standing = Standing(tmp_path, HOME_OUTPUTS=self.OUTPUTS, FAILS=job)
        done = standing.run({"artifact": "found"})
        assert done.outcome == "failure"
        assert standing.told("export")["FUZZED"] == ("failure" if job == "fuzz" else "success")
        assert done.step("Upload the results").outcome == "success"


class DescribeInstalling:
    @pytest.mark.slow
    def test_it_installs_once_a_job_with_what_the_sandbox_is_built_from(self, tmp_path: Path) -> None:
        asked = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        runner = Runner(tmp_path, asked)
        stop = {"look": {"python": sys.executable}, "work": {}, "export": {}}
        report = {"mode": "report"}
        done = runner.run(ROOT, report, stop)
        log = done.step("install").log
        if done.outcome == "failure" and re.search("No matching distribution|ConnectionError|NewConnectionError", log):
            pytest.skip("pip's index can't be reached: the Action installs locked packages from it")
        assert done.outcome == "success", log
        command = Path(done.step("install").outputs["command"])
        python = command.parent / "python"

        def has_docker() -> bool:
            return subprocess.run([python, "-I", "-c", "import docker"], capture_output=True).returncode == 0

        # A job that holds a token installs fewer packages, and each of its steps starts.
        assert not has_docker()
        start = [python, "-P", "-c", "import nightfuzz.bot.jobs.steps"]
        assert subprocess.run(start, capture_output=True, text=True).stderr == ""
        for inputs in ({}, {}, report):
            again = runner.run(ROOT, inputs, stop).step("install")
            assert (again.outcome, again.outputs) == ("success", {"command": str(command)})
            assert has_docker()
        # The last two runs reused what the first one had installed.
        assert again.log == ""
        where = subprocess.check_output([python, "-I", "-c", "import fuzz_core; print(fuzz_core.__file__)"], text=True)
        assert (Path(where.strip()).parents[1] / "Dockerfile").exists()
        assert Path(where.strip()).is_relative_to(runner.temp)
        assert subprocess.check_output([command, "--version"], text=True) == f"nightfuzz {fuzz_core.__version__}\n"

    def test_it_finds_a_python_or_has_one_made(self, tmp_path: Path) -> None:
        fake = tmp_path / "bin"
        fake.mkdir()
        for name, version in {"python3": "3, 9", "python3.14": "3, 14"}.items():
            (fake / name).write_text(f"#!/bin/sh\n[ '{version}' = '3, 14' ]\n")
            (fake / name).chmod(0o755)
        (fake / "uname").write_text("#!/bin/sh\necho Linux\n")
        (fake / "uname").chmod(0o755)
        runner = Runner(tmp_path / "home", {"PATH": f"{fake}:/usr/bin:/bin"})
        stop = {"install": {"command": "/bin/true"}, "work": {}, "export": {}}
        done = runner.run(ROOT, {}, stop)
        assert done.step("look").outputs == {"python": str(fake / "python3.14")}
        assert done.step("python").outcome == "skipped"
        wanted = runner.run(ROOT, {"python-version": "3.99"}, stop)
        assert wanted.step("look").outputs == {}
        assert wanted.step("python").given == {"python-version": "3.99", "update-environment": "false"}

    @pytest.mark.parametrize("version", ["2.7", "3.9", "3.12; touch pwned", "$(touch pwned)", "3.12\n3.13"])
    def test_it_refuses_another_python(self, version: str, tmp_path: Path) -> None:
        runner = Runner(tmp_path)
        done = runner.run(ROOT, {"python-version": version})
        assert done.outcome == "failure"
        assert "has to be 3.11 or later" in done.step("look").log
        assert [step.outcome for step in done.steps[1:]] == ["skipped"] * (len(done.steps) - 1)
        assert list(runner.workspace.iterdir()) == []

    def test_it_says_that_it_needs_linux(self, tmp_path: Path) -> None:
        fake = tmp_path / "bin"
        fake.mkdir()
        (fake / "uname").write_text("#!/bin/sh\necho Darwin\n")
        (fake / "uname").chmod(0o755)
        done = Runner(tmp_path / "home", {"PATH": f"{fake}:/usr/bin:/bin"}).run(ROOT, {})
        assert done.outcome == "failure"
        assert "::error title=nightfuzz::nightfuzz runs on Linux only" in done.log
