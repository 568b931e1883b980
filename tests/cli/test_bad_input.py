"""Wrong input of any kind: exit code 2, and one message that states the error and the remedy."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from fuzz_core.cli.settings import Settings, load, seconds
from fuzz_core.ir.errors import UserError
from fuzz_core.store.statefile import open_store

Cli = Callable[..., Any]


def refused(done: Any, *parts: str) -> None:
    """Checks a refusal: exit code 2, an error and a remedy on stderr, no traceback, no table on stdout."""
    assert done.code == 2, done
    assert done.err.startswith("error: "), done.err
    assert "Traceback" not in done.err
    for part in parts:
        assert part in done.err


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        ("torhc==2.13.0", ("'torhc'", "did you mean torch?")),
        ("requests==2.0", ("'requests' holds no library", "known: ")),
        ("torch>=2", ("names no single version", "torch==VERSION")),
        ("torch==two", ("is not a target",)),
        ("torch==99.9.9", ("the package index has no torch",)),
        ("python:/no/such/python", ("there is no interpreter /no/such/python",)),
        ("nosuch-1.0-py3-none-any.whl", ("holds no library",)),
        ("torch-2.13.0-py3-none-any.whl", ("there is no wheel file",)),
        ("torch.whl", ("is not the name of a wheel",)),
        ("", ("is not a target",)),
    ],
)
def test_targets_that_are_none(cli: Cli, spec: str, parts: tuple[str, ...]) -> None:
    refused(cli("pull", spec), *parts)


@pytest.mark.parametrize("command", ["trace", "fuzz", "run"])
def test_an_unknown_target_is_refused_by_every_command_that_works(cli: Cli, command: str) -> None:
    refused(cli(command, "--target", "torhc==1"), "did you mean torch?")
    refused(cli(command), "no target", "--target")


def test_a_spec_is_checked_before_the_state_is_touched(cli: Cli, tmp_path: Path) -> None:
    refused(cli("run", "--target", "torhc==1", "--state", tmp_path / "none"), "did you mean torch?")
    assert not (tmp_path / "none").exists()
    with open_store(tmp_path / "used" / "state.db"):
        for more in ((), ("--sandbox", "docker")):
            used = ("run", "--target", "torhc==1", "--state", tmp_path / "used", *more)
            refused(cli(*used), "did you mean torch?")
        refused(cli("run", "--target", "torch==1", "--state", tmp_path / "used"), "another nightfuzz")


def test_a_wheel_that_is_none(cli: Cli, tmp_path: Path) -> None:
    wheel = tmp_path / "torch-2.13.0-cp311-cp311-linux_x86_64.whl"
    wheel.write_text("not a zip")
    refused(cli("pull", wheel), "is not a zip archive")


def test_a_wheel_for_another_python(cli: Cli, tmp_path: Path) -> None:
    wheel = tmp_path / "torch-2.13.0-cp27-cp27m-win32.whl"
    with ZipFile(wheel, "w") as archive:
        archive.writestr("torch-2.13.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: torch\nVersion: 2.13.0\n")
    refused(cli("pull", wheel))


def test_an_unknown_key_of_the_file_names_the_nearest(cli: Cli) -> None:
    Path("nightfuzz.toml").write_text("seed = 1\nwrokers = 3\n")
    refused(cli("apis"), "nightfuzz.toml, line 2: unknown key 'wrokers'", "did you mean 'workers'?")


def test_a_key_that_is_like_none_gets_no_guess(cli: Cli) -> None:
    Path("nightfuzz.toml").write_text("private = true\n")
    done = cli("apis")
    refused(done, "nightfuzz.toml, line 1: unknown key 'private'", "--help")
    assert "did you mean" not in done.err


def test_a_table_in_the_file_is_told_where_keys_stand(cli: Cli) -> None:
    Path("nightfuzz.toml").write_text("seed = 1\n\n[fuzz]\ntime = '5m'\n")
    refused(cli("apis"), "nightfuzz.toml, line 3: [fuzz] is a table", "top of the file")


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("workers = 0", "workers"), ("workers = 'many'", "workers"), ("flavour = 'gpu'", "flavour"),
        ("time = 'abc'", "time"), ("time = '0'", "time"), ("time = -3", "time"), ("seed = -1", "seed"),
        ("api = 'torch'", "api"), ("confirm_runs = 0", "confirm_runs"), ("fail_on_bugs = 'perhaps'", "fail_on_bugs"),
        ("time = inf", "time"), ("time = nan", "time"), ("reward = [1, 2]", "reward"),
        ("reward = [1, 2, inf]", "reward"),
    ],
)  # fmt: skip
def test_a_bad_value_names_its_key_and_file(cli: Cli, line: str, key: str) -> None:
    Path("nightfuzz.toml").write_text(f"# ours\n{line}")
    refused(cli("bugs"), f"{key}", "in nightfuzz.toml, line 2", f"{key} means: ")


@pytest.mark.parametrize(
    "flags",
    [("--time", "abc"), ("--time", ""), ("--time", "-5m"), ("--workers", "0"), ("--flavour", "gpu"), ("--seed", "-1"),
     ("--tests-count", "0"), ("--reward", "1,1")],
)  # fmt: skip
def test_a_bad_flag_says_that_it_came_from_the_command_line(cli: Cli, flags: tuple[str, str]) -> None:
    name = flags[0].removeprefix("--").replace("-", "_")
    refused(cli("fuzz", *flags), f"{name} on the command line")


@pytest.mark.parametrize("given", ["1,-1,1", "1,x,1"])
def test_a_bad_value_in_a_list_says_which(cli: Cli, given: str) -> None:
    refused(cli("fuzz", "--reward", given), "reward.1 on the command line")


def test_settings_files_that_cannot_be_read(cli: Cli, tmp_path: Path) -> None:
    refused(cli("bugs", "--config", "missing.toml"), "cannot read missing.toml", "--config")
    refused(cli("bugs", "--config", tmp_path), "cannot read")
    Path("broken.toml").write_text("a = = 1")
    refused(cli("bugs", "--config", "broken.toml"), "is not valid TOML")
    Path("deep.toml").write_text("a = " + "[" * 20_000)
    refused(cli("bugs", "--config", "deep.toml"), "is not valid TOML")
    Path("binary.toml").write_bytes(b"\xff\xfe")
    refused(cli("bugs", "--config", "binary.toml"), "binary.toml, line 1: a byte is not UTF-8")


@pytest.mark.parametrize("command", [["apis"], ["bugs"], ["show", "1"], ["repro", "1"], ["trace"], ["fuzz"], ["run"]])
def test_a_state_directory_that_cannot_be_one(cli: Cli, command: list[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused(cli(*command, "--state", tmp_path / "file"), "state directory", "--state")
    refused(cli(*command, "--state", tmp_path / "file" / "below"), "state directory", "--state")


@pytest.mark.parametrize("command", [["apis"], ["bugs"], ["show", "1"], ["repro", "1"]])
def test_listing_where_nothing_was_done_yet(cli: Cli, command: list[str]) -> None:
    refused(cli(*command), "there is no state file", "nightfuzz trace")
    assert not Path(".nightfuzz").exists()


def test_a_state_file_of_a_newer_schema_is_left_alone(cli: Cli, state: Path) -> None:
    with sqlite3.connect(state / "state.db") as db:
        db.execute("INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('nightfuzz', 'm999', '')")
    db.close()
    before = (state / "state.db").read_bytes()
    for command in ("bugs", "fuzz"):
        refused(cli(command, "--state", state), "schema", "upgrade nightfuzz")
    assert (state / "state.db").read_bytes() == before


@pytest.mark.parametrize("command", ["trace", "fuzz", "run"])
def test_a_corrupt_state_file_is_kept_aside(cli: Cli, command: str) -> None:
    Path(".nightfuzz").mkdir()
    Path(".nightfuzz/state.db").write_bytes(b"garbage" * 999)
    refused(cli(command), "is damaged", "corrupt-1")
    assert Path(".nightfuzz/state.db.corrupt-1").read_bytes() == b"garbage" * 999
    refused(cli(command), "no target")


def test_a_corrupt_state_file_is_not_moved_by_listing(cli: Cli) -> None:
    Path(".nightfuzz").mkdir()
    Path(".nightfuzz/state.db").write_bytes(b"garbage" * 999)
    refused(cli("bugs"), "is damaged")
    assert Path(".nightfuzz/state.db").read_bytes() == b"garbage" * 999


def test_seed_sources_and_directories_that_are_none(cli: Cli, state: Path) -> None:
    refused(
        cli("trace", "--state", state, "--source", "dcos"), "unknown seed source 'dcos'", "docs, models, search, tests"
    )
    for flag, source in (("--docs", "docs"), ("--tests", "tests"), ("--models", "models")):
        refused(cli("trace", "--state", state, "--source", source, flag, "/no/such/place"), "/no/such/place")


def test_names_that_nothing_has(cli: Cli, state: Path) -> None:
    refused(cli("apis", "--state", state, "--target", "torch-9"), "no target 'torch-9'", "fakelib-1")
    refused(cli("bugs", "--state", state, "--target", "torch-9"), "no target 'torch-9'")
    for command in ("show", "repro"):
        refused(cli(command, 999, "--state", state), "no bug 999", "nightfuzz bugs")
    Path("nightfuzz.toml").write_text("oracles = ['crush']")
    refused(cli("fuzz", "--state", state, "--tests-count", 5), "unknown oracle 'crush'", "crash")


def test_mutators_and_apis_that_nothing_has(cli: Cli, state: Path) -> None:
    refused(cli("fuzz", "--state", state, "--tests-count", 5, "--disable", "Tensor Dimm"), "Tensor Dimm")
    refused(cli("fuzz", "--state", state, "--tests-count", 5, "--api", "no.such.*"), "no.such.*")


@pytest.mark.parametrize("arguments", [["show"], ["show", "abc"], ["pull"], ["nonsense"], ["bugs", "--nonsense"]])
def test_a_command_line_that_is_none_has_one_plain_error(cli: Cli, arguments: list[str]) -> None:
    done = cli(*arguments)
    assert done.code == 2 and done.out == ""
    assert done.err.startswith("error: ") and done.err.count("\n") == 2
    assert "--help` lists all" in done.err or "see `nightfuzz" in done.err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("45m", 2700),
        ("1h30m", 5400),
        ("90", 90),
        ("90s", 90),
        ("0.5h", 1800),
        (" 1h 30m 5s ", 5405),
        (7, 7),
        (0.5, 0.5),
    ],
)
def test_times(text: object, expected: float) -> None:
    assert seconds(text) == expected
    assert load(None, {"time": text}).time == expected


@pytest.mark.parametrize("text", ["abc", "", " ", "5x", "m", "-5m", "1e3", "5m abc", "1:30"])
def test_texts_that_are_no_times(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        seconds(text)
    with pytest.raises(UserError):
        load(None, {"time": text})


def test_defaults_are_valid() -> None:
    assert Settings(**Settings().model_dump()) == Settings()


@pytest.mark.parametrize(
    ("flags", "parts"),
    [
        (("--libraries", "torch"), ("no build of torch is installed", "torch==2.13.0")),
        (("--libraries", "torhc==1"), ("did you mean torch?",)),
        (("--domain", "cv,video"), ("domain.1 on the command line", "'video'")),
        (("--engine", "gandolf"), ("engine on the command line", "'gandalf'", "'gandolf'")),
        (("--guidance", "dice"), ("guidance 'dice' does not exist", "random, mcmc, genetic")),
        (("--sandbox", "docker"), ()),
    ],
)
def test_models_of_libraries_that_are_not_there(cli: Cli, flags: tuple[str, ...], parts: tuple[str, ...]) -> None:
    refused(cli("fuzz", "--engine", "gandalf", *flags), *parts)


def test_what_has_no_operators_cannot_be_compared(cli: Cli, traced: Path) -> None:
    done = cli("fuzz", "--engine", "gandalf", "--libraries", "fakelib-1", "--state", traced)
    refused(done, "models of fakelib cannot be compared", "torch, tensorflow, jittor")
