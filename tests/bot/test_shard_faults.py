"""Every pair of faults of two shards: no valid part is lost, no foreign part is taken, and the run never succeeds."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest
from shardruns import NightRun, found, key, states

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.jobs.workspace import RESULTS
from nightfuzz.bot.state.place import STATE
from nightfuzz.reports.comment import FAIL_ON, conclusion

pytestmark = pytest.mark.slow
NAMES = ("alpha", "beta")


class ShardFault(NamedTuple):
    """A fault of a shard, and its expected effect."""

    make: Callable[[Path], object]
    document: bool  # the run still takes the shard's document
    state: bool  # the run still takes the shard's state
    said: str  # part of the run's problem text


def cut(name: str) -> Callable[[Path], object]:
    """Cuts a file in its middle."""

    def make(folder: Path) -> None:
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[: len(data) // 2])

    return make


def claims(**values: object) -> Callable[[Path], object]:
    """Changes values of the shard's document."""

    def make(folder: Path) -> None:
        document = json.loads((folder / RESULTS).read_bytes())
        (folder / RESULTS).write_text(json.dumps(document | values))

    return make


def built(name: str) -> Callable[[Path], object]:
    """Gives the document the target of another build."""
    return claims(target={"key": name, "library": "torch", "version": "2"})


def twice(folder: Path) -> None:
    """Copies the folder under a name that sorts behind it."""
    shutil.copytree(folder, folder.with_name(f"x-{folder.name}"))


FAULTS = {
    "none": ShardFault(lambda folder: None, True, True, ""),
    "missing": ShardFault(shutil.rmtree, False, False, "is missing"),
    "document cut": ShardFault(cut(RESULTS), False, True, "is damaged: results.json"),
    "document gone": ShardFault(lambda folder: (folder / RESULTS).unlink(), False, True, "is damaged: cannot read"),
    "state cut": ShardFault(cut(STATE), True, False, "is damaged: the packed state"),
    "state gone": ShardFault(lambda folder: (folder / STATE).unlink(), True, False, "have no packed state"),
    "other plan": ShardFault(claims(plan="d" * 64), False, False, "follow another plan"),
    "other build": ShardFault(built("torch-2.14.0-cp312-aaaaaaaa"), False, False, "the plan has torch 2.13.0"),
    "other kind": ShardFault(built(key("cu130")), True, True, ""),
    "other mode": ShardFault(claims(mode="pr"), False, False, "of the mode pr"),
    "forged number": ShardFault(claims(shard=9), False, False, "say that they are of shard 9"),
    "twice": ShardFault(twice, True, True, "another shard with this number"),
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> NightRun:
    run = NightRun(tmp_path_factory.mktemp("sound"))
    for number in range(len(NAMES)):
        run.leave(number)
    return run


@pytest.mark.parametrize("names", list(product(FAULTS, repeat=len(NAMES))), ids=" and ".join)
def test_no_sound_part_is_lost_and_no_fault_is_green(sound: NightRun, tmp_path: Path, names: tuple[str, ...]) -> None:
    run, faults = sound.copied(tmp_path), [FAULTS[name] for name in names]
    for number, fault in enumerate(faults):
        fault.make(run.folder(number))
    documents = [part for part, fault in zip(NAMES, faults, strict=True) if fault.document]
    kept = [part for part, fault in zip(NAMES, faults, strict=True) if fault.state]
    if not documents and not kept:
        with pytest.raises(UserError, match="no results to report") as caught:
            run.collect()
        assert all(fault.said in caught.value.problem for fault in faults)
        return
    told = run.collect()
    assert (found(told), states(told)) == (documents, kept)
    said = "\n".join(told.result.problems)
    assert all(fault.said in said for fault in faults)
    several = len(documents) == len(NAMES) and names.count("other kind") == 1
    assert ("ran different builds" in said) == several
    green = not several and not any(fault.said for fault in faults)
    assert {conclusion(told.result, each) == "failure" for each in FAIL_ON} == ({False, True} if green else {True})
