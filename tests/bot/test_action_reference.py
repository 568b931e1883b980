"""docs/reference/github-action.md and the README describe the inputs of Action and workflows as the model does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from expressions import condition
from workflow_checks import ROOT, actionlint_findings, loaded, schema_errors

from fuzz_core.cli.settings import Settings
from nightfuzz.bot.action.inputs import ActionSettings, Inputs, read_inputs, written
from nightfuzz.bot.init.action import DEFAULT
from nightfuzz.bot.init.workflows import PERMISSIONS, THREE_JOBS, file_name

ACTION = loaded(ROOT / "action.yml")
CALLED = {name: loaded(ROOT / f".github/workflows/{name}.yml") for name in ("nightfuzz", "nightfuzz-pr")}
EXAMPLES = {name: loaded(ROOT / "docs/examples" / file_name(name)) for name in THREE_JOBS}
HOSTED = {name: loaded(ROOT / "docs/examples/hosted" / file_name(name)) for name in THREE_JOBS}


class DescribeTheReference:
    TEXT = (ROOT / "docs/reference/github-action.md").read_text()

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
            assert field.default is None or row[2] == f"`{str(field.default).lower()}`"

    def test_each_input_stands_once_under_how_often_it_is_needed_with_who_takes_it(self) -> None:
        text = self.TEXT.split("\n## Inputs\n")[1].split("\n## ")[0]
        parts = dict(part.split("\n", 1) for part in text.split("\n### ")[1:])
        assert list(parts) == ["Needed", "Often", "Rarely", "Secrets", "Between jobs"]
        rows = [[line.split("`")[1], line.rsplit("|", 2)[1].strip()] for line in text.splitlines() if "| `" in line]
        calls = [CALLED[name]["on"]["workflow_call"] for name in CALLED]
        called = {key for call in calls for key in (*call["inputs"], *call["secrets"])}
        of = dict.fromkeys(ACTION["inputs"], "Action")
        of |= {name: "both" if name in of else "workflow" for name in called}
        assert sorted(map(tuple, rows)) == sorted(of.items())

    def test_the_example_of_settings_is_read(self) -> None:
        text = self.TEXT.split("settings: |\n")[1].split("```")[0]
        assert read_inputs({"INPUT_SETTINGS": text}).settings.shards == 4

    def test_the_merge_queue_starts_the_files_of_pull_requests(self, tmp_path: Path) -> None:
        events = (
            (ROOT / "docs/how-to/github.md")
            .read_text()
            .split("## Merge queues")[1]
            .split("```yaml\n")[1]
            .split("```")[0]
        )
        for folder, name in (("hosted/", "bump"), ("", "pull-request")):
            text = (ROOT / f"docs/examples/{folder}nightfuzz-{name}.yml").read_text()
            own = re.sub(r"^on:\n(?:  .*\n|\n)+", f"{events}\n", text, count=1, flags=re.MULTILINE)
            (tmp_path / f"{name}.yml").write_text(own)
            assert set(loaded(tmp_path / f"{name}.yml")["on"]) == {"pull_request", "merge_group"}
        assert schema_errors("github-workflows", sorted(tmp_path.iterdir())) == ""
        for jobs in (CALLED["nightfuzz-pr"]["jobs"], EXAMPLES["pull-request"]["jobs"]):
            contexts = {
                "github": {"event": {"merge_group": {}}, "repository": "o/p"},
                "inputs": {"fork-environment": ""},
            }
            assert condition(jobs["plan"]["if"], contexts, {"success": lambda: True})

    def test_a_maintainer_copies_at_most_twelve_lines(self, tmp_path: Path) -> None:
        lines = self.TEXT.split("```yaml\n")[1].split("```")[0]
        assert len(lines.splitlines()) <= 12
        (tmp_path / "nightfuzz.yml").write_text(lines)
        (job,) = loaded(tmp_path / "nightfuzz.yml")["jobs"].values()
        assert job["permissions"] == HOSTED["nightly"]["jobs"]["nightly"]["permissions"]
        assert set(job["with"]) <= set(CALLED["nightfuzz"]["on"]["workflow_call"]["inputs"])
        assert schema_errors("github-workflows", [tmp_path / "nightfuzz.yml"]) == ""
        assert actionlint_findings([tmp_path / "nightfuzz.yml"]) == []


@pytest.mark.parametrize(("place", "called", "example"), [(0, "nightfuzz", "nightly"), (1, "nightfuzz-pr", "bump")])
def test_workflows_of_the_readme_are_short_and_true(tmp_path: Path, place: int, called: str, example: str) -> None:
    lines = (ROOT / "README.md").read_text().split("```yaml\n")[place + 1].split("```")[0]
    assert len(lines.splitlines()) <= 12
    (tmp_path / "workflow.yml").write_text(lines)
    (job,) = loaded(tmp_path / "workflow.yml")["jobs"].values()
    (told,) = HOSTED[example]["jobs"].values()
    assert (job["uses"], job["permissions"]) == (told["uses"], told["permissions"])
    assert set(job["with"]) <= set(CALLED[called]["on"]["workflow_call"]["inputs"])


def test_every_page_names_the_action_as_init_does() -> None:
    """The default of `nightfuzz init` is the only place in the code that names the repository."""
    owner, _at, reference = DEFAULT.partition("@")
    pages = [
        ROOT / "README.md",
        ROOT / "SECURITY.md",
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob(".github/ISSUE_TEMPLATE/*"),
    ]
    for page in pages:
        assert set(re.findall(r"uses: ([\w-]+/[\w-]+)[/@]\S*nightfuzz", page.read_text())) <= {owner}
        assert set(re.findall(r"nightfuzz/nightfuzz(?:/\S+)?@([\w.]+)$", page.read_text(), re.MULTILINE)) <= {reference}
    sources = [
        path for folder in ("bot", "fuzz_core", "reports") for path in (ROOT / folder).rglob("*") if path.is_file()
    ]
    named = [path for path in sources if owner.encode() in path.read_bytes() and path.suffix != ".pyc"]
    assert [path.name for path in named] == ["action.py"]
