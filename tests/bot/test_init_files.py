"""Files that `nightfuzz init` writes: every checker accepts them, and values arrive as the user gave them."""

from __future__ import annotations

import itertools
import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pyrage
import pytest
from expressions import evaluate
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML
from workflow_checks import actionlint_findings, schema_errors, zizmor_findings

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.init.action import DEFAULT, WORKFLOWS, Action, action_of, pin_action
from nightfuzz.bot.init.answers import checked
from nightfuzz.bot.init.workflows import rendered

KEY = str(pyrage.x25519.Identity.generate().to_public())
COMMIT = "0123456789abcdef0123456789abcdef01234567"
ODD = 'it\'s #1: a "test" & {x} [y] %z @w | > ! * ?, é'.replace(",", "")
ACTIONS = [
    action_of(DEFAULT),
    action_of(f"my-org/fuzz.er@{COMMIT}"),
    Action("o/r", "v1.2/x", COMMIT, "https://ghe.example"),
]
VARIANTS: dict[str, list[Any]] = {
    "runs_on": [("ubuntu-latest",), ("self-hosted", "GPU 1", "a_b.c-d")],
    "tests": [("tests",), ("a b", ODD, "x/y"), (".",)],
    "shards": [1, 256],
    "private_recipient": [None, KEY],
    "fork_environment": ["", ODD],
}
PLAIN = st.text(st.characters(whitelist_categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=60)


def read(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


class DescribeRendered:
    @pytest.mark.slow
    def test_every_file_is_clean_whatever_the_answers(self, tmp_path: Path) -> None:
        files = []
        for index, values in enumerate(itertools.product(*VARIANTS.values())):
            answers = checked(
                workflows=WORKFLOWS, models=("m",), target="index:https://x.example/simple#torch",
                baseline="torch==2.0.0", upstream="draft", at="23:59",
                **dict(zip(VARIANTS, values, strict=True)),
            )  # fmt: skip
            for name, text in rendered(answers, ACTIONS[index % len(ACTIONS)]).items():
                files.append(tmp_path / f"{index}-{name}")
                files[-1].write_text(text)
        assert len(files) == len(WORKFLOWS) * 48
        assert schema_errors("github-workflows", files) == ""
        assert zizmor_findings(files) == ""
        assert actionlint_findings(files, labels=VARIANTS["runs_on"][1]) == []

    @given(folder=PLAIN, environment=PLAIN, baseline=PLAIN)
    def test_text_arrives_as_it_was_given_or_is_refused(self, folder: str, environment: str, baseline: str) -> None:
        try:
            answers = checked(
                workflows=WORKFLOWS, tests=(folder,), fork_environment=environment, baseline=baseline
            )  # fmt: skip
        except UserError:
            return
        files = {name: read(text) for name, text in rendered(answers, ACTIONS[0]).items()}
        (night,), (pull,) = (files[name]["jobs"].values() for name in ("nightfuzz.yml", "nightfuzz-pull-request.yml"))
        assert night["with"]["tests"] == pull["with"]["tests"] == folder
        assert night["with"]["baseline"] == baseline
        assert pull["with"]["fork-environment"] == environment
        own = rendered(answers.model_copy(update={"runs_on": ("own",)}), ACTIONS[0])
        night, pull = (read(own[name])["jobs"] for name in ("nightfuzz.yml", "nightfuzz-pull-request.yml"))
        for job, step in (("plan", 1), ("fuzz", 1)):
            assert night[job]["steps"][step]["with"]["tests"] == folder
            assert night[job]["steps"][step]["with"]["baseline"] == baseline
        event = {"event": {"pull_request": {"head": {"repo": None}}}, "repository": "o/p"}
        assert evaluate(pull["fuzz"]["environment"].strip()[3:-2], {"github": event}, {}) == environment

    def test_lists_and_labels_are_read_back(self) -> None:
        hosted, own = (
            read(rendered(checked(tests=("a", "b/c"), runs_on=labels), ACTIONS[0])["nightfuzz.yml"])["jobs"]
            for labels in (("ubuntu-24.04",), ("self-hosted", "gpu"))
        )
        assert hosted["nightly"]["with"]["tests"] == own["plan"]["steps"][1]["with"]["tests"] == "a, b/c"
        assert json.loads(hosted["nightly"]["with"]["runs-on"]) == ["ubuntu-24.04"]
        assert own["fuzz"]["runs-on"] == ["self-hosted", "gpu"]

    def test_settings_reach_all_three_jobs(self) -> None:
        answers = checked(runs_on=("gpu",), shards=3, private_recipient=KEY)
        jobs = read(rendered(answers, ACTIONS[0])["nightfuzz.yml"])["jobs"]
        steps = [step for job in jobs.values() for step in job["steps"] if step["uses"].startswith("nightfuzz/")]
        settings = [step["with"]["settings"] for step in steps]
        assert (len(settings), len(set(settings))) == (3, 1)
        assert tomllib.loads(settings[0]) == {"shards": 3, "private-recipient": KEY}

    def test_a_pull_request_is_looked_at_where_it_touches_seeds(self) -> None:
        answers = checked(workflows=("pull-request",), tests=("tests", "a [b]*"), models=("tests",))
        paths = read(rendered(answers, ACTIONS[0])["nightfuzz-pull-request.yml"])["on"]["pull_request"]["paths"]
        assert paths == ["tests/**", "a \\[b\\]\\*/**"]

    def test_the_schedule_is_in_utc(self) -> None:
        assert checked(at="4:05").cron == "5 4 * * *"


class DescribeChecked:
    @pytest.mark.parametrize(
        ("given_", "problem", "remedy"),
        [
            ({"workflows": ["nigthly"]}, "--workflow: 'nigthly'", "did you mean nightly?"),
            ({"target": "torch==2.13.0\nevil: true"}, "--target", "one line"),
            ({"target": "${{ github.token }}"}, "--target", "the value has ${{"),
            ({"target": ""}, "--target", "at least 1"),
            ({"target": "torhc"}, "'torhc' holds no library", "did you mean torch?"),
            ({"time": "9h"}, "--time: 9h is too long for ubuntu-latest", "--runs-on"),
            ({"fork_environment": "a }}"}, "--fork-environment", "the value has ${{"),
            ({"fork_environment": "a${{ secrets.X }}"}, "--fork-environment", "the value has ${{"),
            ({"tests": ["../x"]}, "--tests: '../x'", "inside the repository"),
            ({"tests": ["/x"]}, "--tests: '/x'", "inside the repository"),
            ({"tests": ["a,b"]}, "--tests: 'a,b'", "without commas"),
            ({"tests": ["a\n- b"]}, "--tests", "one line"),
            ({"runs_on": ['gpu"]']}, "--runs-on", "a runner's label"),
            ({"runs_on": []}, "--runs-on", "at least 1"),
            ({"time": "soon"}, "--time: 'soon'", "write 45m"),
            ({"at": "25:00"}, "--at: '25:00'", "such as 03:17"),
            ({"shards": 0}, "--shards", "greater than or equal to 1"),
            ({"upstream": "on"}, "--upstream: 'on'", "one of off, draft, approved"),
            ({"private_recipient": "AGE-SECRET-KEY-1"}, "--private-recipient", "public key of age"),
            ({"workflows": ["bump"]}, "the workflow bump runs the calls of your tests", "--tests"),
        ],
    )
    def test_it_names_the_option_and_what_fits(self, given_: dict[str, Any], problem: str, remedy: str) -> None:
        with pytest.raises(UserError) as error:
            checked(**given_)
        assert problem in error.value.problem
        assert remedy in error.value.remedy


class DescribeAction:
    @pytest.mark.parametrize(
        "text",
        ["nightfuzz", "a/b", "a/b@", "@v1", "a/b@v1 # x", "a/b@${{ x }}", "a/b@-v", "a/b/c@v1", "a/b@v..1", "a/..@v1"],
    )
    def test_it_refuses_what_is_no_reference(self, text: str) -> None:
        with pytest.raises(UserError, match="OWNER/REPO@REF"):
            action_of(text)

    @pytest.mark.parametrize(
        "server", ["", "github.com", "https://x\n- y", "https://x/?y", "file:///etc", "https://a@b"]
    )
    def test_it_refuses_what_is_no_server(self, server: str) -> None:
        with pytest.raises(UserError, match="--server"):
            action_of("o/r@v1", server)

    def test_it_is_pinned_to_what_the_tag_or_branch_names(self, tmp_path: Path) -> None:
        def git(*arguments: str) -> str:
            who = ["-c", "user.name=n", "-c", "user.email=e@localhost", "-c", "tag.gpgsign=false"]
            return subprocess.check_output(["git", *who, *arguments], cwd=tmp_path, text=True).strip()

        git("init", "-q", "-b", "main")
        git("commit", "-q", "--allow-empty", "-m", "one", "--no-gpg-sign")
        git("tag", "-a", "v1", "-m", "annotated")
        tagged = git("rev-parse", "HEAD")
        git("tag", "v1.1")
        git("commit", "-q", "--allow-empty", "-m", "two", "--no-gpg-sign")
        address = tmp_path.as_uri()
        assert pin_action(action_of("o/r@v1"), address).pin == f"{tagged} # v1"
        assert pin_action(action_of("o/r@v1.1"), address).commit == tagged
        assert pin_action(action_of("o/r@main"), address).commit == git("rev-parse", "HEAD")
        assert pin_action(action_of("o/r@v9"), address).pin == "v9 # zizmor: ignore[unpinned-uses]"
        assert pin_action(action_of("o/r@v1"), (tmp_path / "gone").as_uri()).commit == ""
        assert pin_action(action_of(f"o/r@{COMMIT}"), "/nowhere").pin == COMMIT
