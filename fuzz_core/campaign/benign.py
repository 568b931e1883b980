"""A bug that was judged false as a line of the labelled set: see docs/explanation/quality.md."""

from __future__ import annotations

from math import inf, isinf, isnan
from pathlib import Path

from fuzz_core.ir.elements import elements
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.values import Invocation, Prim, Ref, Seq, Tensor, TestCase, Value

_HEAD = '''"""Calls of which nothing may be reported."""

from __future__ import annotations

from cases import Case, c, case, dtype, k, made, named, u

NAN, INF = float("nan"), float("inf")

CASES: tuple[Case, ...] = (
'''
_END = ")\n"
_SCALARS = ("none", "bool", "int", "float", "complex", "str", "bytes")


def add_case(file: Path, test: TestCase, reason: str) -> str:
    """Append a benign case to a file of the labelled set, and return its line; a file that is not there is made.

    Raises:
        UserError: the call has no spelling there, or the file does not end with the tuple of its cases.
    """
    line = f"    {case_line(test, reason)},\n"
    try:
        text = file.read_text("utf-8") if file.exists() else _HEAD + _END
        if not text.endswith(_END) or "CASES" not in text:
            raise UserError(
                f"{file} does not end with the tuple `CASES`",
                "give --benign a file in the form of tests/quality/benign_torch.py, or the name of a new file",
            )
        if line not in text:
            file.write_text(f"{text.removesuffix(_END)}{line}{_END}", "utf-8")
    except OSError as error:
        raise UserError(f"cannot read or write {file}: {error.strerror}", "name another file with --benign") from error
    return line.strip()


def case_line(test: TestCase, reason: str) -> str:
    """Spell a test case as `case(REASON, API, ARGUMENTS)`.

    Raises:
        UserError: the test case has no spelling.
    """
    if test.program:
        raise UserError(
            "this bug is a model program, and --benign adds single calls only",
            "add the program by hand as a trap (a known false alarm): see docs/explanation/quality.md, "
            "section Traps for model programs",
        )
    call = test.invocation
    parts = [_text(reason), *_call(call)]
    if call.then is not None:
        if call.then.method != "__call__" or call.then.kwargs:
            raise _unspelled(f"a call of `{call.then.method}` with keywords")
        parts.append(f"then=[{', '.join(map(_value, call.then.args))}]")
    return f"case({', '.join(parts)})"


def _call(call: Invocation) -> list[str]:
    return [_text(call.api), *map(_value, call.args), *(f"{name}={_value(value)}" for name, value in call.kwargs)]


def _value(value: Value) -> str:
    match value:
        case Prim(kind, scalar) if kind in _SCALARS:
            return _number(scalar)
        case Seq("list" | "tuple" as kind, items):
            inside = ", ".join(map(_value, items))
            return f"[{inside}]" if kind == "list" else f"({inside}{',' * (len(items) == 1)})"
        case Ref("dtype", name):
            return f"dtype({_text(name)})"
        case Ref(kind, name):
            return f"named({_text(kind)}, {_text(name)})"
        case Tensor():
            return _tensor(value)
        case Invocation() if value.then is None:
            return f"made({', '.join(_call(value))})"
    raise _unspelled(f"a value of the type {type(value).__name__}")


def _tensor(tensor: Tensor) -> str:
    """Return a tensor as text: `c` for equal elements, `u` for drawn ones, `k` for given ones, and unusual fields."""
    fill, shape = tensor.fill, [str(extent) for extent in tensor.shape]
    if fill.special is not None or fill.kind == "values":
        head, parts = "k", [_number(each) for each in elements(tensor).tolist()]
        parts += [f"shape={tensor.shape!r}"] * (len(tensor.shape) != 1)
    elif fill.kind == "constant":
        head, parts = "c", [_number(fill.low), *shape]
    else:
        head, parts = "u", [*shape, f"low={_number(fill.low)}", f"high={_number(fill.high)}", f"key={fill.key}"]
    fields = {name: getattr(tensor, name) for name in ("dtype", "container", "strides", "requires_grad")}
    usual = Tensor("float32", tensor.shape)
    parts += [f"{name}={_field(field)}" for name, field in fields.items() if field != getattr(usual, name)]
    return f"{head}({', '.join(parts)})"


def _field(field: object) -> str:
    return _text(field) if isinstance(field, str) else repr(field)


def _number(number: object) -> str:
    if isinstance(number, float) and (isnan(number) or isinf(number)):
        return "NAN" if isnan(number) else "INF" if number == inf else "-INF"
    return _text(number) if isinstance(number, str) else repr(number)


def _text(text: object) -> str:
    """Return a literal in double quotes, as the files of the set have them."""
    literal = repr(text)
    return f'"{literal[1:-1]}"' if literal.startswith("'") and '"' not in literal else literal


def _unspelled(what: str) -> UserError:
    return UserError(
        f"--benign cannot write {what} as a case of the labelled set",
        "write the case by hand, as docs/explanation/quality.md says",
    )
