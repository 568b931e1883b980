"""`nightfuzz bisect`: the answer as text and as JSON, and the message if there is no answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fakeindex import real_index
from fakelib_plans import call
from fakewheels import FakeWheel, write_wheel

from fuzz_core.campaign.bisection import Bisection
from fuzz_core.cli.commands.bisect import describe
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.store.checks import BugTrial
from fuzz_core.store.records import NewBug, TargetRecord
from fuzz_core.store.statefile import open_store

Cli = Callable[..., Any]
FAILS = "INTERNAL ASSERT FAILED: a factor of zero"
GOOD, BAD = "def scale(x):\n    return x", f"def scale(x):\n    raise RuntimeError({FAILS!r})"


@pytest.fixture
def indexed(cli: Cli, tmp_path: Path) -> Iterator[Path]:
    """An index with four releases, and a state with a bug of the newest; every release but the first has the bug."""
    for number, source in enumerate((GOOD, BAD, BAD, BAD)):
        write_wheel(tmp_path / "index", FakeWheel("fakelib", f"1.{number}", source, numpy=True))
    verdict, outcome = Verdict("crash", "internal-error", "cpu: "), Outcome("exception", "RuntimeError", FAILS)
    test, script = TestCase(call("scale", 1.0), seed=1), "import fakelib\nfakelib.scale(1)\n"
    text = f"fakelib.scale: RuntimeError: {FAILS}"
    bug = NewBug(text, "fakelib.scale", "crash", "internal-error", test, script, outcome, 5, 5)
    with real_index(tmp_path / "index") as url, open_store(tmp_path / "state" / "state.db") as store:
        spec = f"index:{url}#fakelib==1.3"
        store.save_target(TargetRecord("fakelib-x", spec, "fakelib", "1.3", "/nowhere/python"))
        finding = store.add_finding("fakelib-x", store.start_run("fakelib-x", 1, {}), test, verdict, outcome)
        assert finding is not None
        store.settle_finding(finding, "confirmed", hits=5, runs=5, bug=bug)
        store.close()
        yield tmp_path / "state"


def test_the_answer_names_the_two_builds_and_how_sure_it_is(cli: Cli, indexed: Path) -> None:
    done = cli("bisect", 1, "--state", indexed)
    assert done.code == 0, done
    for part in ("bug 1: internal-error in fakelib.scale", "#fakelib==1.1, shown in", "#fakelib==1.0, shown in 0 of"):
        assert part in done.out
    assert "first bad: index:" in done.out and "last good: index:" in done.out and "% sure: " in done.out
    assert "3 of 4 builds tried, 3 of them installed now" in done.out
    again = cli("bisect", 1, "--state", indexed, "--json")
    assert (again.code, again.json["installs"], again.json["tried"]) == (0, 0, 3)
    assert [again.json[end]["info"]["version"] for end in ("bad", "good")] == ["1.1", "1.0"]
    assert 0.99 < again.json["sure"] < 1


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ((9,), ("no bug 9",)),
        ((1, "--good", "1.9"), ("the index has no build 1.9", "1.3")),
        ((1, "--bad", "python:/bin/python"), ("not a build of a package index",)),
        ((1, "--index", "ftp://x/simple"), ("not the address of a package index",)),
        ((1, "--bad", "1.0"), ("bug 1 does not show itself on", "--bad")),
    ],
)
def test_bad_input_is_one_clear_error(
    cli: Cli, indexed: Path, arguments: tuple[Any, ...], parts: tuple[str, ...]
) -> None:
    done = cli("bisect", *arguments, "--state", indexed)
    assert done.code == 2, done
    for part in ("error: ", *parts):
        assert part in done.err


def probe(version: str, status: str, reason: str = "") -> BugTrial:
    info = {"version": version, "day": "2026-02-03", "commit": "0123abc", "reason": reason}
    return BugTrial(f"fakelib=={version}", status, 3 * (status == "bad"), 4, info)


def answer(**changed: Any) -> Bisection:
    ends = {"bad": probe("1.3", "bad"), "good": probe("1.0", "good"), "between": ()}
    counts = {"beyond": 0, "sure": 0.9912, "hits": 7, "runs": 10, "builds": 60, "tried": 9, "installs": 8}
    return Bisection(**{"bug": 1, "fixed": False, "compare": "https://x/y", **ends, **counts, **changed})


def test_a_range_says_that_it_is_one_and_why() -> None:
    between = (probe("1.1", "broken", "failed to import fakelib\nlong story"), probe("1.2", "broken", "gone"))
    lines = describe(answer(between=between))
    assert lines[0] == "first bad: fakelib==1.3 (2026-02-03, commit 0123abc), shown in 3 of 4 runs"
    assert "no answer from fakelib==1.1: failed to import fakelib" in lines
    assert "the bug came with one of 3 builds: the 2 between them gave no answer" in lines
    assert "what changed: https://x/y" in lines
    assert any(
        line.startswith("99.1% sure: 7 of 10 runs show the bug on a build that has it; such a build") for line in lines
    )


def test_what_went_is_told_as_such() -> None:
    lines = describe(answer(fixed=True, between=(probe("1.1", "broken"),)))
    assert [line.partition(":")[0] for line in lines[:2]] == ["last bad", "first fixed"]
    assert "the bug went with one of 2 builds: the 1 between them gave no answer" in lines


def test_without_a_good_build_it_says_how_far_back_it_looked() -> None:
    assert "no older build without the bug was found" in describe(answer(good=None, sure=None))
    assert any("the 3 older builds" in line for line in describe(answer(good=None, sure=None, beyond=3)))
    assert "no newer build without the bug was found" in describe(answer(good=None, sure=None, fixed=True))
