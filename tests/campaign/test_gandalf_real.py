"""Real libraries compared: each planted fault is found, blamed on its library and shown by a script, without others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from sidecases import side_by_side, with_faults

from fuzz_core.campaign.engine import GandalfEngine, Round
from fuzz_core.campaign.examination import examine
from fuzz_core.campaign.examiner import TriageOptions
from fuzz_core.campaign.gandalf.engine import fuzz_graphs
from fuzz_core.campaign.gandalf.figures import ENOUGH, GandalfOptions, GandalfReport
from fuzz_core.campaign.gandalf.schedule import Asks
from fuzz_core.campaign.gandalf.search import FaultSearch
from fuzz_core.campaign.gandalf.sides import PRECISIONS, Runs, sides_of
from fuzz_core.campaign.session import Session
from fuzz_core.ir.errors import UserError
from fuzz_core.modelgen.gandalf.generation import GraphOptions, alone
from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.guidance import NoveltyBandit
from fuzz_core.modelgen.gandalf.relations import RELATIONS, Relation
from fuzz_core.modelgen.gandalf.table import Library, Operator, Spelling, load

pytestmark = pytest.mark.real
TABLE = load()
LIBRARIES: tuple[Library, ...] = ("torch", "tensorflow")
# Planted faults: the library, the wrong spelling, and the api that the finding must name. `tanh` is wrong in single
# precision alone. `elu` gives another shape, which the next operator may refuse. `softsign` gives infinities, which
# count as a fault although two libraries have no majority.
SOWN: dict[str, tuple[Library, str, str]] = {
    "relu": ("tensorflow", "tf.nn.relu(x) + 0.01", "tf.nn.relu"),
    "tanh": ("torch", "torch.tanh(x) * (1.5 if x.dtype == torch.float32 else 1)", "torch.tanh"),
    "elu": ("tensorflow", "keras.ops.elu(x, alpha)[:1]", "tf.keras.ops.elu"),
    "softsign": ("tensorflow", "tf.math.rsqrt(x)", "tf.math.rsqrt"),
}


@pytest.fixture
def sessions(tmp_path: Path, torch_python: Path, tensorflow_python: Path) -> Iterator[dict[Library, Session]]:
    with side_by_side(tmp_path / "state", {"torch": torch_python, "tensorflow": tensorflow_python}) as found:
        yield found


def sown(names: Mapping[str, tuple[Library, str, str]]) -> dict[str, Operator]:
    """Returns a table of a few simple operators with these planted faults; each operator is drawn often."""
    simple = [name for name, each in TABLE.items() if each.pointwise and not each.coarse and not each.also]
    table = {name: TABLE[name] for name in simple[::12]}
    faults = {name: (library, call) for name, (library, call, _) in names.items()}
    table = with_faults(table | {name: TABLE[name] for name in faults}, faults)
    starts = {name: each for name, each in TABLE.items() if name in ("linear", "conv2d", "flatten", "softmax")}
    return {**starts, **table}


def test_what_is_sown_is_found_in_its_library_and_shown_by_a_script(sessions: dict[Library, Session]) -> None:
    options = GandalfOptions(graphs=40, seconds=None, seed=3, domains=["cv"], growth=GraphOptions(most=5))
    # If a formula of the table overflows in between, its NaN or infinity is no library's fault.
    report = fuzz_graphs(
        sessions, sown(SOWN | {"atan": ("torch", "torch.log(torch.exp(x * 1e9))", "torch.log")}), options
    )
    assert report.effective.total() and report.graphs == {"cv": 40} and not report.refused
    assert {"nan or inf", "inconsistency"} <= {symptom for _, symptom in report.symptoms}
    assert len(report.signatures) == len(SOWN)
    bugs = {}
    for library, session in sessions.items():
        examine(session, TriageOptions(runs=1))
        bugs |= {bug.api: (library, bug) for bug in session.store.bugs() if bug.target == session.target.key}
    assert {api: library for api, (library, _) in bugs.items()} == {api: library for library, _, api in SOWN.values()}
    for _, bug in bugs.values():
        assert (bug.oracle, bug.kind) == ("differential", "wrong-result") and "assert found == expected" in bug.script
        assert bug.origin.startswith("graph ")
    assert "this library in double precision" in bugs["torch.tanh"][1].script


def test_libraries_that_agree_have_no_findings_but_known_faults(sessions: dict[Library, Session]) -> None:
    report = fuzz_graphs(sessions, TABLE, GandalfOptions(graphs=30, seconds=None, seed=8))
    assert report.graphs == {"cv": 10, "nlp": 10, "asr": 10} and len(report.operators) > 100
    assert (dict(report.new), dict(report.refused)) == ({}, {})
    assert report.findings == report.known.total()
    assert [(run.status, run.tests) for run in next(iter(sessions.values())).store.runs()] == [("done", 30)] * 2


def test_what_fails_again_and_again_is_found_and_then_left_out(sessions: dict[Library, Session]) -> None:
    failing = sown({"relu": ("torch", "(_ for _ in ()).throw(SystemError('sown'))", "")})
    options = GandalfOptions(graphs=40, seconds=None, seed=3, domains=["cv"], growth=GraphOptions(most=5))
    report = fuzz_graphs(sessions, failing, options)
    assert report.operator_outcomes.left_out == {"relu"}
    assert (report.symptoms, len(report.signatures)) == ({("cv", "crash"): ENOUGH}, 1)
    found = sessions["torch"].store.findings(sessions["torch"].target.key)
    assert found and all("sown" in each.test.program and "n1" not in each.test.program for each in found)


def test_a_round_goes_on_with_what_the_round_before_has_learnt(sessions: dict[Library, Session]) -> None:
    engine = GandalfEngine(sessions, GandalfOptions(graphs=4, domains=["cv"], guidance="novelty"))
    tried = []
    for seed in (1, 2):
        engine.fuzz(Round(seed))
        guidance = engine.experience.guidance
        assert isinstance(guidance, NoveltyBandit)
        tried.append(guidance.tried.copy())
    assert tried[0] < tried[1]
    assert len(engine.experience.graphs) >= engine.report.tests == 8
    assert engine.experience.signatures == engine.report.signatures


def test_one_library_has_nothing_to_be_compared_with(sessions: dict[Library, Session]) -> None:
    with pytest.raises(UserError, match="--libraries"):
        fuzz_graphs({"torch": sessions["torch"]}, TABLE, GandalfOptions())


@dataclass(frozen=True)
class Broken(Relation):
    """A relation whose rewritten code gives a wrong result."""

    real: Relation

    def applies_to(self, operator: Operator, library: Library) -> bool:
        return operator.gives.startswith("same") and self.real.applies_to(operator, library)

    def transform(self, operator: Operator, library: Library) -> Spelling:
        spelling = self.real.transform(operator, library)
        return spelling.model_copy(update={"call": f"({spelling.call}) * 1.5 + 0.5"})

    def constants(self, operator: Operator) -> Sequence[str]:
        return self.real.constants(operator)


def broken(real: Relation) -> Relation:
    """Returns a broken relation with the number, statement, precisions and reference of the real one."""
    told = {"precisions": real.precisions, "reference": real.reference}
    made: Relation = type("Sown", (Broken,), told)(real.number, real.statement, real)
    return made


def graph_for(relation: Relation) -> Graph:
    """Returns a graph of one operator that the relation applies to."""
    fitting = [each for each in TABLE.values() if any(relation.applies_to(each, library) for library in LIBRARIES)]
    operator = next(each for each in fitting if not each.coarse)
    return alone(operator, 1, GraphOptions(constant=float(bool(relation.constants(operator)))))


def test_a_violation_of_each_relation_is_caught_and_nothing_else(
    sessions: dict[Library, Session],
) -> None:
    with sides_of(sessions, TABLE, 1) as sides:

        def caught(relation: Relation) -> bool:
            graph, report = graph_for(relation), GandalfReport()
            runs = sides.runs(graph)
            assert isinstance(runs, Runs), runs
            through = {of: {0: relation} for of in LIBRARIES if relation.applies_to(TABLE[graph.nodes[0].operator], of)}
            asks = [Asks(each, through) for each in PRECISIONS if each in relation.precisions]
            found = [list(FaultSearch(sides, graph, runs, report).rewritten(each)) for each in asks]
            assert set(report.relations) == {f"relation {relation.number}"}
            return any(found)

        assert [number for number, real in RELATIONS.items() if caught(real)] == []
        assert [number for number, real in RELATIONS.items() if caught(broken(real))] == list(RELATIONS)
