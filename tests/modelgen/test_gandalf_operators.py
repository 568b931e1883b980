"""Tests that run every entry of the table: its shapes are inferred right, and the libraries agree on it.

Jittor compiles each new operator for seconds, so a part of its entries is run. If NIGHTFUZZ_EVERY_OPERATOR is set, all
entries are run, on three kinds of data in each library.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from gandalf_grounds import results_of

from fuzz_core.campaign.gandalf.verify import KINDS, Kind, extreme
from fuzz_core.modelgen.gandalf.graph import Graph, shaped
from fuzz_core.modelgen.gandalf.relations import RELATIONS
from fuzz_core.modelgen.gandalf.renderer import WRITINGS, render
from fuzz_core.modelgen.gandalf.shapes import ShapeError
from fuzz_core.modelgen.gandalf.table import LIBRARIES, Library, Operator, Precision, load

pytestmark = pytest.mark.real
# In float64 a difference shows another meaning of an operator; in float32 the libraries round in different ways.
TOLERANCES = {"float64": (1e-9, 1e-11), "float32": (1e-4, 1e-5)}
WHOLE = bool(os.environ.get("NIGHTFUZZ_EVERY_OPERATOR"))
# Jittor gets one program for each operator, in float64, the precision that shows most errors.
SEEDS: dict[Library, range] = {
    "torch": range(3 if WHOLE else 1),
    "tensorflow": range(3 if WHOLE else 1),
    "jittor": range(1),
}
# The relative tolerance for extreme data. Operators do not define more digits than that.
EXTREME = 1e-6
# Jittor runs one of so many operators.
JITTOR_PERIOD = 1 if WHOLE else 24


class OperatorRun(NamedTuple):
    """A program: an operator on its data, plain (relation 0) or through a relation.

    If `constant` is true, all weights are constant.
    """

    name: str
    seed: int
    precision: Precision
    constant: bool = False
    relation: int = 0
    data: Kind = "drawn"

    def graph(self) -> Graph:
        """Returns the graph of the case. Raises ShapeError if the operator takes no such data."""
        return extreme(load()[self.name].limited(LIBRARIES), self.data, self.seed, self.constant)


def plain(library: Library) -> Iterator[OperatorRun]:
    spelled = [each for each in load().values() if library in each.spelled and library not in each.wrong]
    for operator in spelled[:: JITTOR_PERIOD if library == "jittor" else 1]:
        for seed in SEEDS[library]:
            if library in operator.coarse or library != "jittor":
                yield OperatorRun(operator.name, seed, "float32")
            if library not in operator.coarse:
                yield OperatorRun(operator.name, seed, "float64")
        yield from extremes(operator, library)


def extremes(operator: Operator, library: Library) -> Iterator[OperatorRun]:
    """Yields cases of the operator on each kind of extreme data that it takes."""
    precision: Precision = "float32" if library in operator.coarse else "float64"
    for data in [each for each in KINDS if each != "drawn"]:
        case = OperatorRun(operator.name, 0, precision, data=data)
        with suppress(ShapeError):
            case.graph()
            yield case


def related(library: Library) -> Iterator[OperatorRun]:
    """Yields the cases that go through a relation, each behind the plain case that it is compared with."""
    for number, relation in RELATIONS.items():
        applying = [each for each in load().values() if relation.applies_to(each, library)]
        for operator in [each for each in applying if library not in each.wrong]:
            exact = library not in operator.coarse and "float64" in relation.precisions
            case = OperatorRun(operator.name, 0, "float64" if exact else "float32", bool(relation.constants(operator)))
            yield from (reference(case, number), case._replace(relation=number))


def reference(case: OperatorRun, number: int) -> OperatorRun:
    """Returns the plain case that a case with this relation must agree with."""
    return case._replace(relation=0, precision=RELATIONS[number].reference or case.precision)


@pytest.fixture(scope="module")
def results(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[Library, dict[OperatorRun, Any]]:
    """Returns the result of every case in each library: an array, or the text of its error."""
    return {library: _run(request, library, tmp_path_factory.mktemp(library)) for library in LIBRARIES}


@pytest.mark.timeout(1200)
def test_every_program_runs_and_gives_the_inferred_shape_and_dtype(
    results: dict[Library, dict[OperatorRun, Any]],
) -> None:
    wrong = []
    for library, found in results.items():
        for case, result in found.items():
            expected = shaped(case.graph(), load())[0].result
            if isinstance(result, str):
                wrong.append(f"{library} {case}: {result.strip().splitlines()[-1]}")
            elif result.shape != expected.shape or not _is(result.dtype, expected.dtype, case, library):
                wrong.append(f"{library} {case}: {result.dtype}{result.shape}, not {expected}")
    assert wrong == []


@pytest.mark.timeout(1200)
def test_libraries_agree(results: dict[Library, dict[OperatorRun, Any]]) -> None:
    wrong = []
    for case in dict.fromkeys(case for found in results.values() for case in found if not case.relation):
        arrays = {library: found.get(case) for library, found in results.items()}
        first, *others = [library for library, each in arrays.items() if isinstance(each, np.ndarray)]
        said = {other: _differ(arrays[first], arrays[other], case) for other in others}
        wrong += [f"{case}: {first} and {other}: {each}" for other, each in said.items() if each]
    assert wrong == []


@pytest.mark.timeout(1200)
def test_relations_hold(results: dict[Library, dict[OperatorRun, Any]]) -> None:
    wrong = []
    for library, found in results.items():
        for case in [each for each in found if each.relation and isinstance(found[each], np.ndarray)]:
            same = reference(case, case.relation)
            said = _differ(found[same], found[case], same)
            wrong += [f"{library} {case}: {said}"] if said else []
    assert wrong == []


def _run(request: pytest.FixtureRequest, library: Library, folder: Path) -> dict[OperatorRun, Any]:
    relations = related(library) if library != "jittor" or WHOLE else ()
    cases = list(dict.fromkeys([*plain(library), *relations]))
    programs = {str(place): _text(case, library) for place, case in enumerate(cases)}
    found = results_of(request.getfixturevalue(f"{library}_python"), library, programs, folder)
    return {case: _only(found[str(place)]) for place, case in enumerate(cases)}


def _text(case: OperatorRun, library: Library) -> str:
    through = {0: RELATIONS[case.relation]} if case.relation else {}
    return render(case.graph(), load(), library, case.precision, through)


def _only(found: Any) -> Any:
    return found if isinstance(found, str) else found[0]


def _is(dtype: np.dtype[Any], named: str, case: OperatorRun, library: Library) -> bool:
    """Returns whether a result has the inferred dtype.

    Integers have the length of the library's data, unless the case has a relation. Floats have the case's precision.
    """
    if named == "int" and case.relation:
        return dtype.kind == "i"
    if named == "float" and case.data == "small" and library == "jittor":
        return dtype.kind == "f"  # one element is a number to it, and numbers are single
    return bool(dtype == {"float": case.precision, "int": WRITINGS[library].integer, "bool": "bool"}[named])


def _differ(one: np.ndarray, other: np.ndarray, case: OperatorRun) -> str:
    if one.shape != other.shape:
        return f"shapes {one.shape} and {other.shape}"
    relative, absolute = TOLERANCES[case.precision]
    if case.data != "drawn":
        relative = max(relative, EXTREME)
    if case.data in ("zero", "alike") and one.dtype.kind == "i":
        return ""  # the place of one of several equal elements
    if np.allclose(one, other, relative, absolute, equal_nan=True):
        return ""
    return f"differ by {np.nanmax(np.abs(one.astype(float) - other)):.2g} of {np.nanmax(np.abs(one)):.2g}"
