"""The origin of a program's exception, and whether code raised it on purpose."""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import linecache
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, NamedTuple

from fuzz_core.worker.programs_ran import MOST_FRAMES, OWN
from fuzz_core.worker.programs_watch import kind_of

# The file name of a program, in its own names and in tracebacks.
PROGRAM = "program.py"
# Python calls these functions if an expression needs a missing attribute or key. Their error is no deliberate one.
_LOOKED_UP = ("__getattr__", "__getattribute__", "__missing__")
_OURS = str(Path(__file__).parent.parent)
_STANDARD, *_INSTALLED_IN = (sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
_INSTALLED = tuple(_INSTALLED_IN)
# An endless recursion is the library's own if this many of its frames come last. As many again may be native, and the
# program may have set a lower limit.
_DEEP = sys.getrecursionlimit() // 4


class Raised(NamedTuple):
    """The origin of an exception: fields of `ProgramResult` with the same names."""

    line: int
    how: str
    frames: tuple[str, ...]
    disturbed: bool = False  # whether the exception has passed code of an earlier program that is left in the library


class _Point(NamedTuple):
    frame: FrameType
    line: int
    instruction: int


def raised(error: BaseException) -> Raised:
    """Return the origin of an exception, from its traceback, which begins in the program."""
    points = [point for point in _points(error.__traceback__) if not _file(point).startswith(_OURS)]
    if isinstance(error, SyntaxError) and not points:
        return Raised(error.lineno or 0, OWN, ())
    own = [point for point in points if _file(point) == PROGRAM]
    library = [point for point in points if _file(point) != PROGRAM]
    frames = tuple(f"{p.frame.f_code.co_name} ({_file(p)}:{p.line})" for p in library[-MOST_FRAMES:])
    disturbed = any(point.frame.f_globals is not own[0].frame.f_globals for point in own)
    return Raised(own[-1].line if own else 0, _how(error, points) if points else "", frames[::-1], disturbed)


def _points(trace: TracebackType | None) -> Iterator[_Point]:
    while trace is not None:
        yield _Point(trace.tb_frame, trace.tb_lineno, trace.tb_lasti)
        trace = trace.tb_next


def _file(point: _Point) -> str:
    return point.frame.f_code.co_filename


def _how(error: BaseException, points: list[_Point]) -> str:
    """Return how the last frame of the library or the program raised; empty if its source is not at hand."""
    own = [number for number, point in enumerate(points) if not _is_pythons(point)]
    if not own:
        return ""
    if isinstance(error, RecursionError) and any(_file(point) == PROGRAM for point in points[-_DEEP:]):
        return OWN
    last, is_last = points[own[-1]], own[-1] == len(points) - 1
    operation, argument = last.frame.f_code.co_code[last.instruction : last.instruction + 2]
    # A bare `raise` (argument 0) keeps the place of the first one.
    is_raising = dis.opname[operation] == "RAISE_VARARGS" and argument > 0
    if _file(last) == PROGRAM:
        return "call" if not is_raising and _is_native(error, _executed(last), last.frame) else OWN
    if last.frame.f_globals.get("__file__") == PROGRAM:
        # The text was evaluated by the program.
        return OWN
    if is_last and is_raising:
        return "assert" if isinstance(error, AssertionError) else "raise"
    text = _executed(last)
    if not text:
        return ""
    return "call" if is_last and _is_native(error, text, last.frame) else "expression"


def _is_pythons(point: _Point) -> bool:
    """Return whether a frame stands for an expression's value: of the standard library, or a look-up of attributes."""
    file = _file(point)
    is_standard = file.startswith(_STANDARD) and not file.startswith(_INSTALLED)
    return point.frame.f_code.co_name in _LOOKED_UP or is_standard or file.startswith("<frozen ")


def _executed(point: _Point) -> str:
    """Return the source of the expression that the instruction belongs to; empty if there is none."""
    positions = next(islice(point.frame.f_code.co_positions(), point.instruction // 2, None), None)
    first, last, start, end = positions or (None, None, None, None)
    lines = [line.encode() for line in linecache.getlines(_file(point))[(first or 1) - 1 : last]]
    if not lines or first is None:
        return ""
    lines[-1] = lines[-1][:end]
    return b"".join([lines[0][start:], *lines[1:]]).decode("utf-8", "replace")


def _is_native(error: BaseException, text: str, frame: FrameType) -> bool:
    """Return whether the library's native code refuses: a function, or an operator of its tensors."""
    if isinstance(error, AttributeError | NameError):
        return False
    # A condition stands for its whole statement, and its first line is enough.
    node = _parsed(f"({text})") or _parsed(text.removeprefix("el").partition("\n")[0] + " pass") or ast.Pass()
    if isinstance(node, ast.Call) and _is_foreign(node.func, frame):
        return True
    parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
    # Python's own operators raise more precise exceptions than a RuntimeError, and none of a module.
    is_own = type(error).__module__ == "builtins" and type(error) is not RuntimeError
    return not is_own or any(kind_of(_looked_up(part, frame)) is not None for part in parts)


def _parsed(text: str) -> ast.AST | None:
    """Return the expression or statement of a source; None if the text is neither."""
    try:
        (node,) = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return node.value if isinstance(node, ast.Expr) else node


def _is_foreign(function: ast.expr, frame: FrameType) -> bool:
    """Return whether a function is native and not Python's own.

    A function in Python would have a frame.
    """
    called = _looked_up(function, frame)
    if called is None:
        return True
    home = getattr(called, "__module__", None) or type(getattr(called, "__self__", None)).__module__
    # The functions that make an object of a class. Functions in Python would have a frame, unless they refuse the
    # arguments.
    made = [getattr(called, name) for name in ("__init__", "__new__")] if isinstance(called, type) else [called]
    is_written = inspect.ismethod(called) or any(hasattr(each, "__code__") for each in made)
    return not is_written and str(home).partition(".")[0] not in sys.stdlib_module_names


def _looked_up(expression: ast.expr, frame: FrameType) -> Any:
    """Return the object of a dotted name in a frame; attributes are read only if that runs no code."""
    match expression:
        case ast.Name(id=name):
            for names in (frame.f_locals, frame.f_globals, vars(builtins)):
                if name in names:
                    return names[name]
        case ast.Attribute(value=owner, attr=name):
            with suppress(AttributeError):
                return object.__getattribute__(_looked_up(owner, frame), "__dict__").get(name)
    return None
