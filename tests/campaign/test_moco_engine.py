"""Derivation trees on fakelib: they grow, resume at the place where they stopped, and their findings are examined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from windows import PROGRAM, WINDOW

from fuzz_core.campaign.examination import examine
from fuzz_core.campaign.examiner import TriageOptions
from fuzz_core.campaign.moco.engine import MocoReport, fuzz_models
from fuzz_core.campaign.moco.extremes import SHARE
from fuzz_core.campaign.moco.growth import ProgramBench
from fuzz_core.campaign.moco.plot import MocoOptions, Plot, SeedProgram, TreeTurn, seeds
from fuzz_core.campaign.moco.workshop import BlockWorkshop
from fuzz_core.campaign.plans import NO_SPACE, make_plan
from fuzz_core.campaign.session import Session
from fuzz_core.campaign.watch import Watch
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import Invocation, Tensor, TestCase, prim
from fuzz_core.ir.wire import ModeRun, ModeRuns, Replayed
from fuzz_core.modelgen.moco.facts import Knowledge
from fuzz_core.modelgen.moco.nodes import TreeNode
from fuzz_core.modelgen.moco.program import Call
from fuzz_core.worker.programs_ran import ProgramResult

KNOWN = Knowledge(library="fakelib", build="fakelib-1", apis={WINDOW.api: WINDOW})


@pytest.fixture
def own(fakelib_session: Session, tmp_path: Path) -> list[SeedProgram]:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "windows.py").write_text(PROGRAM)
    return programs(fakelib_session, tmp_path)


def programs(session: Session, folder: Path) -> list[SeedProgram]:
    return [each for each in seeds(session, [folder / "models"]) if isinstance(each, SeedProgram)]


def grown(session: Session, own: Sequence[SeedProgram], nodes: int, seed: int = 3) -> MocoReport:
    return fuzz_models(session, own, KNOWN, MocoOptions(seconds=None, nodes=nodes, seed=seed))


def trees(session: Session) -> list[list[TreeNode]]:
    return [session.store.tree_nodes(row.id) for row in session.store.trees(session.target.key)]


def test_a_crash_of_a_block_is_found_and_becomes_a_bug_of_its_api(
    fakelib_session: Session, own: list[SeedProgram]
) -> None:
    report = grown(fakelib_session, own, 40)
    assert report.kept and report.nodes["ok"] and report.nodes["finding"]
    (run,) = fakelib_session.store.runs()
    assert (run.tests, run.seconds) == (report.tests, report.seconds)
    nodes = [node for tree in trees(fakelib_session) for node in tree]
    crashed = [node.call for node in nodes if node.state == "finding" and node.positive]
    assert crashed and all("stride=0" in call for call in crashed)
    examine(fakelib_session, TriageOptions(runs=2))
    bugs = [bug for bug in fakelib_session.store.bugs() if bug.kind == "crash"]
    assert [bug.signature_text.split(" in ")[0] for bug in bugs] == ["fakelib.nn.Window: SIGSEGV"]
    assert "fakelib.nn.Window(" in bugs[0].script and "stride=0" in bugs[0].script


def test_a_finding_is_on_record_before_anything_else_is_run(fakelib_session: Session, own: list[SeedProgram]) -> None:
    report = grown(fakelib_session, own, 1)
    assert report.nodes["finding"] == 1 and report.kept == report.findings >= 1
    assert len(fakelib_session.store.pending_findings(fakelib_session.target.key)) == report.kept


def test_what_breaks_documentation_is_refused_or_a_finding_and_has_no_children(
    fakelib_session: Session, own: list[SeedProgram]
) -> None:
    grown(fakelib_session, own, 60)
    nodes = [node for tree in trees(fakelib_session) for node in tree]
    assert {node.state for node in nodes if node.operator == "BC"} <= {"refused", "", "ok"}
    assert {"refused"} <= {node.state for node in nodes if node.operator == "BC"}
    for tree in trees(fakelib_session):
        assert all(tree[node.parent].state == "ok" and tree[node.parent].positive for node in tree if node.parent)


def test_extreme_values_are_in_no_tree_and_at_most_three_in_ten(
    fakelib_session: Session, own: list[SeedProgram]
) -> None:
    report = grown(fakelib_session, own, 80)
    assert 10 < report.extremes <= SHARE * report.tests + 1
    assert report.tests == report.executed_nodes + report.extremes and report.nodes.total() >= 80
    assert "EV" not in {node.operator for tree in trees(fakelib_session) for node in tree}


def test_programs_are_counted_and_trees_that_have_nodes(
    fakelib_session: Session, own: list[SeedProgram], tmp_path: Path
) -> None:
    (tmp_path / "models" / "broken.py").write_text(PROGRAM.replace("float(outputs.sum())", "float(missing)"))
    every = programs(fakelib_session, tmp_path)
    report = grown(fakelib_session, every, 30)
    alone = sum(node.operator == "BC" for tree in trees(fakelib_session) for node in tree if node.state)
    assert report.trees == 1 and 0 < report.programs <= report.executed_nodes - alone
    assert report.headline.startswith(f"{report.programs:,} programs of 1 trees with ")
    assert report.summary()["programs"] == report.programs and report.summary()["trees"] == 1


def test_a_tree_grows_to_its_end_before_the_next_one_begins(
    fakelib_session: Session, own: list[SeedProgram], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fuzz_core.campaign.moco.plot.TURN_NODES", 4)
    (tmp_path / "models" / "other.py").write_text(PROGRAM + "\n")
    every = programs(fakelib_session, tmp_path)
    session = replace(fakelib_session, workers=1)
    for nodes in range(8, 400, 8):
        with fakelib_session.store._transaction():
            for table in ("moco_nodes", "moco_trees"):
                fakelib_session.store._db.execute(f"DELETE FROM {table}")
        grown(session, every, nodes)
        if len(begun := trees(session)) == 2:
            break
    first, _ = begun
    assert all(node.state for node in first) and max(node.level for node in first) > 1


class Backwards:
    """A process in which calls return and their gradients die."""

    timeout = 0.0

    def run(self, test: TestCase, weigh: bool = False) -> Replayed:
        return Replayed(Outcome("ok"))

    def tell(self, test: TestCase, modes: Sequence[str]) -> ModeRuns:
        return {mode: [ModeRun(Outcome("signal", "SIGSEGV"))] for mode in modes}

    def close(self) -> None:
        """Does no work: there is no process."""


def test_gradients_are_asked_for_where_a_value_is_extreme(fakelib_session: Session, tmp_path: Path) -> None:
    make_plan(fakelib_session, tmp_path / "plan.jsonl", (), seed=1, space=NO_SPACE)
    workshop = BlockWorkshop(fakelib_session, tmp_path / "plan.jsonl", 1.0)
    workshop.tests.close()
    workshop.tests = Backwards()  # type: ignore[assignment] # it has the attributes that the workshop uses
    test = TestCase(Invocation("fakelib.scale"), 0)
    assert workshop.alone(test) == (Outcome("ok"), [])
    outcome, [(verdict, died)] = workshop.alone(test, extreme=True)
    assert outcome.kind == "ok" and died.name == "SIGSEGV" and verdict.detail.startswith("backward: ")
    workshop.close()


def test_an_extreme_value_has_less_time_and_its_hang_is_no_finding(
    fakelib_session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fuzz_core.campaign.moco.workshop.EXTREME_TIMEOUT", 0.5)
    make_plan(fakelib_session, tmp_path / "plan.jsonl", (), seed=1, space=NO_SPACE)
    workshop = BlockWorkshop(fakelib_session, tmp_path / "plan.jsonl", 2.0)
    hangs = TestCase(Invocation("fakelib.pool", (Tensor("float32", (8,)), prim(8)), (("ceil", prim(True)),)), 0)
    told = [workshop.alone(hangs, extreme) for extreme in (True, False)]
    assert [(each.kind, each.name) for each, _ in told] == [("timeout", "0.5 s"), ("timeout", "2 s")]
    assert [[verdict.kind for verdict, _ in verdicts] for _, verdicts in told] == [[], ["hang"]]
    workshop.close()


def test_a_run_that_is_stopped_while_the_library_is_imported_is_told(
    fakelib_session: Session, own: list[SeedProgram]
) -> None:
    class Impatient(Watch):
        def phase(self, name: str, total: float = 0.0, within: float | None = None) -> None:
            """Records the phase."""
            phases.append(name)

    # The first call of `stopped` in the growing asks whether a turn may begin.
    phases, answers = list[str](), iter([False])
    session = replace(
        fakelib_session, watch=Impatient(), stopped=lambda: "mutating models" in phases and next(answers, True)
    )
    report = grown(session, own, 40)
    assert not report.tests and [run.status for run in fakelib_session.store.runs()] == ["interrupted"]


def test_a_tree_that_stops_goes_on_as_if_it_had_not(
    fakelib_session: Session, own: list[SeedProgram], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fuzz_core.campaign.moco.plot.TURN_NODES", 5)
    for nodes in (5, 5, 100):
        grown(fakelib_session, own, nodes)
    stopped, *_ = trees(fakelib_session)
    with fakelib_session.store._transaction():
        for table in ("moco_nodes", "moco_trees"):
            fakelib_session.store._db.execute(f"DELETE FROM {table}")
    grown(fakelib_session, own, 110)
    whole, *_ = trees(fakelib_session)
    assert len(whole) > 15 and stopped == whole and all(node.state for node in whole)


def test_a_tree_of_an_older_nightfuzz_goes_on_where_an_option_is_new(
    fakelib_session: Session, own: list[SeedProgram], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fuzz_core.campaign.moco.plot.TURN_NODES", 5)
    grown(fakelib_session, own, 5)
    (row,) = fakelib_session.store.trees()
    fakelib_session.store.tell_tree(row.id, {key: row.options[key] for key in row.options if key != "same_check"})
    grown(fakelib_session, own, 5)
    assert [each.id for each in fakelib_session.store.trees()] == [row.id]


def test_a_verification_that_a_time_box_cuts_off_is_gone_on_with(
    fakelib_session: Session, own: list[SeedProgram], monkeypatch: pytest.MonkeyPatch
) -> None:
    executed, run = [list[frozenset[int]]()], ProgramBench.run

    def noted(
        bench: ProgramBench, workshop: BlockWorkshop, calls: dict[int, Call]
    ) -> tuple[ProgramResult, dict[int, Call]]:
        executed[-1].append(frozenset(calls))
        return run(bench, workshop, calls)

    monkeypatch.setattr(ProgramBench, "run", noted)
    fakelib_session.clock = lambda: 2.0 * len(executed[-1])
    for _ in range(20):
        fuzz_models(fakelib_session, own, KNOWN, MocoOptions(seconds=1.0, seed=3))
        executed.append([])
        if any(trees(fakelib_session)):
            break
    (row,) = fakelib_session.store.trees()
    assert row.nodes and "steps" in row.options and "runs" not in row.options
    *verifying, _ = (key for turn in executed for key in turn)
    assert [len(turn) for turn in executed if turn] == [1] * (len(verifying) + 1)
    assert len(verifying) > 1 and len(set(verifying)) == len(verifying)


def test_a_program_that_does_not_run_is_named_and_the_others_grow(
    fakelib_session: Session, own: list[SeedProgram], tmp_path: Path
) -> None:
    (tmp_path / "models" / "broken.py").write_text(PROGRAM.replace("float(outputs.sum())", "float(missing)"))
    every = programs(fakelib_session, tmp_path)
    report = grown(fakelib_session, every, 10)
    assert list(report.refused) == ["models/broken.py"]
    assert report.nodes["ok"]


def test_without_a_program_there_is_nothing_to_grow(fakelib_session: Session) -> None:
    with pytest.raises(UserError, match="no model program for fakelib"):
        grown(fakelib_session, [], 1)


class Clerk:
    """A queue with an examination under way, which counts the turns that it gets."""

    running, is_full, turns = 1, False, 0

    @property
    def figures(self) -> dict[str, int]:
        return {"bugs": 3}

    def step(self, fuzzing: bool = False) -> bool:
        self.turns += fuzzing
        return True


def test_findings_are_examined_while_trees_grow(
    fakelib_session: Session, own: list[SeedProgram], monkeypatch: pytest.MonkeyPatch
) -> None:
    fakelib_session.workers, clerk, at_a_time = 2, Clerk(), [0, 0]
    turn = Plot.turn

    def counted(plot: Plot, workshop: BlockWorkshop, over: Callable[[], bool]) -> TreeTurn:
        at_a_time[0] += 1
        at_a_time[1] = max(at_a_time)
        try:
            return turn(plot, workshop, over)
        finally:
            at_a_time[0] -= 1

    monkeypatch.setattr(Plot, "turn", counted)
    options = MocoOptions(seconds=None, nodes=40, seed=3)
    report = fuzz_models(fakelib_session, [*own, *own], KNOWN, options, clerk)  # type: ignore[arg-type]
    # The examination has one of two workers.
    assert report.nodes.total() >= 40 and clerk.turns > 1 and at_a_time[1] == 1
