"""Native frames of a crash: from a handler inside the dying process, else from gdb where there is one."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from fuzz_core.adapters.dialect import Dialect
from fuzz_core.adapters.surroundings import surroundings
from fuzz_core.triage import stack
from fuzz_core.triage.process import Processes, checked_python, run

MAX_FRAMES = 12
MAX_NAME = 160
_DEPTH = 64
_HANDLER = Path(stack.__file__)
_LINE = re.compile(r"#\d+\s+(?:0x[0-9a-f]+ in )?(.+?)(?: from (\S+))?$", re.MULTILINE)
_COMMANDS = (
    "set confirm off",
    "set pagination off",
    "set width 0",
    "set debuginfod enabled off",
    "set print thread-events off",
    "set print frame-arguments none",
    "handle SIGUSR1 SIGUSR2 SIGPIPE SIGCHLD nostop noprint",
    "run",
    f"backtrace {_DEPTH}",
    "kill",
)
_PRINTED = re.compile(r"^\s+@\s+0x[0-9a-f]+\s+(\S.*?)\s*$", re.MULTILINE)
_SUFFIX = re.compile(r"\[(?:abi|clone)[^\]]*\]|\.(?:part|constprop|isra|cold|lto_priv|_omp_fn)\b\S*")
_OPERATOR = re.compile(r"operator\s?(?:<=>|<<=?|>>=?|<=|>=|->\*?|<|>)")
# Frames that raise the alarm and say nothing about the cause.
_ALARM = re.compile(
    r"LogMessage|log_internal|torchCheckFail|torchInternalAssertFail|c10::(?:Error|detail)::|::terminate|backtrace"
    r"|wrap_kernel_functor|make_boxed_from|BoxedKernel|c10::Dispatcher|^std::"
)


def frames(
    python: str,
    script: str,
    timeout: float,
    dialect: Dialect,
    env: Mapping[str, str] | None = None,
    processes: Processes | None = None,
) -> tuple[str, ...]:
    """Functions of the library on the stack of the crashing thread, innermost first; () without a crash.

    gdb reads symbols for half a minute, so it is asked only where the handler cannot follow the stack.
    """
    name = Path(script).name
    files = {name: Path(script).read_text(encoding="utf-8"), _HANDLER.name: _HANDLER.read_text(encoding="utf-8")}
    env = {**surroundings(dialect, python), **(env or {})}
    finished = run([checked_python(python), _HANDLER.name, name], files, timeout / 2, 0, env, processes)
    told = heard(finished.stdout)
    if told is not None:
        return _inside(told, dialect)
    gdb = shutil.which("gdb")
    if gdb is None:
        return ()
    orders = [part for command in _COMMANDS for part in ("-ex", command)]
    command = [gdb, "-nx", "-batch", *orders, "--args", python, name]
    debugged = run(command, {name: files[name]}, timeout - finished.seconds, 0, env, processes)
    return parse(debugged.stdout, dialect)


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
    return _inside(((match.group(1), match.group(2) or "") for match in found if match), dialect)


def _inside(told: Iterable[tuple[str, str]], dialect: Dialect) -> tuple[str, ...]:
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
