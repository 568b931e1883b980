"""The reusable workflows from plan to report, with a stand-in for the command: the data that each job gets."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from workflow import Called, Hosting

STAND_IN = """#!{python}
import json, os, pathlib, sys
job, env = sys.argv[2], os.environ
results = pathlib.Path(env["INPUT_RESULTS"]); results.mkdir(parents=True, exist_ok=True)
given = pathlib.Path(env.get("INPUT_STATE_PATH") or ".")
seen = sorted(path.relative_to(results).as_posix() for path in results.rglob("*") if path.is_file())
sources = sorted(path.name for path in pathlib.Path(env["GITHUB_WORKSPACE"]).iterdir())
note = dict(job=job, results=seen, sources=sources, plan=sorted(path.name for path in given.iterdir()), env=dict(env))
if job != "report":
    (results / (job + ".json")).write_text(job)
with open(env["NOTES"], "a") as file:
    print(json.dumps(note), file=file)
with open(env["GITHUB_OUTPUT"], "a") as file:
    if job == "plan":
        print("matrix=" + env.get("MATRIX", '{{"shard": [0, 1]}}'), "shards=2", sep="\\n", file=file)
    elif job == "export":
        print("report-path=report.md", "bugs-total=9", sep="\\n", file=file)
    elif job == "report":
        print("bugs-total=3", "bugs-new=1", "sarif-path=/told/nightfuzz.sarif", sep="\\n", file=file)
sys.exit(job == env.get("FAILS"))
"""


class WorkflowStage:
    """A GitHub with a one-file project; its stand-in for the command records what it sees."""

    def __init__(self, home: Path, **environment: str) -> None:
        sources = home / "sources"
        sources.mkdir()
        (sources / "test_a.py").write_text("import torch")
        command = home / "nightfuzz"
        command.write_text(STAND_IN.replace("{python}", sys.executable).replace("{{", "{").replace("}}", "}"))
        command.chmod(command.stat().st_mode | stat.S_IXUSR)
        self.notes = home / "notes"
        put_out = {"look": {"python": sys.executable}, "install": {"command": str(command)}}
        self.hosting = Hosting(home, sources, put_out, {"NOTES": str(self.notes), **environment})

    def told(self, job: str) -> list[dict[str, Any]]:
        """Returns the records of the command for each of its runs as this job."""
        lines = [json.loads(line) for line in self.notes.read_text().splitlines()]
        return [line for line in lines if line["job"] == job]


def outcomes(called: Called) -> dict[str, list[str]]:
    names = dict.fromkeys(job.name for job in called.jobs)
    return {name: [job.outcome for job in called.jobs if job.name == name] for name in names}


@pytest.mark.parametrize("name", ["nightfuzz", "nightfuzz-pr"])
def test_from_plan_to_report(name: str, tmp_path: Path) -> None:
    stage = WorkflowStage(tmp_path)
    called = stage.hosting.call(name, {"target": "torch-nightly", "tests": "tests", "time": "5m"})
    assert outcomes(called) == {"plan": ["success"], "fuzz": ["success"] * 2, "report": ["success"]}
    assert called.outputs == {"bugs-total": "3", "bugs-new": "1", "regressions": "", "fixed": ""}
    (planned,), fuzzed, (told,) = stage.told("plan"), stage.told("fuzz"), stage.told("report")
    assert planned["sources"] == ["test_a.py"]
    # The fuzz job has no checkout: its sources came as an artifact.
    assert [each["sources"] for each in fuzzed] == [[], []]
    assert [each["plan"] for each in fuzzed] == [["plan.json"], ["plan.json"]]
    assert [each["env"]["INPUT_SHARD"] for each in fuzzed] == ["0", "1"]
    mode = "nightly" if name == "nightfuzz" else "bump"
    files = [f"nightfuzz-results-{shard}-{mode}/{job}.json" for shard in (0, 1) for job in ("export", "fuzz")]
    assert told["results"] == [*files, "plan/plan.json"]
    assert told["sources"] == []
    sarif = called.job("report").given["github/codeql-action/upload-sarif"]
    assert sarif == {"sarif_file": "/told/nightfuzz.sarif", "category": f"nightfuzz/{mode}/torch-nightly"}


@pytest.mark.parametrize("name", ["nightfuzz", "nightfuzz-pr"])
def test_tokens_and_secrets_are_where_they_are_needed_alone(name: str, tmp_path: Path) -> None:
    stage = WorkflowStage(tmp_path)
    stage.hosting.call(name, {"settings": "app-id = 7"}, secrets={"app-private-key": "PEM_s3cr3t"})
    token = stage.hosting.token
    for job in ("fuzz", "export"):
        assert all(token not in json.dumps(each) and "s3cr3t" not in json.dumps(each) for each in stage.told(job))
    (planned,), (told,) = stage.told("plan"), stage.told("report")
    assert planned["env"]["INPUT_GITHUB_TOKEN"] == told["env"]["INPUT_GITHUB_TOKEN"] == token
    assert "s3cr3t" not in json.dumps(planned)
    assert told["env"]["INPUT_APP_PRIVATE_KEY"] == "PEM_s3cr3t"


def test_inputs_of_the_caller_reach_the_jobs(tmp_path: Path) -> None:
    stage = WorkflowStage(tmp_path)
    given = {
        "mode": "recheck", "target": "$(touch pwned)", "baseline": "`x`", "time": "5m", "tests": "t\nu",
        "settings": "workers = 3\n$(touch pwned)", "sandbox": "docker",
    }  # fmt: skip
    stage.hosting.call("nightfuzz", {**given, "fail-on": "new", "upstream": "draft"})
    for each in stage.told("fuzz"):
        assert {name: each["env"][f"INPUT_{name.upper().replace('-', '_')}"] for name in given} == given
    (told,) = stage.told("report")
    named = ("INPUT_FAIL_ON", "INPUT_UPSTREAM", "INPUT_SETTINGS", "INPUT_MODE")
    assert [told["env"][name] for name in named] == ["new", "draft", given["settings"], "report"]


@pytest.mark.parametrize(("fails", "report"), [("plan", "skipped"), ("fuzz", "success"), ("report", "failure")])
def test_what_was_found_is_told_also_where_a_shard_fails(fails: str, report: str, tmp_path: Path) -> None:
    stage = WorkflowStage(tmp_path, FAILS=fails)
    called = stage.hosting.call("nightfuzz", {})
    assert called.job("report").outcome == report
    if fails == "fuzz":
        assert called.job("fuzz").outcome == "failure"
        assert len(stage.told("report")[0]["results"]) == 5
    if fails == "report":
        assert "github/codeql-action/upload-sarif" in called.job("report").given


def test_nothing_to_do_ends_after_the_plan(tmp_path: Path) -> None:
    stage = WorkflowStage(tmp_path, MATRIX="")
    called = stage.hosting.call("nightfuzz-pr", {"mode": "bump"})
    assert outcomes(called) == {"plan": ["success"], "fuzz": ["skipped"], "report": ["skipped"]}


def test_a_fork_runs_nothing_and_with_an_environment_reports_nothing(tmp_path: Path) -> None:
    stage = WorkflowStage(tmp_path)
    event = {"pull_request": {"number": 7, "head": {"repo": {"full_name": "someone/project"}}}}
    called = stage.hosting.call("nightfuzz-pr", {}, event)
    assert {job.outcome for job in called.jobs} == {"skipped"}
    called = stage.hosting.call("nightfuzz-pr", {"fork-environment": "forks"}, event)
    assert outcomes(called) == {"plan": ["success"], "fuzz": ["success"] * 2, "report": ["skipped"]}
    assert not stage.told("report")


def test_two_calls_keep_apart(tmp_path: Path) -> None:
    stage = WorkflowStage(tmp_path)
    stage.hosting.call("nightfuzz", {"name": "torch"})
    assert {path.name for path in stage.hosting.artifacts.iterdir()} == {
        "torch-plan-nightly", "torch-results-0-nightly", "torch-results-1-nightly"
    }  # fmt: skip
    assert subprocess.run(["test", "-e", "pwned"], cwd=tmp_path).returncode
