"""Tests of knowledge of the real PyTorch: from its inventory and a few recorded calls, then by experiment."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fuzz_core.campaign.moco.study import SECONDS, gathered, learn, running
from fuzz_core.campaign.moco.study_subject import Course, probed
from fuzz_core.campaign.session import Session
from fuzz_core.ir.values import Invocation, Tensor, Then, prim
from fuzz_core.store import SeedRecord, TargetRecord, open_store

NN = "torch.nn"
CALLS = (
    Invocation(f"{NN}.Conv2d", (prim(4), prim(6), prim(3)), (), Then("__call__", (Tensor("float32", (2, 4, 8, 8)),))),
    Invocation(f"{NN}.Linear", (prim(5), prim(2)), (), Then("__call__", (Tensor("float32", (3, 5)),))),
    Invocation(f"{NN}.LSTM", (prim(5), prim(7)), (), Then("__call__", (Tensor("float32", (3, 2, 5)),))),
    Invocation(f"{NN}.functional.relu", (Tensor("float32", (3, 5)),)),
)


@pytest.fixture
def session(torch_python: Path, tmp_path: Path) -> Iterator[Session]:
    with open_store(tmp_path / "state.db") as store:
        target = TargetRecord("torch-here", "torch", "torch", "2", str(torch_python))
        store.save_target(target)
        store.save_trace(
            target.key, SeedRecord("digest", "test", "calls", "ok"), [(call, "ok") for call in CALLS], {}, {}
        )
        store.set_validity(target.key, ((body.id, "ok", "") for body in store.bodies(target.key)))
        yield Session(store, target, tmp_path)


def test_layers_and_functions_are_found_without_a_list_of_names(session: Session) -> None:
    knowledge = learn(session, seconds=0.0)
    assert {f"{NN}.Conv2d", f"{NN}.BatchNorm1d", f"{NN}.functional.relu"} <= set(knowledge.apis)
    assert not {"torch.add", "torch.optim.SGD", "torch.distributions.Normal"} & set(knowledge.apis)
    conv = knowledge.apis[f"{NN}.Conv2d"]
    assert conv.definition.startswith("Applies a 2D convolution")
    assert conv.example == {"in_channels": "4", "out_channels": "6", "kernel_size": "3"}
    assert "in_channels % groups == 0" in [relation.expression for relation in conv.relations]
    padding_mode = conv.parameter("padding_mode")
    assert padding_mode is not None and "reflect" in padding_mode.choices
    lstm = [parameter.name for parameter in knowledge.apis[f"{NN}.LSTM"].parameters]
    assert lstm[:3] == ["input_size", "hidden_size", "num_layers"]


def test_experiments_find_axes_ranks_and_results(session: Session) -> None:
    names = [f"{NN}.{name}" for name in ("Conv2d", "Linear", "LSTM", "BatchNorm1d", "Dropout")]
    course = Course(SECONDS, session.clock() + SECONDS)
    with running(session) as run:
        found = probed(session, [each for each in gathered(session) if each.api.name in names], run, course)
    apis = {each.api: each for each in found.facts}
    binds = {name.rpartition(".")[2]: {p.name: p.binds for p in apis[name].parameters if p.binds} for name in names}
    assert binds == {
        "Conv2d": {"in_channels": -3},
        "Linear": {"in_features": -1},
        "LSTM": {"input_size": -1},
        "BatchNorm1d": {"num_features": 1},
        "Dropout": {},
    }
    assert [apis[name].ranks for name in names] == [(3, 4), (1, 2, 3, 4, 5), (2, 3), (2, 3), (1, 2, 3, 4, 5)]
    assert [apis[name].returns for name in names] == ["tensor", "tensor", "tuple", "tensor", "tensor"]
