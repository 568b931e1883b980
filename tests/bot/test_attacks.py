"""Attacks on the jobs of the Action: by a pull request, by code under test, and by the files that it leaves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from actioninputs import inputs
from leavings import leave
from runner import Runner
from test_action_steps import NIGHTFUZZ, PYTHON, ROOT

from fuzz_core.cli.settings import Settings, load
from fuzz_core.ir.errors import UserError
from nightfuzz.bot.action.environment import command_environment
from nightfuzz.bot.action.inputs import Inputs
from nightfuzz.bot.jobs.plan import plan_job
from nightfuzz.bot.jobs.settings import settings_file
from nightfuzz.bot.jobs.sources import unpack_sources
from nightfuzz.bot.jobs.workspace import RESULTS, Workspace, work_of
from nightfuzz.bot.state.directory import StateDirectory
from nightfuzz.bot.state.place import STATE
from nightfuzz.bot.state.shards import SEALED, read_shards
from nightfuzz.reports.artifact import folders_with, fresh_folder
from nightfuzz.reports.results import read_result

GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
ENTRY = '[[known]]\nsignature = "{}"\nlink = "https://h/i/1"\nreason = "reported"\n'


def commit(folder: Path, **files: str) -> None:
    """Commit these files; `__` in a name stands for a dot."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "a change"]):
        subprocess.run([*GIT, *command], cwd=folder, check=True)


class DescribeSettingsOfAPullRequest:
    """Settings of a pull request, whose head belongs to a stranger and whose base belongs to the repository."""

    HEAD = 'index = "https://evil.example/simple"\nknown = "/etc/passwd"\nsandbox_image = "evil"\nworkers = 64\n'

    def planned(
        self, tmp_path: Path, base: str | None, head: str = HEAD, test: str = "import torch\n", **given: object
    ) -> tuple[Inputs, Workspace]:
        """The inputs and folders of a fuzz job whose plan job saw this base and this head."""
        project = tmp_path / "project"
        commit(project, a__py="", **({} if base is None else {"nightfuzz__toml": base}))
        commit(project, nightfuzz__toml=head, test_it__py=test)
        common = {"mode": "pr", "target": "torch==2.13.0", **given}
        plan_job(inputs(results=tmp_path / "plan", **common), StateDirectory(tmp_path / "kept"), project)
        job = inputs(state="artifact", state_path=tmp_path / "plan", **common)
        work = work_of(job, {"RUNNER_TEMP": str(tmp_path / "temp")})
        unpack_sources(job, work)
        return job, work

    def settings(self, job: Inputs, work: Workspace, monkeypatch: pytest.MonkeyPatch) -> Settings:
        """Returns the settings that a command reads which runs in the sources."""
        monkeypatch.chdir(work.sources)
        flag = settings_file(job, work)
        return load(Path(flag[1]) if flag else None, {})

    @pytest.mark.parametrize("mode", ["pr", "bump"])
    def test_they_are_those_of_the_base(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
        given = {"mode": mode, "baseline": "torch==2.12.0"} if mode == "bump" else {}
        job, work = self.planned(tmp_path, 'index = "https://ours.example/simple"\nworkers = 3\n', **given)
        found = self.settings(job, work, monkeypatch)
        assert (found.index, found.workers) == ("https://ours.example/simple", 3)
        assert found.sandbox_image is None
        assert "root" not in found.known.read_text()

    def test_a_file_that_only_the_head_has_counts_for_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job, work = self.planned(tmp_path, None)
        found = self.settings(job, work, monkeypatch)
        assert (found.index, found.sandbox_image, found.workers) == (None, None, Settings().workers)

    def test_known_findings_are_those_of_the_base(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """If the head's file counted, a pull request could silence the bug that it brings."""
        commit(tmp_path / "project", **{"nightfuzz-known__toml": ENTRY.format("torch.ours: E: x")})
        job, work = self.planned(tmp_path, "", head='known = "test_it.py"\n', test=ENTRY.format("torch.evil: E: x"))
        known = self.settings(job, work, monkeypatch).known.read_text()
        assert "torch.ours" in known and "torch.evil" not in known

    @pytest.mark.parametrize(
        "key", ["index", "known", "knowledge-import", "sandbox-image", "sandbox-base", "llm-endpoint"]
    )
    def test_the_input_may_not_set_what_chooses_code_or_protection(self, tmp_path: Path, key: str) -> None:
        name = key.replace("-", "_")
        with pytest.raises(UserError, match="cannot be set in the mode pr"):
            self.planned(tmp_path, "", **{name: "https://evil.example/simple"})
        given = inputs(mode="pr", target="torch==2.13.0", **{name: "https://evil.example/simple"})
        with pytest.raises(UserError, match="cannot be set in the mode pr"):
            settings_file(given, Workspace(tmp_path / "work", tmp_path / "state", tmp_path))


class DescribePaths:
    @pytest.mark.parametrize("key", ["known", "docs", "tests", "models", "knowledge_import"])
    def test_one_that_leads_out_is_refused(self, tmp_path: Path, key: str) -> None:
        for path in ("/etc/hosts", "../outside", "inside/link"):
            sources = tmp_path / "sources"
            (sources / "inside").mkdir(parents=True, exist_ok=True)
            (sources / "inside" / "link").unlink(missing_ok=True)
            (sources / "inside" / "link").symlink_to("/etc")
            value = f'"{path}"' if key in ("known", "knowledge_import") else f'["{path}"]'
            (sources / "nightfuzz.toml").write_text(f"{key} = {value}\n")
            with pytest.raises(UserError, match="leads out of the repository"):
                settings_file(inputs(target="x"), Workspace(tmp_path / "work", tmp_path / "state", sources))

    @pytest.mark.parametrize("given", [{"config": "own.toml"}, {"tests": "inside"}])
    def test_a_link_in_the_place_of_an_input_is_refused(self, tmp_path: Path, given: dict[str, str]) -> None:
        (tmp_path / "outside").mkdir()
        (tmp_path / "outside" / "own.toml").write_text("workers = 1\n")
        (tmp_path / "sources").mkdir()
        (tmp_path / "sources" / "own.toml").symlink_to(tmp_path / "outside" / "own.toml")
        (tmp_path / "sources" / "inside").symlink_to(tmp_path / "outside")
        with pytest.raises(UserError, match="leads out of the repository"):
            settings_file(
                inputs(target="x", **given), Workspace(tmp_path / "work", tmp_path / "s", tmp_path / "sources")
            )


class DescribeTheEnvironment:
    SECRETS = ("ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY")

    def test_a_command_has_allowed_variables_alone(self) -> None:
        own = {"PATH": "/bin", "HTTPS_PROXY": "http://p", "PIP_INDEX_URL": "https://i", "CUDA_VISIBLE_DEVICES": "0"}
        preload = {"LD_PRELOAD": "/evil.so", "PYTHONSTARTUP": "/evil.py", "BASH_ENV": "/evil.sh"}
        assert command_environment({**own, **preload, **dict.fromkeys(self.SECRETS, "s3cr3t")}) == own

    @pytest.mark.process
    def test_no_process_of_the_step_shows_a_secret(self, tmp_path: Path) -> None:
        """`/proc/PID/environ` shows what a process was started with, to every process of the same user."""
        spy, seen = tmp_path / "python", tmp_path / "seen"
        spy.write_text(f"#!/bin/sh\ncat /proc/*/environ > {seen} 2> /dev/null\nexit 1\n")
        spy.chmod(0o755)
        place = {"state": "directory", "state-path": str(tmp_path / "state")}
        runner = Runner(tmp_path / "home", dict.fromkeys(self.SECRETS, "s3cr3t-of-the-job"))
        done = runner.run(
            ROOT, {"target": f"python:{spy}", "sandbox": "none", **place}, {**PYTHON, "install": {"command": NIGHTFUZZ}}
        )
        assert "could not be made" in done.log or "failed" in done.log
        assert b"HOME=" in seen.read_bytes()
        assert b"s3cr3t-of-the-job" not in seen.read_bytes()

    def test_a_step_starts_itself_anew_without_secrets(self) -> None:
        """The secrets are gone even if no confinement keeps other processes from reading them."""
        lines = "from nightfuzz.bot.action.environment import drop_variables\ndrop_variables()\n"
        lines += "print(open('/proc/self/environ').read())"
        own = {"PATH": os.environ["PATH"], "INPUT_TARGET": "torch", "RUNNER_TEMP": "/temp"}
        given = {**own, **dict.fromkeys([*self.SECRETS, "INPUT_GITHUB_TOKEN"], "s3cr3t")}
        shown = subprocess.check_output([sys.executable, "-c", lines], env=given, text=True)
        assert "s3cr3t" not in shown and "INPUT_TARGET=torch" in shown and "RUNNER_TEMP=/temp" in shown


class DescribeLinksInResults:
    """Links in results: the report job holds the token, and it would publish the file that a link leads to."""

    @pytest.fixture
    def results(self, tmp_path: Path) -> Path:
        leave(tmp_path / "elsewhere", ["torch.alpha"])
        (tmp_path / "results").mkdir()
        return tmp_path / "results"

    @pytest.mark.parametrize("deep", ["shard", "artifact/shard"])
    def test_a_folder_that_is_a_link_is_not_looked_into(self, results: Path, deep: str) -> None:
        link = results / deep
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(results.parent / "elsewhere")
        assert list(folders_with(RESULTS, results)) == []
        with pytest.raises(UserError, match="is a link"):
            read_result(link / RESULTS, results)

    @pytest.mark.parametrize("make", [os.symlink, os.link])
    def test_a_document_that_is_a_link_is_refused(self, results: Path, make: object) -> None:
        assert callable(make)
        make(results.parent / "elsewhere" / RESULTS, results / RESULTS)
        with pytest.raises(UserError, match="is a link"):
            read_result(results / RESULTS, results)

    @pytest.mark.parametrize("make", [os.symlink, os.link])
    @pytest.mark.parametrize("name", [STATE, SEALED])
    def test_so_are_links_in_the_place_of_a_state(self, tmp_path: Path, name: str, make: object) -> None:
        assert callable(make)
        shard = leave(tmp_path / "shard", ["torch.alpha"])
        secret = tmp_path / "secret"
        secret.write_bytes((shard / STATE).read_bytes())
        (shard / name).unlink(missing_ok=True)
        make(secret, shard / name)
        found, refused = read_shards([("shard 0", shard)], tmp_path)
        assert found.sealed == [] and len(refused) == 1 and "is a link" in refused[0]

    @pytest.mark.parametrize("is_folder", [True, False])
    def test_what_the_job_writes_goes_through_no_link(self, results: Path, is_folder: bool) -> None:
        victim = results.parent / "elsewhere"
        before = (victim / RESULTS).read_bytes()
        if is_folder:
            (results / "told").symlink_to(victim)
        else:
            (results / "told").mkdir()
            (results / "told" / RESULTS).symlink_to(victim / RESULTS)
        (fresh_folder(results / "told") / RESULTS).write_bytes(b"ours")
        assert (victim / RESULTS).read_bytes() == before

    def test_a_pipe_does_not_hold_the_job_up(self, results: Path) -> None:
        os.mkfifo(results / RESULTS)
        with pytest.raises(UserError, match="no plain file"):
            read_result(results / RESULTS, results)
