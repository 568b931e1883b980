"""Programs that fail in a library's own code: the finding names the place and the change that caused it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from moco_branches import grown, workshop_of
from moco_programs import taken_apart

from fuzz_core.campaign.examination import examine
from fuzz_core.campaign.examiner import TriageOptions
from fuzz_core.campaign.listener import FindingRecorder
from fuzz_core.campaign.moco.growth import NodeFinding
from fuzz_core.campaign.moco.judge import failing_block_input, is_drawn, origin, state_alone
from fuzz_core.campaign.moco.workshop import BlockWorkshop
from fuzz_core.campaign.session import Session
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.modelgen.moco.nodes import (
    BOUNDARY,
    CHECKED,
    DOCUMENTATION,
    EXTREME,
    FINDING,
    GENERATED,
    IMPLEMENTATION,
    MISFIT,
    OK,
    PERFORMANCE,
    REPLACED,
    SKIPPED,
    TRAINING,
    Arrival,
    TreeNode,
    kind,
    kind_of,
    written,
)
from fuzz_core.modelgen.moco.program import Call
from fuzz_core.worker.programs_ran import BlockTensors, ProgramResult, TensorKind

PROGRAM = """import numpy as np
import fakelib

data = np.arange(24.0)

x = fakelib.nn.Window(2, stride=1)(data)
x = {between}
x = fakelib.nn.Window(1, stride=2)(x)
outputs = fakelib.nn.Window(1, stride=1)(x)
print("loss", float({loss}))
"""
TURNED = PROGRAM.format(between="np.flip(x)", loss="outputs.sum()")
PLAIN = PROGRAM.format(between="np.abs(x)", loss="outputs.sum()")
LONGER = PLAIN.replace("outputs.sum()", "np.sum(outputs)").replace(
    "outputs =", "x = fakelib.nn.Window(1)(x)\noutputs ="
)
SQUARE = PROGRAM.format(between="x.reshape(4, 6)", loss="outputs.sum()")


@pytest.fixture
def workshop(fakelib_session: Session) -> Iterator[BlockWorkshop]:
    with workshop_of(fakelib_session) as made:
        yield made


@pytest.mark.parametrize(
    ("source", "block", "api", "state", "kinds"),
    [
        (TURNED, 1, "fakelib.nn.Gate", FINDING, {"internal-error"}),
        (PLAIN, 1, "fakelib.nn.Gate", OK, set()),
        (SQUARE, 1, "fakelib.nn.Vector", MISFIT, set()),
        (PLAIN, 1, "fakelib.nn.Vector", OK, set()),
        (PLAIN, 1, "fakelib.nn.Pair", TRAINING, set()),
    ],
)
def test_what_falls_out_of_the_library_is_a_finding_where_the_block_holds_on_what_it_got(
    workshop: BlockWorkshop, source: str, block: int, api: str, state: str, kinds: set[str]
) -> None:
    *_, last = grown(workshop, source, {block: f"{api}()"})
    assert (last.result.state, {found.verdict.kind for found in last.found}) == (state, kinds), last


def test_what_the_block_before_gives_in_parts_does_not_fit(workshop: BlockWorkshop) -> None:
    """The next block accepts one array, and fails on the list of two."""
    *_, last = grown(workshop, LONGER, {1: "fakelib.nn.Pair()", 2: "fakelib.nn.Gate()"})
    assert (last.result.state, last.found) == (MISFIT, ())


def test_a_finding_of_a_program_is_confirmed_as_it_is_and_says_where_it_comes_from(
    fakelib_session: Session, workshop: BlockWorkshop
) -> None:
    *_, last = grown(workshop, TURNED, {1: "fakelib.nn.Gate()"})
    store, target = fakelib_session.store, fakelib_session.target.key
    keeping = FindingRecorder(store, target, store.start_run(target, 1, {}))
    for found in last.found:
        assert keeping.keep(*found).added
    examine(fakelib_session, TriageOptions(runs=2))
    (bug,) = store.bugs()
    assert (bug.api, bug.kind, bug.hits, bug.runs) == ("fakelib.nn.Gate", "internal-error", 2, 2)
    assert bug.signature_text == "fakelib.nn.Gate: IndexError: tuple index out of range"
    assert bug.minimised and "np.flip" in bug.script and "outputs" not in bug.script
    assert bug.script.endswith("# observed: IndexError: tuple index out of range\n")
    assert bug.origin == (
        "own.py, line 8, block 1: AR put fakelib.nn.Gate() in the place of fakelib.nn.Window (implementation)"
    )


def test_a_finding_of_a_block_alone_says_so_too(workshop: BlockWorkshop) -> None:
    *_, last = grown(workshop, PLAIN, {1: "fakelib.nn.Window(1, stride=0)"})
    (found,) = last.found
    assert (found.verdict.kind, found.test.program, found.test.rules) == ("crash", "", ("AR",))
    assert found.origin.startswith("own.py, line 8, block 1: ") and found.origin.endswith(" (implementation)")


def test_what_a_run_does_not_know_of_its_origin_is_no_origin() -> None:
    assert NodeFinding(TestCase(Call("a", "a"), 0), Verdict("crash", "crash"), Outcome("ok")).origin == ""  # type: ignore[arg-type]


NODE = TreeNode(7, 3, 2, 4, "lib.nn.Pool", "nn.Pool(0)", GENERATED, "size", "2", "0", 21)
PARSED = taken_apart(PLAIN)


@pytest.mark.parametrize(
    ("node", "inside", "said"),
    [
        (NODE, None, "net.py, line 21, block 4: RG changed size of lib.nn.Pool from 2 to 0 (implementation)"),
        (NODE, 4, "net.py, line 21, block 4: RG changed size of lib.nn.Pool from 2 to 0 (implementation)"),
        (NODE._replace(old=""), None, "RG changed size of lib.nn.Pool from its default to 0 (implementation)"),
        (NODE._replace(operator=CHECKED), None, "BC changed size of lib.nn.Pool from 2 to 0 (boundary check)"),
        (
            NODE._replace(operator=REPLACED, old="lib.nn.Norm"),
            6,
            "AR put nn.Pool(0) in the place of lib.nn.Norm; it shows in block 6, lib.nn.Head (implementation)",
        ),
    ],
)
def test_an_origin_names_program_line_block_operator_and_parameter_with_both_values(
    node: TreeNode, inside: int | None, said: str
) -> None:
    calls = {4: Call("lib.nn.Pool", "nn.Pool"), 6: Call("lib.nn.Head", "nn.Head")}
    told = origin(PARSED, node, Verdict("crash", "crash"), inside, calls)
    assert told.startswith("net.py, line 21, block 4: ") and told.endswith(said)
    assert len(origin(PARSED, node._replace(new="9" * 9999), Verdict("crash", "crash"), inside, calls)) <= 2000


@pytest.mark.parametrize(
    ("operator", "oracle", "found", "which"),
    [
        (CHECKED, "bounds", "bounds", BOUNDARY),
        (EXTREME, "bounds", "bounds", BOUNDARY),
        (EXTREME, "crash", "crash", BOUNDARY),
        (CHECKED, "crash", "crash", BOUNDARY),
        (GENERATED, "bounds", "bounds", DOCUMENTATION),
        (GENERATED, "differential", "wrong-metadata", DOCUMENTATION),
        (REPLACED, "crash", "internal-error", IMPLEMENTATION),
        (REPLACED, "differential", "wrong-result", IMPLEMENTATION),
        (REPLACED, "leak", "leak", PERFORMANCE),
        (CHECKED, "performance", "slow", PERFORMANCE),
        (REPLACED, "crash", "hang", PERFORMANCE),
    ],
)
def test_every_verdict_is_one_of_the_papers_four_kinds(operator: str, oracle: str, found: str, which: str) -> None:
    verdict = Verdict(oracle, found, "cpu: whatever: it says")
    assert kind(operator, verdict) == which
    node = NODE._replace(operator=operator, state=FINDING, why=f"{written(verdict)}; exception E: x")
    assert (kind_of(node), kind_of(node._replace(state=OK))) == (which, "")


@pytest.mark.parametrize(
    ("saw", "applied", "expected"),
    [
        (BlockTensors(TensorKind((2, 3), "float32")), True, Arrival((2, 3), "float32")),
        (BlockTensors(TensorKind((None, 3), "float32")), False, Arrival((2, 3), "float32")),
        (BlockTensors(TensorKind((None, 3), "float32")), True, None),
        (BlockTensors(TensorKind((2, None), "float32")), False, None),
        (BlockTensors(TensorKind((2, 3), "float32"), None, False), False, None),
        (BlockTensors(), False, None),
    ],
)
def test_what_arrived_is_told_where_it_is_one_tensor_that_is_known(
    saw: BlockTensors, applied: bool, expected: Arrival | None
) -> None:
    ran = ProgramResult(Outcome("exception"), inside=3, saw={3: saw})
    assert failing_block_input(ran, Call("a.b", "b", applied=applied)) == expected
    assert failing_block_input(ran._replace(inside=None), Call("a.b", "b")) is None
    assert failing_block_input(ran._replace(inside=5), Call("a.b", "b")) is None


def test_one_node_in_many_is_looked_at_more_closely_and_always_the_same_ones() -> None:
    nodes = [NODE._replace(number=number) for number in range(6400)]
    drawn = [node.number for node in nodes if is_drawn(5, node)]
    assert drawn == [node.number for node in nodes if is_drawn(5, node)]
    assert 50 < len(drawn) < 200 and drawn != [node.number for node in nodes if is_drawn(6, node)]


@pytest.mark.parametrize("positive", [True, False])
def test_a_block_that_cannot_be_built_is_skipped_and_no_syntax_error(positive: bool) -> None:
    assert state_alone(NODE._replace(positive=positive), Outcome("skipped", "BuildError"), []) == SKIPPED


def test_the_origin_of_an_extreme_value_names_the_rules_that_made_it() -> None:
    told = origin(PARSED, NODE, Verdict("crash", "crash"), rules=("Boundary Integer", "Empty Dimension"))
    assert told.endswith("from 2 to 0; EV: Boundary Integer, Empty Dimension (boundary check)")
