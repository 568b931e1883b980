"""Bisection over sixty small wheels of a real index: the planted change is found with few installations."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import comb
from pathlib import Path

import pytest
from fakeindex import faulty_index, real_index
from fakelib_plans import call
from fakewheels import FakeWheel, write_nightlies, write_wheel

from fuzz_core.adapters.library import KNOWN_LIBRARIES, library_of
from fuzz_core.campaign.bisection import (
    RATE_RUNS,
    STEADY_RUNS,
    Bisection,
    BisectOptions,
    bisect,
    compare_link,
    may_share_cause,
)
from fuzz_core.campaign.session import Session
from fuzz_core.campaign.watch import Watch
from fuzz_core.ir.errors import Interrupted, UserError
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.store.checks import BugTrial
from fuzz_core.store.records import BugRow, NewBug, TargetRecord
from fuzz_core.store.statefile import open_store
from fuzz_core.targets.candidates import Candidate, Environments, candidates
from fuzz_core.targets.environment import ensure
from fuzz_core.targets.installer import IndexUnreachable
from fuzz_core.targets.record import list_targets, targets_root
from fuzz_core.targets.resolve import DEFAULT_ACCESS
from fuzz_core.targets.spec import parse_spec
from fuzz_core.triage.bisect import runs_needed
from fuzz_core.triage.signature import signature

pytestmark = pytest.mark.slow
NIGHTS = 64
GAPS = (5, 20, 33, 50)
SCRIPT = "import fakelib\nfakelib.scale(1)\n"
FAILS = "INTERNAL ASSERT FAILED: a factor of zero"
# Runs that show the flaky bug; the first two do not.
FLAKY = (False, False, True, True, True, False, True, True, True, True)
GOOD = "def scale(x):\n    return x\n"
BAD = f"def scale(x):\n    raise RuntimeError({FAILS!r})\n"
OTHER = "def scale(x):\n    raise RuntimeError('INTERNAL ASSERT FAILED: no memory of that')\n"
GONE = "def resize(x):\n    return x\n"
BROKEN = "raise ImportError('no such symbol')\n"


@dataclass
class BisectionWorld:
    """An index with a package, a state with a bug, and a folder for the counters of runs."""

    session: Session
    url: str
    folder: Path

    def nights(self, source_of: Callable[[int], str]) -> list[str]:
        """Writes the wheels of sixty-four nights without those of the gaps, and returns their versions."""
        source = lambda night: None if night in GAPS else source_of(night)  # noqa: E731
        versions = [wheel.version for wheel in write_nightlies(self.folder, "fakelib", NIGHTS, source)]
        assert len(versions) == 60
        return versions

    def releases(self, *sources: str) -> list[str]:
        """Writes releases 1.0, 1.1, … and a broken candidate of the next one; returns the versions of the releases."""
        for number, source in enumerate(sources):
            write_wheel(self.folder, FakeWheel("fakelib", f"1.{number}", source, numpy=True))
        write_wheel(self.folder, FakeWheel("fakelib", f"1.{len(sources)}rc1", BROKEN, numpy=True))
        return [f"1.{number}" for number in range(len(sources))]

    def flaky(self, version: object) -> str:
        """Returns a source that fails in seven of ten runs."""
        file = self.folder.parent / f"runs-{version}"
        return (
            f"def scale(x):\n    with open({str(file)!r}, 'a+') as file:\n        file.write('.')\n"
            f"    if {FLAKY!r}[(open({str(file)!r}).read().count('.') - 1) % 10]:\n"
            f"        raise RuntimeError({FAILS!r})\n"
        )

    def bug(self, version: str, key: str = "fakelib-x") -> BugRow:
        """Stores a bug found on this version, and makes the version the session's target."""
        store, test = self.session.store, TestCase(call("scale", 1.0), seed=1)
        spec = f"index:{self.url}#fakelib=={version}"
        self.session.target = TargetRecord(key, spec, "fakelib", version, "/nowhere/python")
        store.save_target(self.session.target)
        run = store.start_run(key, 1, {})
        verdict, outcome = (
            Verdict("crash", "internal-error", "cpu: RuntimeError"),
            Outcome("exception", "RuntimeError", FAILS),
        )
        finding = store.add_finding(key, run, test, verdict, outcome)
        assert finding is not None
        text = signature(test.invocation.api, verdict, outcome).text
        new = NewBug(text, test.invocation.api, "crash", "internal-error", test, SCRIPT, outcome, 5, 5)
        number = store.settle_finding(finding, "confirmed", hits=5, runs=5, bug=new)
        assert number is not None
        return store.bug(number)

    def left(self) -> list[str]:
        """Returns environments of a bisection that are still on disk."""
        return [str(each) for each in (targets_root().parent / "bisect").rglob("env-*")]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BisectionWorld]:
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("NIGHTFUZZ_CACHE", str(tmp_path / "cache"))
    (tmp_path / "index").mkdir()
    target = TargetRecord("none", "fakelib", "fakelib", "0", "/nowhere/python")
    with real_index(tmp_path / "index") as url, open_store(tmp_path / "state" / "state.db") as store:
        store.save_target(target)
        yield BisectionWorld(Session(store, target, tmp_path / "state", workers=1), url, tmp_path / "index")


def ends(found: Bisection) -> tuple[str, str | None]:
    versions = [None if probe is None else str(probe.info["version"]) for probe in (found.bad, found.good)]
    assert versions[0] is not None
    return versions[0], versions[1]


def tried(world: BisectionWorld, bug: BugRow) -> dict[str, str]:
    """Returns the status of every build on record, by version."""
    return {str(probe.info["version"]): probe.status for probe in world.session.store.probes(bug.id).values()}


def test_a_flaky_regression_among_sixty_nights_takes_seven_installs_beyond_the_ends(
    world: BisectionWorld, unconfined_scripts: None
) -> None:
    versions = world.nights(lambda night: BROKEN if night == 38 else world.flaky(night) if night >= 41 else GOOD)
    bug = world.bug(versions[-1])
    found = bisect(world.session, bug, BisectOptions(good=versions[0]))
    assert ends(found) == ("1.0.dev20260211", "1.0.dev20260210")
    assert (found.builds, found.between, world.left()) == (60, (), [])
    assert found.installs == found.tried <= 2 + 7
    assert (found.bad.info["day"], found.hits / found.runs) == ("2026-02-11", pytest.approx(0.7, abs=0.15))
    assert found.sure is not None and 0.99 < found.sure < 1


def test_the_first_fixed_night_is_found_by_the_same_search(world: BisectionWorld, unconfined_scripts: None) -> None:
    versions = world.nights(lambda night: BROKEN if night == 30 else world.flaky(night) if night < 29 else GOOD)
    found = bisect(world.session, world.bug(versions[0]), BisectOptions(fixed=True))
    assert ends(found) == ("1.0.dev20260129", "1.0.dev20260130")
    # The two ends are the bad build and the first good build that was tried.
    assert found.installs == found.tried <= 2 + 7


def test_builds_that_cannot_tell_make_the_answer_a_range(world: BisectionWorld) -> None:
    versions = world.releases(GOOD, GOOD, BROKEN, OTHER, GONE, BAD, BAD)
    bug = world.bug(versions[-1])
    found = bisect(world.session, bug, BisectOptions())
    assert ends(found) == ("1.5", "1.1")
    reasons = [str(probe.info["reason"]) for probe in found.between]
    assert [probe.info["version"] for probe in found.between] == ["1.2", "1.3", "1.4"]
    for reason, said in zip(reasons, ("no such symbol", "no memory of that", "has no attribute 'scale'"), strict=True):
        assert said in reason


def test_an_api_that_came_with_its_bug_has_no_good_build(world: BisectionWorld) -> None:
    versions = world.releases(GONE, GONE, GONE, BAD, BAD, BAD)
    found = bisect(world.session, world.bug(versions[-1]), BisectOptions())
    assert (ends(found), found.beyond, found.sure, found.between) == (("1.3", None), 3, None, ())


def test_a_bug_that_was_always_there_takes_few_builds_to_tell(world: BisectionWorld) -> None:
    versions = world.releases(*[BAD] * 9)
    found = bisect(world.session, world.bug(versions[-1]), BisectOptions())
    assert (ends(found), found.beyond, found.tried) == (("1.0", None), 0, 2)


def test_what_does_not_show_itself_is_not_searched_for_and_tried_again_the_next_time(world: BisectionWorld) -> None:
    versions = world.releases(GOOD, BAD, GOOD)
    bug = world.bug(versions[-1])
    for _ in range(2):
        with pytest.raises(UserError, match=r"bug 1 does not show itself on .*fakelib==1\.2 \(0 of 20 runs\)"):
            bisect(world.session, bug, BisectOptions())
    assert tried(world, bug) == {"1.2": "good"}
    assert ends(bisect(world.session, bug, BisectOptions(bad="1.1"))) == ("1.1", "1.0")


def test_what_the_own_build_says_today_is_the_bug_and_stays_it(world: BisectionWorld) -> None:
    versions = world.releases(GOOD, GOOD, GOOD, OTHER, OTHER)
    bug = world.bug(versions[-1])
    for installs in (4, 0):
        found = bisect(world.session, bug, BisectOptions())
        assert (ends(found), found.installs) == (("1.3", "1.2"), installs)


def test_too_few_runs_of_a_flaky_bug_find_nothing(world: BisectionWorld) -> None:
    versions = world.releases(GOOD, world.flaky(0))
    bug = world.bug(versions[-1])
    with pytest.raises(UserError, match=r"0 of 2 runs"):
        bisect(world.session, bug, BisectOptions(runs=2))


def test_a_good_end_that_shows_the_bug_is_told(world: BisectionWorld) -> None:
    versions = world.releases(BAD, BAD, BAD)
    with pytest.raises(UserError, match=r"shows itself on .*fakelib==1\.0") as caught:
        bisect(world.session, world.bug(versions[-1]), BisectOptions(good="1.0"))
    assert "--good" in caught.value.remedy


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (BisectOptions(good="1.2"), "--good 1.2 is not older than the bad build 1.1"),
        (BisectOptions(good="1.1"), "--good 1.1 is not older than the bad build 1.1"),
        (BisectOptions(good="1.0", fixed=True), "--good 1.0 is not newer than the bad build 1.1"),
        (BisectOptions(good="0.1"), "the index has no build 0.1"),
        (BisectOptions(good="fakelib"), "'fakelib' names no single build"),
        (BisectOptions(bad="python:/usr/bin/python3"), "is not a build of a package index"),
    ],
)
def test_bad_ends_are_told_before_anything_is_installed(
    world: BisectionWorld, options: BisectOptions, problem: str
) -> None:
    world.releases(GOOD, BAD, BAD)
    bug = world.bug("1.1")
    with pytest.raises(UserError) as caught:
        bisect(world.session, bug, options)
    assert problem in caught.value.problem
    assert tried(world, bug) == {}


def test_a_search_that_was_stopped_goes_on_where_it_was(world: BisectionWorld) -> None:
    versions = world.releases(*[GOOD] * 4, *[BAD] * 5)
    bug = world.bug(versions[-1])
    whole = replace(world.session, stopped=lambda: len(tried(world, bug)) >= 2)
    with pytest.raises(Interrupted):
        bisect(whole, bug, BisectOptions())
    before = tried(world, bug)
    assert (len(before), world.left()) == (2, [])
    found = bisect(world.session, bug, BisectOptions())
    assert ends(found) == ("1.4", "1.3")
    assert (found.tried, found.installs) == (len(tried(world, bug)), found.tried - 2)
    again = bisect(world.session, bug, BisectOptions())
    assert (ends(again), again.tried, again.installs) == (ends(found), found.tried, 0)


class Counting(Watch):
    """A watch that counts the environments on disk after each build."""

    def __init__(self, world: BisectionWorld) -> None:
        self.world = world
        self.most = 0

    def note(self, text: str) -> None:
        self.most = max(self.most, len(self.world.left()))


def test_targets_of_the_user_are_used_and_stay_and_few_others_are_on_disk(world: BisectionWorld) -> None:
    versions = world.releases(*[GOOD] * 5, *[BAD] * 4)
    own = ensure(parse_spec(f"index:{world.url}#fakelib==1.4"))
    bug, watch = world.bug(versions[-1]), Counting(world)
    found = bisect(replace(world.session, watch=watch), bug, BisectOptions(good="1.0", keep=1))
    assert (ends(found), watch.most) == (("1.5", "1.4"), 1)
    assert found.installs == found.tried - 1
    assert (list_targets(), own.python.exists(), world.left()) == ([own], True, [])


def test_builds_whose_wheels_are_here_are_tried_side_by_side(world: BisectionWorld) -> None:
    versions = world.releases(*[GOOD] * 3, *[BAD] * 6)
    bug = world.bug(versions[-1])
    for version in versions:
        ensure(parse_spec(f"index:{world.url}#fakelib=={version}"))
        shutil.rmtree(targets_root())
    watch = Counting(world)
    found = bisect(replace(world.session, workers=3, watch=watch), bug, BisectOptions(keep=3))
    assert (ends(found), world.left()) == (("1.3", "1.2"), [])
    assert 2 <= watch.most <= 3


def test_a_network_that_fails_makes_no_build_broken(world: BisectionWorld, tmp_path: Path) -> None:
    versions = world.releases(GOOD, GOOD, BAD, BAD)
    with faulty_index(world.folder) as (url, faults):
        world.url = url
        bug = world.bug(versions[-1])
        watch = Counting(world)
        watch.note = lambda text: setattr(faults, "broken", 503)  # type: ignore[method-assign]
        with pytest.raises(IndexUnreachable):
            bisect(replace(world.session, watch=watch), bug, BisectOptions())
        assert tried(world, bug) == {"1.3": "bad"}
        faults.broken = None
        assert ends(bisect(world.session, bug, BisectOptions())) == ("1.2", "1.1")


def test_too_little_disk_makes_no_build_broken(world: BisectionWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    versions = world.releases(GOOD, BAD, BAD)
    monkeypatch.setitem(
        KNOWN_LIBRARIES, "fakelib", library_of("fakelib")._replace(space={"cpu": 10**18, "cuda": 10**18})
    )
    bug = world.bug(versions[-1])
    with pytest.raises(UserError, match="GB are free"):
        bisect(world.session, bug, BisectOptions())
    assert tried(world, bug) == {}


def test_half_an_environment_of_a_killed_run_is_swept_and_a_whole_one_is_used(world: BisectionWorld) -> None:
    [version] = world.releases(GOOD)
    candidate = Candidate(f"index:{world.url}#fakelib=={version}", version)
    root = world.folder.parent / "made"
    first, made = Environments(root, "auto", "fakelib", DEFAULT_ACCESS).get(candidate)
    (root / "fakelib-9-cp311" / "env-half").mkdir(parents=True)
    again = Environments(root, "auto", "fakelib", DEFAULT_ACCESS)
    assert (made, again.made(), again.get(candidate)) == (True, [first], (first, False))
    assert not (root / "fakelib-9-cp311").exists()
    again.make_room([], 0)
    assert (again.made(), first.python.exists()) == ([], False)


def test_a_build_that_its_index_has_forgotten_is_tried_where_it_is_installed(world: BisectionWorld) -> None:
    versions = world.releases(GOOD, BAD, BAD)
    own = ensure(parse_spec(f"index:{world.url}#fakelib==1.2"))
    for wheel in world.folder.glob("fakelib-1.2-*"):
        wheel.unlink()
    bug = world.bug(versions[-1], key=own.key)
    found = bisect(world.session, bug, BisectOptions())
    assert (ends(found), found.builds, found.installs) == (("1.1", "1.0"), 3, 2)


def binomial(hits: int, runs: int, rate: float) -> float:
    return comb(runs, hits) * rate**hits * (1 - rate) ** (runs - hits)


@pytest.mark.parametrize("rate", [0.2, 0.3, 0.5, 0.7, 0.9])
def test_whatever_the_bad_end_shows_a_wrong_good_is_rare(rate: float) -> None:
    """Sums over all results of the bad end's runs: five runs, or twenty if not all of the first five show the bug."""
    steady = rate**STEADY_RUNS * (1 - rate) ** runs_needed(STEADY_RUNS, STEADY_RUNS)
    rest = RATE_RUNS - STEADY_RUNS
    ways = [(first, later) for first in range(STEADY_RUNS) for later in range(rest + 1) if first + later]
    unsteady = sum(
        binomial(first, STEADY_RUNS, rate)
        * binomial(later, rest, rate)
        * (1 - rate) ** runs_needed(first + later, RATE_RUNS)
        for first, later in ways
    )
    assert steady + unsteady < 0.01


def died(name: str, *frames: str, text: str = "") -> Outcome:
    return Outcome("signal", name, text, frames)


@pytest.mark.parametrize(
    ("bug", "seen", "same"),
    [
        (died("SIGSEGV", "pool", "run", "call"), died("SIGSEGV", "pool_inner", "pool", "run"), True),
        (died("SIGSEGV", "pool", "run", "call"), died("SIGSEGV", "conv", "kernel", "run", "call"), False),
        (died("SIGSEGV", "pool", "run"), died("SIGFPE", "pool", "run"), False),
        (died("SIGSEGV", "pool", "run"), died("SIGSEGV"), True),
        (died("SIGABRT", "pool"), died("SIGABRT", "pool", text="Check failed: a > b"), False),
        (died("SIGABRT", text="Check failed: a > b"), died("SIGABRT", text="Check failed: c > d"), False),
        (died("SIGABRT", text="double free or corruption"), died("SIGSEGV", "anywhere"), True),
        (died("SIGABRT", text="double free or corruption"), Outcome("ok"), False),
    ],
)
def test_a_death_is_known_by_where_it_was(bug: Outcome, seen: Outcome, same: bool) -> None:
    assert may_share_cause(bug, seen) == same


def listed(world: BisectionWorld, package: str) -> list[str]:
    found = candidates(parse_spec(package, index=world.url if "nightly" in package else None), "cpu", DEFAULT_ACCESS)
    return [each.version for each in found]


def test_builds_are_listed_by_day_and_once_a_version(world: BisectionWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"CONFIG_FILE": "/dev/null", "FIND_LINKS": "", "INDEX_URL": world.url}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    nights = ("2.9.0.dev20260105", "2.10.0.dev20260103", "2.10.0.dev2026010301", "2.10.0.dev20260104")
    for version in ("2.9.0", "2.10.0", "2.10.1+cpu", "2.10.1", "2.11.0rc1", *(f"{night}+cpu" for night in nights)):
        write_wheel(world.folder, FakeWheel("torch", version))
    assert listed(world, "torch") == ["2.9.0", "2.10.0", "2.10.1+cpu"]
    order = (nights[1], nights[2], nights[3], nights[0])
    assert listed(world, "torch-nightly/cpu") == [f"{night}+cpu" for night in order]


def probe_of(commit: str) -> BugTrial:
    return BugTrial("torch==1", "good", 0, 1, {"commit": commit})


@pytest.mark.parametrize(
    ("library", "older", "newer", "link"),
    [
        ("torch", "a" * 40, "b" * 40, f"https://github.com/pytorch/pytorch/compare/{'a' * 40}...{'b' * 40}"),
        (
            "tensorflow",
            "a481b10260d",
            "0123abc",
            "https://github.com/tensorflow/tensorflow/compare/a481b10260d...0123abc",
        ),
        ("torch", "a" * 40, "", ""),
        ("torch", "unknown", "b" * 40, ""),
        ("fakelib", "a" * 40, "b" * 40, ""),
    ],
)
def test_two_commits_of_a_known_repository_have_a_link(library: str, older: str, newer: str, link: str) -> None:
    assert compare_link(library, probe_of(older), probe_of(newer)) == link
    assert compare_link(library, None, probe_of(newer)) == ""
