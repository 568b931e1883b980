"""Data between jobs: the plan's artifact, and the export of a fuzz job."""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyrage
import pytest
from actioninputs import inputs
from leavings import KEY, add_bug, leave

from fuzz_core.cli.settings import load
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Invocation, TestCase
from fuzz_core.store.records import NewBug, TargetRecord
from fuzz_core.store.statefile import open_store
from fuzz_core.triage.known import read_entries
from nightfuzz.bot.action.inputs import Inputs
from nightfuzz.bot.github.redaction import Secret
from nightfuzz.bot.issues.filings import CommandRequest, Filings, IssueRecord
from nightfuzz.bot.jobs.export import export_job
from nightfuzz.bot.jobs.note import PlannedBuild, PlanNote
from nightfuzz.bot.jobs.plan import builds_of, plan_job, read_plan
from nightfuzz.bot.jobs.request import request_of
from nightfuzz.bot.jobs.settings import settings_file
from nightfuzz.bot.jobs.sources import unpack_sources
from nightfuzz.bot.jobs.workspace import (
    KNOWN,
    RESULTS,
    SOURCES,
    EndNote,
    StartNote,
    Workspace,
    restore,
    work_of,
)
from nightfuzz.bot.state.directory import StateDirectory
from nightfuzz.bot.state.place import FILINGS, STATE, StateStorage, pack
from nightfuzz.bot.state.private import decrypt
from nightfuzz.bot.state.shards import SEALED
from nightfuzz.reports.results import read_result

NOW = datetime(2026, 1, 2, 3, tzinfo=UTC)
SECRET_API, SECRET = "torch.scribbles", "free(): invalid pointer"
FINGERPRINT = "a" * 32


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with one commit, and the files that a runner leaves in it."""
    folder = tmp_path / "project"
    (folder / "tests").mkdir(parents=True)
    (folder / "tests" / "test_it.py").write_text("import torch\n")
    run = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run([*run, *command], cwd=folder, check=True)
    (folder / ".git" / "config").write_text("[http]\n\textraheader = AUTHORIZATION: basic c2VjcmV0\n")
    (folder / "left.env").write_text("TOKEN=secret\n")
    return folder


def place(tmp_path: Path, filings: Filings | None = None) -> StateStorage:
    """Returns a storage in which a night has left its state."""
    made = StateDirectory(tmp_path / "kept")
    made.store(lambda before: _files(tmp_path, filings or Filings()), "a night")
    return made


def _files(tmp_path: Path, filings: Filings) -> dict[str, bytes]:
    path = tmp_path / "kept.db"
    with open_store(path) as store:
        store.save_target(TargetRecord(KEY, "torch==2.13.0", "torch", "2.13.0", "/python", {}))
    return {FILINGS: filings.to_json().encode(), **pack(path)}


def taught() -> Filings:
    """Returns filings in which people have called one issue wrong and asked for a bisection in another."""
    common = {"library": "torch", "created_at": NOW, "at": NOW}
    wrong = IssueRecord(
        number=1, url="https://h/i/1", signatures={FINGERPRINT: "torch.f: E: x"}, teaching="wrong", **common
    )
    request = CommandRequest(kind="bisect", fingerprint="b" * 32, issue=2, comment=9, by="m", at=NOW)
    return Filings(issues={1: wrong}, requests={request.key: request})


class DescribeThePlan:
    def test_it_hands_over_state_sources_and_what_people_said(self, tmp_path: Path, project: Path) -> None:
        given = inputs(plan_only="true", target="torch==2.13.0", shards=3, results=tmp_path / "plan")
        matrix = plan_job(given, place(tmp_path, taught()), project)
        assert json.loads(matrix.text) == {"shard": [0, 1, 2]}
        with tarfile.open(tmp_path / "plan" / SOURCES) as archive:
            names = archive.getnames()
        assert "tests/test_it.py" in names and not any(".git" in name or "left" in name for name in names)
        (entry,) = read_entries((tmp_path / "plan" / KNOWN).read_bytes(), KNOWN)
        assert (entry.signature, entry.issue) == ("torch.f: E: x", "https://h/i/1")

        job = inputs(target="torch==2.13.0", state="artifact", state_path=tmp_path / "plan", shards=3)
        work = work_of(job, {"RUNNER_TEMP": str(tmp_path / "temp")})
        unpack_sources(job, work)
        restore(job, work, lambda: pytest.fail("the artifact has it"))
        assert (work.sources / "tests" / "test_it.py").is_file() and work.state_file.is_file()
        plan = read_plan(job)
        (request,) = plan.note.requests
        assert (request.kind, request.by) == ("bisect", "m")
        settings = load(Path(settings_file(job, work)[1]), {})
        assert "torch.f: E: x" in settings.known.read_text()

    def test_a_pull_request_that_bumps_nothing_has_nothing_to_do(self, tmp_path: Path, project: Path) -> None:
        run = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "--allow-empty", "-m", "two"]
        subprocess.run(run, cwd=project, check=True)
        matrix = plan_job(inputs(mode="bump", results=tmp_path / "plan"), place(tmp_path), project)
        assert (matrix.text, matrix.shards) == ("", 0)

    def test_sources_that_lead_out_of_their_folder_are_refused(self, tmp_path: Path) -> None:
        (tmp_path / "plan").mkdir()
        with tarfile.open(tmp_path / "plan" / SOURCES, "w") as archive:
            member = tarfile.TarInfo("../../evil")
            member.size = 1
            archive.addfile(member, io.BytesIO(b"x"))
        job = inputs(target="x", state="artifact", state_path=tmp_path / "plan")
        with pytest.raises(UserError, match="cannot be unpacked"):
            unpack_sources(job, work_of(job, {"RUNNER_TEMP": str(tmp_path / "temp")}))
        assert not list(tmp_path.rglob("evil"))

    @pytest.mark.parametrize(("mode", "kept"), [("nightly", True), ("pr", False), ("bump", False)])
    def test_a_pull_request_works_on_a_copy_of_the_runners_state(self, tmp_path: Path, mode: str, kept: bool) -> None:
        _files(tmp_path, Filings())
        (tmp_path / "kept.db").rename(tmp_path / "state.db")
        job = inputs(mode=mode, target="torch==2.13.0", state="directory", state_path=tmp_path)
        work = work_of(job, {"RUNNER_TEMP": str(tmp_path / "temp")})
        assert restore(job, work, lambda: pytest.fail("the runner has it")) == ()
        with open_store(work.state_file) as store:
            assert [each.key for each in store.targets()] == [KEY]
            store.save_target(TargetRecord("other", "torch==2", "torch", "2", "/python", {}))
        with open_store(tmp_path / "state.db") as store:
            assert (len(store.targets()) == 2) == kept


class DescribeWhatIsAsked:
    def test_the_plan_wins_over_inputs(self) -> None:
        target, baseline = PlannedBuild(spec="torch==2"), PlannedBuild(spec="torch==1")
        plan = PlanNote(target=target, baseline=baseline, shards=(0,))
        assert builds_of(inputs(mode="bump"), plan) == (target, baseline)
        assert builds_of(inputs(mode="bump", target="torch==4", baseline="torch==3"), plan) == (target, baseline)
        assert builds_of(inputs(mode="pr", target="torch==2", baseline="torch==1"), PlanNote()) == (target, None)
        with pytest.raises(UserError, match="the plan has 1 shards, and none has the number 1"):
            builds_of(inputs(target="torch==2", shard=1, shards=2), plan)

    @pytest.mark.parametrize("given", [{}, {"mode": "bump", "target": "torch==2"}])
    def test_a_missing_build_is_named(self, given: dict[str, str]) -> None:
        with pytest.raises(UserError, match="is empty"):
            builds_of(inputs(**given), PlanNote())

    def test_a_settings_file_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        work = Workspace(tmp_path, tmp_path / "state", tmp_path)
        with pytest.raises(UserError, match=r"no file other\.toml"):
            request_of(inputs(config="other.toml"), PlanNote(), work)

    def test_settings_win_over_the_users_file_and_reach_the_commands(self, tmp_path: Path) -> None:
        work = Workspace(tmp_path / "work", tmp_path / "state", tmp_path)
        (tmp_path / "nightfuzz.toml").write_text('workers = 9\nknown = "mine.toml"\nseed = 5\n')
        (tmp_path / "mine.toml").write_text("")
        given = inputs(flavour="cpu", workers=3, api=["torch.nn.*"], docs=["d"], shards=2, sandbox="docker", time="90s")
        made = request_of(given, PlanNote(), work)
        assert (made.seconds, made.shards) == (90.0, 2)
        assert made.common == made.pull == ("--sandbox", "docker", *made.settings)
        settings = load(Path(made.settings[1]), {})
        assert (settings.flavour, settings.workers, settings.seed) == ("cpu", 3, 5)
        assert (settings.api, settings.docs) == (["torch.nn.*"], [Path("d")])


class DescribeTheExport:
    def ran(self, tmp_path: Path, **given: Any) -> tuple[Inputs, Workspace]:
        """Returns a job that has found one public and one private bug."""
        work = Workspace(tmp_path / "work", tmp_path / "state", tmp_path / "sources")
        with open_store(work.state_file) as store:
            store.save_target(TargetRecord(KEY, "torch==2.13.0", "torch", "2.13.0", "/python", {"summary": "torch"}))
            add_bug(store, "torch.alpha")
            test, outcome = TestCase(Invocation(SECRET_API, (), ()), 1), Outcome("signal", "SIGABRT", SECRET)
            finding = store.add_finding(KEY, store.start_run(KEY, 1, {}), test, Verdict("crash", "crash"), outcome)
            script = f"import torch\n\n{SECRET_API}()\n"
            bug = NewBug(f"{SECRET_API}: {SECRET}", SECRET_API, "crash", "crash", test, script, outcome, 5, 5)
            store.settle_finding(finding or 0, "confirmed", bug=bug)
        work.note(StartNote(mode="nightly", target=KEY, at=NOW.isoformat()))
        return inputs(results=tmp_path / "out", **given), work

    def test_nothing_private_leaves_without_a_key(self, tmp_path: Path) -> None:
        given, work = self.ran(tmp_path)
        result = export_job(given, work, NOW)
        assert [bug.api for bug in result.bugs] == ["torch.alpha"] and result.private == 1
        assert any("1 private bugs" in line and "not kept" in line for line in result.problems)
        assert result.stopped, "no note says that the commands came to their end"
        packed = work.root / "public.db"
        left = b"".join(path.read_bytes() for path in (tmp_path / "out").iterdir()) + packed.read_bytes()
        for words in (SECRET_API, SECRET):
            assert words.encode() not in left
        assert read_result(tmp_path / "out" / RESULTS) == result
        assert not (tmp_path / "out" / SEALED).exists()

    def test_with_a_key_it_leaves_for_the_keys_owner_alone(self, tmp_path: Path) -> None:
        identity = pyrage.x25519.Identity.generate()
        given, work = self.ran(tmp_path, private_recipient=str(identity.to_public()))
        work.note(EndNote(codes={"run": 0}))
        assert export_job(given, work, NOW).problems == ()
        sealed = (tmp_path / "out" / SEALED).read_bytes()
        assert SECRET.encode() not in sealed
        decrypt(sealed, Secret(str(identity)), tmp_path / "private.db")
        with open_store(tmp_path / "private.db", read_only=True) as store:
            assert [bug.api for bug in store.bugs()] == [SECRET_API]

    def test_a_directory_on_the_runner_keeps_everything(self, tmp_path: Path) -> None:
        given, work = self.ran(tmp_path, state="directory", state_path=tmp_path)
        assert any("stay in the state directory" in line for line in export_job(given, work, NOW).problems)

    def test_a_run_with_a_failed_command_is_incomplete(self, tmp_path: Path) -> None:
        given, work = self.ran(tmp_path)
        failed = f"`nightfuzz run` failed: {work.sources}/tests/test_it.py: no call"
        work.note(EndNote(codes={"run": 2}, problems=(failed,)))
        result = export_job(given, work, NOW)
        assert result.incomplete and result.problems[0] == "`nightfuzz run` failed: tests/test_it.py: no call"
        work.note(EndNote(codes={"run": 0}))
        assert not export_job(given, work, NOW).incomplete

    def test_a_killed_command_counts_the_tests_on_record(self, tmp_path: Path) -> None:
        given, work = self.ran(tmp_path)
        with open_store(work.state_file) as store:
            store.checkpoint_run(store.runs(KEY)[-1].id, 1234, 5.0)
        figures = export_job(given, work, NOW).figures
        assert (figures.tests, figures.seconds) == (1234, 5.0)

    def test_a_job_that_never_began_says_so(self, tmp_path: Path) -> None:
        work = Workspace(tmp_path / "work", tmp_path / "state", tmp_path)
        with pytest.raises(UserError, match="before it began to fuzz"):
            export_job(inputs(results=tmp_path / "out"), work, NOW)

    def test_its_state_is_what_the_report_takes(self, tmp_path: Path) -> None:
        assert {path.name for path in leave(tmp_path / "shard", ["torch.alpha"]).iterdir()} == {RESULTS, STATE}
