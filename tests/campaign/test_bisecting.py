"""Bisection over sixty small wheels of a real index: the planted change is found, and few are installed for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fakeindex import real_index
from fakelib_plans import call
from fakewheels import FakeWheel, write_nightlies

from fuzz_core.campaign.bisecting import Bisection, BisectOptions, bisect
from fuzz_core.campaign.session import Session
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.store.opening import open_store
from fuzz_core.store.records import BugRow, NewBug, TargetRecord
from fuzz_core.targets.record import targets_root
from fuzz_core.triage.signature import signature

NIGHTS = 64
GAPS = (5, 20, 33, 50)
SCRIPT = "import fakelib\nfakelib.scale(1)\n"
FAILS = "INTERNAL ASSERT FAILED: a factor of zero"
# Which runs show the flaky bug; the first two do not.
FLAKY = (False, False, True, True, True, False, True, True, True, True)
GOOD = "def scale(x):\n    return x\n"
BAD = f"def scale(x):\n    raise RuntimeError({FAILS!r})\n"
OTHER = "def scale(x):\n    raise RuntimeError('INTERNAL ASSERT FAILED: no memory of that')\n"
GONE = "def resize(x):\n    return x\n"
BROKEN = "raise ImportError('no such symbol')\n"


@dataclass
class World:
    """An index with a package, a state with a bug, and where counters of runs are kept."""

    session: Session
    url: str
    folder: Path

    def nights(self, source_of: Callable[[int], str]) -> list[FakeWheel]:
        """A build for every night but those of the gaps."""
        wheels = write_nightlies(
            self.folder, "fakelib", NIGHTS, lambda night: None if night in GAPS else source_of(night)
        )
        assert len(wheels) == 60
        return wheels

    def flaky(self, version: object) -> str:
        """A source that fails in seven of ten runs."""
        file = self.folder.parent / f"runs-{version}"
        return (
            f"def scale(x):\n    with open({str(file)!r}, 'a+') as file:\n        file.write('.')\n"
            f"    if {FLAKY!r}[(open({str(file)!r}).read().count('.') - 1) % 10]:\n"
            f"        raise RuntimeError({FAILS!r})\n"
        )

    def bug(self, version: str, script: str = SCRIPT) -> BugRow:
        """A bug that was found on this version, which then is the session's target."""
        store, test = self.session.store, TestCase(call("scale", 1.0), seed=1)
        spec = f"index:{self.url}#fakelib=={version}"
        self.session.target = TargetRecord(f"fakelib-{version}-x", spec, "fakelib", version, "/nowhere/python")
        store.save_target(self.session.target)
        key = self.session.target.key
        run = store.start_run(key, 1, {})
        verdict, outcome = (
            Verdict("crash", "internal-error", "cpu: RuntimeError"),
            Outcome("exception", "RuntimeError", FAILS),
        )
        finding = store.add_finding(key, run, test, verdict, outcome)
        assert finding is not None
        text = signature(test.invocation.api, verdict, outcome).text
        new = NewBug(text, test.invocation.api, "crash", "internal-error", test, script, outcome, 5, 5)
        number = store.settle_finding(finding, "confirmed", hits=5, runs=5, bug=new)
        assert number is not None
        return store.bug(number)

    def left(self) -> list[str]:
        """What is left on disk of environments that were made for a bisection."""
        return [str(each) for each in (targets_root().parent / "bisect").rglob("env-*")]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("NIGHTFUZZ_CACHE", str(tmp_path / "cache"))
    (tmp_path / "index").mkdir()
    target = TargetRecord("none", "fakelib", "fakelib", "0", "/nowhere/python")
    with real_index(tmp_path / "index") as url, open_store(tmp_path / "state" / "state.db") as store:
        store.save_target(target)
        yield World(Session(store, target, tmp_path / "state", workers=1), url, tmp_path / "index")


def ends(found: Bisection) -> tuple[str, str | None]:
    versions = [None if probe is None else str(probe.info["version"]) for probe in (found.bad, found.good)]
    assert versions[0] is not None
    return versions[0], versions[1]


def test_a_flaky_regression_among_sixty_nights_takes_seven_installs_beyond_the_ends(world: World) -> None:
    came, broken = 41, 38
    wheels = world.nights(lambda night: BROKEN if night == broken else world.flaky(night) if night >= came else GOOD)
    versions = [wheel.version for wheel in wheels]
    bug = world.bug(versions[-1])
    found = bisect(world.session, bug, BisectOptions(good=versions[0]))
    first = next(number for number, version in enumerate(versions) if version.endswith("20260211"))
    assert ends(found) == (versions[first], versions[first - 1])
    assert (found.builds, found.between, world.left()) == (60, (), [])
    assert found.installs == found.tried <= 2 + 7
    assert (found.bad.info["day"], found.hits / found.runs) == ("2026-02-11", pytest.approx(0.7, abs=0.15))
    assert found.sure is not None and 0.99 < found.sure < 1
