"""Faults of a library that one relation of table 4 alone shows: `--paper` finds each of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sidecases import side_by_side

from fuzz_core.campaign.gandalf.engine import fuzz_graphs
from fuzz_core.campaign.gandalf.figures import GandalfReport
from fuzz_core.campaign.listener import FindingRecorder, RecordedFinding
from fuzz_core.cli.engines import graphs_options
from fuzz_core.cli.settings import Settings
from fuzz_core.modelgen.gandalf.relations import RELATIONS
from fuzz_core.modelgen.gandalf.table import Domain, Library, Operator, Spelling, load

pytestmark = pytest.mark.real
TABLE = load()
# So many graphs ask each relation of a group several times; the seed fixes them.
GRAPHS = 40
# Relations whose faults are planted together, and the operators that begin and end paths beside the faulty ones. A
# process keeps a changed initializer, so the sound operators of that group have no weights.
GROUPS: dict[tuple[int, ...], tuple[str, ...]] = {
    (1, 2, 3): ("flatten", "softmax"),
    (4, 5, 6, 7, 8): ("conv1d", "flatten"),
    (9, 10, 11, 12, 13, 14, 15): ("flatten",),
}
LAYER = "layer.build(x.shape)\nlayer.set_weights([tf.transpose(w, (2, 3, 0, 1)).numpy(), b.numpy()])"


class RelationFault(NamedTuple):
    """A wrong call of an operator in a library. The plain call of the operator is right."""

    operator: str
    library: Library
    call: str
    setup: str = ""
    also: bool = False  # whether the call is the rewritten one: the table spells it out


FAULTS = {
    1: RelationFault("linear_no_bias", "torch", "F.linear(x, w) + 0.1 * isinstance(w, nn.Parameter)"),
    2: RelationFault(
        "linear",
        "torch",
        "[setattr(nn.init, 'constant_', lambda made, value: made.fill_(value + 0.1)), F.linear(x, w, b)][1]",
    ),
    3: RelationFault(
        "linear",
        "tensorflow",
        "[setattr(keras.initializers, 'Constant', lambda value: lambda shape, dtype: tf.ones(shape, dtype)),"
        " tf.linalg.matmul(x, tf.transpose(w)) + b][1]",
    ),
    4: RelationFault("relu6", "torch", "F.relu6(x) + 0.1 * (not x.is_contiguous())"),
    5: RelationFault("gelu", "torch", "F.gelu(x) + 0.1 * (not x.is_contiguous())"),
    6: RelationFault("conv2d", "torch", "F.conv2d(x, w, b, s, p, d) + 0.1 * (not x.is_contiguous())"),
    7: RelationFault("tanh", "torch", "[setattr(torch, 'float', torch.bfloat16), torch.tanh(x)][1]"),
    8: RelationFault("embedding", "torch", "F.embedding(abs(x) % V, w) + 0.1 * (x.dtype == torch.int32)"),
    9: RelationFault("add", "torch", "torch.stack([a, b]).sum(0) + 0.1", also=True),
    10: RelationFault(
        "depthwise_conv2d_layer",
        "tensorflow",
        "layer(x) + 0.1 * (not given)",
        f"given = dict(depth_multiplier=1)\nlayer = keras.layers.DepthwiseConv2D(k, **given)\n{LAYER}",
    ),
    11: RelationFault("conv2d_same", "torch", "F.conv2d(F.pad(x, (k // 2,) * 4), w, b) + 0.1", also=True),
    12: RelationFault("pad_zero2d", "torch", TABLE["pad_zero2d"].also["torch"][12].call + " + 0.1", also=True),
    13: RelationFault(
        "batch_norm_running_mean", "torch", "(1 - share) * mean + share * x.mean((0, 2, 3)) + 0.1", also=True
    ),
    14: RelationFault(
        "batch_norm_layer",
        "torch",
        "layer(x) + 0.1 * (not given)",
        "given = dict(affine=True)\n"
        "layer = nn.BatchNorm2d(C, eps=0.0078125, track_running_stats=True)\n"
        "layer.weight.copy_(w)\nlayer.bias.copy_(b)",
    ),
    15: RelationFault(
        "batch_norm_no_affine",
        "torch",
        "layer(x) + 0.1 * (not given)",
        "given = dict(track_running_stats=True)\nlayer = nn.BatchNorm2d(C, eps=0.0078125, affine=False, **given)",
    ),
}


def table(numbers: Collection[int], sound: Iterable[str]) -> dict[str, Operator]:
    """Returns a table of the operators with the planted faults of these relations, and of sound ones."""
    found = {name: TABLE[name] for name in sound}
    for number in numbers:
        fault = FAULTS[number]
        operator = found.get(fault.operator, TABLE[fault.operator])
        plain = operator.spelled[fault.library]
        wrong = plain.model_copy(update={"call": fault.call, "setup": fault.setup})
        if fault.also:
            changed = {"also": {**operator.also, fault.library: {number: Spelling(call=fault.call)}}}
        else:
            changed = {"spelled": {**operator.spelled, fault.library: wrong}}
        found[fault.operator] = operator.model_copy(update=changed)
    return found


class Found(NamedTuple):
    """The report of the run, and where each finding came from."""

    report: GandalfReport
    origins: list[tuple[str, str]]  # target and origin


@cache
def run(numbers: tuple[int, ...], folder: Path, torch_python: Path, tensorflow_python: Path) -> Found:
    """Returns the results of a run as `--paper` has it, on a table with the faults of these relations."""
    origins = list[tuple[str, str]]()
    domains: list[Domain] = ["cv", "nlp"] if 8 in numbers else ["cv"]
    options = graphs_options(Settings(engine="gandalf", paper=True, tests_count=GRAPHS, domain=domains))
    keep = FindingRecorder.keep

    def noting(recorder: FindingRecorder, *found: Any) -> RecordedFinding:
        origins.append((recorder.target, found[-1]))
        return keep(recorder, *found)

    with (
        side_by_side(folder / str(numbers[0]), {"torch": torch_python, "tensorflow": tensorflow_python}) as sessions,
        pytest.MonkeyPatch.context() as patch,
    ):
        # The store keeps a few findings of each api.
        patch.setattr(FindingRecorder, "keep", noting)
        report = fuzz_graphs(sessions, table(numbers, GROUPS[numbers]), replace(options, seconds=None, seed=1))
    return Found(report, origins)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("relations")


@pytest.mark.parametrize("number", RELATIONS)
def test_a_fault_that_one_relation_shows_is_found_and_no_other(
    number: int, folder: Path, torch_python: Path, tensorflow_python: Path
) -> None:
    numbers = next(each for each in GROUPS if number in each)
    report, origins = run(numbers, folder, torch_python, tensorflow_python)
    fault, name = FAULTS[number], f"relation {number}"
    assert report.relations[name] >= report.hits[name] >= 1, (report.relations, report.hits)
    where = f", {fault.operator}, where {name} does not rewrite it"
    assert f"{fault.library}-1" in {target for target, origin in origins if where in origin}
    planted = {FAULTS[each].operator for each in numbers}
    assert all(any(f", {each}, where" in origin for each in planted) for _, origin in origins), origins
