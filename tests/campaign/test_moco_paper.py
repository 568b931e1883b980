"""MoCo as published: negative nodes are assembled, and their verdict is whether their programs run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from windows import PROGRAM, WINDOW

from fuzz_core.campaign.examination import examine
from fuzz_core.campaign.examiner import TriageOptions
from fuzz_core.campaign.moco.engine import MocoReport, fuzz_models
from fuzz_core.campaign.moco.plot import MocoOptions, SeedProgram, seeds
from fuzz_core.campaign.papers import MOCO
from fuzz_core.campaign.session import Session
from fuzz_core.cli.engines import trees_options
from fuzz_core.cli.settings import Settings
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.outcome import Verdict
from fuzz_core.modelgen.moco.facts import Facts, Knowledge, Parameter
from fuzz_core.modelgen.moco.nodes import (
    BOUNDARY,
    CHECKED,
    DOCUMENTATION,
    FINDING,
    GENERATED,
    IMPLEMENTATION,
    OK,
    PERFORMANCE,
    REFUSED,
    TreeNode,
    kind,
    kind_of,
)
from fuzz_core.oracles.kinds import KINDS

KNOWN = Knowledge(library="fakelib", build="fakelib-1", apis={WINDOW.api: WINDOW})
# A planted fault: once a program has begun, the library accepts every argument.
UNCHECKED = """
def unchecked(layer, width, stride=1):
    layer.width, layer.stride = width, stride

fakelib.nn.Window.__init__ = unchecked
"""
# As `fuzz --engine moco --paper --tests-count 60` has it.
PAPER = replace(trees_options(Settings(engine="moco", paper=True, tests_count=60), 3), seconds=None)
# A layer with a planted fault, by the kind of bug and the operator that shows it.
NARROW = Facts(
    api="fakelib.nn.Narrow",
    parameters=(Parameter(name="width", dtype="int", required=True, positional=False, seen=("2",)),),
    ranks=(1, 2),
    dtypes=("float64",),
    returns="tensor",
    example={"width": "2"},
)
HOARD = NARROW.model_copy(update={"api": "fakelib.nn.Hoard", "parameters": (), "example": {}})
PLANTED = [
    (DOCUMENTATION, "AR", "bounds", NARROW),
    (PERFORMANCE, "AR", "leak", HOARD),
    (BOUNDARY, "BC", "bounds", WINDOW),
    (IMPLEMENTATION, "RG", "crash", WINDOW),
]


def own(session: Session, folder: Path, program: str) -> list[SeedProgram]:
    (folder / "models").mkdir()
    (folder / "models" / "windows.py").write_text(program)
    return [each for each in seeds(session, [folder / "models"]) if isinstance(each, SeedProgram)]


def grown(session: Session, programs: list[SeedProgram], options: MocoOptions, known: Knowledge = KNOWN) -> MocoReport:
    return fuzz_models(session, programs, known, options)


def nodes(session: Session) -> list[TreeNode]:
    trees = [session.store.tree_nodes(row.id) for row in session.store.trees(session.target.key)]
    return [node for tree in trees for node in tree]


def checks(session: Session) -> list[TreeNode]:
    return [node for node in nodes(session) if node.operator == CHECKED and node.state]


def test_a_value_that_is_refused_alone_and_accepted_in_a_program_is_a_finding(
    fakelib_session: Session, tmp_path: Path
) -> None:
    program = PROGRAM.replace("import fakelib\n", f"import fakelib\n{UNCHECKED}")
    grown(fakelib_session, own(fakelib_session, tmp_path, program), PAPER)
    found = [node for node in checks(fakelib_session) if node.state == FINDING]
    assert {node.new for node in found} >= {"0"} and all("documented" in node.why for node in found)
    pending = fakelib_session.store.pending_findings(fakelib_session.target.key)
    (first, *_) = [each for each in pending if each.verdict.kind == "bounds"]
    assert "(boundary check)" in first.origin and "line " in first.origin and "refused with" in first.test.program
    examine(fakelib_session, TriageOptions(runs=2))
    bugs = [bug for bug in fakelib_session.store.bugs() if bug.kind == "bounds"]
    assert bugs and "the call alone is refused with ValueError" in bugs[0].script


@pytest.mark.parametrize(("name", "operator", "verdict", "facts"), PLANTED)
def test_a_planted_fault_of_each_kind_is_found_and_said_to_be_of_this_kind(
    fakelib_session: Session, tmp_path: Path, name: str, operator: str, verdict: str, facts: Facts
) -> None:
    # The rule that `trace` reads in the documentation.
    rule = Constraint("fakelib.nn.Narrow", "width", "maximum", (1,), "Must be at most 1.", "docstring")
    fakelib_session.store.save_constraints(fakelib_session.target.key, [rule])
    program = PROGRAM.replace("import fakelib\n", f"import fakelib\n{UNCHECKED if operator == 'BC' else ''}")
    known = KNOWN.model_copy(update={"apis": {WINDOW.api: WINDOW, facts.api: facts}})
    grown(fakelib_session, own(fakelib_session, tmp_path, program), PAPER, known)
    pending = fakelib_session.store.pending_findings(fakelib_session.target.key)
    found = [each for each in pending if each.verdict.kind == verdict and f"({name})" in each.origin]
    assert found and all(f": {operator} " in each.origin for each in found), [each.origin for each in pending]
    nodes = [
        node for row in fakelib_session.store.trees("fakelib-1") for node in fakelib_session.store.tree_nodes(row.id)
    ]
    assert name in {kind_of(node) for node in nodes}
    # The finding holds in fresh processes.
    examine(fakelib_session, TriageOptions(runs=2))
    assert facts.api in {bug.api for bug in fakelib_session.store.bugs() if bug.kind == verdict}


def test_the_oracles_of_the_paper_tell_its_four_kinds_of_bugs_apart() -> None:
    verdicts = [Verdict(each.oracle, each.name) for each in KINDS.values() if each.oracle in MOCO.oracles]
    found = {kind(operator, verdict) for operator in (GENERATED, CHECKED) for verdict in verdicts}
    assert found == {DOCUMENTATION, PERFORMANCE, BOUNDARY, IMPLEMENTATION}


def test_a_crash_of_a_legal_value_is_an_implementation_bug_with_its_line(
    fakelib_session: Session, tmp_path: Path
) -> None:
    grown(fakelib_session, own(fakelib_session, tmp_path, PROGRAM), PAPER)
    pending = fakelib_session.store.pending_findings(fakelib_session.target.key)
    crashes = [each for each in pending if each.outcome.kind == "signal"]
    assert crashes and all("line " in each.origin and "(implementation)" in each.origin for each in crashes)
    assert all(each.verdict.oracle in MOCO.oracles for each in pending)


def test_what_a_library_refuses_in_the_program_too_is_refused(fakelib_session: Session, tmp_path: Path) -> None:
    report = grown(fakelib_session, own(fakelib_session, tmp_path, PROGRAM), PAPER)
    found = checks(fakelib_session)
    # The programs of negative nodes count like all others.
    assert report.programs >= report.nodes[OK] + report.nodes[REFUSED]
    assert found and {node.state for node in found if node.new in ("0", "-1") and node.parameter == "width"} == {
        REFUSED
    }


@pytest.mark.parametrize(("believed", "expected"), [(True, {"8"}), (False, set[str]())])
def test_ranges_that_a_language_model_read_are_checked(
    fakelib_session: Session, tmp_path: Path, believed: bool, expected: set[str]
) -> None:
    said = Constraint("", "width", "maximum", (7.0,), "at most 7", "llm")
    width = Parameter(name="width", dtype="int", required=True, constraints=(said,), seen=("2",))
    stride = WINDOW.parameters[1].model_copy(update={"constraints": ()})
    facts = WINDOW.model_copy(update={"parameters": (width, stride)})
    known = KNOWN.model_copy(update={"apis": {WINDOW.api: facts}})
    options = replace(PAPER, model_ranges=believed, nodes=40)
    grown(fakelib_session, own(fakelib_session, tmp_path, PROGRAM), options, known)
    found = checks(fakelib_session)
    assert {node.new for node in found} == expected and all(node.state == FINDING for node in found)
