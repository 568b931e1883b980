"""Real models, trained, compiled and computed row by row: the search finds each planted fault and no other fault."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from sidecases import side_by_side

from fuzz_core.campaign.gandalf.disagreement import suspicious
from fuzz_core.campaign.gandalf.figures import GandalfReport
from fuzz_core.campaign.gandalf.finding import finding
from fuzz_core.campaign.gandalf.judge import compare
from fuzz_core.campaign.gandalf.probe import CompiledProbe, GradientProbe, LossProbe, RewriteProbe, RowByRow
from fuzz_core.campaign.gandalf.schedule import Asks
from fuzz_core.campaign.gandalf.search import FaultSearch
from fuzz_core.campaign.gandalf.sides import DOUBLE, SINGLE, Runs, Sides, sides_of
from fuzz_core.ir.rng import Rng
from fuzz_core.modelgen.gandalf.graph import Graph, GraphInput, GraphNode
from fuzz_core.modelgen.gandalf.relations import RELATIONS
from fuzz_core.modelgen.gandalf.scripts import ALONE, COMPILED, GRADIENT, RESULT, REWRITTEN
from fuzz_core.modelgen.gandalf.table import Library, Operator, Spelling, load

pytestmark = pytest.mark.real
TABLE = load()
# Planted faults; each of them gives the right result in plain execution.
SOWN: dict[str, tuple[Library, str]] = {
    "tanh": ("torch", "x + (torch.tanh(x) - x).detach()"),
    "sigmoid": ("tensorflow", "tf.sigmoid(x) * (1.0 if tf.executing_eagerly() else 1.5)"),
    "conv2d_no_bias": ("torch", "F.conv2d(x, w) + (x.shape[0] == 1)"),
    "sin": ("tensorflow", "tf.sin(x) + (0 if tf.executing_eagerly() else 1e5 * np.finfo(x.dtype.as_numpy_dtype).eps)"),
    "softsign": ("torch", "F.softsign(x) + 0.1 * (not x.is_contiguous())"),
    "erf": ("tensorflow", "tf.math.erf(x) + (0 if tf.executing_eagerly() or x.dtype == tf.float64 else 0.012)"),
}


def table() -> dict[str, Operator]:
    found = dict(TABLE)
    for name, (library, call) in SOWN.items():
        spelled = {**TABLE[name].spelled, library: Spelling(call=call)}
        found[name] = TABLE[name].model_copy(update={"spelled": spelled})
    return found


def chain(*operators: GraphNode) -> Graph:
    nodes = [
        each.model_copy(update={"takes": (f"n{place - 1}" if place else "x0",)}) for place, each in enumerate(operators)
    ]
    return Graph(inputs=(GraphInput(shape=(3, 4), seed=5),), nodes=tuple(nodes))


def node(name: str, **parameters: int) -> GraphNode:
    return GraphNode(operator=name, parameters=parameters, takes=("x0",))


@pytest.fixture
def sides(tmp_path: Path, torch_python: Path, tensorflow_python: Path) -> Iterator[Sides]:
    interpreters: dict[Library, Path] = {"torch": torch_python, "tensorflow": tensorflow_python}
    with (
        side_by_side(tmp_path / "state", interpreters) as sessions,
        sides_of(sessions, table(), 1) as found,
    ):
        yield found


def search(sides: Sides, graph: Graph) -> FaultSearch:
    runs = sides.runs(graph)
    assert isinstance(runs, Runs), runs
    return FaultSearch(sides, graph, runs, GandalfReport())


def test_a_gradient_that_is_wrong_is_found_with_its_operator(sides: Sides) -> None:
    right, wrong = (
        chain(node("linear", K=4), node("atan"), node("square")),
        chain(node("linear", K=4), node("tanh"), node("square")),
    )
    gradients = GradientProbe(sides).runs(right)
    assert isinstance(gradients, Runs) and search(sides, right).gradients(gradients) is None
    gradients = GradientProbe(sides).runs(wrong)
    assert isinstance(gradients, Runs)
    guilty = search(sides, wrong).gradients(gradients)
    assert guilty is not None and (guilty.place, guilty.wrong.variable) == (1, "x0")
    assert {guilty.wrong.wrong, *guilty.wrong.witnesses} == {"torch", "tensorflow"} and not guilty.wrong.decided
    library, found = finding(sides, wrong, guilty)
    program = found.test.program or ""
    assert library == guilty.wrong.wrong and GRADIENT in program and "gradients[0].numpy()" in program
    assert found.verdict.kind == "wrong-result" and "the gradient of x0" in found.origin


def test_an_operator_that_is_wrong_behind_another_alone_is_found_with_both(sides: Sides, torch_python: Path) -> None:
    wrong = chain(node("square"), node("transpose"), node("softsign"), node("cos"))
    fault = search(sides, wrong).results()
    assert fault is not None and (fault.place, len(fault.graph.nodes)) == (2, 3)
    library, found = finding(sides, wrong, fault)
    assert library == "torch" and found.origin.startswith(
        "graph square -> transpose -> softsign -> cos: node 2, softsign"
    )
    done = subprocess.run([torch_python, "-c", found.test.program or ""], capture_output=True, text=True)
    assert f"AssertionError: {RESULT}" in done.stderr
    assert search(sides, chain(node("softsign"), node("transpose"), node("cos"))).results() is None


@pytest.mark.parametrize("library", ["torch", "tensorflow"])
def test_a_result_of_a_wrong_shape_is_found_at_its_node(
    sides: Sides, monkeypatch: pytest.MonkeyPatch, library: Library
) -> None:
    """The node behind it is asked alone on the result of the other library, which has the shape of the table."""
    right = TABLE["relu"].spelled
    cut = {**right, library: Spelling(call=f"({right[library].call})[:1]")}
    monkeypatch.setitem(sides.table, "relu", TABLE["relu"].model_copy(update={"spelled": cut}))  # type: ignore[arg-type]
    fault = search(sides, chain(node("relu"), node("cos"))).results()
    assert fault is not None and fault.place == 0


def test_a_step_that_rounding_decides_is_no_fault_of_the_node_behind_it(
    sides: Sides, monkeypatch: pytest.MonkeyPatch
) -> None:
    spelled = {"torch": Spelling(call="torch.round(x) - 1e-13"), "tensorflow": Spelling(call="tf.round(x) + 1e-13")}
    monkeypatch.setitem(sides.table, "atan", TABLE["atan"].model_copy(update={"spelled": spelled}))  # type: ignore[arg-type]
    stepped = chain(node("atan"), node("floor")).model_copy(update={"inputs": (GraphInput(shape=(1, 1), seed=5),)})
    whole = search(sides, stepped)
    assert suspicious(whole.runs, sides.precisions(stepped)) and whole.results() is None


@pytest.mark.parametrize("call", ["__import__('os').abort()", "made[:1]"])
def test_a_relation_that_a_library_dies_of_or_that_changes_the_shape_is_found(
    sides: Sides, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    right, added = TABLE["add"], Spelling(call=call.replace("made", "torch.stack([a, b]).sum(0)"))
    changed = right.model_copy(update={"also": {"torch": {9: added}}})
    monkeypatch.setitem(sides.table, "add", changed)  # type: ignore[arg-type]
    inputs = (GraphInput(shape=(3, 4), seed=5), GraphInput(shape=(3, 4), seed=6))
    nodes = (node("atan"), GraphNode(operator="add", takes=("n0", "x1")), GraphNode(operator="cos", takes=("n1",)))
    whole = search(sides, Graph(inputs=inputs, nodes=nodes))
    ((library, found),) = compare(whole, Asks(DOUBLE, {"torch": {0: RELATIONS[4], 1: RELATIONS[9]}}, further=False))
    assert (library, found.place) == ("torch", 1) and "relation 9" in found.origin
    assert found.symptom == ("crash" if "abort" in call else "inconsistency")
    assert whole.report.relations == {"relation 4": 1, "relation 9": 1} and whole.report.hits == {"relation 9": 1}


def test_an_operator_that_loses_precision_is_found_and_known_faults_are_told_apart(
    sides: Sides, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = "torch.atan(x.float()).double() if x.dtype == torch.double else torch.atan(x)"
    lossy = {**TABLE["atan"].spelled, "torch": Spelling(call=call)}
    graph = chain(node("square"), node("atan"), node("cos"))
    right = search(sides, graph)
    assert list(right.losses()) == [] and not right.report.relations
    monkeypatch.setitem(sides.table, "atan", TABLE["atan"].model_copy(update={"spelled": lossy}))  # type: ignore[arg-type]
    lossy_search = search(sides, graph)
    guilty = list(lossy_search.losses())
    assert [(each.place, each.wrong.decided) for each in guilty] == [(1, False)]
    assert lossy_search.report.relations == {LossProbe.name: 2}
    assert finding(sides, graph, guilty[0])[1].known == ""
    known = TABLE["atan"].model_copy(update={"spelled": lossy, "loses": {"torch": "computes in float32"}})
    monkeypatch.setitem(sides.table, "atan", known)  # type: ignore[arg-type]
    (again,) = search(sides, graph).losses()
    library, found = finding(sides, graph, again)
    assert (library, found.known, again.wrong.decided) == ("torch", "computes in float32", True)
    assert found.origin.endswith("; known: computes in float32")


def test_what_has_no_gradient_is_skipped_and_what_dies_of_it_found(
    sides: Sides, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = chain(node("floor_divide"))
    graph = Graph(
        inputs=(graph.inputs[0], GraphInput(shape=(3, 4), seed=6)),
        nodes=(GraphNode(operator="floor_divide", takes=("x0", "x1")),),
    )
    ended, whole = GradientProbe(sides).runs(graph), search(sides, graph)
    assert isinstance(ended, dict) and set(ended) == {"torch"}
    assert list(whole.training_crashes(ended)) == [] and whole.report.skipped == {"torch training": 1}
    spelled = {
        **TABLE["cos"].spelled,
        "torch": Spelling(call="torch.cos(x) + 0 * (__import__('os').abort() if x.requires_grad else 1)"),
    }
    monkeypatch.setitem(sides.table, "cos", TABLE["cos"].model_copy(update={"spelled": spelled}))  # type: ignore[arg-type]
    graph = chain(node("atan"), node("cos"))
    ended = GradientProbe(sides).runs(graph)
    assert isinstance(ended, dict)
    ((library, found),) = search(sides, graph).training_crashes(ended)
    assert (library, found.place, found.outcome.kind, found.verdict.kind) == ("torch", 1, "signal", "crash")
    assert "where it is trained" in found.origin


def test_what_a_library_has_kept_of_the_plain_way_is_shown_by_the_script(
    sides: Sides, tensorflow_python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TensorFlow 2.12 likewise keeps the layout of a pooling for the next pooling of this size."""
    pooling = TABLE["max_pool2d"]
    plain = Spelling(call="[setattr(tf, 'kept', 1.0), tf.nn.max_pool2d(x, k, s, 'VALID')][1]", layout="last")
    other = Spelling(call="keras.layers.MaxPooling2D(k, s, data_format='channels_first')(x) + getattr(tf, 'kept', 0.0)")
    changes = {"spelled": {**pooling.spelled, "tensorflow": plain}, "also": {"tensorflow": {6: other}}}
    monkeypatch.setitem(sides.table, "max_pool2d", pooling.model_copy(update=changes))  # type: ignore[arg-type]
    pooled = Graph(inputs=(GraphInput(shape=(1, 4, 4, 4), seed=5),), nodes=(node("max_pool2d", k=2, s=2),))
    whole = search(sides, pooled)
    (fault,) = whole.rewritten(Asks(DOUBLE, {"tensorflow": {0: RELATIONS[6]}}))
    assert isinstance(fault.probe, RewriteProbe) and fault.probe.name == "relation 6" and not whole.report.refused
    library, found = finding(sides, pooled, fault)
    assert library == "tensorflow" and "where relation 6 does not rewrite it" in found.origin
    done = subprocess.run([tensorflow_python, "-c", found.test.program or ""], capture_output=True, text=True)
    assert f"AssertionError: {REWRITTEN}" in done.stderr


def test_what_a_compiled_model_alone_gets_wrong_is_found(sides: Sides) -> None:
    right, wrong = chain(node("atan"), node("cos")), chain(node("atan"), node("sigmoid"), node("cos"))
    whole = search(sides, right)
    assert list(whole.compiled(DOUBLE)) == []
    assert whole.report.relations == {CompiledProbe.name: 2} and not whole.report.skipped
    (fault,) = search(sides, wrong).compiled(DOUBLE)
    assert (fault.wrong.wrong, fault.place, len(fault.graph.nodes)) == ("tensorflow", 1, 1)
    library, found = finding(sides, wrong, fault)
    program = found.test.program or ""
    assert library == "tensorflow" and COMPILED in program and "tf.function(model)" in program


def test_what_is_compiled_may_round_in_single_precision_as_it_does_in_double(sides: Sides) -> None:
    rounding, wrong = chain(node("atan"), node("sin")), chain(node("atan"), node("erf"))
    assert list(search(sides, rounding).compiled(SINGLE)) == []
    (fault,) = search(sides, wrong).compiled(SINGLE)
    assert (fault.wrong.wrong, fault.place) == ("tensorflow", 1)


def test_a_row_that_depends_on_its_batch_in_one_library_is_found(sides: Sides) -> None:
    images = (GraphInput(shape=(3, 2, 5, 5), seed=5),)
    weighed = Graph(inputs=images, nodes=(node("conv2d_no_bias", K=2, k=2),))
    whole = search(sides, weighed)
    (fault,) = whole.row_by_row(Rng(1))
    assert whole.report.relations == {RowByRow.name: 1}
    library, found = finding(sides, weighed, fault)
    assert library == "torch" and ALONE in (found.test.program or "")
    batch = Graph(inputs=images, nodes=(node("batch_norm_no_affine"),))
    whole = search(sides, batch)
    assert whole.row_by_row(Rng(1)) == [] and whole.report.relations == {RowByRow.name: 1}
