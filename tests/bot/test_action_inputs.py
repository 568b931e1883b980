"""The Action's inputs: each text arrives as it was meant, and an error names a wrong value and the allowed ones."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pyrage
import pytest
from actioninputs import variables
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.action.inputs import FailOn, Inputs, Mode, read_inputs

ROOT = Path(__file__).parents[2]
ACTION = YAML(typ="safe", pure=True).load((ROOT / "action.yml").read_text())


class DescribeReadInputs:
    def test_has_defaults_for_what_is_empty_or_not_there(self) -> None:
        assert (
            read_inputs({}) == read_inputs(variables(mode="", target="  ", tests="\n", app_private_key="")) == Inputs()
        )

    def test_agrees_with_action_yml_on_names_defaults_and_descriptions(self) -> None:
        declared = {name.replace("-", "_"): spec for name, spec in ACTION["inputs"].items()}
        assert list(declared) == list(Inputs.model_fields)
        assert len(declared) <= 20
        assert read_inputs(variables(**{name: spec["default"] for name, spec in declared.items()})) == Inputs()
        for name, field in Inputs.model_fields.items():
            assert declared[name]["description"] == field.description

    def test_reads_values_of_every_kind(self) -> None:
        inputs = read_inputs(
            variables(
                mode="bump", time="1h30m", tests="tests\nsrc/tests ", fail_on="new", shard="2", state="artifact",
                state_path="/tmp/plan", plan_only="True",
                settings="""
                api = ["torch.nn.*", "torch.add"]
                models = ["m"]
                seed-time = "2m"
                shards = 3
                state-ref = "refs/bots/nightfuzz-2"
                max_new_issues = 0
                """,
            )
        )  # fmt: skip
        assert inputs.time == 5400
        assert inputs.tests == (Path("tests"), Path("src/tests"))
        assert inputs.shard == 2
        assert inputs.plan_only
        settings = inputs.settings
        assert (settings.shards, settings.state_ref, settings.max_new_issues) == (3, "refs/bots/nightfuzz-2", 0)
        assert settings.options == {"api": ["torch.nn.*", "torch.add"], "models": ["m"], "seed_time": 120.0}

    @pytest.mark.parametrize(
        ("name", "value", "problem", "remedy"),
        [
            ("mode", "nighty", "input mode: 'nighty'", "did you mean nightly?"),
            ("mode", "NIGHTLY!", "input mode", "one of nightly, pr, bump, recheck, report"),
            ("fail_on", "regressions", "input fail-on: 'regressions'", "did you mean regression?"),
            ("sandbox", "podman", "input sandbox: 'podman'", "auto, docker, none"),
            ("time", "soon", "input time: 'soon'", "write 45m, 1h30m, 90s or 90"),
            ("time", "0", "input time: '0'", "greater than 0"),
            ("workers", "many", "input settings: workers: 'many'", "valid integer"),
            ("workers", "257", "input settings: workers: '257'", "less than or equal to 256"),
            ("tests", "ok\n../../etc", "input tests: '../../etc'", "inside the repository"),
            ("models", ["/etc"], "input settings: models", "inside the repository"),
            ("config", "../nightfuzz.toml", "input settings: config", "inside the repository"),
            ("target", "torch\x1b[31m", "input target", "one line of printable text"),
            ("state_ref", "--upload-pack=x", "input settings: state-ref", "name of a ref"),
            ("state_ref", "refs/heads/a..b", "input settings: state-ref", "name of a ref"),
            ("python_version", "2.7", "input python-version: '2.7'", "3.11 or later"),
            ("python_version", "3.12; rm -rf /", "input python-version", "3.11 or later"),
            ("private_recipient", "age1notakey", "input settings: private-recipient", "nightfuzz init --private-key"),
            ("private_recipient", "ssh-ed25519 AAAA", "input settings: private-recipient", "init --private-key"),
            ("private_recipient", "AGE-SECRET-KEY-1Q", "input settings: private-recipient", "init --private-key"),
            ("engine", "mocc", "input settings: engine: 'mocc'", "did you mean moco?"),
            ("settings", "shards = ", "input settings", "not valid TOML"),
            pytest.param("settings", "api = " + "[" * 10_000, "input settings", "not valid TOML", id="deep"),
            ("settings", "state-rev = 1", "input settings", "did you mean 'state-ref'?"),
            ("settings", "seedtime = 1", "input settings", "did you mean 'seed_time'?"),
            ("settings", "target = 'torch'", "input settings", "target is an input of its own"),
            ("settings", "reward = [1]", "input settings: reward", "at least 3 items"),
            ("commit", "HEAD", "input settings: commit: 'HEAD'", "whole hash"),
            ("plan_only", "yes", "input plan-only: 'yes'", "true or false"),
            ("pull_request", "0", "input settings: pull-request: '0'", "greater than or equal to 1"),
            ("shard", "${{ matrix.shard }}", "input shard", "valid integer"),
            ("shard", "1", "input shard: 1 is not a shard of 1", "from 0 to 0"),
            ("state", "directory", "input state-path is empty", "set state-path"),
        ],
    )  # fmt: skip
    def test_names_the_input_and_what_fits(self, name: str, value: object, problem: str, remedy: str) -> None:
        with pytest.raises(UserError) as error:
            read_inputs(variables(**{name: value}))
        assert problem in error.value.problem
        assert remedy in error.value.remedy
        assert error.value.problem.isprintable()

    def test_wants_a_token_for_a_report_and_both_halves_of_an_app(self) -> None:
        with pytest.raises(UserError, match="needs a token"):
            read_inputs(variables(mode="report"))
        assert read_inputs(variables(mode="report", github_token="t")).mode == "report"
        with pytest.raises(UserError, match="app-private-key"):
            read_inputs(variables(mode="report", app_id=7, github_token="t"))

    def test_takes_a_public_key_of_age(self) -> None:
        key = str(pyrage.x25519.Identity.generate().to_public())
        assert read_inputs(variables(private_recipient=key)).settings.private_recipient == key

    @pytest.mark.parametrize("name", ["github-token", "private-identity", "llm_key_variable", "private-recipient"])
    def test_settings_take_no_secret_and_do_not_repeat_it(self, name: str) -> None:
        with pytest.raises(UserError) as error:
            read_inputs(variables(settings=f"{name} = 'ghp s3cr3t'"))
        assert name in str(error.value)
        assert "s3cr3t" not in str(error.value)

    @given(value=st.text(st.characters(blacklist_categories=["Cs"]), max_size=200))
    def test_never_shows_a_secret(self, value: str) -> None:
        secret = f"ghp_{value}"
        shown = [repr(inputs := read_inputs(variables(mode="report", github_token=secret))), str(inputs.model_dump())]
        with pytest.raises(UserError) as error:
            read_inputs(variables(mode="report", github_token=secret, app_private_key=secret))
        assert all("ghp_" not in text for text in [*shown, str(error.value)])
        assert inputs.secrets == (secret.strip(),)

    @given(
        name=st.sampled_from(sorted(Inputs.model_fields)),
        value=st.text(st.characters(blacklist_categories=["Cs"]), max_size=300),
    )
    def test_takes_or_refuses_anything_and_never_breaks(self, name: str, value: str) -> None:
        try:
            inputs = read_inputs(variables(**{name: value}))
        except UserError as error:
            assert name.replace("_", "-") in str(error)
        else:
            assert inputs.mode in get_args(Mode)
            assert inputs.fail_on in get_args(FailOn)

    def test_refuses_a_value_without_end(self) -> None:
        with pytest.raises(UserError, match="has 10,000,000 characters"):
            read_inputs(variables(tests="a" * 10_000_000))
