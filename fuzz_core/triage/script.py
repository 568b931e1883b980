"""Standalone scripts: the library's public names only, in as few and as short lines as possible.

Test cases come from untrusted code: every name is checked to be an identifier, and `repr` writes all other parts.
"""

from __future__ import annotations

import ast
import itertools
import keyword
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fuzz_core.adapters.dialect import TELL, TOLD, Dialect, Way
from fuzz_core.adapters.literals import literal, prim_literal
from fuzz_core.adapters.quotes import Quoted
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.values import Invocation, Map, Prim, Ref, Seq, Slice, Tensor, TestCase, Then, Value

COLUMNS = 100
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_BUILTINS = ("bool", "int", "float", "complex", "str", "bytes", "list", "tuple", "dict", "set", "object", "len")
_NUMPY = re.compile(r"\bnp\.")
_INSTANCES = ("Tensor", "Variable", "Var")
_LONG = 16
# Signs in messages of compilers and of nightfuzz, with their ASCII spelling.
_TYPED = str.maketrans({"…": "...", "‘": "'", "’": "'", "“": '"', "”": '"'})  # noqa: RUF001
NAMES = ("x", "y", "z")
CALL = "{actual}"
# A random draw that only the library's own seed can repeat.
_DRAWN = re.compile(r"\.rand\w*\(")


class ScriptArgument(NamedTuple):
    """The source of one argument; `keyword` is empty for a positional argument."""

    keyword: str
    source: str

    def __str__(self) -> str:
        if not self.keyword:
            return self.source
        if keyword.iskeyword(self.keyword):
            return f"**{{{self.keyword!r}: {self.source}}}"
        return f"{self.keyword}={self.source}"


def render(
    test: TestCase,
    dialect: Dialect,
    expected: str = "",
    observed: str = "",
    seeded: bool = False,
    repeated: bool = False,
    forbidden: Quoted | None = None,
) -> str:
    """Return a standalone script that makes the call; `expected` and `observed` become comments of one line each.

    `seeded` also seeds the library's random streams from the test case; `repeated` calls again and again and asserts
    that memory does not grow. `forbidden`: it fails where the call returns, and quotes this. A program is its own
    script.

    Raises:
        CodecError: a name is no name of Python.
        BuildError: the library does not have a dtype.
    """
    if test.program:
        return with_comments(test.program, expected, observed)
    lines = Writer(dialect).statements(test.invocation, printed=dialect.lazy and not forbidden)
    lines = _returned(lines, forbidden) if forbidden else lines
    lines = [dialect.seed(test.seed)] * seeded + (_repeated(lines) if repeated else lines)
    return _written(dialect, [*lines, *_comments(expected, observed)])


def render_printing(test: TestCase, dialect: Dialect) -> str:
    """Return a standalone script that makes the call and prints the result; raises as `render`."""
    return _written(dialect, Writer(dialect).statements(test.invocation, printed=True))


def _written(dialect: Dialect, lines: list[str], more: Sequence[str] = ()) -> str:
    """Return a script that imports the library, `more`, and numpy if the lines name it."""
    numpy = "import numpy as np"
    needed = numpy not in dialect.imports and any(map(_NUMPY.search, lines))
    text = "\n".join([*dialect.imports, *[numpy] * needed, *more, "", *lines, ""])
    return text.encode("ascii", "backslashreplace").decode()


def with_comments(script: str, expected: str, observed: str) -> str:
    """Return a script that ends with the expected and the observed outcome as comments."""
    return "\n".join([script.rstrip("\n"), *_comments(expected, observed), ""])


def _comments(expected: str, observed: str) -> list[str]:
    return [comment(f"{label}: {text}") for label, text in (("expected", expected), ("observed", observed)) if text]


def _returned(statements: list[str], forbidden: Quoted) -> list[str]:
    """Return statements that print the last value and fail, since the call should not have returned."""
    *before, last = statements
    said = f'the documentation forbids {forbidden.argument}={forbidden.value} ("{forbidden.text}"): '
    told = 'print(told := f"expected an exception, got {actual}")'
    return [*before, f"actual = {last}", told, f"raise AssertionError({literal(said)} + told)"]


def draws(test: TestCase, dialect: Dialect) -> bool:
    """Return whether the script of a call draws elements, so that it needs a seed; raises as `render`."""
    return not test.program and _DRAWN.search(render(test, dialect)) is not None


def _repeated(statements: list[str]) -> list[str]:
    """Return a loop around the statements.

    From the 500th call on, 2,000 further calls may cost one mebibyte at most.

    The script reads its resident pages: the peak that `getrusage` reports is inherited from the parent process.
    """
    held = 'int(open("/proc/self/statm").read().split()[1])'
    inside = [f"    {line}" for statement in statements for line in statement.splitlines()]
    looks = ["    if i == 500:", f"        before = {held}", f"pages = {held} - before"]
    looks += [
        'told = f"expected less than 256 new pages of memory, got {pages}"',
        "print(told)",
        "assert pages < 256, told",
    ]
    return ["for i in range(2500):", *inside, *looks]


def comment(text: str) -> str:
    """Return a comment of one line and at most 100 columns."""
    line = " ".join(["#", *"".join(c if c.isprintable() else " " for c in text).split()])
    line = line.translate(_TYPED).encode("ascii", "backslashreplace").decode()
    return line if len(line) <= COLUMNS else f"{line[: COLUMNS - 3]}..."


def checked_name(name: str) -> str:
    """Return the name, or raise CodecError if it is no dotted identifier."""
    if not all(_NAME.match(part) and not keyword.iskeyword(part) for part in name.split(".")):
        raise CodecError(f"not a public name: {name[:100]!r}")
    return name


class Writer:
    """Writes one test case; `lines` collects the statements that must come before the call."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.roots = {statement.split()[-1] for statement in dialect.imports}
        self.lines: list[str] = []
        self.taken = {*self.roots, "np", "m"}

    def statements(self, invocation: Invocation, printed: bool = False) -> list[str]:
        """Return the lines that make the call, and print its result."""
        receiver, arguments = self._parts(invocation)
        if invocation.then is not None:
            self.lines.append(self._call(f"m = {receiver}", arguments))
            receiver, arguments = self._then("m", invocation.then)
        last = self._call(receiver, arguments)
        return [*self.lines, f"print({last})" if printed else last]

    def _parts(self, invocation: Invocation) -> tuple[str, list[ScriptArgument]]:
        """Return the name of the called function, and its arguments."""
        name, args = self._public(invocation.api), invocation.args
        owner, _, method = name.rpartition(".")
        if args and owner in {f"{root}.{cls}" for root in self.roots for cls in _INSTANCES} and _is_instance(args[0]):
            name, args = f"{_operand(self.source(args[0]))}.{method}", args[1:]
        return name, self._arguments(args, invocation.kwargs)

    def _then(self, receiver: str, then: Then) -> tuple[str, list[ScriptArgument]]:
        method = "" if then.method == "__call__" else f".{_keyword(checked_name(then.method))}"
        return receiver + method, self._arguments(then.args, then.kwargs)

    def _arguments(self, args: tuple[Value, ...], kwargs: tuple[tuple[str, Value], ...]) -> list[ScriptArgument]:
        positional = [ScriptArgument("", self.source(value)) for value in args]
        return positional + [ScriptArgument(_keyword(name), self.source(value)) for name, value in kwargs]

    def _call(self, receiver: str, arguments: list[ScriptArgument]) -> str:
        """Return the call in one line, its longest arguments moved to statements of their own until it fits."""
        while len(line := _call(receiver, arguments)) > COLUMNS:
            # A moved argument is a name now; moving it again would never end.
            movable = [pair for pair in enumerate(arguments) if pair[1].source not in self.taken]
            index, longest = max(movable, key=lambda pair: len(pair[1].source), default=(0, None))
            if longest is None or len(longest.source) < _LONG:
                break
            arguments[index] = longest._replace(source=self._hoist(longest))
        return line

    def _hoist(self, argument: ScriptArgument) -> str:
        wanted = argument.keyword if argument.keyword and not keyword.iskeyword(argument.keyword) else "x"
        numbered = (f"{wanted}{number}" for number in itertools.count(2))
        name = next(name for name in itertools.chain([wanted], numbered) if name not in self.taken)
        self.taken.add(name)
        self.lines.append(f"{name} = {argument.source}")
        return name

    def _public(self, name: str) -> str:
        if name.split(".")[0] not in self.roots:
            raise CodecError(f"not a public name of {self.dialect.library}: {name[:100]!r}")
        return checked_name(name)

    def source(self, value: Value) -> str:
        """Return a value as an expression."""
        match value:
            case Prim():
                return prim_literal(value)
            case Tensor():
                return self.dialect.tensor(value)
            case Ref():
                return self._ref(value)
            case Slice():
                return f"slice({', '.join(self.source(part) for part in value)})"
            case Seq():
                return self._sequence(value)
            case Map():
                return f"{{{', '.join(f'{literal(key)}: {self.source(item)}' for key, item in value.entries)}}}"
            case Invocation():
                return self._nested(value)

    def _ref(self, value: Ref) -> str:
        if value.kind == "dtype":
            checked_name(value.name)
        elif value.kind == "name" and value.name not in _BUILTINS:
            self._public(value.name)
        return self.dialect.ref(value)

    def _sequence(self, value: Seq) -> str:
        inside = ", ".join(map(self.source, value.items))
        if value.kind == "list":
            return f"[{inside}]"
        if value.kind == "set":
            return f"{{{inside}}}" if value.items else "set()"
        return f"({inside},)" if len(value.items) == 1 else f"({inside})"

    def _nested(self, value: Invocation) -> str:
        made = _call(*self._parts(value))
        return made if value.then is None else _call(*self._then(made, value.then))


def _call(receiver: str, arguments: Iterable[ScriptArgument]) -> str:
    return f"{receiver}({', '.join(map(str, arguments))})"


def _is_instance(value: Value) -> bool:
    return isinstance(value, Invocation) or (isinstance(value, Tensor) and value.container != "ndarray")


def _keyword(name: str) -> str:
    if not _NAME.match(name):
        raise CodecError(f"not the name of an argument: {name[:100]!r}")
    return name


def _operand(source: str) -> str:
    """Return the expression, in parentheses if a method call on it needs them."""
    simple = ast.Call | ast.Attribute | ast.Name | ast.Subscript
    return source if isinstance(ast.parse(source, mode="eval").body, simple) else f"({source})"


RAISED = f"""def outcome(call):
    try:
        call()
        return "a result"
    except Exception as error:
        return repr(error)

actual, expected = outcome(lambda: {{actual}}), outcome(lambda: {{expected}})
{TOLD}assert (actual == "a result") == (expected == "a result"), told"""
# A check in which the mode's call alone is one expression.
_ASSIGNED = re.compile(r"^\w+ = \{actual\}$", re.MULTILINE)


def render_comparison(
    test: TestCase,
    mode: str,
    dialect: Dialect,
    expected: str = "",
    observed: str = "",
    seeded: bool = False,
    check: str | None = None,
) -> str:
    """Return a script that ends with an AssertionError if the mode disagrees with the plain call.

    A program stands between the statements of its mode.

    Args:
        expected, observed: become comments.
        seeded: also seed the library's random streams before each call.
        check: replaces the mode's own check. RAISED fits two modes of which one refuses the call. CALL checks the
            mode's call alone, if that is one expression. `{changed}` in it stands for the changed tensors, which it
            calls `other`.

    Raises:
        CodecError: the mode has no text, or a name is no name of Python.
    """
    if test.program:
        return with_comments(render_around(test, mode, dialect), expected, observed)
    way = dialect.ways.get(mode)
    if way is None:
        raise CodecError(f"mode {mode} cannot be written as a script")
    writer = _Function(dialect, way)
    seeding = [dialect.seed(test.seed)] if seeded else []
    body = writer.body(test.invocation, seeding)
    names = list(writer.tensors)
    changed = [way.tensor(name, tensor, test.seed) for name, tensor in writer.tensors.items()]
    lines = [f"{name} = {dialect.tensor(tensor)}" for name, tensor in writer.tensors.items()]
    lines += writer.made
    if writer.made or any(map(_DRAWN.search, lines)):
        lines = [*seeding, *lines]
    lines += ["", *_function("f", [*names, f"**{way.more}"] if way.more else names, body), ""]
    own = way.call and way.call(test.invocation)
    if own is not None:
        lines += [*_function("g", names, _Function(dialect, way._replace(more="")).body(own, body[: int(seeded)])), ""]
    if check is None or (check == CALL and "\n" in way.check and not _ASSIGNED.search(way.check)):
        check = way.check
    hoisted = "{changed}" in check
    check = check.replace("{changed}", f"({', '.join(changed)},)")
    actual = way.actual.replace("{x}", "*other" if hoisted else ", ".join(changed))
    lines += _check(check, actual, f"f({', '.join(names)})")
    more = [*way.imports, *["import time"] * ("time.thread_time()" in check)]
    return _written(dialect, [*lines, *_comments(expected, observed)], more)


def _function(name: str, parameters: list[str], body: list[str]) -> list[str]:
    return [f"def {name}({', '.join(parameters)}):", *(f"    {line}" for line in body)]


def _check(check: str, actual: str, expected: str) -> list[str]:
    lines = check.replace("{actual}", actual).replace("{expected}", expected).replace("{told}", TELL).split("\n")
    if len(lines) > 1 or len(lines[0]) <= COLUMNS or actual not in lines[0]:
        return lines
    return [f"actual = {actual}", check.replace("{actual}", "actual").replace("{expected}", expected)]


class _Function(Writer):
    """Writes the call as a function of its tensors."""

    def __init__(self, dialect: Dialect, way: Way) -> None:
        super().__init__(dialect)
        self.way = way
        self.tensors: dict[str, Tensor] = {}
        self.made: list[str] = []
        self.taken |= {*NAMES, "f", "g", "actual", "expected"}

    def body(self, invocation: Invocation, first: list[str]) -> list[str]:
        """Return the statements of the function; the last one returns the result."""
        *before, last = self.statements(invocation)
        if invocation.then is not None and self.tensors and invocation.api.startswith(self.way.owner):
            made = before.pop().removeprefix("m = ")
            before.append(f"m = {self.way.instance.format(m=made, x=NAMES[0])}")
        if self.way.shared and invocation.then is not None:
            self.made, before = before, []
        if self.way.more:
            last = f"{last[:-1]}{'' if last.endswith('()') else ', '}**{self.way.more})"
        return [*first, *before, f"return {last}"]

    def source(self, value: Value) -> str:
        """See `Writer`: tensors are names here, arrays of numpy and everything else is written out."""
        if not isinstance(value, Tensor) or value.container == "ndarray":
            return super().source(value)
        number = len(self.tensors)
        name = NAMES[number] if number < len(NAMES) else f"x{number + 1}"
        self.tensors[name] = value
        return name


def render_around(test: TestCase, mode: str, dialect: Dialect) -> str:
    """Return a script that ends with an AssertionError if the program does not do its work in the mode.

    Raises:
        CodecError: the mode has no text, or the program is no program.
    """
    around = dialect.programs.get(mode)
    if around is None:
        raise CodecError(f"mode {mode} cannot be written around a program")
    try:
        statements = ast.parse(test.program).body
    except (SyntaxError, ValueError, RecursionError) as error:
        raise CodecError(f"no program: {error}") from error
    # The program's docstring and `__future__` imports have to stay at the beginning.
    end = 0
    for place, statement in enumerate(statements):
        docstring = place == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not docstring and not (isinstance(statement, ast.ImportFrom) and statement.module == "__future__"):
            break
        end = statement.end_lineno or 0
    lines = test.program.splitlines(keepends=True)
    parts = ["".join(lines[:end]), around.before, "".join(lines[end:]), around.after]
    return "\n".join(part.strip("\n") + "\n" for part in parts if part.strip())


def parsed(program: str) -> ast.Module:
    """Return the syntax of a program; without any statement if the text is no program."""
    try:
        return ast.parse(program)
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])
