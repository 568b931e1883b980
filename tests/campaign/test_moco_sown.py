"""Seeds of trees: programs for tracing count too, with less time; and a program's calls outside blocks are known."""

from __future__ import annotations

from pathlib import Path

import pytest
from moco_branches import workshop_of

from fuzz_core.campaign.moco import plot as sown
from fuzz_core.campaign.moco.engine import fuzz_models, take_apart
from fuzz_core.campaign.moco.plot import TRACED, MocoOptions, Plot, RefusedProgram, SeedProgram, recorded, seeds
from fuzz_core.campaign.moco.workshop import BlockWorkshop
from fuzz_core.campaign.session import Session
from fuzz_core.modelgen.moco.facts import Facts, Knowledge
from fuzz_core.modelgen.moco.program import Program

PROGRAM = """import numpy as np
import fakelib

image = np.array([1.0, 2.0])
x = fakelib.nn.Window(2)(image)
x = fakelib.nn.Window(3)(x)
x = fakelib.nn.Window(4)(x)
fakelib.add(x, x)
"""
KNOWN = Knowledge(library="fakelib", build="fakelib-1", apis={"fakelib.add": Facts(api="fakelib.add")})


@pytest.fixture
def both(fakelib_session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[SeedProgram]:
    """A program for tracing, one that cannot be split into blocks, and the user's own."""
    (tmp_path / "own.py").write_text(PROGRAM)
    monkeypatch.setattr(sown, "traced_programs", lambda library: [("a", PROGRAM), ("b", "")])
    return [each for each in seeds(fakelib_session, [tmp_path]) if isinstance(each, SeedProgram)]


def test_programs_for_tracing_begin_later_and_what_they_cost_counts_for_more(
    fakelib_session: Session, both: list[SeedProgram]
) -> None:
    traced, _, own = [Plot(fakelib_session, each, KNOWN, MocoOptions()) for each in both]
    assert traced.spent == TRACED**3 * own.spent
    before = traced.spent, own.spent
    traced.executed += 1
    own.executed += 1
    assert traced.spent - before[0] == TRACED * (own.spent - before[1])


def test_a_program_for_tracing_without_blocks_is_left_out_and_one_of_the_user_is_named(
    fakelib_session: Session, both: list[SeedProgram], tmp_path: Path
) -> None:
    (tmp_path / "nothing.py").write_text("print('no model')\n")
    (tmp_path / "broken.py").write_text(PROGRAM + "missing\n")
    found = list(take_apart(fakelib_session, [tmp_path]))
    refused = {each.name.rpartition("/")[2]: each.reason for each in found if isinstance(each, RefusedProgram)}
    assert sorted(refused) == ["broken.py", "nothing.py"]
    assert "no hidden layers" in refused["nothing.py"] and "NameError" in refused["broken.py"]
    assert [len(each.blocks) for each in found if isinstance(each, Program)] == [3, 3]


def test_what_a_program_calls_beside_its_blocks_is_known_of_it_after_its_first_turn(
    fakelib_session: Session, both: list[SeedProgram]
) -> None:
    plot = Plot(fakelib_session, both[-1], KNOWN, MocoOptions())
    with workshop_of(fakelib_session) as workshop:
        plot.turn(workshop, lambda: False)
    assert plot.beside == {"fakelib.add"}


def test_a_program_is_taken_apart_again_by_its_record(
    fakelib_session: Session, both: list[SeedProgram], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = MocoOptions(seconds=None, nodes=3)
    fuzz_models(fakelib_session, both[-1:], KNOWN, options)
    rows = fakelib_session.store.trees()
    monkeypatch.setattr(BlockWorkshop, "flow", lambda *_: pytest.fail("the program ran again"))
    plot = recorded(fakelib_session, Plot(fakelib_session, both[-1], KNOWN, options))
    assert plot.apart is not None and plot.verified
    # The record may come from an untrusted job: with a record of another program, the tree begins anew.
    flow = rows[0].options["flow"]
    elsewhere = {**flow, "uses": [{**flow["uses"][0], "site": 999}]}
    for wrong in (elsewhere, {"uses": 1}, None, {**flow, "uses": []}):
        for row in rows:
            fakelib_session.store.tell_tree(row.id, {**row.options, "flow": wrong})
        plot = recorded(fakelib_session, Plot(fakelib_session, both[-1], KNOWN, options))
        assert plot.apart is None and plot.number is None
