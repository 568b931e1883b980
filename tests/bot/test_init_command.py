"""`nightfuzz init` in a project: questions, files, keys, and what it refuses."""

from __future__ import annotations

import json
import stat
import subprocess
import tomllib
from pathlib import Path

import pyrage
import pytest
import typer
from ruamel.yaml import YAML
from typer.testing import CliRunner, Result

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.init.command import init_command
from nightfuzz.bot.init.project import look_at
from nightfuzz.bot.init.work import FOLDER, key_pair

APP = typer.Typer()
APP.command()(init_command)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git repository; keys are made in a folder of the test."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    root = tmp_path / "project"
    (root / "tests").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / "tests/test_loss.py").write_text("import os\nimport torch\nfrom torch import nn\n")
    return root


def run(project: Path, *arguments: str, answers: str | None = None) -> Result:
    return CliRunner().invoke(APP, ["--into", str(project), "--no-pin", *arguments], input=answers)


def written(project: Path, name: str = "nightfuzz.yml") -> dict[str, object]:
    """Returns the inputs of the reusable workflow, or those of the Action in a file that holds the jobs itself."""
    jobs = YAML(typ="safe", pure=True).load((project / FOLDER / name).read_text())["jobs"]
    (job,) = jobs.values() if len(jobs) == 1 else [jobs["fuzz"]]
    values: dict[str, object] = job["with"] if "with" in job else {**job["steps"][1]["with"], "runs-on": job["runs-on"]}
    return values


class DescribeInit:
    def test_it_asks_nothing_with_yes_and_takes_what_it_sees(self, project: Path) -> None:
        done = run(project, "--yes", "--no-private-key")
        assert done.exit_code == 0, done.output
        assert written(project) == {
            "target": "torch-nightly", "time": "45m", "runs-on": '["ubuntu-latest"]', "tests": "tests"
        }  # fmt: skip

    def test_it_asks_what_flags_have_not_said(self, project: Path) -> None:
        done = run(project, "--target", "torch==2.13.0", answers="nightly, bump\nself-hosted, gpu\n-\ntests\n")
        assert done.exit_code == 2
        assert "no test directory is named" in done.output
        done = run(project, "--target", "torch==2.13.0", answers="nightly, bump\nself-hosted, gpu\n\n")
        assert done.exit_code == 0, done.output
        assert written(project)["target"] == "torch==2.13.0"
        assert written(project, "nightfuzz-bump.yml")["runs-on"] == ["self-hosted", "gpu"]

    def test_it_explains_each_permission_and_says_what_is_next(self, project: Path) -> None:
        done = run(project, "--yes", "--runs-on", "self-hosted", "--fork-environment", "forks")
        for told in ("contents", "issues", "security-events", "one issue for each cause", "no permission, no secret"):
            assert told in done.output
        assert (
            "labels self-hosted: https://github.com/nightfuzz/nightfuzz/blob/v1/docs/reference/github-action.md"
            in done.output
        )
        assert "environment forks with required reviewers" in done.output
        assert "KEYFILE private.age" in done.output

    def test_its_json_names_files_and_next_steps_but_no_secret(self, project: Path) -> None:
        done = run(project, "--json")
        told = json.loads(done.stdout)
        assert told["written"] == [str(FOLDER / "nightfuzz.yml")] and told["answers"]["target"] == "torch-nightly"
        assert told["key"]["public"].startswith("age1") and len(told["next"]) > 2
        secret = next(line for line in Path(told["key"]["file"]).read_text().splitlines() if "SECRET" in line)
        assert secret not in done.output

    def test_it_overwrites_only_when_told_to_and_never_half(self, project: Path) -> None:
        assert run(project, "--yes").exit_code == 0
        file = project / FOLDER / "nightfuzz.yml"
        file.write_text("mine")
        done = run(project, "--yes", "--workflow", "bump", "--workflow", "nightly")
        assert done.exit_code == 2
        assert "nightfuzz.yml exists already" in done.output
        assert file.read_text() == "mine"
        assert not (project / FOLDER / "nightfuzz-bump.yml").exists()
        assert run(project, "--yes", "--force").exit_code == 0
        assert file.read_text() != "mine"

    def test_it_writes_nowhere_else(self, project: Path, tmp_path: Path) -> None:
        assert "is not in a git repository" in run(tmp_path, "--yes").output
        outside = tmp_path / "outside"
        outside.mkdir()
        (project / ".github").symlink_to(outside)
        done = run(project, "--yes", "--force")
        assert done.exit_code == 2
        assert "leads out of" in done.output
        assert list(outside.iterdir()) == []

    def test_it_works_from_a_folder_inside(self, project: Path) -> None:
        assert run(project / "tests", "--yes").exit_code == 0
        assert (project / FOLDER / "nightfuzz.yml").exists()

    def test_wrong_flags_write_nothing(self, project: Path) -> None:
        for arguments in (["--upstream", "on"], ["--action", "x"], ["--target", "a\nb"], ["--tests", "${{ x }}"]):
            assert run(project, "--yes", *arguments).exit_code == 2
        assert not (project / ".github").exists()


class DescribePrivateKey:
    def test_the_public_half_goes_into_the_files_and_the_secret_to_its_owner(
        self, project: Path, tmp_path: Path
    ) -> None:
        file = tmp_path / "config" / "my.agekey"
        done = run(project, "--yes", "--private-key", "--key-file", str(file))
        assert done.exit_code == 0, done.output
        public = str(tomllib.loads(str(written(project)["settings"]))["private-recipient"])
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        secret = file.read_text().splitlines()[-1]
        closed = pyrage.encrypt(b"found", [pyrage.x25519.Recipient.from_str(public)])
        assert pyrage.decrypt(closed, [pyrage.x25519.Identity.from_str(secret)]) == b"found"
        assert public in done.output
        assert secret not in done.output
        assert all(secret not in each.read_text() for each in (project / FOLDER).iterdir())

    def test_a_key_is_made_unless_one_is_given_or_none_is_wanted(self, project: Path, tmp_path: Path) -> None:
        done = run(project, "--yes", "--no-private-key")
        assert "settings" not in written(project) and "counted and then lost" in done.output
        done = run(project, "--yes", "--force", "--workflow", "report")
        assert done.exit_code == 0 and not (tmp_path / "config").exists()
        done = run(project, "--yes", "--force")
        (file,) = (tmp_path / "config").rglob("*.agekey")
        assert key_pair(file).public in str(written(project)["settings"])
        assert str(file) in done.output and "NIGHTFUZZ_IDENTITY" in done.output
        given = str(pyrage.x25519.Identity.generate().to_public())
        run(project, "--yes", "--force", "--private-recipient", given)
        assert given in str(written(project)["settings"])

    def test_files_that_are_there_are_left_alone_and_get_the_key_by_hand(self, project: Path, tmp_path: Path) -> None:
        assert run(project, "--yes").exit_code == 0
        before = (project / FOLDER / "nightfuzz.yml").read_text()
        done = run(project, "--yes", "--private-key", "--key-file", str(tmp_path / "k"))
        assert done.exit_code == 0
        assert f'private-recipient = "{key_pair(tmp_path / "k").public}"' in done.output
        assert (project / FOLDER / "nightfuzz.yml").read_text() == before

    def test_a_key_that_is_there_is_used_again_and_never_overwritten(self, tmp_path: Path) -> None:
        file = tmp_path / "k"
        first, second = key_pair(file), key_pair(file)
        assert (first.made, second.made) == (True, False)
        assert first.public == second.public
        file.write_text("something else")
        with pytest.raises(UserError, match="contains no secret key"):
            key_pair(file)
        assert file.read_text() == "something else"

    def test_it_is_never_put_into_a_repository(self, project: Path, tmp_path: Path) -> None:
        done = run(project, "--yes", "--private-key", "--key-file", str(project / "k"))
        assert done.exit_code == 2
        assert "inside a git repository" in done.output
        assert not (project / FOLDER).exists()
        (tmp_path / "link").symlink_to(project)
        with pytest.raises(UserError, match="inside a git repository"):
            key_pair(tmp_path / "link" / "k")

    def test_two_keys_are_one_too_many(self, project: Path, tmp_path: Path) -> None:
        public = str(pyrage.x25519.Identity.generate().to_public())
        flags = ["--private-key", "--private-recipient", public, "--key-file", str(tmp_path / "k")]
        assert "leave out one of the two" in run(project, "--yes", *flags).output
        assert not (tmp_path / "k").exists()


class DescribeLookAt:
    def test_it_sees_the_library_in_use_most_and_where_tests_are(self, tmp_path: Path) -> None:
        for name, text in {
            "train.py": "import tensorflow as tf",
            "pkg/a.py": "from keras import layers\n",
            "pkg/b.py": "    import torch\n",
            "pkg/tests/unit/test_a.py": "",
            "pkg/tests/test_b.py": "import torchvision.models",
            "checks/loss_test.py": "",
            ".venv/lib/test_x.py": "import jittor\n" * 100,
            "node_modules/test_y.py": "import jittor\n",
        }.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        found = look_at(tmp_path)
        assert set(found.libraries) == {"tensorflow", "torch"}
        assert found.tests == ("checks", "pkg/tests")

    def test_of_a_library_without_nights_the_newest_release_is_fuzzed(self, tmp_path: Path) -> None:
        (tmp_path / "train.py").write_text("import jittor as jt\nfrom jittor_utils import lock\n")
        assert (look_at(tmp_path).libraries, look_at(tmp_path).newest_target) == (("jittor",), "jittor")

    def test_an_empty_project_has_neither(self, tmp_path: Path) -> None:
        assert look_at(tmp_path) == ((), ())
        assert look_at(tmp_path).newest_target is None

    def test_links_and_strange_files_are_passed_over(self, tmp_path: Path) -> None:
        (tmp_path / "loop").symlink_to(tmp_path)
        (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere")
        (tmp_path / "bytes.py").write_bytes(b"\xff\xfeimport torch\nimport torch")
        assert look_at(tmp_path).libraries == ("torch",)
