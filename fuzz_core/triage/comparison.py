"""Standalone scripts for what two modes disagree about: one function, called in both ways, and an assertion."""

from __future__ import annotations

from fuzz_core.adapters.dialect import Dialect, Way
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.values import Invocation, Tensor, TestCase, Value
from fuzz_core.triage.programs import render_around
from fuzz_core.triage.script import COLUMNS, Writer, comment, imports, with_comments

NAMES = ("x", "y", "z")
CALL = "{actual}"


RAISED = """def raised(call):
    try:
        call()
    except Exception as error:
        return error

other, plain = raised(lambda: {actual}), raised(lambda: {expected})
assert (plain is None) == (other is None), f"{plain!r} against {other!r}\""""


def render_comparison(
    test: TestCase,
    mode: str,
    dialect: Dialect,
    expected: str = "",
    observed: str = "",
    seeded: bool = False,
    check: str | None = None,
) -> str:
    """A script that ends with an AssertionError where the mode disagrees with the plain call.

    `expected` and `observed` become comments. `seeded` also seeds the library's random streams before each call.
    `check` takes the place of the mode's own: RAISED where one of the two refuses the call, CALL for the mode's call
    alone where that is one expression. A program stands between the statements of its mode. Raises CodecError for a
    mode that has no text, or a name that is none.
    """
    if test.program:
        return with_comments(render_around(test, mode, dialect), expected, observed)
    way = dialect.ways.get(mode)
    if way is None:
        raise CodecError(f"mode {mode} cannot be written as a script")
    writer = _Function(dialect, way)
    seeding = [dialect.seed(test.seed)] if seeded else []
    body = writer.body(test.invocation, seeding)
    names = [name for name, _ in writer.tensors]
    changed = [way.tensor(name, tensor, test.seed) for name, tensor in writer.tensors]
    lines = [f"{name} = {dialect.tensor(tensor)}" for name, tensor in writer.tensors]
    lines += [*(seeding if writer.made else ()), *writer.made]
    lines += ["", *_function("f", [*names, f"**{way.more}"] if way.more else names, body), ""]
    own = way.call and way.call(test.invocation)
    if own is not None:
        lines += [*_function("g", names, _Function(dialect, way._replace(more="")).body(own, body[: int(seeded)])), ""]
    actual = way.actual.replace("{x}", ", ".join(changed))
    lines += _check(
        way.check if check is None or (check == CALL and "\n" in way.check) else check, actual, f"f({', '.join(names)})"
    )
    lines += [comment(f"{label}: {text}") for label, text in (("expected", expected), ("observed", observed)) if text]
    lines = [*imports(dialect, lines), *way.imports, "", *lines]
    return "\n".join(lines) + "\n"


def _function(name: str, parameters: list[str], body: list[str]) -> list[str]:
    return [f"def {name}({', '.join(parameters)}):", *(f"    {line}" for line in body)]


def _check(check: str, actual: str, expected: str) -> list[str]:
    lines = check.replace("{actual}", actual).replace("{expected}", expected).split("\n")
    if len(lines) > 1 or len(lines[0]) <= COLUMNS or actual not in lines[0]:
        return lines
    return [f"actual = {actual}", check.replace("{actual}", "actual").replace("{expected}", expected)]


class _Function(Writer):
    """Writes the call as a function of its tensors."""

    def __init__(self, dialect: Dialect, way: Way) -> None:
        super().__init__(dialect)
        self.way = way
        self.tensors: list[tuple[str, Tensor]] = []
        self.made: list[str] = []
        self.taken |= {*NAMES, "f", "g", "actual", "expected"}

    def body(self, invocation: Invocation, first: list[str]) -> list[str]:
        """The statements of the function; the last one returns the result."""
        *before, last = self.statements(invocation)
        if invocation.then is not None and self.tensors and invocation.api.startswith(self.way.owner):
            made = before.pop().removeprefix("m = ")
            before.append(f"m = {self.way.instance.format(m=made, x=self.tensors[0][0])}")
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
        self.tensors.append((name, value))
        return name
