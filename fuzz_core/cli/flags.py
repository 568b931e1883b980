"""Flags of commands, made from the settings when a command is named: a list of all commands needs none."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args, get_origin

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo


# Settings whose flag has another name.
FLAGS = {"knowledge_import": "import"}


class CommandParameter(NamedTuple):
    """An argument or option of one command alone, as Typer sees it."""

    kind: Any  # the type of its value
    info: Any
    default: Any = None


def option(kind: Any, flag: str, text: str, default: Any = None, **limits: Any) -> CommandParameter:
    """Return an option; one whose default is `...` has to be given.

    Args:
        flag: with its short form, if any, after a space.
    """
    default = inspect.Parameter.empty if default is ... else default
    return CommandParameter(kind, typer.Option(*flag.split(), help=_literal(text), **limits), default)


def switch(flag: str, text: str) -> CommandParameter:
    """Return an option without a value, off by default."""
    return option(bool, flag, text, False)


def argument(kind: Any, text: str | None = None, default: Any = inspect.Parameter.empty) -> CommandParameter:
    """Return a word that needs no flag."""
    return CommandParameter(kind, typer.Argument(help=None if text is None else _literal(text)), default)


class CommandLine(NamedTuple):
    """Parameters of a command, and the function that does its work: `MODULE:FUNCTION`.

    The function gets settings, output and the command's own parameters by their names, and returns a report.
    """

    help: str
    work: str
    # Names of settings that have a flag.
    settings: str = ""
    own: Mapping[str, CommandParameter] = MappingProxyType({})
    # Help texts and defaults of settings that have another meaning for this command.
    helps: Mapping[str, str] = MappingProxyType({})
    defaults: Mapping[str, str] = MappingProxyType({})
    # Words after `nightfuzz`, as the help shows them.
    examples: Sequence[str] = ()
    speaks_json: bool = True
    contained: bool = True


def register(app: typer.Typer, name: str, command: CommandLine) -> None:
    """Add a command, whose parameters are made when the user names the command."""

    class Lazy(TyperCommand):
        """The command, by its help text alone at first."""

        def get_params(self, ctx: Any) -> list[Any]:
            """Return the command's parameters, made at the first call."""
            if not self.params:
                single = typer.Typer(add_completion=False)
                single.command()(_function(command))
                made = typer.main.get_command(single)
                self.params, self.callback = made.params, made.callback
            return super().get_params(ctx)

    app.command(name, cls=Lazy, help=command.help, epilog=epilog(command.examples))(lambda: None)


def epilog(examples: Sequence[str]) -> str | None:
    """Return the end of a help text, with a line for each example; None without any."""
    if not examples:
        return None
    return "\n\n".join(["Examples:", *(f"  nightfuzz {_literal(each)}" for each in examples)])


def _function(command: CommandLine) -> Any:
    """Return a function with the parameters of the command, which reads the settings and does the work."""
    parameters = {**_parameters(command), "context": CommandParameter(typer.Context, None, inspect.Parameter.empty)}
    lists = [name for name, each in command.own.items() if get_origin(each.kind) is list]

    def perform(context: typer.Context, **given: Any) -> None:
        from fuzz_core.cli.errors import exit_code, guarded, summed_up
        from fuzz_core.cli.output import CommandOutput
        from fuzz_core.cli.settings import explicit_settings, load
        from fuzz_core.execution.faults import collected_faults

        own = {name: given[name] for name in command.own}
        own |= {name: own[name] or [] for name in lists}
        names = command.settings.split()

        def work() -> int:
            settings = load(given["config"], {name: given[name] for name in names})
            output = CommandOutput(given.get("as_json", False), given["quiet"], given["verbose"])
            if given["verbose"]:
                output.say(f"settings: {explicit_settings(settings)}")
            if "sandbox" in names and command.contained:
                from fuzz_core.cli.sandbox import run_contained

                code = run_contained(context, settings, output)
                if code is not None:
                    return code
            module, _, function = command.work.partition(":")
            with collected_faults(output.note) as faults:
                report = getattr(import_module(module), function)(settings, output, **own)
            code = output.print(report._replace(text=[*report.text, *summed_up(faults)]))
            return exit_code(faults, code)

        raise typer.Exit(guarded(work, given["verbose"]))

    perform.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=each.default,
                annotation=each.kind if each.info is None else Annotated[each.kind, each.info],
            )
            for name, each in parameters.items()
        ]
    )
    perform.__annotations__ = {}
    return perform


def _parameters(command: CommandLine) -> dict[str, CommandParameter]:
    """Return own parameters, then those that are settings, in the order of the settings."""
    from fuzz_core.cli.settings import Settings

    found = {
        **command.own,
        "config": option(Path, "--config", "Settings file [default: nightfuzz.toml, if it exists]"),
    }
    names = command.settings.split()
    for name, field in Settings.model_fields.items():
        if name in names:
            text = command.helps.get(name) or f"{field.description}{_default(field, command.defaults.get(name))}"
            default = command.defaults.get(name)
            found[name] = option(_kind(field), _flag(name, field), text, default, show_default=False)
    if command.speaks_json:
        found["as_json"] = switch("--json", "Print JSON instead of text")
    found["quiet"] = switch("--quiet -q", "Print only the result: no progress, no notes")
    found["verbose"] = switch("--verbose -v", "Also print the settings, more progress, and the traceback of an error")
    return {name: each._replace(kind=_optional(each)) for name, each in found.items()}


def _optional(parameter: CommandParameter) -> Any:
    return parameter.kind | None if parameter.default is None else parameter.kind


def _literal(text: str) -> str:
    """Return the text as it is: Rich takes words in brackets for its own."""
    return text.replace("[", "\\[")


def _flag(name: str, field: FieldInfo) -> str:
    flag = FLAGS.get(name, name).replace("_", "-")
    return f"--{flag}/--no-{flag}" if field.default is True else f"--{flag}"


def _kind(field: FieldInfo) -> Any:
    """Return the type that Typer reads.

    A setting that is parsed from a text has the type str.
    """
    from pydantic import BeforeValidator

    if any(isinstance(each, BeforeValidator) for each in field.metadata):
        return str
    kinds: Sequence[Any] = [each for each in get_args(field.annotation) if each is not type(None)]
    kind = field.annotation if get_origin(field.annotation) is list or not kinds else kinds[0]
    return kind if kind in (bool, int, float, Path) or get_origin(kind) is list else str


def _default(field: FieldInfo, other: str | None) -> str:
    """Return the default in words; empty if there is none or the description names it."""
    from fuzz_core.cli.settings import duration

    value: Any = field.default if other is None else other
    if value in (None, False, []) or "[default: " in str(field.description):
        return ""
    if isinstance(value, list):
        value = ",".join(f"{each:g}" if isinstance(each, float) else each for each in value)
    elif isinstance(value, float) and _kind(field) is str:
        value = duration(value)
    return f" [default: {'on' if value is True else value}]"
