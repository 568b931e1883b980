"""`nightfuzz pull` from an index: its output and its records; a kept build needs the user's permission."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakeindex import Faults, faulty_index
from fakewheels import write_nightlies

from fuzz_core.store.statefile import open_store
from fuzz_core.targets.record import list_targets


@pytest.fixture
def nights(tmp_path: Path) -> Iterator[tuple[str, Faults]]:
    write_nightlies(tmp_path / "nights", "fakelib", 2, lambda night: f"night = {night}")
    with faulty_index(tmp_path / "nights") as told:
        yield told


def test_the_build_its_day_and_what_is_to_be_known_are_printed_and_kept(cli: Any, nights: tuple[str, Faults]) -> None:
    address, faults = nights
    faults.gone = {"fakelib-1.0.dev20260102-py3-none-any.whl"}
    done = cli("pull", f"index:{address}#fakelib", "--state", "state")
    assert done.code == 0, done
    assert "fakelib 1.0.dev20260101 (built 2026-01-01, source commit unknown)" in done.out
    assert (
        "note: the index lists fakelib-1.0.dev20260102-py3-none-any.whl, "
        "but the file is gone (HTTP 404): took the next newest" in done.out
    )
    with open_store(Path("state/state.db"), read_only=True) as store:
        [record] = store.targets()
    assert record.info["origin"]["day"] == "2026-01-01"
    assert record.info["origin"]["artifact"]["index"] == address


def test_the_index_can_stand_in_the_settings_file(cli: Any, nights: tuple[str, Faults]) -> None:
    Path("nightfuzz.toml").write_text(f"index = '{nights[0]}'\nwheel_cache = 0.0\n")
    done = cli("pull", "fakelib", "fakelib==1.0.dev20260101", "--json")
    assert [each["version"] for each in done.json] == ["1.0.dev20260102", "1.0.dev20260101"]
    assert [each["origin"]["dated_by"] for each in done.json] == ["version", "version"]
    assert len(list(Path("../cache/wheels").glob("*/*.whl"))) == 1


def test_what_is_kept_has_to_be_allowed(cli: Any, nights: tuple[str, Faults]) -> None:
    address, faults = nights
    assert cli("pull", "fakelib", "--index", address).code == 0
    faults.broken = 503
    refused = cli("pull", "fakelib", "--index", address)
    assert refused.code == 2
    assert "--allow-cached" in refused.err
    allowed = cli("pull", "fakelib", "--index", address, "--allow-cached")
    assert allowed.code == 0
    assert "HTTP 503: took the newest build that is kept here" in allowed.out
    assert len(list_targets()) == 1


def test_each_step_is_announced_before_it_takes_time(cli: Any, nights: tuple[str, Faults]) -> None:
    done = cli("pull", "fakelib", "--index", nights[0])
    steps = [line.split(" …")[0] for line in done.out.splitlines() if line.endswith(" …")]
    order = ("looking for", "downloading fakelib-1.0.dev20260102", "installing fakelib", "importing fakelib")
    places = [next(n for n, step in enumerate(steps) if each in step) for each in order]
    assert places == sorted(places)
