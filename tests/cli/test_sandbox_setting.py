"""The setting `sandbox` on the command line, tested without an engine; `tests/execution` tests it with one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
import requests
import spaceoffers
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from fuzz_core.cli import sandbox
from fuzz_core.cli.sandbox import _print_line, command_line, sandbox_of
from fuzz_core.cli.settings import Settings
from fuzz_core.execution.docker import Engine, container_protection, explained
from fuzz_core.execution.image import ROOT, addresses
from fuzz_core.execution.protection import read_protection, write_protection
from fuzz_core.store.records import TargetRecord
from fuzz_core.targets import spaces

Cli = Callable[..., Any]
FUZZ = ("fuzz", "--tests-count", 50, "--seed", 1, "--workers", 1, "--api", "*.add")
INFO = {
    "ServerVersion": "28.0",
    "MemTotal": 16 << 30,
    "MemoryLimit": True,
    "SecurityOptions": ["name=seccomp,profile=builtin"],
}
SECRETS = {
    "GITHUB_TOKEN": "ghs_1",
    "AWS_SECRET_ACCESS_KEY": "2",
    "ACTIONS_RUNTIME_TOKEN": "3",
    "HTTP_PROXY": "http://u:p@h",
}


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")


@pytest.mark.usefixtures("no_engine")
def test_without_an_engine_auto_says_what_is_on_instead(cli: Cli, traced: Path) -> None:
    done = cli(*FUZZ, "--state", traced, "--sandbox", "auto")
    assert done.code == 0, done.err
    assert "sandbox: no container (the Docker engine does not answer: " in done.out
    assert read_protection(traced)[0] in done.out.replace("sandbox: ", "")
    again = cli(*FUZZ, "--state", traced, "--sandbox", "auto", "--json")
    assert again.json["fuzz"] and "sandbox: no container" in again.err


@pytest.mark.usefixtures("no_engine")
def test_without_an_engine_docker_is_an_error(cli: Cli, traced: Path) -> None:
    done = cli(*FUZZ, "--state", traced, "--sandbox", "docker")
    assert done.code == 2 and "--sandbox none" in done.err


@pytest.fixture
def engine_that_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that answers until the work is in its container."""

    def work(*_given: object) -> int:
        with explained():
            raise requests.exceptions.ConnectionError("connection refused")

    monkeypatch.setattr(sandbox, "_in_container", work)


@pytest.mark.usefixtures("engine_that_goes")
def test_where_the_engine_goes_away_auto_says_so_and_goes_on_without(cli: Cli, traced: Path) -> None:
    done = cli(*FUZZ, "--state", traced, "--sandbox", "auto")
    assert done.code == 0, done.err
    assert "sandbox: no container (the Docker engine went away: " in done.out
    assert "went away" in read_protection(traced)[0]
    asked = cli(*FUZZ, "--state", traced, "--sandbox", "docker")
    assert asked.code == 2 and "does not answer" in asked.err


def test_an_engine_of_another_machine_is_refused(cli: Cli, traced: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://192.0.2.1:2375")
    done = cli(*FUZZ, "--state", traced, "--sandbox", "docker")
    assert done.code == 2 and "on another machine" in done.err


def test_what_was_on_is_that_of_the_last_run(cli: Cli, traced: Path) -> None:
    write_protection(traced, ["a container"])
    assert read_protection(traced) == ("a container",)
    assert cli(*FUZZ, "--state", traced).code == 0
    lines = read_protection(traced)
    assert lines[0].startswith("no container: ") and len(lines) == 4


@pytest.mark.parametrize("value", ["podman", "", "Docker"])
def test_other_sandboxes_are_unknown(cli: Cli, value: str) -> None:
    assert cli("fuzz", "--sandbox", value).code == 2


def test_kept_lines_are_bounded(tmp_path: Path) -> None:
    write_protection(tmp_path, ["x" * 5000] * 100)
    assert [len(line) for line in read_protection(tmp_path)] == [500] * 20


def test_a_folder_in_the_place_of_the_lines_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "protection.txt" / "in").mkdir(parents=True)
    write_protection(tmp_path, ["on"])
    assert read_protection(tmp_path) == ("on",)


@pytest.mark.parametrize(
    ("engine", "told"),
    [
        ({}, "no seccomp filter: this engine has none on"),
        ({"SecurityOptions": ["name=seccomp,profile=unconfined"]}, "no seccomp filter: this engine has none on"),
        (INFO, "seccomp profile `builtin`"),
        (INFO, "at most 12.0 GiB of memory and as much swap"),
        ({**INFO, "SwapLimit": True}, "at most 12.0 GiB of memory without swap"),
        ({**INFO, "MemoryLimit": False}, "no limit on memory: this kernel has none"),
        (INFO, "no limit on processes: this kernel has none"),
        ({**INFO, "PidsLimit": True}, "1536 processes"),
    ],
)
def test_what_an_engine_lacks_is_told(tmp_path: Path, fakelib_python: str, engine: dict[str, Any], told: str) -> None:
    assert told in " ".join(container_protection(Engine(None, engine), made(tmp_path, fakelib_python, ["cpu"])))


seen: list[tuple[dict[str, Any], list[str]]] = []
app = typer.Typer()


@app.command()
def work(
    context: typer.Context,
    bugs: Annotated[list[int] | None, typer.Argument()] = None,
    target: Annotated[str | None, typer.Option("--target")] = None,
    api: Annotated[list[str] | None, typer.Option("--api")] = None,
    models: Annotated[list[Path] | None, typer.Option("--models")] = None,
    grow: Annotated[bool | None, typer.Option("--grow/--no-grow")] = None,
    no_type: Annotated[bool, typer.Option("--no-type")] = False,
    time: Annotated[str, typer.Option("--time")] = "10m",
    sandbox: Annotated[str | None, typer.Option("--sandbox")] = None,
) -> None:
    seen.append((dict(context.params), command_line(context, {"target": "KEY"})))


@app.command()
def other() -> None:
    """A second command: typer names the first one only if there are several."""


def asked(words: list[str]) -> tuple[dict[str, Any], list[str]]:
    seen.clear()
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    return seen[0]


texts = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), min_size=1)
flags = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["--api", "--models", "--time", "--sandbox"]), texts),
        st.sampled_from([("--grow",), ("--no-grow",), ("--no-type",)]),
    ),
    max_size=6,
)


@given(flags, st.lists(st.integers(0, 99), max_size=3))
def test_the_same_command_is_asked_for_inside(options: list[tuple[str, ...]], bugs: list[int]) -> None:
    params, words = asked(["work", *(word for each in options for word in each), "--", *map(str, bugs)])
    again, _ = asked(words)
    assert again == params | {"target": "KEY", "sandbox": "none"}


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("::set-output name=x::y", ":\u200b:set-output name=x::y"),
        ("   ::error::x", "   :\u200b:error::x"),
        ("##[add-mask]x", "##\u200b[add-mask]x"),
        ("a ##[error] b", "a ##\u200b[error] b"),
        ("\x1b[2Jtorch::add", "\N{REPLACEMENT CHARACTER}[2Jtorch::add"),
        ("at::native::add", "at::native::add"),
    ],
)
def test_what_comes_from_inside_commands_nobody(line: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    _print_line(line, False)
    _print_line(line, True)
    assert capsys.readouterr() == (f"{shown}\n", f"{shown}\n")


def made(tmp_path: Path, python: str, devices: list[str], **settings: Any) -> Any:
    record = TargetRecord("fakelib-1", "fakelib==1", "fakelib", "1", python, {"devices": devices})
    (tmp_path / "scratch").mkdir(exist_ok=True)
    wanted = Settings(state=tmp_path / "state", **settings)
    return sandbox_of(wanted, Engine(None, INFO), "image", [record], tmp_path / "scratch")


def test_nothing_of_the_environment_goes_in(
    tmp_path: Path, fakelib_python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    given = made(tmp_path, fakelib_python, ["cpu"]).environment
    compiled = "NIGHTFUZZ_COMPILED"
    own = {"NIGHTFUZZ_PATH", "NIGHTFUZZ_CACHE", "HOME", "PYTHONPATH", "COLUMNS", compiled}
    assert set(given) <= {"LANG", "LC_ALL", "TZ", "KERAS_BACKEND", *own}
    assert Path(given[compiled]).is_relative_to(tmp_path / "state")
    assert given["TZ"] == "Asia/Tokyo" and given["HOME"] == "/tmp"
    assert given["PYTHONPATH"] == given["NIGHTFUZZ_PATH"] == os.environ["NIGHTFUZZ_PATH"]


@pytest.mark.parametrize(
    ("devices", "visible", "gpus"),
    [
        (["cpu"], "0", None),
        (["cpu", "cuda:0", "cuda:1"], None, ()),
        (["cpu", "cuda:0"], "1,GPU-3f", ("1", "GPU-3f")),
    ],
)
def test_gpus_go_in_where_the_target_sees_them(
    tmp_path: Path,
    fakelib_python: str,
    monkeypatch: pytest.MonkeyPatch,
    devices: list[str],
    visible: str | None,
    gpus: tuple[str, ...] | None,
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert made(tmp_path, fakelib_python, devices).gpus == gpus


def test_limits_are_those_of_the_settings(tmp_path: Path, fakelib_python: str) -> None:
    box = made(tmp_path, fakelib_python, ["cpu"], sandbox_memory=2.5, sandbox_cpus=1.5, sandbox_processes=100)
    assert (box.memory, box.cpus, box.processes) == (2_500_000_000, 1.5, 100)


def test_the_sources_before_a_change_are_shown(tmp_path: Path, fakelib_python: str) -> None:
    (tmp_path / "base").mkdir()
    assert tmp_path / "base" in made(tmp_path, fakelib_python, ["cpu"], base=tmp_path / "base").shown


def test_a_space_file_of_the_release_can_be_read_and_nothing_more_be_written(
    tmp_path: Path, fakelib_python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NIGHTFUZZ_CACHE", str(tmp_path / "cache"))
    digest = hashlib.sha256(b"rows").hexdigest()
    spaceoffers.offer(tmp_path, {"key": "fakelib-1", "library": "fakelib", "version": "1", "sha256": digest, "size": 4})
    monkeypatch.setattr(spaces, "INDEX", tmp_path / "spaces.toml")
    file = tmp_path / "cache" / "spaces" / digest[:16] / "fakelib-1.space"
    file.parent.mkdir(parents=True)
    for content, is_shown in ((b"rows", True), (b"rows of a stranger", False)):
        file.write_bytes(content)
        box = made(tmp_path, fakelib_python, ["cpu"])
        assert (file in box.shown) is is_shown
        assert box.environment["NIGHTFUZZ_CACHE"] == str(tmp_path / "cache")
        assert box.kept == tmp_path / "state" and not {*box.shown, *box.placed} & {file.parent, tmp_path / "cache"}


def test_limits_follow_the_machine_else(tmp_path: Path, fakelib_python: str) -> None:
    box = made(tmp_path, fakelib_python, ["cpu"], workers=4)
    assert (box.memory, box.cpus, box.processes) == (12 << 30, None, 2048)


def test_addresses_with_passwords_stay_out_of_the_engine() -> None:
    environ = {"PIP_INDEX_URL": "https://u:p@index", "PIP_EXTRA_INDEX_URL": "https://index", "OTHER": "x"}
    assert addresses(environ) == {"PIP_EXTRA_INDEX_URL": "https://index"}


def test_what_the_image_is_made_from_is_what_the_engine_gets() -> None:
    """The Dockerfile copies the files that the context lets through, and digests pin the base images."""
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    copied = {line.split()[1] for line in lines if line.startswith("COPY") and "--from" not in line}
    assert copied == allowed
    pinned = [line for line in lines if line.startswith("ARG") and "@sha256:" in line]
    assert len(pinned) == sum("FROM ${" in line for line in lines) == 2
