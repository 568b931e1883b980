"""Results of shards, checked against the plan: valid parts are kept, and the run names the missing parts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from leavings import KEY
from shardruns import LOCK, NightRun, found, key, states

from fuzz_core.ir.errors import UserError
from fuzz_core.targets.lock import BuildLock
from nightfuzz.bot.jobs.collection import CollectedRun
from nightfuzz.bot.jobs.note import PlannedBuild, PlanNote
from nightfuzz.bot.jobs.workspace import PLAN, PLAN_FOLDER, RESULTS, TOLD
from nightfuzz.bot.state.place import STATE
from nightfuzz.reports.comment import FAIL_ON, conclusion, headline
from nightfuzz.reports.results import merged, read_result
from nightfuzz.reports.summary import summary

LONG = json.dumps(
    {"target": {"spec": "x", "lock": {"library": "x", "distribution": "x", "version": "9" * 300, "artifacts": []}}}
)


@pytest.fixture
def run(tmp_path: Path) -> NightRun:
    return NightRun(tmp_path)


def check_red(told: CollectedRun, *said: str) -> None:
    """Checks that the run fails with every `fail-on`, and that its first problems and the summary give these texts."""
    result = told.result
    assert result.incomplete and {conclusion(result, each) for each in FAIL_ON} == {"failure"}
    assert "incomplete" in headline(result)
    page = summary(result)
    for problem, text in zip(result.problems, said, strict=True):
        assert text in problem and text.split(":")[0] in page


@pytest.mark.smoke
def test_a_whole_run_lacks_nothing(run: NightRun) -> None:
    run.leave(0)
    run.leave(1)
    told = run.collect()
    assert (found(told), states(told)) == (["alpha", "beta"], ["alpha", "beta"])
    assert (told.result.incomplete, told.result.problems) == (False, ())
    assert conclusion(told.result, "never") != "failure"


@pytest.mark.smoke
def test_a_missing_shard_is_named(run: NightRun) -> None:
    run.leave(0)
    told = run.collect()
    assert (found(told), states(told)) == (["alpha"], ["alpha"])
    check_red(told, "shard 1 is missing")


def test_a_number_that_the_settings_ask_for_is_missing_whatever_a_plan_says(tmp_path: Path) -> None:
    run = NightRun(tmp_path, shards=(0,))
    run.leave(0)
    check_red(run.collect(shards=2), "shard 1 is missing")


@pytest.mark.parametrize("cut", [0, 1, 400])
@pytest.mark.smoke
def test_a_truncated_document_loses_nothing_but_itself(run: NightRun, cut: int) -> None:
    run.leave(0)
    path = run.leave(1) / RESULTS
    path.write_bytes(path.read_bytes()[:cut])
    told = run.collect()
    assert (found(told), states(told)) == (["alpha"], ["alpha", "beta"])
    check_red(told, "shard 1 is damaged: results.json")


@pytest.mark.parametrize("damage", ["gone", "cut", "noise", "link"])
def test_a_broken_state_loses_nothing_but_itself(run: NightRun, damage: str) -> None:
    run.leave(0)
    path = run.leave(1) / STATE
    data = path.read_bytes()
    path.unlink()
    if damage == "link":
        path.symlink_to(run.folder(0) / STATE)
    elif damage != "gone":
        path.write_bytes(data[: len(data) // 2] if damage == "cut" else b"rubbish")
    told = run.collect()
    assert (found(told), states(told)) == (["alpha", "beta"], ["alpha"])
    check_red(told, "shard 1 is damaged: ")


@pytest.mark.smoke
def test_states_are_kept_where_no_document_is_left(tmp_path: Path) -> None:
    run = NightRun(tmp_path, shards=(0,))
    (run.leave(0) / RESULTS).write_text("{")
    told = run.collect()
    assert (found(told), states(told)) == ([], ["alpha"])
    assert (told.result.mode, told.result.target.library, told.result.plan) == ("nightly", "torch", run.identity)
    check_red(told, "shard 0 is damaged: results.json")


def test_no_document_at_all_is_an_error_that_says_what_happened(tmp_path: Path) -> None:
    run = NightRun(tmp_path, target=PlannedBuild(spec="python:/x/bin/python", problem="it is of the runner"))
    run.leave(0)
    (run.folder(0) / RESULTS).write_text("{")
    with pytest.raises(UserError, match="no results to report") as caught:
        run.collect()
    assert "shard 0 is damaged: results.json" in caught.value.problem and "shard 1 is missing" in caught.value.problem


class DescribeForeignResults:
    """Results of another run: the artifact's name and the plan decide, and the shard's own statements do not."""

    @pytest.mark.parametrize(
        ("ran", "said"),
        [
            ({"plan": "c" * 64}, "follow another plan"),
            ({"plan": ""}, "follow no plan"),
            ({"mode": "recheck"}, "of the mode recheck, but the plan has the mode nightly"),
            ({"key": "torch-2.13.0.dev20260425+cpu-cp312-cccccccc"}, "the plan has torch 2.13.0.dev20260424"),
            ({"key": key().replace("aaaaaaaa", "cccccccc")}, "the plan has torch 2.13.0.dev20260424"),
            ({"key": KEY}, "the plan has torch 2.13.0.dev20260424"),
            ({"baseline": key("cu130")}, "the plan has none"),
            ({"shard": 0}, "say that they are of shard 0"),
        ],
        ids=lambda value: value if isinstance(value, str) else next(iter(value)),
    )
    def test_it_is_left_out_and_named(self, run: NightRun, ran: dict[str, Any], said: str) -> None:
        run.leave(0)
        run.leave(1, **ran)
        told = run.collect()
        assert (found(told), states(told)) == (["alpha"], ["alpha"])
        check_red(told, "shard 1 is left out: its")
        assert said in told.result.problems[0]

    def test_a_number_that_the_plan_lacks(self, run: NightRun) -> None:
        for number in range(3):
            run.leave(number)
        told = run.collect()
        assert found(told) == ["alpha", "beta"]
        check_red(told, "shard 2 is left out: the run has 2 shards")

    def test_a_shard_twice(self, run: NightRun) -> None:
        for number in range(2):
            run.leave(number)
        run.leave(2, run.results / "other-results-1-nightly", shard=1)
        told = run.collect()
        assert found(told) == ["alpha", "beta"]
        check_red(told, "shard 1 is left out: the results have another shard")

    @pytest.mark.parametrize("name", ["x-results-1-nightly", "x", "x/y"])
    def test_a_shard_that_brings_folders_of_a_missing_one(self, run: NightRun, name: str) -> None:
        run.leave(2, run.leave(0) / name, shard=1)
        told = run.collect()
        assert found(told) == ["alpha"]
        check_red(told, "shard 1 is missing")

    def test_a_shard_that_brings_a_plan(self, run: NightRun) -> None:
        run.leave(1)
        (run.leave(0) / PLAN).write_text(PlanNote(shards=(0,)).model_dump_json())
        assert not run.collect().result.incomplete

    def test_a_state_without_a_number_and_a_document(self, run: NightRun) -> None:
        for number in range(2):
            run.leave(number)
        (run.leave(2, run.results / "x") / RESULTS).write_text("{")
        told = run.collect()
        assert states(told) == ["alpha", "beta"]
        check_red(told, "the shard in x is left out")


class DescribeSeveralBuilds:
    """Shards with different builds: one plan may hold files for several kinds of runners."""

    def test_both_are_kept_and_named(self, run: NightRun) -> None:
        run.leave(0, key=key("cu130"))
        run.leave(1)
        told = run.collect()
        assert (found(told), states(told)) == (["alpha", "beta"], ["alpha", "beta"])
        check_red(told, "the shards ran different builds")
        assert f"{key('cu130')} in shard 0; {key()} in shard 1" in told.result.problems[0]

    def test_most_shards_stand_for_the_run(self, tmp_path: Path) -> None:
        run = NightRun(tmp_path, shards=(0, 1, 2))
        for number, label in enumerate(["cu130", "cpu", "cpu"]):
            run.leave(number, key=key(label))
        assert run.collect().result.target.key == key()

    def test_two_kinds_of_gpu_are_no_two_builds(self, run: NightRun) -> None:
        for number in range(2):
            path = run.leave(number) / RESULTS
            told = json.loads(path.read_text())
            told["target"]["devices"] = ["cpu", f"cuda:0 GPU {number}"]
            path.write_text(json.dumps(told))
        whole = run.collect().result
        assert not whole.incomplete and whole.target.devices == ("cpu", "cuda:0 GPU 0", "cuda:0 GPU 1")

    def test_another_python_is_another_build(self, run: NightRun) -> None:
        run.leave(0)
        run.leave(1, key=key(python="cp313"))
        check_red(run.collect(), "the shards ran different builds")

    def test_a_python_that_the_plan_settled_is_the_only_one(self, tmp_path: Path) -> None:
        lock = BuildLock(LOCK.library, LOCK.distribution, LOCK.version, LOCK.artifacts, "3.12")
        run = NightRun(tmp_path, target=PlannedBuild(spec="torch-nightly", lock=lock))
        run.leave(0)
        run.leave(1, key=key(python="cp313"))
        check_red(run.collect(), "shard 1 is left out: its target is")

    def test_of_a_build_that_only_runners_know_any_will_do(self, tmp_path: Path) -> None:
        run = NightRun(tmp_path, target=PlannedBuild(spec="python:/x/bin/python", problem="it is of the runner"))
        for number in range(2):
            run.leave(number, key="torch-2.13.0-cp312-python-12345678")
        assert not run.collect().result.incomplete


class DescribeWithoutAPlan:
    """Runs without a plan job: one job fuzzes and the next one reports."""

    def bare(self, tmp_path: Path) -> NightRun:
        run = NightRun(tmp_path)
        shutil.rmtree(run.results / PLAN_FOLDER)
        run.identity = ""
        return run

    @pytest.mark.parametrize("place", ["", "a", "a/b"])
    def test_what_is_there_is_the_run(self, tmp_path: Path, place: str) -> None:
        run = self.bare(tmp_path)
        run.results.rmdir()
        run.leave(0, run.results / place)
        told = run.collect()
        assert found(told) == ["alpha"] and not told.result.incomplete

    def test_the_settings_say_how_many_shards_there_are(self, tmp_path: Path) -> None:
        run = self.bare(tmp_path)
        run.leave(0)
        check_red(run.collect(shards=2), "shard 1 is missing")

    def test_results_of_a_plan_need_it(self, run: NightRun) -> None:
        run.leave(0)
        run.leave(1)
        shutil.rmtree(run.results / PLAN_FOLDER)
        told = run.collect()
        assert found(told) == ["alpha", "beta"]
        check_red(told, "the plan is not in the folder plan")

    @pytest.mark.parametrize("text", ["", "{", "[]", '{"shards": ["x"]}', '{"shards": [256]}', LONG])
    def test_a_plan_that_cannot_be_read_is_a_fault(self, run: NightRun, text: str) -> None:
        run.leave(0)
        run.leave(1)
        (run.results / PLAN_FOLDER / PLAN).write_text(text)
        told = run.collect()
        assert found(told) == ["alpha", "beta"]
        check_red(told, "plan.json cannot be read")

    def test_what_an_earlier_report_wrote_there_is_no_shard(self, run: NightRun) -> None:
        for number in range(2):
            run.leave(number)
        shutil.copytree(run.folder(0), run.results / TOLD)
        assert not run.collect().result.incomplete

    def test_several_modes_are_several_runs(self, tmp_path: Path) -> None:
        run = self.bare(tmp_path)
        run.leave(0)
        run.leave(1, mode="recheck")
        with pytest.raises(UserError, match="several modes"):
            run.collect()


def test_the_order_of_shards_makes_no_difference(run: NightRun) -> None:
    changes: list[Callable[[int], Path]] = [run.leave, lambda number: run.leave(number, key=key("cu130"))]
    results = [read_result(leave_one(number) / RESULTS) for number, leave_one in enumerate(changes)]
    assert merged(results) == merged(results[::-1])
