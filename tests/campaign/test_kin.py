"""Apis that are alike."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping

from fuzz_core.campaign.kin import MOST, Kin
from fuzz_core.store.similarity import similarity_rows


def kin_of(definitions: Mapping[str, str]) -> Kin:
    return Kin({api: b64encode(row).decode() for api, row in similarity_rows(definitions).items()})


def test_those_with_much_the_same_definition_are_kin_the_nearest_first() -> None:
    definitions = {
        "lib.conv2d": "conv2d(input, weight, bias, stride)",
        "lib.conv3d": "conv3d(input, weight, bias, stride)",
        "lib.conv_transpose3d": "conv_transpose3d(input, weight, bias, stride)",
        "lib.randint": "randint(low, high)",
    }
    kin = kin_of(definitions)
    assert kin.of("lib.conv2d") == ["lib.conv3d", "lib.conv_transpose3d"]
    assert kin.of("lib.randint") == kin.of("lib.unknown") == []


def test_no_api_has_more_than_a_handful() -> None:
    names = {f"lib.conv{n}d": f"conv{n}d(input, weight)" for n in range(30)}
    assert len(kin_of(names).of("lib.conv7d")) == MOST
