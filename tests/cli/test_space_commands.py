"""`nightfuzz pack` and `--space`, and a fuzz over calls that no trace has checked."""

from __future__ import annotations

import hashlib
import json
import re
from functools import partial
from pathlib import Path

import pytest
from commands import Cli
from sites import served

from fuzz_core.cli import session
from fuzz_core.store.statefile import open_store
from fuzz_core.targets.spaces import OfferedSpace

KEY = "fakelib-1"


def test_a_packed_build_is_fuzzed_without_tracing(cli: Cli, traced: Path) -> None:
    made = cli("pack", "--state", traced, "--target", KEY, "--json")
    assert made.code == 0, made
    file = Path(made.json["file"])
    assert file == Path("fakelib-1.space") and made.json["calls"] > 15
    assert made.json["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    with open_store(Path("fresh/state.db")) as store, open_store(traced / "state.db") as before:
        store.save_target(before.target(KEY))
    taken = cli("trace", "--state", "fresh", "--target", KEY, "--source", "docs", "--space", file)
    assert taken.code == 0, taken
    assert f"loaded from fakelib-1.space: {made.json['calls']} calls" in taken.out
    assert "recorded calls: 0 new" in taken.out
    fuzzed = cli("fuzz", "--state", "fresh", "--tests-count", 300, "--seed", 1, "--json")
    assert fuzzed.code == 0 and fuzzed.json["fuzz"]["tests"] > 100


def test_a_file_that_is_none_is_one_clear_error(cli: Cli, traced: Path) -> None:
    Path("none.space").write_text("no archive, but some text")
    for name, problem in {"none.space": "is not a space file, or is damaged", "gone.space": "cannot be read"}.items():
        done = cli("trace", "--state", traced, "--target", KEY, "--space", name)
        assert (done.code, done.err.count("\n")) == (2, 2), done
        assert problem in done.err and "nightfuzz pack" in done.err


def test_unchecked_calls_are_checked_before_they_are_fuzzed(cli: Cli, traced: Path) -> None:
    with open_store(traced / "state.db") as store:
        calls = [row.id for row in store.bodies(KEY)]
        store.mark_unchecked(KEY, calls)
    done = cli("fuzz", "--state", traced, "--target", KEY, "--tests-count", 300, "--seed", 1)
    assert done.code == 0, done
    assert f"{len(calls)} recorded calls are not checked yet: they run again before the fuzzing" in done.out
    assert f"of {len(calls)} recorded calls are valid" in done.out
    with open_store(traced / "state.db", read_only=True) as store:
        assert not store.bodies(KEY, unchecked=True)
        assert store.runs()[-1].summary["apis"] > 10


def test_calls_that_no_time_is_left_for_are_counted(cli: Cli, traced: Path) -> None:
    with open_store(traced / "state.db") as store:
        store.mark_unchecked(KEY, [row.id for row in store.bodies(KEY)][3:])
    done = cli("fuzz", "--state", traced, "--target", KEY, "--time", "0.1s")
    assert "wait for the next run; this run does not fuzz them" in done.out


def test_a_run_that_could_check_nothing_says_so(cli: Cli, traced: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that looks busy would have fuzzed error inputs alone, without a valid call."""
    with open_store(traced / "state.db") as store:
        store.mark_unchecked(KEY, [row.id for row in store.bodies(KEY)])
    monkeypatch.setattr("fuzz_core.cli.commands.run.LEAST_TRACE_SHARE", 0.0)
    done = cli("run", "--state", traced, "--target", KEY, "--time", "0.2s")
    assert done.code == 2 and "was over before a recorded call of fakelib-1 was checked" in done.err
    [least] = re.findall(r"give --time (\d+)s or more", done.err)
    assert int(least) >= 30


def test_a_run_whose_tracing_has_taken_its_time_checks_calls_in_the_time_of_the_fuzz(
    cli: Cli, traced: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(traced / "state.db") as store:
        store.mark_unchecked(KEY, [row.id for row in store.bodies(KEY)])
    for share, value in (("LEAST_TRACE_SHARE", 0.0), ("TRACE_SHARE", 1e-9)):
        monkeypatch.setattr(f"fuzz_core.cli.commands.run.{share}", value)
    done = cli("run", "--state", traced, "--target", KEY, "--time", "30s")
    assert done.code == 0, done
    assert "run again before the fuzzing" in done.out


def test_pull_fetches_what_a_release_offers_and_the_first_trace_takes_it(
    cli: Cli, fakelib_python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = ("--target", f"python:{fakelib_python}", "--library", "fakelib")
    assert cli("trace", "--state", "first", *spec, "--source", "docs").code == 0
    told = cli("pack", "--state", "first", *spec, "--output", "site/fakelib.space", "--json").json
    with served(Path("site")) as address:
        told["url"] = f"{address}/fakelib.space"
        keys = ("key", "library", "version", "url", "sha256", "size")
        Path("spaces.toml").write_text("[[space]]\n" + "".join(f"{key} = {json.dumps(told[key])}\n" for key in keys))
        monkeypatch.setattr(session, "offered", partial(session.offered, index=Path("spaces.toml").absolute()))
        pulled = cli("pull", spec[1], *spec[2:], "--state", "second")
        assert pulled.code == 0 and f"downloading the value space of {told['key']}" in pulled.out
        again = cli("pull", spec[1], *spec[2:], "--state", "second")
        assert "downloading" not in again.out, "the file is kept"
    taken = cli("trace", "--state", "second", "--source", "docs")
    assert f"loaded from {told['key']}.space: {told['calls']} calls" in taken.out
    assert "recorded calls: 0 new" in taken.out
    later = cli("trace", "--state", "second", "--source", "docs")
    assert "loaded from" not in later.out


def test_a_space_file_out_of_reach_is_no_reason_to_fail(
    cli: Cli, fakelib_python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(Path()) as address:
        offer = OfferedSpace("fakelib-9", "fakelib", "9", f"{address}/none.space", "0" * 64, 5)
        monkeypatch.setattr(session, "offered", lambda *_: offer)
        done = cli("pull", f"python:{fakelib_python}", "--library", "fakelib")
    assert done.code == 0 and "nightfuzz traces the target instead" in done.out
