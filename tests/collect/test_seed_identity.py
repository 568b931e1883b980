"""The identity of a seed: its content, and the path of its file below the root."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.adapters.library import KNOWN_LIBRARIES
from fuzz_core.collect.sources import SOURCES, Request, Seed, collect
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.errors import UserError

TEXTS = st.text(max_size=40)
SEEDS = st.builds(
    Seed,
    st.sampled_from(["docs", "tests", "models"]),
    TEXTS,
    TEXTS,
    st.sampled_from(["snippet", "script", "tests", "database"]),
    TEXTS,
    TEXTS,
    st.sampled_from(["", "d1", "d2"]),
)


def test_the_digest_does_not_change_between_versions() -> None:
    seed = Seed("docs", "torch.add docstring", "import torch\ntorch.add(1, 2)\n", "snippet")
    assert seed.digest == "a97d10f0d38ea04b855580623112c313"


@given(SEEDS, TEXTS, TEXTS)
def test_neither_the_name_nor_the_place_on_this_machine_counts(seed: Seed, name: str, path: str) -> None:
    assert replace(seed, name=name, path=path).digest == seed.digest


@given(SEEDS, SEEDS)
def test_different_content_has_a_different_digest(one: Seed, other: Seed) -> None:
    def content(seed: Seed) -> tuple[str, ...]:
        return seed.source, seed.kind, seed.relative, seed.code, seed.needs

    assert (one.digest == other.digest) == (content(one) == content(other))


# Requests that each give at least one seed: a docstring in each form, an entry of a test database, the shipped sets.
SESSION = "Example::\n\n    >>> m = ReLU()\n    >>> m(torch.randn(2))\n    tensor([0., 1.])"
FENCED = "Usage:\n\n```python\nlayer = keras.layers.Dense(2)\n```"
EXAMPLES = {
    "docs": (
        Request("torch", (Api("torch.nn.ReLU", "class", doc=SESSION),)),
        Request("tensorflow", (Api("tf.keras.layers.Dense", "class", doc=FENCED),)),
    ),
    "tests": (Request("torch", database=(("OpInfo add", "import torch\ntorch.add(torch.ones(2), 1)\n"),)),),
    "models": tuple(map(Request, KNOWN_LIBRARIES)),
}


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_examples_of_every_source_give_seeds_that_compile_once_each_in_the_same_order(name: str) -> None:
    for request in EXAMPLES[name]:
        seeds = list(collect(request, [name]))
        digests = [seed.digest for seed in seeds]
        assert seeds
        assert len(set(digests)) == len(digests)
        assert digests == [seed.digest for seed in collect(request, [name])]
        for seed in seeds:
            assert seed.source == name
            compile(seed.code, seed.name, "exec")


def test_an_unknown_source_is_refused_before_anything_is_collected(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="docs, models, tests"):
        list(collect(Request("torch", tests_dirs=[tmp_path / "missing"]), ["tests", "doc"]))


@pytest.mark.parametrize(
    "request_for",
    [
        lambda path: Request("torch", docs_dirs=[path]),
        lambda path: Request("torch", tests_dirs=[path]),
        lambda path: Request("torch", models_dirs=[path]),
    ],
)
def test_a_missing_directory_is_an_error_that_names_it(request_for: object, tmp_path: Path) -> None:
    assert callable(request_for)
    with pytest.raises(UserError, match="nowhere does not exist"):
        list(collect(request_for(tmp_path / "nowhere")))


def test_the_same_code_from_two_places_is_one_seed() -> None:
    code = "import torch\ntorch.ones(2)\n"
    seeds = list(collect(Request("torch", database=[("OpInfo ones", code), ("OpInfo ones again", code)]), ["tests"]))
    assert [seed.name for seed in seeds] == ["OpInfo ones"]
