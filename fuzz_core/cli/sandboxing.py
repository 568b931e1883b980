"""The setting `sandbox`: the same command again, in a container, on targets that were made outside."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from fuzz_core.cli.config import DEFAULT_FILE, Settings
from fuzz_core.cli.containing import fitted, sandbox_of, user_of
from fuzz_core.cli.display import printable
from fuzz_core.cli.state import state_file
from fuzz_core.cli.targets import target_of
from fuzz_core.execution.docker import container_protection, process_protection, reach, write_protection
from fuzz_core.execution.image import find_image
from fuzz_core.execution.mounting import lent
from fuzz_core.execution.scratch import scratch
from fuzz_core.ir.errors import UserError
from fuzz_core.store.opening import open_store
from fuzz_core.store.records import TargetRecord

WORK = ("python", "-P", "-m", "fuzz_core.cli")
# Options that name a target, as a person writes it.
NAMING = ("target", "baseline", "old", "new")
# The log of a GitHub job takes such lines for commands.
_LOG_COMMAND = re.compile(r"^(\s*):(?=:)|##(?=\[)")


class _Unprotected(UserError):  # noqa: N818 - named for what is wrong
    """No container can be had."""


def protected(
    context: typer.Context, work: Callable[[Settings, Console], int], settings: Settings, console: Console
) -> int:
    """Does the work of the command, in a container where the settings ask for one; it says which protection is on."""
    told = Console(stderr=True) if context.params.get("as_json") else console
    lines: Sequence[str] = ()
    if settings.sandbox != "none":
        try:
            return _contained(context, settings, told)
        except _Unprotected as error:
            if settings.sandbox == "docker":
                raise
            lines = process_protection(error.problem.splitlines()[0])
            _say(told, lines)
    state_file(settings)
    write_protection(settings.state, lines)
    return work(settings, console)


def _contained(context: typer.Context, settings: Settings, told: Console) -> int:
    with _or_unprotected():
        engine = reach()
        engine.sweep()
        named, base = settings.sandbox_image, settings.sandbox_base
        image = find_image(engine.client, named, base, lambda text: _say(told, [text]))
    records, keys = _targets(context, settings)
    with scratch() as folder, lent(settings.state.absolute(), user_of(engine)):
        make = functools.partial(sandbox_of, settings, engine, image, records, folder, _files(context))
        with _or_unprotected():
            sandbox, notes = fitted(
                engine, [record.python for record in records], lambda instead: make(instead=instead)
            )
        lines = (*container_protection(engine, sandbox), *notes)
        _say(told, lines)
        try:
            return engine.run(sandbox, [*WORK, *command_line(context, keys)], _printed)
        finally:
            write_protection(sandbox.kept, lines)


@contextmanager
def _or_unprotected() -> Iterator[None]:
    try:
        yield
    except UserError as error:
        raise _Unprotected(error.problem, error.remedy) from error


def _say(console: Console, lines: Iterable[str]) -> None:
    for line in lines:
        console.print(f"sandbox: {printable(line)}", markup=False, highlight=False, soft_wrap=True)


def _printed(line: str, error: bool) -> None:
    """A line from the container: nothing in it is a command to the terminal or to the log of a job."""
    typer.echo(_LOG_COMMAND.sub("\\g<0>\N{ZERO WIDTH SPACE}", printable(line)), err=error)


def _targets(context: typer.Context, settings: Settings) -> tuple[list[TargetRecord], dict[str, str]]:
    """The targets that the command works on, made if need be, and their keys by the option that named them."""
    keys, found = {}, []
    with open_store(state_file(settings)) as store:
        for option in NAMING:
            spec = context.params.get(option) or getattr(settings, option, None)
            if spec is not None and option in context.params:
                found.append(target_of(store, settings.model_copy(update={"target": spec})))
                keys[option] = found[-1].key
        if "target" not in keys and "new" not in keys:
            found.append(target_of(store, settings.model_copy(update={"target": None})))
        if context.info_name == "recheck":
            # Bugs are also looked for where they were found.
            found += [record for record in store.targets() if os.access(record.python, os.X_OK)]
    return list({record.key: record for record in found}.values()), keys


def _files(context: typer.Context) -> list[Path]:
    """The settings file."""
    return [context.params.get("config") or Path(DEFAULT_FILE)]


def command_line(context: typer.Context, given: Mapping[str, str]) -> list[str]:
    """The command again, in words: its name, options and arguments, with other values for those in `given`."""
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
