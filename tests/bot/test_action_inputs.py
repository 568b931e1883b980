"""The Action's inputs: what is written arrives as it was meant, what does not fit is named with what would."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pyrage
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.action.inputs import FailOn, Inputs, Mode, read_inputs

ROOT = Path(__file__).parents[2]
ACTION = YAML(typ="safe", pure=True).load((ROOT / "action.yml").read_text())


def env(**values: str) -> dict[str, str]:
    return {f"INPUT_{name.upper()}": value for name, value in values.items()}


class DescribeReadInputs:
    def test_has_defaults_for_what_is_empty_or_not_there(self) -> None:
        assert read_inputs({}) == read_inputs(env(mode="", target="  ", tests="\n", app_id="")) == Inputs()

    def test_agrees_with_action_yml_on_names_and_defaults(self) -> None:
        declared = {name.replace("-", "_"): spec["default"] for name, spec in ACTION["inputs"].items()}
        assert set(declared) == set(Inputs.model_fields)
        written = {name: default for name, default in declared.items() if "${{" not in default}
        assert read_inputs(env(**written)) == Inputs()

    def test_reads_values_of_every_kind(self) -> None:
        inputs = read_inputs(
            env(
                mode="bump", time="1h30m", apis="torch.nn.*, torch.linalg.*\ntorch.add", tests="tests\nsrc/tests ",
                workers="4", fail_on="new", shard="2", shards="3", state="artifact", state_path="/tmp/plan",
                state_branch="bots/nightfuzz-2", plan_only="True", api_url="https://ghe.example.com/api/v3/",
                commit="a" * 40, max_new_issues="0",
            )
        )  # fmt: skip
        assert inputs.time == 5400
        assert inputs.apis == ("torch.nn.*", "torch.linalg.*", "torch.add")
        assert inputs.tests == (Path("tests"), Path("src/tests"))
        assert (inputs.workers, inputs.shard, inputs.shards, inputs.max_new_issues) == (4, 2, 3, 0)
        assert inputs.plan_only
        assert inputs.api_url == "https://ghe.example.com/api/v3"

    @pytest.mark.parametrize(
        ("name", "value", "problem", "remedy"),
        [
            ("mode", "nighty", "input mode: 'nighty'", "did you mean nightly?"),
            ("mode", "NIGHTLY!", "input mode", "one of nightly, pr, bump, recheck, report"),
            ("fail_on", "regressions", "input fail-on: 'regressions'", "did you mean regression?"),
            ("sandbox", "podman", "input sandbox: 'podman'", "auto, docker, none"),
            ("time", "soon", "input time: 'soon'", "write 45m, 1h30m, 90s or 90"),
            ("time", "0", "input time: '0'", "greater than 0"),
            ("workers", "many", "input workers: 'many'", "valid integer"),
            ("workers", "257", "input workers: '257'", "less than or equal to 256"),
            ("tests", "ok\n../../etc", "input tests", "inside the repository"),
            ("models", "/etc", "input models: '/etc'", "inside the repository"),
            ("config", "../nightfuzz.toml", "input config", "inside the repository"),
            ("target", "torch\x1b[31m", "input target", "one line of printable text"),
            ("state_branch", "--upload-pack=x", "input state-branch", "name of a branch"),
            ("state_branch", "a..b", "input state-branch", "name of a branch"),
            ("python_version", "2.7", "input python-version: '2.7'", "3.11 or later"),
            ("python_version", "3.12; rm -rf /", "input python-version", "3.11 or later"),
            ("private_recipient", "age1notakey", "input private-recipient", "nightfuzz init --private-key"),
            ("api_url", "http://example.com", "input api-url", "https://HOST"),
            ("api_url", "https://me:secret@example.com", "input api-url", "without a name, password"),
            ("commit", "HEAD", "input commit: 'HEAD'", "whole hash"),
            ("plan_only", "yes", "input plan-only: 'yes'", "true or false"),
            ("pull_request", "0", "input pull-request: '0'", "greater than or equal to 1"),
            ("shard", "${{ matrix.shard }}", "input shard", "valid integer"),
            ("shard", "1", "input shard: 1 is no shard of 1", "count from 0"),
            ("state", "directory", "input state-path is empty", "say where it is"),
        ],
    )  # fmt: skip
    def test_names_the_input_and_what_fits(self, name: str, value: str, problem: str, remedy: str) -> None:
        with pytest.raises(UserError) as error:
            read_inputs(env(**{name: value}))
        assert problem in error.value.problem
        assert remedy in error.value.remedy
        assert error.value.problem.isprintable()

    def test_wants_a_token_for_a_report_and_both_halves_of_an_app(self) -> None:
        with pytest.raises(UserError, match="no token"):
            read_inputs(env(mode="report"))
        assert read_inputs(env(mode="report", github_token="t")).mode == "report"
        with pytest.raises(UserError, match="app-private-key"):
            read_inputs(env(mode="report", app_id="7", github_token="t"))

    def test_takes_a_public_key_of_age(self) -> None:
        key = str(pyrage.x25519.Identity.generate().to_public())
        assert read_inputs(env(private_recipient=key)).private_recipient == key

    @given(value=st.text(st.characters(blacklist_categories=["Cs"]), max_size=200))
    def test_never_shows_a_secret(self, value: str) -> None:
        secret = f"ghp_{value}"
        shown = [repr(inputs := read_inputs(env(mode="report", github_token=secret))), str(inputs.model_dump())]
        with pytest.raises(UserError) as error:
            read_inputs(env(mode="report", github_token=secret, app_private_key=secret))
        assert all("ghp_" not in text for text in [*shown, str(error.value)])
        assert inputs.secrets == (secret.strip(),)

    @given(
        name=st.sampled_from(sorted(Inputs.model_fields)),
        value=st.text(st.characters(blacklist_categories=["Cs"]), max_size=300),
    )
    def test_takes_or_refuses_anything_and_never_breaks(self, name: str, value: str) -> None:
        try:
            inputs = read_inputs(env(**{name: value}))
        except UserError as error:
            assert name.replace("_", "-") in str(error)
        else:
            assert inputs.mode in get_args(Mode)
            assert inputs.fail_on in get_args(FailOn)

    def test_refuses_a_value_without_end(self) -> None:
        with pytest.raises(UserError, match="has 10,000,000 characters"):
            read_inputs(env(apis="a" * 10_000_000))
