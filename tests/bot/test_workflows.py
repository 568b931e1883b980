"""The workflows and the Action that we ship: clean by every checker, and what they promise about permissions is so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from checking import actionlint_findings, loaded, schema_errors, zizmor_findings
from expressions import condition, evaluate, substituted

from fuzz_core.cli.settings import Settings
from nightfuzz.bot.action.dependencies import reader_of
from nightfuzz.bot.action.inputs import ActionSettings, Inputs, read_inputs, written
from nightfuzz.bot.init.action import DEFAULT, WORKFLOWS, action_of
from nightfuzz.bot.init.answers import checked
from nightfuzz.bot.init.workflows import PERMISSIONS, file_name, rendered

ROOT = Path(__file__).parents[2]
ACTION = loaded(ROOT / "action.yml")
CALLED = {name: loaded(ROOT / f".github/workflows/{name}.yml") for name in ("nightfuzz", "nightfuzz-pr")}
WORKFLOW_FILES = sorted([*ROOT.glob(".github/workflows/*.yml"), *ROOT.glob("docs/examples/*.yml")])
ALL_FILES = [ROOT / "action.yml", *WORKFLOW_FILES]
EXAMPLES = {name: loaded(ROOT / "docs/examples" / file_name(name)) for name in WORKFLOWS}
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


class DescribeChecks:
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


@pytest.mark.parametrize("file", ALL_FILES, ids=lambda file: file.name)
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
        """The example of forks takes those of the default name."""
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


class DescribeCallers:
    def test_the_examples_are_what_init_writes(self) -> None:
        answers = checked(workflows=WORKFLOWS, runs_on=("self-hosted", "gpu"), tests=("tests",))
        written = {file.name: file.read_text() for file in ROOT.glob("docs/examples/*.yml")}
        assert written == rendered(answers, action_of(DEFAULT))

    @pytest.mark.parametrize("name", [name for name in WORKFLOWS if name not in ("report", "commands")])
    def test_they_grant_what_the_called_workflow_asks_for_and_no_more(self, name: Any) -> None:
        (job,) = EXAMPLES[name]["jobs"].values()
        called = CALLED[re.search(r"workflows/([\w-]+)\.yml@", job["uses"])[1]]  # type: ignore[index]
        needed: dict[str, str] = {}
        for each in called["jobs"].values():
            for permission, level in each["permissions"].items():
                needed[permission] = max(level, needed.get(permission, ""))
        assert job["permissions"] == needed == {row.name: row.level for row in PERMISSIONS[name]}
        assert set(job["with"]) <= set(called["on"]["workflow_call"]["inputs"])

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

    def test_what_heeds_commands_runs_for_comments_on_issues_alone(self) -> None:
        (job,) = EXAMPLES["commands"]["jobs"].values()
        for issue, text, runs in [
            ({"number": 1}, "/nightfuzz retry", True),
            ({"number": 1}, "a word", False),
            ({"number": 1, "pull_request": {"url": "u"}}, "/nightfuzz retry", False),
        ]:
            contexts = {"github": {"event": {"issue": issue, "comment": {"body": text}}}}
            functions = {"success": lambda: True, "contains": lambda whole, part: part in whole}
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


def _pattern(path: str) -> str:
    """A filter pattern of GitHub's as a regular expression."""
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*"}
    return "".join(parts.get(part, re.escape(part)) for part in re.split(r"(\*\*/|\*\*|\*)", path))


class DescribeTheDocumentation:
    TEXT = (ROOT / "docs/github-action.md").read_text()

    @pytest.mark.parametrize("name", CALLED)
    def test_every_input_and_output_is_explained(self, name: str) -> None:
        call = CALLED[name]["on"]["workflow_call"]
        named = [*ACTION["inputs"], *ACTION["outputs"], *call["inputs"], *call["outputs"], *call["secrets"]]
        rows = "\n".join(line.split("|")[1] for line in self.TEXT.splitlines() if line.startswith("| `"))
        assert [each for each in named if f"`{each}`" not in rows] == []

    def test_every_permission_is_explained(self) -> None:
        rows = [row for rows in PERMISSIONS.values() for row in rows]
        assert [row for row in rows if f"| `{row.name}: {row.level}` |" not in self.TEXT] == []

    def test_inputs_and_keys_are_explained_in_the_words_of_the_model(self) -> None:
        rows = {
            line.split("`")[1]: [cell.strip() for cell in line.split("|")]
            for line in self.TEXT.splitlines()
            if line.startswith("| `")
        }
        for name, field in Inputs.model_fields.items():
            default = str(ACTION["inputs"][name.replace("_", "-")]["default"])
            row = rows[name.replace("_", "-")]
            assert row[3] == field.description
            assert not default or f"`{default}`" in row[2]
        for name in set(ActionSettings.model_fields) - set(Settings.model_fields):
            field, row = ActionSettings.model_fields[name], rows[written(name)]
            assert row[3] == field.description
            assert field.default is None or row[2] == f"`{field.default}`"

    def test_the_example_of_settings_is_read(self) -> None:
        text = self.TEXT.split("settings: |\n")[1].split("```")[0]
        assert read_inputs({"INPUT_SETTINGS": text}).settings.shards == 4

    def test_a_maintainer_copies_at_most_twelve_lines(self, tmp_path: Path) -> None:
        lines = self.TEXT.split("```yaml\n")[1].split("```")[0]
        assert len(lines.splitlines()) <= 12
        (tmp_path / "nightfuzz.yml").write_text(lines)
        (job,) = loaded(tmp_path / "nightfuzz.yml")["jobs"].values()
        assert job["permissions"] == EXAMPLES["nightly"]["jobs"]["nightly"]["permissions"]
        assert set(job["with"]) <= set(CALLED["nightfuzz"]["on"]["workflow_call"]["inputs"])
        assert schema_errors("github-workflows", [tmp_path / "nightfuzz.yml"]) == ""
        assert actionlint_findings([tmp_path / "nightfuzz.yml"]) == []


@pytest.mark.parametrize(("place", "called", "example"), [(0, "nightfuzz", "nightly"), (1, "nightfuzz-pr", "bump")])
def test_workflows_of_the_readme_are_short_and_true(tmp_path: Path, place: int, called: str, example: str) -> None:
    lines = (ROOT / "README.md").read_text().split("```yaml\n")[place + 1].split("```")[0]
    assert len(lines.splitlines()) <= 12
    (tmp_path / "workflow.yml").write_text(lines)
    (job,) = loaded(tmp_path / "workflow.yml")["jobs"].values()
    (told,) = EXAMPLES[example]["jobs"].values()
    assert (job["uses"], job["permissions"]) == (told["uses"], told["permissions"])
    assert set(job["with"]) <= set(CALLED[called]["on"]["workflow_call"]["inputs"])
