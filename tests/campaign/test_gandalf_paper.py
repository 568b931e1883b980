"""Gandalf as published, on real libraries: DQN, binding rules, and relations between libraries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sidecases import side_by_side, with_faults

from fuzz_core.campaign.gandalf.engine import fuzz_graphs
from fuzz_core.campaign.gandalf.figures import GandalfReport
from fuzz_core.campaign.gandalf.finding import finding
from fuzz_core.campaign.gandalf.schedule import Asks
from fuzz_core.campaign.gandalf.search import FaultSearch
from fuzz_core.campaign.gandalf.sides import DOUBLE, Runs, sides_of
from fuzz_core.campaign.session import Session
from fuzz_core.cli.engines import graphs_options
from fuzz_core.cli.settings import Settings
from fuzz_core.modelgen.gandalf.graph import Graph, GraphInput, GraphNode
from fuzz_core.modelgen.gandalf.relations import RELATIONS
from fuzz_core.modelgen.gandalf.table import Library, load

pytestmark = pytest.mark.real
TABLE = load()
# Planted faults: one for each symptom, in operators of every domain.
SOWN: dict[str, tuple[Library, str]] = {
    "relu": ("tensorflow", "tf.nn.relu(x) + 0.01"),
    "tanh": ("torch", "torch.rsqrt(x)"),
    "sigmoid": ("torch", "(_ for _ in ()).throw(SystemError('sown'))"),
}
# Planted faults in operators of one domain alone.
OF_DOMAINS: dict[str, tuple[Library, str]] = {
    "gradient_rows": ("torch", f"{TABLE['gradient_rows'].spelled['torch'].call} + 0.1"),
    "embedding": ("torch", "F.embedding(abs(x) % V, w) + 0.1"),
    "hann": ("torch", "x * torch.hann_window(S) + 0.1"),
}
# Operators that begin and end paths in every domain.
AROUND = ("linear", "dense", "conv2d", "flatten", "softmax", "exp", "add", "mean")


@pytest.fixture
def sessions(tmp_path: Path, torch_python: Path, tensorflow_python: Path) -> Iterator[dict[Library, Session]]:
    with side_by_side(tmp_path / "state", {"torch": torch_python, "tensorflow": tensorflow_python}) as found:
        yield found


def test_every_symptom_is_found_and_every_domain_has_findings(sessions: dict[Library, Session]) -> None:
    options = graphs_options(Settings(engine="gandalf", paper=True, tests_count=30, seed=3))
    few = {name: each for name, each in with_faults(TABLE, SOWN).items() if name in {*SOWN, *AROUND}}
    report = fuzz_graphs(sessions, few, replace(options, seconds=None))
    assert report.graphs == {"cv": 10, "nlp": 10, "asr": 10}
    assert {symptom for _, symptom in report.symptoms} == {"inconsistency", "crash", "nan or inf"}
    assert {domain for domain, _ in report.symptoms} == {"cv", "nlp", "asr"}
    assert not set(report.relations) & {"training", "compiled", "row by row"}
    assert not (sessions["torch"].state_dir / "guidance").exists()


def test_an_operator_of_each_domain_is_found_in_its_domain(sessions: dict[Library, Session]) -> None:
    options = graphs_options(Settings(engine="gandalf", paper=True, tests_count=12, seed=3))
    few = {
        name: each for name, each in with_faults(TABLE, OF_DOMAINS).items() if name in {*OF_DOMAINS, "add", "flatten"}
    }
    report = fuzz_graphs(sessions, few, replace(options, seconds=None))
    # Of two libraries, which one is wrong is not decided.
    origins = [found.origin for each in sessions.values() for found in each.store.findings(each.target.key)]
    assert all(any(f", {name} in float64" in origin for origin in origins) for name in OF_DOMAINS), origins
    assert set(report.effective) == {"cv", "nlp", "asr"}


def test_a_relation_compares_a_library_with_the_others_where_it_agrees_with_itself(
    sessions: dict[Library, Session],
) -> None:
    graph = Graph(
        inputs=(GraphInput(shape=(2, 3, 4, 5), seed=5),), nodes=(GraphNode(operator="relu", takes=("x0",), seed=1),)
    )
    relation = next(each for each in RELATIONS.values() if each.applies_to(TABLE["relu"], "torch"))
    with sides_of(sessions, with_faults(TABLE, SOWN), 1) as sides:
        runs = sides.runs(graph)
        assert isinstance(runs, Runs)
        asks = Asks(DOUBLE, {"torch": {0: relation}})
        search = FaultSearch(sides, graph, runs, GandalfReport())
        assert not list(search.rewritten(asks))
        (fault,) = search.rewritten(asks._replace(between=True))
        library, found = finding(sides, graph, fault)
    assert library == "torch" and "# tensorflow" in found.test.program
