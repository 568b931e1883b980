"""The contract of every adapter: runs `adaptercontract` in each library's own interpreter."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import strategies
from adaptercontract.__main__ import CHANGING, CHECKS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz_core.adapters.base import ADAPTERS, adapter_of
from fuzz_core.adapters.dialect import DIALECTS, dialect_of, surroundings
from fuzz_core.execution.zygote import environment
from fuzz_core.ir.codec import encode
from fuzz_core.ir.dtypes import DTYPES, integer_bounds
from fuzz_core.ir.elements import pack
from fuzz_core.ir.values import Fill, Tensor

COMMON = Path(__file__).parents[1] / "common"
# Adapters from outside the project, each with its folder. They are checked beside those of the project's table.
OUTSIDE = {"fakelib": COMMON, "numpy": COMMON / "numpylib"}
LIBRARIES = [*(pytest.param(name, marks=pytest.mark.real) for name in sorted(ADAPTERS)), *sorted(OUTSIDE)]
BY_TENSOR = ("round_trip", "spelled")
# Number of examples for a library whose compiler runs for each example.
FEW = 10


class Library:
    """The checks of one library, served by a process of its interpreter."""

    def __init__(self, name: str, python: Path, home: Path) -> None:
        self.log = home / "log"
        folders = [str(COMMON), *([str(OUTSIDE[name])] if name in OUTSIDE else [])]
        around = {"PYTHONPATH": os.pathsep.join([str(COMMON.parents[1]), *folders])}
        dialect = dialect_of(name)
        self.examples = FEW if dialect.compiled else settings().max_examples
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [python, "-m", "adaptercontract", name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=environment(home, surroundings(dialect, python)) | around,
                cwd=home,
            )
        self.dtypes: list[str] = self._answer()["dtypes"]

    def problems(self, check: str, *arguments: Any) -> list[str]:
        """Returns the problems that a check has found."""
        assert self.process.stdin is not None
        print(json.dumps([check, *arguments]), file=self.process.stdin, flush=True)
        return list(self._answer())

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"ended: {self.process.wait()}\n{self.log.read_text()[-3000:]}"
        return json.loads(line)

    def end(self) -> None:
        """Ends the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture(scope="module", params=LIBRARIES)
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    name = str(request.param)
    python = Path(request.getfixturevalue(f"{name}_python"))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(OUTSIDE.get(name, COMMON))
        served = Library(name, python, tmp_path_factory.mktemp(name))
        yield served
        served.end()


@pytest.mark.parametrize("check", sorted({*CHECKS, *CHANGING} - {*BY_TENSOR}))
def test_keeps_the_contract(library: Library, check: str) -> None:
    assert library.problems(check) == []


@pytest.mark.parametrize("check", BY_TENSOR)
def test_keeps_tensors(library: Library, check: str) -> None:
    @settings(max_examples=library.examples, suppress_health_check=[HealthCheck.too_slow])
    @given(tensors(library.dtypes))
    def kept(tensor: Tensor) -> None:
        assert library.problems(check, encode(tensor)) == []

    kept()


def test_a_library_has_both_halves() -> None:
    assert ADAPTERS.keys() == DIALECTS.keys()
    for name in ADAPTERS:
        assert adapter_of(name).library == dialect_of(name).library == name


_NARROW = {
    "float8_e4m3fn": (448.0, 2.0**-9),
    "float8_e5m2": (57344.0, 2.0**-16, float("inf")),
    "bfloat16": (2.0**127, 2.0**-133, float("-inf")),
    "complex32": (65504.0, 2.0**-24, float("inf")),
}
_COMMON = (0.0, -0.0, 1.0, -1.5, float("nan"))


def reals(dtype: str) -> st.SearchStrategy[float]:
    """Returns numbers that a dtype can hold; for a complex dtype, the real or imaginary parts."""
    if dtype in _NARROW:
        return st.sampled_from((*_COMMON, *_NARROW[dtype]))
    return st.floats(width={"float16": 16, "float32": 32, "complex64": 32}.get(dtype, 64))


def numbers(dtype: str) -> st.SearchStrategy[Any]:
    """Returns elements of a dtype."""
    kind = DTYPES[dtype].kind
    if kind == "string":
        return st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4)
    if kind == "complex":
        return st.builds(complex, reals(dtype), reals(dtype))
    return reals(dtype) if kind == "float" else st.integers(*integer_bounds(dtype))


def fills(dtype: str) -> st.SearchStrategy[Fill]:
    """Returns fills with listed elements; for most dtypes, with uniform random and constant elements, too.

    A narrow float, or a string, has listed elements alone: a drawn number need not round to one of its values.
    """
    storage = DTYPES[dtype].storage
    given_ones = st.lists(numbers(dtype), min_size=1, max_size=6).map(
        lambda each: Fill("values", data=pack(np.array(each, storage)))
    )
    if dtype in _NARROW or dtype == "string":
        return given_ones
    ends = st.floats(-1e4, 1e4, width=16)
    drawn = st.builds(Fill, st.just("uniform"), ends, ends, st.integers(0, 9), st.just(b""), st.none() | ends)
    return given_ones | drawn | drawn.map(lambda fill: fill._replace(kind="constant"))


def tensors(dtypes: list[str]) -> st.SearchStrategy[Tensor]:
    """Returns tensors of a library's dtypes, in every container."""
    return st.sampled_from(dtypes).flatmap(lambda dtype: strategies.tensors(st.just(dtype), fills(dtype)))
