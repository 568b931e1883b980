"""Usage errors: one plain error with one remedy, as every other error of a user's has."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from fuzz_core.ir.errors import UserError

_SUGGESTS = " Did you mean "


class CommandGroup(TyperGroup):
    """A group of commands that says in plain text what is wrong with a command line."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words after the group's name.

        If there is none, print the help and end with exit code 2.
        """
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            typer.echo(ctx.get_help())
            raise typer.Exit(2)
        return super().parse_args(ctx, args)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command that the words name, and end the process with its exit code."""
        words = list(sys.argv[1:] if args is None else args)
        try:
            code = super().main(words, prog_name, complete_var, False, windows_expand_args, **extra)
        except TyperException as error:
            if not standalone_mode:
                raise
            from fuzz_core.cli.errors import USER_ERROR, say

            say(f"error: {self._explained(error, words)}")
            code = USER_ERROR
        except typer.Abort:
            if not standalone_mode:
                raise
            from fuzz_core.cli.errors import INTERRUPTED, KEPT, say

            say(KEPT)
            code = INTERRUPTED
        if standalone_mode:
            sys.exit(code or 0)
        return code

    def _explained(self, error: Any, words: Sequence[str]) -> UserError:
        """Return the error with its remedy: the nearest option or command, and the help that lists all of them."""
        problem, _, near = error.message.partition(_SUGGESTS)
        if options := getattr(error, "possibilities", None):
            near = next(iter(get_close_matches(error.option_name, options, 1, 0.0)))
        help_line = f"`{' '.join(['nightfuzz', *self._commands(words)])} --help`"
        remedy = f"did you mean {near.rstrip('?')}? {help_line} lists all" if near else f"see {help_line}"
        problem = (error.format_message() if not near else problem).rstrip(".")
        return UserError(problem[:1].lower() + problem[1:], remedy)

    def _commands(self, words: Sequence[str]) -> list[str]:
        """Return the first words that name a group or a command."""
        found: list[str] = []
        group: Any = self
        for word in words:
            group = getattr(group, "commands", {}).get(word)
            if group is None:
                break
            found.append(word)
        return found
