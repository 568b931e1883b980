"""Real models trained, compiled and computed row by row: what is sown there alone is found, and nothing else is."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from sidecases import side_by_side

from fuzz_core.campaign.gandalf.engine import sides_of
from fuzz_core.campaign.gandalf.findings import died, disagreed, violated
from fuzz_core.campaign.gandalf.looking import DOUBLE, SINGLE, Runs, ran
from fuzz_core.campaign.gandalf.losses import NAME, lost
from fuzz_core.campaign.gandalf.relating import miscompiled, mixed, violations
from fuzz_core.campaign.gandalf.schedule import Asks
from fuzz_core.campaign.gandalf.sides import Sides
from fuzz_core.campaign.gandalf.training import deadly, mistrained, trained
from fuzz_core.ir.rng import Rng
from fuzz_core.modelgen.gandalf.graph import Graph, Input, Node
from fuzz_core.modelgen.gandalf.relations import RELATIONS
from fuzz_core.modelgen.gandalf.scripts import ALONE, COMPILED, GRADIENT, REWRITTEN
from fuzz_core.modelgen.gandalf.table import Library, Operator, Spelling, load

pytestmark = pytest.mark.real
TABLE = load()
# Each gives what it should where it is executed plainly.
SOWN: dict[str, tuple[Library, str]] = {
    "tanh": ("torch", "x + (torch.tanh(x) - x).detach()"),
    "sigmoid": ("tensorflow", "tf.sigmoid(x) * (1.0 if tf.executing_eagerly() else 1.5)"),
    "conv2d_no_bias": ("torch", "F.conv2d(x, w) + (x.shape[0] == 1)"),
    "sin": ("tensorflow", "tf.sin(x) + (0 if tf.executing_eagerly() else 1e5 * np.finfo(x.dtype.as_numpy_dtype).eps)"),
    "erf": ("tensorflow", "tf.math.erf(x) + (0 if tf.executing_eagerly() or x.dtype == tf.float64 else 0.012)"),
}


def table() -> dict[str, Operator]:
    found = dict(TABLE)
    for name, (library, call) in SOWN.items():
        spelled = {**TABLE[name].spelled, library: Spelling(call=call)}
        found[name] = TABLE[name].model_copy(update={"spelled": spelled})
    return found


def chain(*operators: Node) -> Graph:
    nodes = [
        each.model_copy(update={"takes": (f"n{place - 1}" if place else "x0",)}) for place, each in enumerate(operators)
    ]
    return Graph(inputs=(Input(shape=(3, 4), seed=5),), nodes=tuple(nodes))


def node(name: str, **parameters: int) -> Node:
    return Node(operator=name, parameters=parameters, takes=("x0",))


@pytest.fixture
def sides(tmp_path: Path, torch_python: Path, tensorflow_python: Path) -> Iterator[Sides]:
    interpreters: dict[Library, Path] = {"torch": torch_python, "tensorflow": tensorflow_python}
    with (
        side_by_side(tmp_path / "state", interpreters) as sessions,
        sides_of(sessions, table(), 1) as found,
    ):
        yield found


def runs_of(sides: Sides, graph: Graph) -> Runs:
    runs = ran(sides, graph)
    assert isinstance(runs, Runs), runs
    return runs


def test_a_gradient_that_is_wrong_is_found_with_its_operator(sides: Sides) -> None:
    right, wrong = (
        chain(node("linear", K=4), node("atan"), node("square")),
        chain(node("linear", K=4), node("tanh"), node("square")),
    )
    gradients = trained(sides, right)
    assert isinstance(gradients, Runs) and mistrained(sides, right, runs_of(sides, right), gradients) is None
    gradients = trained(sides, wrong)
    assert isinstance(gradients, Runs)
    guilty = mistrained(sides, wrong, runs_of(sides, wrong), gradients)
    assert guilty is not None and (guilty.place, guilty.of) == (1, "x0")
    assert {guilty.told.wrong, *guilty.told.witnesses} == {"torch", "tensorflow"} and not guilty.told.decided
    library, found = disagreed(sides, wrong, guilty)
    program = found.test.program or ""
    assert library == guilty.told.wrong and GRADIENT in program and "gradients[0].numpy()" in program
    assert found.verdict.kind == "wrong-result" and "the gradient of x0" in found.origin


def test_an_operator_that_loses_precision_is_found_and_known_faults_are_told_apart(
    sides: Sides, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = "torch.atan(x.float()).double() if x.dtype == torch.double else torch.atan(x)"
    lossy = {**TABLE["atan"].spelled, "torch": Spelling(call=call)}
    asked, graph = Counter[str](), chain(node("square"), node("atan"), node("cos"))
    assert lost(sides, graph, runs_of(sides, graph), asked) == [] and not asked
    monkeypatch.setitem(sides.table, "atan", TABLE["atan"].model_copy(update={"spelled": lossy}))  # type: ignore[arg-type]
    guilty = lost(sides, graph, runs_of(sides, graph), asked)
    assert [(each.place, each.told.decided) for each in guilty] == [(1, False)] and asked == {NAME: 2}
    assert disagreed(sides, graph, guilty[0])[1].known == ""
    known = TABLE["atan"].model_copy(update={"spelled": lossy, "loses": {"torch": "computes in float32"}})
    monkeypatch.setitem(sides.table, "atan", known)  # type: ignore[arg-type]
    (again,) = lost(sides, graph, runs_of(sides, graph), asked)
    library, found = disagreed(sides, graph, again)
    assert (library, found.known, again.told.decided) == ("torch", "computes in float32", True)
    assert found.origin.endswith("; known: computes in float32")


def test_what_has_no_gradient_is_skipped_and_what_dies_of_it_found(
    sides: Sides, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, skipped = chain(node("floor_divide")), Counter[str]()
    graph = Graph(
        inputs=(graph.inputs[0], Input(shape=(3, 4), seed=6)),
        nodes=(Node(operator="floor_divide", takes=("x0", "x1")),),
    )
    came = trained(sides, graph)
    assert isinstance(came, dict) and set(came) == {"torch"}
    assert list(deadly(sides, graph, runs_of(sides, graph), came, skipped)) == [] and skipped == {"torch training": 1}
    spelled = {
        **TABLE["cos"].spelled,
        "torch": Spelling(call="torch.cos(x) + 0 * (__import__('os').abort() if x.requires_grad else 1)"),
    }
    monkeypatch.setitem(sides.table, "cos", TABLE["cos"].model_copy(update={"spelled": spelled}))  # type: ignore[arg-type]
    graph = chain(node("atan"), node("cos"))
    came = trained(sides, graph)
    assert isinstance(came, dict)
    (found,) = deadly(sides, graph, runs_of(sides, graph), came, skipped)
    assert (found.library, found.place, found.outcome.kind) == ("torch", 1, "signal")
    library, finding = died(sides, graph, found)
    assert library == "torch" and finding.verdict.kind == "crash" and "where it is trained" in finding.origin


def test_what_a_library_has_kept_of_the_plain_way_is_shown_by_the_script(
    sides: Sides, tensorflow_python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As TensorFlow 2.12 keeps the layout of a pooling for the next one of this size."""
    pooling = TABLE["max_pool2d"]
    plain = Spelling(call="[setattr(tf, 'kept', 1.0), tf.nn.max_pool2d(x, k, s, 'VALID')][1]", layout="last")
    other = Spelling(call="keras.layers.MaxPooling2D(k, s, data_format='channels_first')(x) + getattr(tf, 'kept', 0.0)")
    changes = {"spelled": {**pooling.spelled, "tensorflow": plain}, "also": {"tensorflow": {6: other}}}
    monkeypatch.setitem(sides.table, "max_pool2d", pooling.model_copy(update=changes))  # type: ignore[arg-type]
    pooled = Graph(inputs=(Input(shape=(1, 4, 4, 4), seed=5),), nodes=(node("max_pool2d", k=2, s=2),))
    runs, asked, refused = runs_of(sides, pooled), Counter[str](), Counter[str]()
    asks = Asks(DOUBLE, {"tensorflow": {0: RELATIONS[6]}})
    (found,) = violations(sides, pooled, runs, asks, asked, refused)
    assert found.library == "tensorflow" and "relation 6" in found.way.told and not refused
    done = subprocess.run([tensorflow_python, "-c", found.script], capture_output=True, text=True)
    assert f"AssertionError: {REWRITTEN}" in done.stderr


def test_what_a_compiled_model_alone_gets_wrong_is_found(sides: Sides) -> None:
    asked, skipped = Counter[str](), Counter[str]()
    right, wrong = chain(node("atan"), node("cos")), chain(node("atan"), node("sigmoid"), node("cos"))
    assert list(miscompiled(sides, right, runs_of(sides, right), DOUBLE, asked, skipped)) == []
    assert asked == {"compiled": 2} and not skipped
    (found,) = miscompiled(sides, wrong, runs_of(sides, wrong), DOUBLE, asked, skipped)
    assert (found.library, found.place, len(found.graph.nodes)) == ("tensorflow", 1, 1)
    library, finding = violated(sides, wrong, found)
    program = finding.test.program or ""
    assert library == "tensorflow" and COMPILED in program and "tf.function(model)" in program


def test_what_is_compiled_may_round_in_single_precision_as_it_does_in_double(sides: Sides) -> None:
    asked, skipped = Counter[str](), Counter[str]()
    rounding, wrong = chain(node("atan"), node("sin")), chain(node("atan"), node("erf"))
    assert list(miscompiled(sides, rounding, runs_of(sides, rounding), SINGLE, asked, skipped)) == []
    (found,) = miscompiled(sides, wrong, runs_of(sides, wrong), SINGLE, asked, skipped)
    assert (found.library, found.place) == ("tensorflow", 1)


def test_a_row_that_depends_on_its_batch_in_one_library_is_found(sides: Sides) -> None:
    asked = Counter[str]()
    images = (Input(shape=(3, 2, 5, 5), seed=5),)
    weighed = Graph(inputs=images, nodes=(node("conv2d_no_bias", K=2, k=2),))
    (found,) = mixed(sides, weighed, runs_of(sides, weighed), Rng(1), asked)
    assert found.library == "torch" and asked == {"row by row": 1}
    library, finding = violated(sides, weighed, found)
    assert library == "torch" and ALONE in (finding.test.program or "")
    batch = Graph(inputs=images, nodes=(node("batch_norm_no_affine"),))
    assert list(mixed(sides, batch, runs_of(sides, batch), Rng(1), asked)) == [] and asked == {"row by row": 2}
