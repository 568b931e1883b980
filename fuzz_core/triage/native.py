"""Native frames of a crash, out of what a handler inside the dying process, gdb or the library itself has written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from fuzz_core.adapters.dialect import Dialect
from fuzz_core.triage import stack

MAX_FRAMES = 12
MAX_NAME = 160
_LINE = re.compile(r"#\d+\s+(?:0x[0-9a-f]+ in )?(.+?)(?: from (\S+))?$", re.MULTILINE)
_PRINTED = re.compile(r"^\s+@\s+0x[0-9a-f]+\s+(\S.*?)\s*$", re.MULTILINE)
_SUFFIX = re.compile(r"\[(?:abi|clone)[^\]]*\]|\.(?:part|constprop|isra|cold|lto_priv|_omp_fn)\b\S*")
_OPERATOR = re.compile(r"operator\s?(?:<=>|<<=?|>>=?|<=|>=|->\*?|<|>)")
# Frames that raise the alarm and say nothing about the cause.
_ALARM = re.compile(
    r"LogMessage|log_internal|torchCheckFail|torchInternalAssertFail|c10::(?:Error|detail)::|::terminate|backtrace"
    r"|wrap_kernel_functor|make_boxed_from|BoxedKernel|c10::Dispatcher|^std::"
)


def heard(output: str) -> list[tuple[str, str]] | None:
    """(function, module) of each frame, from what `stack.py` prints: [] without a death, None where it cannot tell.

    Anything else that a hostile process prints is None too.
    """
    try:
        told = json.loads(output.strip().rpartition("\n")[2])
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, list) or not all(isinstance(frame, list) and len(frame) == 2 for frame in told):
        return None
    return [(str(function), str(module)) for function, module in told]


def parse(output: str, dialect: Dialect) -> tuple[str, ...]:
    """The cleaned names of in-library functions in gdb's backtrace."""
    _, _, trace = output.rpartition(" received signal ")
    found = (_LINE.match(line) for line in trace.splitlines())
    return inside(((match.group(1), match.group(2) or "") for match in found if match), dialect)


def inside(told: Iterable[tuple[str, str]], dialect: Dialect) -> tuple[str, ...]:
    """The cleaned names of in-library functions, and where memory was missed; `told` as of `heard`."""
    pairs = list(told)
    inside = (function for function, module in pairs if dialect.native_modules.search(module))
    names = [name for function in inside if not _ALARM.search(function) and (name := clean(function)) not in ("", "??")]
    fault = tuple(function for function, module in pairs[-1:] if not module and function in stack.FAULTS)
    return (*names[: MAX_FRAMES - len(fault)], *fault)


def stack_trace(stderr: str) -> tuple[str, ...]:
    """Like `frames`, from the stack trace that a failed CHECK prints itself (symbolised by absl)."""
    names = [match.group(1) for match in _PRINTED.finditer(stderr)]
    wanted = [clean(name) for name in names if "::" in name and not _ALARM.search(name)]
    return tuple(name for name in wanted if name)[:MAX_FRAMES]


def clean(name: str) -> str:
    """A function's qualified name: no arguments, template arguments, lambdas, addresses or build paths."""
    if name.startswith("_Z"):
        return _demangled(name)
    name = _SUFFIX.sub("", name.replace("(anonymous namespace)::", ""))
    name = _without_brackets(_OPERATOR.sub("operator", name.replace("operator()", "")))
    name = re.sub(r"\s(?:const|volatile|&+)(?=\s|$|::)|0x[0-9a-f]+|lts_\d+", "", name).strip()
    parts = [part for part in name.split("::") if part.strip(" '#$_0123456789")]
    return "::".join(parts).rpartition(" ")[2][:MAX_NAME]


def _demangled(name: str) -> str:
    """The leading qualified name of a symbol that gdb could not demangle (an outlined OpenMP body)."""
    rest, parts = re.sub(r"^_ZN?[KVr]*", "", name), []
    while (match := re.match(r"(\d+)(\w+)", rest)) and not rest.startswith("12_GLOBAL__N_1"):
        length = int(match.group(1))
        parts.append(match.group(2)[:length])
        rest = match.group(2)[length:]
    return "::".join(parts)[:MAX_NAME]


def _without_brackets(name: str) -> str:
    kept, depth = [], 0
    for char in name:
        depth += char in "<({["
        if depth == 0:
            kept.append(char)
        depth -= char in ">)}]" and depth > 0
    return "".join(kept)
