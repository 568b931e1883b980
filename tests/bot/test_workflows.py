"""The shipped workflows and Action: every checker accepts them, and their permissions are as documented."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from expressions import condition, evaluate, substituted
from ruamel.yaml import YAML
from workflow_checks import actionlint_findings, loaded, schema_errors, zizmor_findings
from workflowfiles import generated

from nightfuzz.bot.action.dependencies import reader_of
from nightfuzz.bot.init.action import DEFAULT, WORKFLOWS, action_of
from nightfuzz.bot.init.answers import checked
from nightfuzz.bot.init.workflows import PERMISSIONS, PULL, THREE_JOBS, file_name, rendered

ROOT = Path(__file__).parents[2]
ACTION = loaded(ROOT / "action.yml")
CALLED = {name: loaded(ROOT / f".github/workflows/{name}.yml") for name in ("nightfuzz", "nightfuzz-pr")}
WORKFLOW_FILES = sorted([*ROOT.glob(".github/workflows/*.yml"), *ROOT.glob("docs/examples/**/*.yml")])
ALL_FILES = [ROOT / "action.yml", *WORKFLOW_FILES]
EXAMPLES = {name: loaded(ROOT / "docs/examples" / file_name(name)) for name in WORKFLOWS}
HOSTED = {name: loaded(ROOT / "docs/examples/hosted" / file_name(name)) for name in THREE_JOBS}
FORK, OWN = {"repo": {"full_name": "someone/project"}}, {"repo": {"full_name": "owner/project"}}
EVENTS: dict[str, Any] = {
    "schedule": {},
    "own": {"pull_request": {"head": OWN, "number": 7}},
    "fork": {"pull_request": {"head": FORK, "number": 7}},
    "deleted fork": {"pull_request": {"head": {"repo": None}, "number": 7}},
}


def steps_of(data: Any) -> list[Any]:
    if "runs" in data:
        return list(data["runs"]["steps"])
    return [step for job in data["jobs"].values() for step in job.get("steps", [])]


class DescribeWorkflowChecks:
    def test_the_schemas_fit(self) -> None:
        assert schema_errors("github-workflows", WORKFLOW_FILES) == ""
        assert schema_errors("github-actions", [ROOT / "action.yml"]) == ""

    def test_zizmor_finds_nothing(self) -> None:
        assert zizmor_findings(ALL_FILES) == ""

    def test_actionlint_finds_nothing(self) -> None:
        assert actionlint_findings(WORKFLOW_FILES) == []

    def test_the_checkers_do_look(self, tmp_path: Path) -> None:
        bad = tmp_path / "bad.yml"
        bad.write_text(
            "on: pull_request_target\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n"
            "      - uses: actions/checkout@v4\n"
            "      - run: echo ${{ github.event.pull_request.title }}\n        iff: x\n"
        )
        assert "iff" in schema_errors("github-workflows", [bad])
        assert "template-injection" in zizmor_findings([bad])
        assert any("potentially untrusted" in line for line in actionlint_findings([bad]))


@pytest.mark.parametrize("file", ALL_FILES, ids=lambda file: str(file.relative_to(ROOT)))
class DescribeEveryFile:
    def test_third_party_actions_are_pinned_by_commit_with_their_version(self, file: Path) -> None:
        uses = re.findall(r"^\s*(?:- )?uses: (\S+)(.*)$", file.read_text(), re.MULTILINE)
        strangers = [(name, rest) for name, rest in uses if not name.startswith(("$/", "nightfuzz/nightfuzz"))]
        for name, rest in strangers:
            assert re.fullmatch(r"[\w-]+/[\w-]+(/[\w-]+)?@[0-9a-f]{40}", name)
            assert re.fullmatch(r" # v\d+\.\d+\.\d+", rest)

    def test_one_action_has_one_version(self, file: Path) -> None:
        pins = {
            tuple(name.split("@"))
            for each in ALL_FILES
            for name in re.findall(r"uses: ((?!nightfuzz/)[\w/-]+@\S+)", each.read_text())
        }
        assert len({name for name, _version in pins}) == len(pins)

    def test_no_expression_is_spliced_into_a_script(self, file: Path) -> None:
        assert all("${{" not in step.get("run", "") for step in steps_of(loaded(file)))

    def test_jobs_end_and_say_what_they_may(self, file: Path) -> None:
        data = loaded(file)
        for job in data.get("jobs", {}).values():
            assert "permissions" in job
            assert "uses" in job or job["timeout-minutes"]
        assert data.get("permissions", {}) == {}

    def test_checkouts_keep_no_credentials(self, file: Path) -> None:
        for step in steps_of(loaded(file)):
            if step.get("uses", "").startswith("actions/checkout"):
                assert step["with"]["persist-credentials"] is False


class DescribeReusableWorkflows:
    def test_both_plan_and_fuzz_in_the_same_way(self) -> None:
        one, other = ({name: dict(job) for name, job in data["jobs"].items()} for data in CALLED.values())
        for job in (one["plan"], other["plan"], other["fuzz"]):
            job.pop("if")
            job.pop("environment", None)
        one["fuzz"].pop("if")
        assert one["plan"] == other["plan"]
        assert one["fuzz"] == other["fuzz"]

    @pytest.mark.parametrize("name", CALLED)
    def test_inputs_are_documented_typed_used_and_known_to_the_action(self, name: str) -> None:
        text = (ROOT / f".github/workflows/{name}.yml").read_text()
        for key, spec in CALLED[name]["on"]["workflow_call"]["inputs"].items():
            assert spec["description"]
            if key in ACTION["inputs"] and key != "mode":
                assert spec["description"] == ACTION["inputs"][key]["description"]
                assert key in ("time", "fail-on") or spec["default"] == ACTION["inputs"][key]["default"]
            assert spec["type"] in {"string", "number", "boolean"}
            assert f"inputs.{key}" in text
        for step in steps_of(CALLED[name]):
            if step.get("uses") == "$/":
                assert set(step["with"]) <= set(ACTION["inputs"])

    @pytest.mark.parametrize("name", CALLED)
    def test_the_job_that_fuzzes_has_no_token_no_secret_and_no_checkout(self, name: str) -> None:
        job = CALLED[name]["jobs"]["fuzz"]
        assert job["permissions"] == {}
        assert "secrets." not in str(job)
        assert "token" not in str(job)
        assert all("checkout" not in step["uses"] for step in job["steps"])
        assert job["strategy"]["fail-fast"] is False

    def test_jobs_with_permissions_are_hosted_and_have_just_these(self) -> None:
        night, pull = (data["jobs"] for data in CALLED.values())
        assert {job["runs-on"] for jobs in (night, pull) for name, job in jobs.items() if name != "fuzz"} == {
            "ubuntu-latest"
        }
        assert night["plan"]["permissions"] == pull["plan"]["permissions"] == {"contents": "read"}
        writes = {"contents": "write", "issues": "write", "security-events": "write"}
        assert night["report"]["permissions"] == writes
        assert pull["report"]["permissions"] == {
            "pull-requests": "write",
            "checks": "write",
            "security-events": "write",
        }

    def test_nights_wait_for_each_other_and_pushes_replace_each_other(self) -> None:
        night, pull = (data["concurrency"] for data in CALLED.values())
        assert night == {"group": "${{ inputs.name }}-state", "cancel-in-progress": False}
        assert pull["cancel-in-progress"] is True
        assert "github.event.pull_request.number" in pull["group"]

    @pytest.mark.parametrize("name", CALLED)
    def test_two_calls_of_one_run_keep_their_artifacts_apart(self, name: str) -> None:
        """The example for forks downloads the artifacts of the default name."""
        artifacts = [step["with"].get("artifact") for step in steps_of(CALLED[name]) if step["uses"] == "$/"]
        downloads = [step["with"] for step in steps_of(CALLED[name]) if "download" in step["uses"]]
        plan, result = artifacts[:2]
        places = {"inputs": {"name": "torch", "mode": "pr"}, "matrix": {"shard": 3}}
        assert [substituted(text, places, {}) for text in (plan, result)] == ["torch-plan-pr", "torch-results-3-pr"]
        assert downloads[0]["name"] == plan
        assert substituted(downloads[1]["pattern"], places, {}) == "torch-results-*-pr"
        default = CALLED[name]["on"]["workflow_call"]["inputs"]["name"]["default"]
        (job,) = EXAMPLES["report"]["jobs"].values()
        assert job["steps"][0]["with"]["pattern"] == f"{default}-results-*"

    @pytest.mark.parametrize("event", EVENTS)
    @pytest.mark.parametrize("environment", ["", "forks"])
    def test_forks_reach_no_runner_without_approval(self, event: str, environment: str) -> None:
        contexts = {
            "github": {"event": EVENTS[event], "repository": "owner/project"},
            "inputs": {"fork-environment": environment},
        }
        functions = {"success": lambda: True, "cancelled": lambda: False}
        pull, night = CALLED["nightfuzz-pr"]["jobs"], CALLED["nightfuzz"]["jobs"]
        forked = "fork" in event
        assert condition(pull["plan"]["if"], contexts, functions) == (not forked or environment != "")
        approved = evaluate(pull["fuzz"]["environment"].strip()[3:-2], contexts, {})
        assert approved == (environment if forked else "")
        planned = {**contexts, "needs": {"plan": {"outputs": {"matrix": "{}"}}, "fuzz": {"result": "success"}}}
        assert condition(pull["report"]["if"], planned, functions) == (not forked)
        assert condition(night["plan"]["if"], contexts, functions) == (event == "schedule")


class DescribeWhatInitWrites:
    def test_reusable_workflows_and_examples_are_what_the_templates_give(self) -> None:
        """This command writes them anew: `PYTHONPATH=. .venv/bin/python tests/common/workflowfiles.py`."""
        texts = dict(generated())
        assert [file.name for file, text in texts.items() if not file.exists() or file.read_text() != text] == []
        assert set(texts) == {
            *ROOT.glob("docs/examples/**/*.yml"),
            *(ROOT / f".github/workflows/{n}.yml" for n in CALLED),
        }

    @pytest.mark.parametrize("name", THREE_JOBS)
    def test_short_files_grant_what_the_called_workflow_asks_for_and_no_more(self, name: Any) -> None:
        (job,) = HOSTED[name]["jobs"].values()
        called = CALLED[re.search(r"workflows/([\w-]+)\.yml@", job["uses"])[1]]  # type: ignore[index]
        needed = _needed(called["jobs"])
        assert job["permissions"] == needed == {row.name: row.level for row in PERMISSIONS[name]}
        assert set(job["with"]) <= set(called["on"]["workflow_call"]["inputs"])

    @pytest.mark.parametrize("name", THREE_JOBS)
    def test_files_for_own_runners_call_no_reusable_workflow_and_hold_its_jobs(self, name: Any) -> None:
        """GitHub does not run a foreign reusable workflow on the caller's self-hosted runners."""
        own, called = EXAMPLES[name]["jobs"], CALLED["nightfuzz-pr" if name in PULL else "nightfuzz"]
        assert [job for job in own.values() if "uses" in job] == []
        assert own["fuzz"]["runs-on"] == ["self-hosted", "gpu"]
        assert {own[job]["runs-on"] for job in ("plan", "report")} == {"ubuntu-latest"}
        assert _needed(own) == {row.name: row.level for row in PERMISSIONS[name]}
        (short,) = HOSTED[name]["jobs"].values()
        defaults = {key: spec["default"] for key, spec in called["on"]["workflow_call"]["inputs"].items()}
        given = {**defaults, **short["with"], "target": "" if name == "bump" else short["with"]["target"]}
        for key, job in called["jobs"].items():
            assert own[key]["permissions"] == job["permissions"]
            for mine, theirs in zip(own[key]["steps"], job["steps"], strict=True):
                assert mine["uses"] == theirs["uses"].replace("$/", f"{DEFAULT}")
                assert _given(mine, {}) == _given(theirs, given)

    @pytest.mark.parametrize("name", PULL)
    def test_forks_reach_no_own_runner_without_approval(self, name: Any) -> None:
        answers = {"workflows": (name,), "runs_on": ("gpu",), "tests": ("t",)}
        for environment in ("", "the 'forks' of us"):
            text = rendered(checked(**answers, fork_environment=environment), action_of(DEFAULT))[file_name(name)]
            jobs = YAML(typ="safe", pure=True).load(text)["jobs"]
            for event, payload in EVENTS.items():
                contexts = {"github": {"event": payload, "repository": "owner/project"}}
                functions = {"success": lambda: True, "cancelled": lambda: False}
                planned = condition(jobs["plan"].get("if", "success()"), contexts, functions)
                assert planned == ("fork" not in event or environment != "")
                approved = evaluate(jobs["fuzz"].get("environment", "${{ '' }}").strip()[3:-2], contexts, {})
                assert approved == (environment if "fork" in event else "")

    def test_nights_wait_for_each_other_whatever_starts_them(self) -> None:
        for examples in (EXAMPLES, HOSTED):
            assert all(examples[name]["concurrency"]["cancel-in-progress"] is False for name in ("nightly", "manual"))
            assert all(examples[name]["concurrency"]["cancel-in-progress"] is True for name in PULL)
        assert EXAMPLES["nightly"]["concurrency"] == EXAMPLES["manual"]["concurrency"]
        assert "github" not in EXAMPLES["nightly"]["concurrency"]["group"]

    @pytest.mark.parametrize(("time", "minutes"), [("45m", 120), ("1h", 120), ("90m", 150), ("9h", 600)])
    def test_the_fuzz_job_ends_after_its_time_box(self, time: str, minutes: int) -> None:
        answers = {"workflows": ("nightly", "manual"), "time": time}
        own = rendered(checked(**answers, runs_on=("gpu",)), action_of(DEFAULT))
        for text in own.values():
            assert YAML(typ="safe", pure=True).load(text)["jobs"]["fuzz"]["timeout-minutes"] == minutes
        if minutes <= 360:
            for text in rendered(checked(**answers), action_of(DEFAULT)).values():
                (job,) = YAML(typ="safe", pure=True).load(text)["jobs"].values()
                assert job["with"].get("timeout-minutes", 120) == minutes

    def test_what_tells_of_forks_listens_to_the_others_by_their_names(self) -> None:
        listened = EXAMPLES["report"]["on"]["workflow_run"]["workflows"]
        assert listened == [EXAMPLES["pull-request"]["name"], EXAMPLES["bump"]["name"]]
        (job,) = EXAMPLES["report"]["jobs"].values()
        for event, repository, runs in [
            ("pull_request", "someone/project", True),
            ("pull_request", "owner/project", False),
            ("push", "someone/project", False),
        ]:
            run = {"event": event, "head_repository": {"full_name": repository}}
            contexts = {"github": {"event": {"workflow_run": run}, "repository": "owner/project"}}
            assert condition(job["if"], contexts, {"success": lambda: True}) is runs
        assert set(job["steps"][-1]["with"]) <= set(ACTION["inputs"])

    def test_what_heeds_commands_runs_for_comments_of_members_on_issues_alone(self) -> None:
        (job,) = EXAMPLES["commands"]["jobs"].values()
        for issue, text, author, runs in [
            ({"number": 1}, "/nightfuzz retry", "OWNER", True),
            ({"number": 1}, "/nightfuzz retry", "MEMBER", True),
            ({"number": 1}, "/nightfuzz retry", "COLLABORATOR", True),
            ({"number": 1}, "/nightfuzz retry", "CONTRIBUTOR", False),
            ({"number": 1}, "/nightfuzz retry", "NONE", False),
            ({"number": 1}, "a word", "OWNER", False),
            ({"number": 1, "pull_request": {"url": "u"}}, "/nightfuzz retry", "OWNER", False),
        ]:
            comment = {"body": text, "author_association": author}
            contexts = {"github": {"event": {"issue": issue, "comment": comment}}}
            functions = {
                "success": lambda: True, "contains": lambda whole, part: part in whole, "fromJSON": json.loads
            }  # fmt: skip
            assert condition(job["if"], contexts, functions) is runs
        assert job["permissions"] == {row.name: row.level for row in PERMISSIONS["commands"]}
        assert job["steps"][0]["with"]["mode"] == "listen"

    def test_the_bump_caller_hears_of_every_file_that_names_dependencies(self) -> None:
        paths = EXAMPLES["bump"]["on"]["pull_request"]["paths"]
        patterns = [re.compile(_pattern(path)) for path in paths]
        names = [
            "requirements.txt", "requirements-dev.txt", "ci/requirements/gpu.in", "constraints.txt", "pyproject.toml",
            "a/b/uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "pylock.ci.toml", "Pipfile", "Pipfile.lock",
            "environment.yml", "environment-gpu.yaml", "conda.yml", "ci/dev-requirements.in",
        ]  # fmt: skip
        for name in names:
            assert reader_of(name)
            assert any(pattern.fullmatch(name) for pattern in patterns)


def _needed(jobs: Mapping[str, Any]) -> dict[str, str]:
    """Returns the permissions of a workflow that holds these jobs."""
    needed: dict[str, str] = {}
    for job in jobs.values():
        for permission, level in job["permissions"].items():
            needed[permission] = max(level, needed.get(permission, ""))
    return needed


def _given(step: Mapping[str, Any], inputs: Mapping[str, str]) -> dict[str, str]:
    """Returns the inputs of a step, with the caller's inputs filled in; without secrets, defaults and empty texts."""
    found = {}
    for key, value in step["with"].items():
        text = str(value)
        for name, given in inputs.items():
            text = text.replace(f"${{{{ inputs.{name} }}}}", str(given))
        if text and "secrets." not in text and text != ACTION["inputs"].get(key, {}).get("default"):
            found[key] = text.strip()
    return found


def _pattern(path: str) -> str:
    """Returns a path filter of GitHub's as a regular expression."""
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*"}
    return "".join(parts.get(part, re.escape(part)) for part in re.split(r"(\*\*/|\*\*|\*)", path))
