"""The setting `sandbox`: the same command again, in a container that is made from its settings and its targets."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import typer

from fuzz_core.adapters import ADAPTERS_VARIABLE
from fuzz_core.adapters.dialect import COMPILED_FOLDER, COMPILED_VARIABLE
from fuzz_core.cli.output import CommandOutput
from fuzz_core.cli.session import check_specs, kept_space, target_of
from fuzz_core.cli.settings import DEFAULT_FILE, Settings
from fuzz_core.cli.state import open_state, state_file
from fuzz_core.cli.streams import printable
from fuzz_core.execution.docker import Engine, NoEngine, Sandbox, container_protection, reach
from fuzz_core.execution.image import find_image, identity
from fuzz_core.execution.mounts import Interpreter, hidden, interpreter, lent, open_to, outermost, project, version_of
from fuzz_core.execution.protection import process_protection, write_protection
from fuzz_core.execution.scratch import scratch
from fuzz_core.execution.zygote import KEPT_VARIABLES
from fuzz_core.ir.errors import UserError
from fuzz_core.store.records import TargetRecord
from fuzz_core.targets.facts import launched_by
from fuzz_core.targets.record import CACHE_VARIABLE, cache_folder, targets_root
from fuzz_core.targets.resolve import has_gpu

WORK = ("python", "-P", "-m", "fuzz_core.cli")
LOOK = ("python", "-P", "-m", "fuzz_core.execution.image")
# Options that name a target, as a person writes it.
NAMING = ("target", "baseline", "old", "new")
# Who works in the container where this user is root, which a container must not be.
STRANGER = (10001, 10001)
MEMORY_SHARE = 0.75
PROCESSES, PROCESSES_PER_WORKER = 1024, 256
_ELSEWHERE = ("PATH", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES")
# The log of a GitHub job takes such lines for commands.
_LOG_COMMAND = re.compile(r"^(\s*):(?=:)|##(?=\[)")


class _Unprotected(UserError):  # noqa: N818 - named for what is wrong
    """No container can be had."""


def run_contained(context: typer.Context, settings: Settings, output: CommandOutput) -> int | None:
    """Do the command's work in a container if the settings say so, and return the exit code; otherwise return None."""
    check_specs(settings, [spec for _, spec in _named(context, settings)])
    lines: Sequence[str] = ()
    if settings.sandbox != "none":
        try:
            return _in_container(context, settings, output)
        except _Unprotected as error:
            if settings.sandbox == "docker":
                raise
            lines = process_protection(error.problem.splitlines()[0])
            _say(output, lines)
        except NoEngine as error:
            if settings.sandbox == "docker":
                raise
            lines = process_protection(f"the Docker engine went away: {error.problem.splitlines()[0]}")
            _say(output, lines)
    state_file(settings)
    write_protection(settings.state, lines)
    return None


def _in_container(context: typer.Context, settings: Settings, output: CommandOutput) -> int:
    engine, image = _engine(settings, output)
    with _launched_in(settings, engine, image):
        records, keys = _targets(context, settings)
    with scratch() as folder, lent(settings.state.absolute(), user_of(engine)):
        files = [context.params.get("config") or Path(DEFAULT_FILE)]
        make = functools.partial(sandbox_of, settings, engine, image, records, folder, files)
        with _or_unprotected():
            pythons = [record.python for record in records]
            sandbox, notes = fit_sandbox(engine, pythons, lambda instead: make(instead=instead))
        lines = (*container_protection(engine, sandbox), *notes)
        _say(output, lines)
        try:
            return engine.run(sandbox, [*WORK, *command_line(context, keys)], _print_line)
        finally:
            write_protection(sandbox.kept, lines)


def _engine(settings: Settings, output: CommandOutput) -> tuple[Engine, str]:
    """Return the engine and its image of this code, or raise _Unprotected."""
    with _or_unprotected():
        engine = reach()
        engine.sweep()
        named, base = settings.sandbox_image, settings.sandbox_base
        return engine, find_image(engine.client, named, base, lambda text: _say(output, [text]))


@contextmanager
def contained_imports(settings: Settings, output: CommandOutput) -> Iterator[None]:
    """Import libraries for the first time in a container, where the settings ask for one and there can be one."""
    if settings.sandbox == "none":
        yield
        return
    try:
        engine, image = _engine(settings, output)
    except _Unprotected:
        if settings.sandbox == "docker":
            raise
        yield
        return
    with _launched_in(settings, engine, image):
        yield


@contextmanager
def _launched_in(settings: Settings, engine: Engine, image: str) -> Iterator[None]:
    """Ask interpreters about themselves in a container; what a library compiles goes where later containers look."""
    before = os.environ.get(COMPILED_VARIABLE)
    os.environ[COMPILED_VARIABLE] = str(settings.state.absolute() / COMPILED_FOLDER)
    try:
        with launched_by(functools.partial(_import, settings, engine, image)):
            yield
    finally:
        del os.environ[COMPILED_VARIABLE]
        os.environ |= {} if before is None else {COMPILED_VARIABLE: before}


def _import(
    settings: Settings,
    engine: Engine,
    image: str,
    command: Sequence[str],
    writable: Sequence[Path],
    timeout: float,
    environment: Mapping[str, str],
) -> subprocess.CompletedProcess[str]:
    """Run an interpreter that is asked about itself in a container.

    `writable` lies in the folder of compiled code, the only one that can be written to.
    """
    python, compiled = command[0], settings.state.absolute() / COMPILED_FOLDER
    record = TargetRecord("", "", "", "", python, {"devices": ["cuda:0"] if has_gpu() else []})
    alone = settings.model_copy(update={"state": compiled, "docs": [], "tests": [], "models": []})
    compiled.mkdir(parents=True, exist_ok=True)
    said: dict[bool, list[str]] = {False: [], True: []}
    with scratch() as folder, lent(compiled, user_of(engine)):
        make = functools.partial(sandbox_of, alone, engine, image, [record], folder)
        sandbox, _ = fit_sandbox(engine, [python], lambda instead: make(instead=instead))
        known = {**sandbox.environment, **environment}
        sandbox = dataclasses.replace(sandbox, folder=Path("/tmp"), environment=known)
        limited = ["timeout", "--signal=KILL", f"{timeout:.0f}", *command]
        code = engine.run(sandbox, limited, lambda line, error: said[error].append(line))
    if code == 128 + signal.SIGKILL:
        raise subprocess.TimeoutExpired(list(command), timeout)
    status = 128 - code if code > 128 else code
    return subprocess.CompletedProcess(list(command), status, "\n".join(said[False]), "\n".join(said[True]))


@contextmanager
def _or_unprotected() -> Iterator[None]:
    try:
        yield
    except UserError as error:
        raise _Unprotected(error.problem, error.remedy) from error


def _say(output: CommandOutput, lines: Iterable[str]) -> None:
    for line in lines:
        output.say(f"sandbox: {line}")


def _print_line(line: str, error: bool) -> None:
    """Print a line from the container, of which no part is a command to the terminal or to a job's log."""
    typer.echo(_LOG_COMMAND.sub("\\g<0>\N{ZERO WIDTH SPACE}", printable(line)), err=error)


def _named(context: typer.Context, settings: Settings) -> list[tuple[str, str]]:
    """Return the options of the command that name a target, and the specs that they name."""
    specs = ((option, context.params.get(option) or getattr(settings, option, None)) for option in NAMING)
    return [(option, spec) for option, spec in specs if spec is not None and option in context.params]


def _targets(context: typer.Context, settings: Settings) -> tuple[list[TargetRecord], dict[str, str]]:
    """Return the targets that the command works on, made if need be, and their keys by the option that named them."""
    keys, found = {}, []
    with open_state(settings) as store:
        for option, spec in _named(context, settings):
            found.append(target_of(store, settings, spec))
            keys[option] = found[-1].key
        if "target" not in keys and "new" not in keys:
            found.append(target_of(store, settings.model_copy(update={"target": None})))
        if context.info_name == "recheck":
            # Bugs are also looked for where they were found.
            found += [record for record in store.targets() if os.access(record.python, os.X_OK)]
    return list({record.key: record for record in found}.values()), keys


def command_line(context: typer.Context, given: Mapping[str, str]) -> list[str]:
    """Return the command again, in words: its name, options and arguments, with other values for those in `given`."""
    values = {**context.params, **given, "sandbox": "none"}
    options, arguments = [str(context.info_name)], []
    for parameter in context.command.params:
        value = values.get(str(parameter.name))
        if parameter.param_type_name == "argument":
            arguments += _words(value)
        elif value is True or (value is False and parameter.secondary_opts):
            options.append((parameter.opts if value else parameter.secondary_opts)[0])
        elif value is not False:
            options += [word for each in _words(value) for word in (parameter.opts[0], each)]
    return [*options, *(["--", *arguments] if arguments else [])]


def _words(value: Any) -> list[str]:
    if value is None:
        return []
    return [str(each) for each in value] if isinstance(value, list | tuple) else [str(value)]


def user_of(engine: Engine) -> tuple[int, int]:
    """Return user and group id inside the container; a rootless engine maps root inside to this user outside."""
    if engine.rootless:
        return 0, 0
    return STRANGER if os.geteuid() == 0 else (os.geteuid(), os.getegid())


def sandbox_of(
    settings: Settings,
    engine: Engine,
    image: str,
    records: Sequence[TargetRecord],
    folder: Path,
    files: Iterable[Path] = (),
    instead: Mapping[str, str] = MappingProxyType({}),
) -> Sandbox:
    """Return the container for work on these targets.

    Args:
        folder: holds files that are made for the container.
        files: further files that the container reads.
        instead: interpreters whose base is replaced by that under a prefix in the image.

    Raises:
        UserError: a target cannot be shown to it.
    """
    user = user_of(engine)
    for home in (Path(record.python).absolute().parent.parent for record in records):
        if user == STRANGER and home.is_relative_to(targets_root()):
            open_to(home, user[1])
    pythons = [interpreter(record.python, instead.get(record.python, "")) for record in records]
    spaces = [path for record in records if (path := kept_space(record)) is not None]
    for path in spaces:
        if user == STRANGER:
            open_to(path, user[1])
    projects = outermost(project(path) for path in (*settings.docs, *settings.tests, *settings.models))
    needed = outermost([*(each for python in pythons for each in python.folders), *_files(settings, [*files, *spaces])])
    kept, memory = settings.state.absolute(), settings.sandbox_memory
    return Sandbox(
        image=image,
        kept=kept,
        user=":".join(map(str, user)),
        memory=int(engine.memory * MEMORY_SHARE) if memory is None else int(memory * 1e9),
        processes=settings.sandbox_processes or PROCESSES + PROCESSES_PER_WORKER * settings.workers,
        shown=tuple(sorted({*needed, *projects})),
        placed=_placed(pythons, user, folder),
        hidden=tuple(_hidden(projects, [*needed, kept])),
        environment={
            **_environment(),
            COMPILED_VARIABLE: str(kept / COMPILED_FOLDER),
            # Space files are looked for in this folder, which the container cannot write to.
            CACHE_VARIABLE: str(cache_folder()),
        },
        folder=Path.cwd(),
        cpus=settings.sandbox_cpus,
        gpus=_gpus(records),
    )


def _files(settings: Settings, files: Iterable[Path]) -> list[Path]:
    adapters = filter(None, os.environ.get(ADAPTERS_VARIABLE, "").split(os.pathsep))
    base = [path for path in (settings.base, settings.space) if path is not None]
    return [path.absolute() for path in (settings.known, *base, *files, *map(Path, adapters)) if path.exists()]


def _hidden(projects: Iterable[Path], needed: Sequence[Path]) -> Iterator[Path]:
    """Yield files to hide from the container, but none that is needed, such as the state directory."""
    for root in projects:
        for path in hidden(root):
            if not any(path.is_relative_to(each) for each in needed):
                yield path


def _placed(pythons: Sequence[Interpreter], user: tuple[int, int], folder: Path) -> dict[Path, Path]:
    """Return a name for the user, which libraries ask for, and the links by which interpreters are found."""
    folder = Path(tempfile.mkdtemp(dir=folder))
    placed = {Path("/etc/passwd"): folder / "passwd", Path("/etc/group"): folder / "group"}
    (folder / "passwd").write_text(f"nightfuzz:x:{user[0]}:{user[1]}::/tmp:/usr/sbin/nologin\n", encoding="ascii")
    (folder / "group").write_text(f"nightfuzz:x:{user[1]}:\n", encoding="ascii")
    merged: dict[Path, dict[str, str]] = {}
    for python in pythons:
        for place, links in python.links.items():
            merged.setdefault(place, {}).update(links)
    for number, (place, links) in enumerate(merged.items()):
        placed[place] = folder / f"links-{number}"
        placed[place].mkdir()
        for name, leads in links.items():
            (placed[place] / name).symlink_to(leads)
    for path in placed.values():
        path.chmod(0o755 if path.is_dir() else 0o644)
    return placed


def _environment() -> dict[str, str]:
    """Return the variables that every worker gets, without places of this machine, and no further ones."""
    names = [name for name in KEPT_VARIABLES if name not in _ELSEWHERE]
    kept = {name: os.environ[name] for name in (*names, ADAPTERS_VARIABLE) if name in os.environ}
    columns = str(shutil.get_terminal_size().columns)
    return {**kept, "HOME": "/tmp", "PYTHONPATH": kept.get(ADAPTERS_VARIABLE, ""), "COLUMNS": columns}


def _gpus(records: Iterable[TargetRecord]) -> tuple[str, ...] | None:
    """Return the GPUs to lend if a target sees a CUDA device: those that the environment names, or all."""
    if not any(str(device).startswith("cuda") for record in records for device in record.info.get("devices", ())):
        return None
    return tuple(filter(None, os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")))


def fit_sandbox(
    engine: Engine, pythons: Sequence[str], make: Callable[[Mapping[str, str]], Sandbox]
) -> tuple[Sandbox, tuple[str, ...]]:
    """Return the container in which all interpreters start, and notes about it, or raise UserError.

    Args:
        make: from the interpreters whose base is to be replaced. A base may be of a newer system than the image; then
            the image's own Python of that version stands in.
    """
    sandbox = make({})
    found = look(engine, sandbox, pythons)
    instead = {each: found.prefix for each in found.problems if version_of(each) == found.version}
    if instead:
        sandbox = make(instead)
        found = look(engine, sandbox, pythons)
    for python, problem in found.problems.items():
        raise UserError(
            f"{python} does not start in the image {sandbox.image}: {printable(problem)}",
            "make the interpreter's file readable for all users, "
            "or set sandbox_base to an image of this machine's own distribution",
        )
    notes = (f"the image's Python {found.version} stands in for that of {each}" for each in instead)
    return sandbox, tuple(notes)


class ContainerCheck(NamedTuple):
    """The result of a look into the image."""

    version: str  # of the image's Python
    prefix: str  # of the image's Python
    problems: dict[str, str]  # by interpreter, the reason why it does not start


def look(engine: Engine, sandbox: Sandbox, pythons: Sequence[str]) -> ContainerCheck:
    """Ask a container for its code, its state and the interpreters that fail in it.

    Raises:
        UserError: the container has the code of another nightfuzz, or another state.
    """
    mark = f"mark-{secrets.token_hex(8)}"
    lines: list[str] = []
    (sandbox.kept / mark).touch()
    try:
        engine.run(sandbox, [*LOOK, str(sandbox.kept), mark, *pythons], lambda line, error: lines.append(line))
    finally:
        (sandbox.kept / mark).unlink(missing_ok=True)
    found: dict[str, Any] = {}
    with suppress(IndexError, TypeError, ValueError):
        found |= json.loads(lines[-1])
    if found.get("identity") != identity():
        raise UserError(
            f"the image {sandbox.image} holds nightfuzz {found.get('identity') or lines[-1:]}, "
            f"but this nightfuzz is {identity()}",
            "leave out sandbox_image, or build the image from this checkout (docs/explanation/sandbox.md)",
        )
    if found.get("state") is not True:
        raise UserError(
            f"the container cannot write the state directory {sandbox.kept}",
            "use a Docker engine of this machine, and let the container's user write to that directory",
        )
    return ContainerCheck(str(found["version"]), str(found["prefix"]), dict(found["interpreters"]))
