"""Standalone scripts for what two modes disagree about: one function, called in both ways, and an assertion."""

from __future__ import annotations

from fuzz_core.adapters.dialect import Dialect
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.values import Invocation, Tensor, TestCase, Value
from fuzz_core.triage.script import COLUMNS, Writer, comment, needs_numpy

NAMES = ("x", "y", "z")


def render_comparison(
    test: TestCase,
    mode: str,
    dialect: Dialect,
    expected: str = "",
    observed: str = "",
    seeded: bool = False,
) -> str:
    """A script that ends with an AssertionError where the mode disagrees with the plain call.

    `expected` and `observed` become comments. `seeded` also seeds the library's random streams before each call.
    Raises CodecError for a mode that has no text, or a name that is none.
    """
    way = dialect.ways.get(mode)
    if way is None:
        raise CodecError(f"mode {mode} cannot be written as a script")
    writer = _Function(dialect, way.instance)
    body = writer.body(test.invocation, [dialect.seed(test.seed)] if seeded else [])
    names = [name for name, _ in writer.tensors]
    changed = [way.tensor(name, tensor) for name, tensor in writer.tensors]
    plain = f"f({', '.join(names)})"
    actual = way.actual.replace("{x}", ", ".join(changed))
    lines = [*dialect.imports, *(["import numpy as np"] if needs_numpy(test.invocation) else []), ""]
    lines += [f"{name} = {dialect.tensor(tensor)}" for name, tensor in writer.tensors]
    lines += ["", f"def f({', '.join(names)}):", *(f"    {line}" for line in body), ""]
    lines += _check(way.check, actual, plain)
    lines += [comment(f"{label}: {text}") for label, text in (("expected", expected), ("observed", observed)) if text]
    return "\n".join(lines) + "\n"


def _check(check: str, actual: str, expected: str) -> list[str]:
    line = check.replace("{actual}", actual).replace("{expected}", expected)
    if len(line) <= COLUMNS:
        return [line]
    return [f"actual = {actual}", check.replace("{actual}", "actual").replace("{expected}", expected)]


class _Function(Writer):
    """Writes the call as a function of its tensors."""

    def __init__(self, dialect: Dialect, instance: str) -> None:
        super().__init__(dialect)
        self.instance = instance
        self.tensors: list[tuple[str, Tensor]] = []
        self.taken |= {*NAMES, "f", "actual"}

    def body(self, invocation: Invocation, first: list[str]) -> list[str]:
        """The statements of the function; the last one returns the result."""
        *before, last = self.statements(invocation)
        if invocation.then is not None and self.tensors:
            made = before.pop().removeprefix("m = ")
            before.append(f"m = {self.instance.format(m=made, x=self.tensors[0][0])}")
        return [*first, *before, f"return {last}"]

    def source(self, value: Value) -> str:
        """See `Writer`: tensors are names here, arrays of numpy and everything else is written out."""
        if not isinstance(value, Tensor) or value.container == "ndarray":
            return super().source(value)
        number = len(self.tensors)
        name = NAMES[number] if number < len(NAMES) else f"x{number + 1}"
        self.tensors.append((name, value))
        return name
