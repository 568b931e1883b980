"""Seeds of trees: programs for tracing count too, with less time; and a program's calls outside blocks are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz_core.campaign.moco import seeds as sown
from fuzz_core.campaign.moco.plot import MocoOptions, Plot
from fuzz_core.campaign.moco.seeds import TRACED, RefusedProgram, SeedProgram, seeds
from fuzz_core.campaign.session import Session
from fuzz_core.ir.catalogue import Api
from fuzz_core.modelgen.moco.facts import Facts, Knowledge

PROGRAM = """import fakelib

image = fakelib.asarray([1.0, 2.0])
x = fakelib.nn.Window(2)(image)
x = fakelib.nn.Window(3)(x)
x = fakelib.nn.Window(4)(x)
fakelib.add(x, x)
"""
KNOWN = Knowledge(library="fakelib", build="fakelib-1", apis={"fakelib.add": Facts(api="fakelib.add")})


@pytest.fixture
def both(
    fakelib_session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[SeedProgram | RefusedProgram]:
    """A program for tracing, one that cannot be split into blocks, and the user's own."""
    (tmp_path / "own.py").write_text(PROGRAM)
    monkeypatch.setattr(sown, "traced_programs", lambda library: [("a", PROGRAM), ("b", "")])
    return list(seeds(fakelib_session, [tmp_path]))


def test_programs_for_tracing_that_come_apart_are_seeds_of_less_weight(
    both: list[SeedProgram | RefusedProgram],
) -> None:
    found = {each.program.name: each.weight for each in both if isinstance(each, SeedProgram)}
    assert len(found) == 2 and found["a"] == TRACED and sorted(found.values()) == [1, TRACED]
    assert not [each for each in both if isinstance(each, RefusedProgram)]


def test_they_begin_later_and_what_they_cost_counts_for_more(
    fakelib_session: Session, both: list[SeedProgram | RefusedProgram]
) -> None:
    traced, own = [Plot(fakelib_session, each, KNOWN, MocoOptions()) for each in both if isinstance(each, SeedProgram)]
    assert traced.spent == TRACED**3 * own.spent
    before = traced.spent, own.spent
    traced.executed += 1
    own.executed += 1
    assert traced.spent - before[0] == TRACED * (own.spent - before[1])


def test_what_a_program_calls_beside_its_blocks_is_known_of_it(
    fakelib_session: Session, both: list[SeedProgram | RefusedProgram]
) -> None:
    seed = next(each for each in both if isinstance(each, SeedProgram))
    assert {"fakelib.add", "fakelib.asarray"} <= seed.beside
    assert Plot(fakelib_session, seed, KNOWN, MocoOptions()).beside == {"fakelib.add"}


def test_a_sequence_keeps_its_name_whatever_else_it_is_called(
    fakelib_session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apis = [Api("fakelib.nn.Layers", "class", aliases=("fakelib.nn.Sequential",))]
    monkeypatch.setattr(type(fakelib_session.store), "apis", lambda store, target: apis)
    layers = ", ".join(f"fakelib.nn.Window({width})" for width in range(1, 5))
    (tmp_path / "own.py").write_text(
        f"import fakelib\n\nmodel = fakelib.nn.Sequential({layers})\nmodel(fakelib.asarray([1.0]))\n"
    )
    (seed,) = seeds(fakelib_session, [tmp_path])
    assert isinstance(seed, SeedProgram) and len(seed.program.blocks) == 4
