"""Shorter programs that still reproduce: what the end does not depend on goes, then one after the other."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from fuzz_core.ir.values import TestCase
from fuzz_core.triage.slicing import place, sliced


def shortened(test: TestCase, reproduces: Callable[[TestCase], bool], deadline: Callable[[], bool]) -> TestCase:
    """The test case with a program that no single statement can be taken out of; the text is else as it was.

    A program that names the api that it is about does so to the end: what fails without it is something else.
    `reproduces` executes a candidate; `deadline` says when to stop with the best so far.
    """
    best, tried = test, {test.program}
    about = test.invocation.api.rpartition(".")[2]
    named = about in _names(test.program)
    found = True
    while found:
        found = False
        for program in _shorter(best.program):
            if deadline():
                return best
            candidate = best._replace(program=program)
            kept = not named or about in _names(program)
            new = program not in tried
            tried.add(program)
            if new and kept and reproduces(candidate):
                best, found = candidate, True
                break
    return best


def _names(program: str) -> set[str]:
    """The names and attributes in a program; none where it is no program."""
    try:
        nodes = list(ast.walk(ast.parse(program)))
    except (SyntaxError, ValueError, RecursionError):
        return set()
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return attributes | {node.id for node in nodes if isinstance(node, ast.Name)}


def _shorter(program: str) -> Iterator[str]:
    """What the program's end depends on; the program without each of its statements in turn: those of most lines
    first, of these the last ones.

    A body that would be empty gets `pass`.
    """
    try:
        tree = ast.parse(program)
    except (SyntaxError, ValueError, RecursionError):
        return
    yield sliced(program).lstrip("\n")
    lines = program.splitlines(keepends=True)
    bodies = [body for node in ast.walk(tree) for body in _bodies(node)]
    every = [
        (*place(statement), statement, len(body) == 1 and body is not tree.body)
        for body in bodies
        for statement in body
    ]
    for first, last, statement, alone in sorted(every, key=lambda each: (each[0] - each[1], -each[0])):
        instead = [" " * statement.col_offset + "pass\n"] if alone else []
        if not (alone and isinstance(statement, ast.Pass)):
            yield "".join([*lines[: first - 1], *instead, *lines[last:]]).lstrip("\n")


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        body = getattr(node, name, None)
        if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
            yield body
