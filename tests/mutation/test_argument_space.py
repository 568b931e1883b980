from __future__ import annotations

import json
import struct
from base64 import b64encode
from collections import Counter
from math import exp
from typing import Any

import pytest

from fuzz_core.ir.codec import encode
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.rng import Rng
from fuzz_core.ir.values import Seq, Tensor, prim
from fuzz_core.mutation.space import ArgumentSpace

APIS = ["conv1d", "conv2d", "relu"]
SHAPED = Tensor("float32", (5, 6))


def row(*similarities: float) -> str:
    return b64encode(struct.pack(f"<{len(similarities)}H", *(round(s * 65535) for s in similarities))).decode()


def space_data() -> dict[str, Any]:
    pair = encode(Seq("tuple", (prim(1), prim(2))))
    return {
        "values": {
            "dilation": {"int": {"conv2d": [2, 3], "conv1d": [4], "relu": [5]}, "(int,int)": {"conv2d": [pair]}},
            "mode": {"str": {"relu": ["zeros"]}},
        },
        "apis": APIS,
        "similarity": {"conv1d": row(1.0, 0.9, 0.1), "conv2d": row(0.9, 1.0, 0.2)},
        "tensors": {"2,float32": [encode(SHAPED)]},
    }


@pytest.fixture
def space() -> ArgumentSpace:
    return ArgumentSpace.from_json(json.loads(json.dumps(space_data())))


def probabilities(space: ArgumentSpace, api: str, argument: str, fuzz_type: str) -> dict[str, float]:
    """Returns the probability with which each api's values are picked."""
    entry = space.entry(api, argument, fuzz_type)
    if entry is None:
        return {}
    lows = (0.0, *entry.cumulative)
    return {name: entry.cumulative[at] - lows[at] for at, name in enumerate(entry.apis)}


def test_probabilities_are_the_softmax_of_the_similarities(space: ArgumentSpace) -> None:
    weights = [exp(round(s * 65535) / 65535) for s in (1.0, 0.9, 0.1)]
    expected = [weight / sum(weights) for weight in weights]
    assert probabilities(space, "conv1d", "dilation", "int") == pytest.approx(dict(zip(APIS, expected, strict=True)))


def test_only_apis_that_share_argument_and_type_are_weighed(space: ArgumentSpace) -> None:
    assert probabilities(space, "conv1d", "dilation", "(int,int)") == pytest.approx({"conv2d": 1.0})
    assert probabilities(space, "conv1d", "dilation", "float") == {}


def test_an_api_without_a_row_finds_all_others_equal(space: ArgumentSpace) -> None:
    assert probabilities(space, "unheard_of", "dilation", "int") == pytest.approx(dict.fromkeys(APIS, 1 / 3))


def test_values_of_similar_apis_are_picked_as_often_as_their_probability_says(space: ArgumentSpace) -> None:
    rng = Rng(5)
    picked = Counter(space.pick(rng, "conv1d", "dilation", "int") for _ in range(6000))
    chances = probabilities(space, "conv1d", "dilation", "int")
    assert picked[prim(4)] / 6000 == pytest.approx(chances["conv1d"], abs=0.03)
    assert picked[prim(2)] / 6000 == pytest.approx(chances["conv2d"] / 2, abs=0.03)
    assert picked[prim(5)] / 6000 == pytest.approx(chances["relu"], abs=0.03)
    assert picked[prim(4)] > picked[prim(5)]


def test_values_are_decoded(space: ArgumentSpace) -> None:
    assert space.pick(Rng(1), "conv1d", "dilation", "(int,int)") == Seq("tuple", (prim(1), prim(2)))
    assert space.pick_tensor(Rng(1), 2, "float32") == SHAPED


def test_what_was_never_seen_is_none(space: ArgumentSpace) -> None:
    assert space.pick(Rng(1), "conv1d", "padding", "int") is None
    assert space.pick(Rng(1), "conv1d", "", "complex") is None
    assert space.pick(Rng(1), "conv1d", "padding", "") is None
    assert space.pick_tensor(Rng(1), 3, "float32") is None
    assert ArgumentSpace({}, (), {}, {}).pick(Rng(1), "conv1d", "dilation", "int") is None
    assert ArgumentSpace({}, (), {}, {}).pick_tensor(Rng(1), 2, "float32") is None


def test_an_empty_name_or_type_stands_for_any(space: ArgumentSpace) -> None:
    assert space.pick(Rng(1), "conv1d", "", "str") == prim("zeros")
    kinds = {type(space.pick(Rng(seed), "conv1d", "dilation", "")) for seed in range(20)}
    assert len(kinds) == 2


def test_the_order_of_the_data_does_not_matter(space: ArgumentSpace) -> None:
    data = space_data()
    for by_type in data["values"].values():
        for fuzz_type, by_api in by_type.items():
            by_type[fuzz_type] = dict(reversed(by_api.items()))
    data["values"] = dict(reversed(data["values"].items()))
    turned = ArgumentSpace.from_json(data)
    for seed in range(50):
        for argument in ("dilation", ""):
            assert turned.pick(Rng(seed), "conv2d", argument, "int") == space.pick(Rng(seed), "conv2d", argument, "int")


@pytest.mark.parametrize("part", ["values", "apis", "similarity", "tensors"])
def test_a_missing_or_misformed_part_is_an_error(part: str) -> None:
    data = space_data()
    with pytest.raises(CodecError, match="argument value space"):
        ArgumentSpace.from_json({**data, part: 7})
    del data[part]
    with pytest.raises(CodecError, match=part):
        ArgumentSpace.from_json(data)


@pytest.mark.parametrize("text", ["not base64!", row(0.5), "AAA="])
def test_a_bad_similarity_row_is_an_error(text: str) -> None:
    space = ArgumentSpace.from_json({**space_data(), "similarity": {"conv1d": text}})
    with pytest.raises(CodecError):
        space.pick(Rng(1), "conv1d", "dilation", "int")
