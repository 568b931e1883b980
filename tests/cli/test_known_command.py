"""`nightfuzz known`: from a bug to an entry, the findings that it silences, and the findings that come back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fuzz_core.store.statefile import open_store

Cli = Callable[..., Any]
FILE = Path("nightfuzz-known.toml")
ISSUE = "https://example.org/issues/7"
FUZZ = ("fuzz", "--tests-count", 300, "--seed", 2, "--api", "*.scale", "--fail-on-bugs")


def entries(cli: Cli, state: Path) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in cli("known", "list", "--state", state, "--json").json}


def status(state: Path) -> str:
    with open_store(state / "state.db", read_only=True) as store:
        return store.bug(1).status


def expire() -> None:
    FILE.write_text(FILE.read_text() + "expires = 2020-01-01\n")


def test_a_bug_becomes_an_entry_with_its_counts(cli: Cli, state: Path) -> None:
    done = cli("known", "add", 1, "--issue", ISSUE, "--reason", "filed", "--state", state)
    assert (done.code, "fakelib.scale-internal-error" in done.out) == (0, True), done
    row = entries(cli, state)["fakelib.scale-internal-error"]
    assert (row["origin"], row["issue"], row["reason"], row["library"]) == ("yours", ISSUE, "filed", "fakelib")
    assert (row["bugs"], row["expired"]) == (1, False)
    assert row["findings"] >= 1 and row["last_seen"]
    assert status(state) == "known"
    assert "fakelib.scale-internal-error" in cli("known", "list", "--state", state).out


def test_a_known_bug_fails_no_run_and_its_findings_are_counted(cli: Cli, traced: Path) -> None:
    FILE.write_text(f"[[known]]\nname = 'scale'\napi = 'fakelib.scale'\nissue = '{ISSUE}'\n")
    done = cli(*FUZZ, "--state", traced, "--json")
    assert done.code == 0, done
    assert (done.json["triage"]["bugs"], done.json["triage"]["known"] > 0) == ([], True)
    assert status(traced) == "known"
    assert entries(cli, traced)["scale"]["findings"] == done.json["triage"]["known"]
    assert "1 known bug and 0 fixed bugs on record" in Path(done.json["report"]).read_text()


def test_an_expired_entry_makes_it_speak_again_once(cli: Cli, state: Path) -> None:
    assert cli("known", "add", 1, "--issue", ISSUE, "--state", state).code == 0
    assert cli(*FUZZ, "--state", state).code == 0
    expire()
    assert entries(cli, state)["fakelib.scale-internal-error"]["expired"]
    again = cli(*FUZZ, "--state", state, "--json")
    assert (again.code, again.json["triage"]["bugs"]) == (1, [1])
    assert status(state) == "open"
    assert cli(*FUZZ, "--state", state).code == 0, "it is no news any more"


def test_a_removed_entry_makes_it_speak_again(cli: Cli, state: Path) -> None:
    cli("known", "add", 1, "--issue", ISSUE, "--state", state)
    done = cli("known", "remove", "fakelib.scale-internal-error", "--state", state)
    assert (done.code, "reported again: bug 1" in done.out) == (0, True), done
    assert status(state) == "open"
    assert all(row["origin"] == "shipped" for row in entries(cli, state).values())


def test_the_file_lies_beside_the_settings_or_where_they_say(cli: Cli, state: Path, tmp_path: Path) -> None:
    config = tmp_path / "conf" / "nightfuzz.toml"
    config.parent.mkdir()
    config.write_text(f"state = '{state}'\n")
    assert cli("known", "add", 1, "--issue", ISSUE, "--config", config).code == 0
    assert (config.parent / FILE).exists() and not FILE.exists()
    config.write_text(f"state = '{state}'\nknown = 'other.toml'\n")
    assert cli("known", "remove", "fakelib.scale-internal-error", "--config", config).code == 2


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("add", 999, "--issue", ISSUE), ("no bug 999",)),
        (("add", 1), ("bug 1", "never expire")),
        (("add", 1, "--reason", "declared"), ("never expire",)),
        (("add", 1, "--issue", "soon"), ("bug 1 (", "issue: 'soon' is not a URL")),
        (("add", 1, "--reason", "x", "--expires", "soon"), ("--expires 'soon' is not a date", "2027-03-31")),
        (("remove", "nothing"), ("no entry 'nothing'", "known list")),
        (("remove", "torch-as-strided"), ("nightfuzz ships the entry",)),
    ],
)
def test_bad_input_is_one_clear_error(
    cli: Cli, state: Path, arguments: tuple[Any, ...], parts: tuple[str, ...]
) -> None:
    done = cli("known", *arguments, "--state", state)
    assert (done.code, done.out) == (2, "")
    for part in ("error: ", *parts):
        assert part in done.err
    assert not FILE.exists()


def test_a_bug_is_added_once(cli: Cli, state: Path) -> None:
    cli("known", "add", 1, "--issue", ISSUE, "--state", state)
    again = cli("known", "add", 1, "--issue", ISSUE, "--state", state)
    assert (again.code, "already covers bug 1" in again.err) == (2, True)
    assert "known remove" in again.err


@pytest.mark.parametrize("command", [("known", "list"), ("fuzz", "--tests-count", 5)])
def test_a_broken_file_stops_before_any_work(cli: Cli, state: Path, command: tuple[Any, ...]) -> None:
    FILE.write_text("[[known]]\nname = 'x'\naip = 'f'\n")
    done = cli(*command, "--state", state)
    assert done.code == 2
    assert "nightfuzz-known.toml, entry 1 ('x'): unknown key 'aip'\n  -> did you mean 'api'?" in done.err


def test_entries_are_listed_before_anything_was_done(cli: Cli) -> None:
    done = cli("known", "list")
    assert (done.code, "torch-as-strided" in done.out) == (0, True)
    FILE.write_text(f"[[known]]\nname = 'x'\napi = 'f'\nissue = '{ISSUE}'\n")
    assert cli("known", "remove", "x").code == 0
