"""Standalone scripts for what a whole model program shows in a mode: the program between the statements of the mode."""

from __future__ import annotations

import ast

from fuzz_core.adapters.dialect import Dialect
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.values import TestCase


def render_around(test: TestCase, mode: str, dialect: Dialect) -> str:
    """A script that ends with an AssertionError where the program does not do in the mode what it is to do.

    Raises CodecError for a mode that has no text, and for a program that is none.
    """
    around = dialect.programs.get(mode)
    if around is None:
        raise CodecError(f"mode {mode} cannot be written around a program")
    head, body = _parted(test.program)
    parts = [head, around.before, body, around.after]
    return "\n".join(part.strip("\n") + "\n" for part in parts if part.strip())


def _parted(program: str) -> tuple[str, str]:
    """What has to stay at the beginning of a program, its docstring and its switches, and what comes after that."""
    try:
        statements = ast.parse(program).body
    except (SyntaxError, ValueError, RecursionError) as error:
        raise CodecError(f"no program: {error}") from error
    end = 0
    for place, statement in enumerate(statements):
        docstring = place == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not docstring and not (isinstance(statement, ast.ImportFrom) and statement.module == "__future__"):
            break
        end = statement.end_lineno or 0
    lines = program.splitlines(keepends=True)
    return "".join(lines[:end]), "".join(lines[end:])
