"""Signatures, which decide whether two findings are one bug: the api and the words of its failure.

A signature is a readable text, `API: FAULT`, and its digest is the fingerprint. The fault is the exception with its
message, the signal with the innermost native frames, or the kind with the way in which modes differ. Two findings with
equal fingerprints are one bug on every build and in every run, so the text must not vary: messages and names of
functions lose numbers, addresses, paths, shapes and quoted values. The text must not change between versions of
nightfuzz either, or every known bug would be new. A corrupted heap has no frames in its signature, because the
allocator notices the corruption later, at another place. The native frames of a crash come from a handler inside the
dying process, from gdb or from the library itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import NamedTuple

from fuzz_core.adapters.dialect import Dialect
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.outcome import Outcome, Verdict, reason_of
from fuzz_core.ir.wire import decode
from fuzz_core.oracles.crash import CORRUPTION
from fuzz_core.oracles.kinds import kind_of
from fuzz_core.worker.stack import FAULTS

TOP_FRAMES = 3
MAX_TEXT = 200
# The calling thread or a thread of its pool meets the fault first, by chance. So stacks differ in the frames beyond
# these.
_PARALLEL = re.compile(r"::(?:invoke_parallel|parallel|parallel_for|parallelFor|ParallelFor|parallel_nd)$")
# A wrong dtype appears as different dtypes, depending on the arguments.
_DTYPE = re.compile(rf"\b(?:torch\.|tf\.)?(?:{'|'.join(sorted(DTYPES, key=len, reverse=True))})\b")
_GRAPH, _NODE = "Graph execution error:", "[[{{node "
_CHECK = re.compile(r"(Check failed: .*|what\(\): .*|Assertion .* failed.*|LLVM ERROR: .*)")
# Rules that remove one varying part each. The order matters, from the largest form to the smallest.
_VARYING = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"(?s)\s*Exception raised from .*", ""),
        (r"(?s)\s*\*{10}\s*Async error was detected.*", ""),
        # Some functions of the library add the kernel, further ones also its name in the graph.
        (r"(?s)(?<!\s)(?:\s*+\[Op:\w++\])++(?:\s*+name:.*)?\s*+\Z", ""),
        (r"\b(?:tf\.)?[Tt]ensor\((?:[^()]|\([^()]*\))*\)", "<tensor>"),
        (r"<tf\.(?:Tensor|Variable)[^<>]*>", "<tensor>"),
        (r"\bVar\([^()]*\)\[[^\[\]]*\]", "<tensor>"),
        (r"\{\{[^{}]*\}\}", ""),
        (r"(?:[A-Za-z]:)?(?:[\w.+-]*/)+[\w.+-]*\.\w+(?::\d+)?", "<path>"),
        (r"0x[0-9a-fA-F]+", "<address>"),
        (r"'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"|`[^`\n]{0,200}`|\u2018[^\u2019\n]{0,200}\u2019", "<value>"),
        # Possessive: a run of digits can be split in exponentially many ways, and a message could stop the controller.
        (r"[\[(]\s*+(?:[-+]?(?=(?:[^\W\d]|\.)*+\d)[\w.]++\s*+,?\s*+)++[\])]", "<shape>"),
        (r"(?i)[-+]?\b(?:nan|inf|infinity)\b", "<number>"),
        (r"[-+]?(?<![A-Za-z_\d])\d+(?:\.\d*)?(?:[eE][-+]?\d+)?[jJ]?\b", "<number>"),
        (r"<number>(?:\s*[,x*]\s*<number>)+", "<number>"),
    )
]
MAX_FRAMES = 12
MAX_NAME = 160
_LINE = re.compile(r"#\d+\s+(?:0x[0-9a-f]+ in )?(.+?)(?: from (\S+))?$", re.MULTILINE)
_PRINTED = re.compile(r"^\s+@\s+0x[0-9a-f]+\s+(\S.*?)\s*$", re.MULTILINE)
_SUFFIX = re.compile(r"\[(?:abi|clone)[^\]]*\]|\.(?:part|constprop|isra|cold|lto_priv|_omp_fn)\b\S*")
_OPERATOR = re.compile(r"operator\s?(?:<=>|<<=?|>>=?|<=|>=|->\*?|<|>)")
# Frames that raise the alarm; they do not show the cause.
_ALARM = re.compile(
    r"LogMessage|log_internal|torchCheckFail|torchInternalAssertFail|c10::(?:Error|detail)::|::terminate|backtrace"
    r"|wrap_kernel_functor|make_boxed_from|BoxedKernel|c10::Dispatcher|^std::"
)


class Signature(NamedTuple):
    """The identity of a bug: readable, and as a digest of 128 bits."""

    text: str
    digest: str


def signature(api: str, verdict: Verdict, outcome: Outcome) -> Signature:
    """Return the signature of a finding, which is the same for other numbers, addresses, paths and shapes."""
    text = f"{api}: {_fault(verdict, outcome)}"
    return Signature(text, blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest())


def _fault(verdict: Verdict, outcome: Outcome) -> str:
    kind = kind_of(verdict.kind)
    if kind.fault == "comparison" and kind.oracle == verdict.oracle:
        # The first line says how the results differ; further lines say where and by how much.
        how = _of_node(verdict.detail).partition("\n")[0]
        return f"{verdict.kind}: {_DTYPE.sub('<dtype>', normalised(how))}"
    if kind.fault == "detail":
        return f"{verdict.kind}: {normalised(verdict.detail)}"
    if kind.fault == "kind":
        return verdict.kind
    if outcome.kind == "exception":
        return f"{outcome.name}: {normalised(outcome.text)}"
    if outcome.kind == "signal":
        return _death(outcome)
    return "hang" if outcome.kind == "timeout" else f"{outcome.kind} {outcome.name}".strip()


def _of_node(text: str) -> str:
    """Return the failure inside a graph: the paragraph before its node.

    Further paragraphs say where it was made.
    """
    before, graph, after = text.partition(_GRAPH)
    told, node, _ = after.partition(_NODE)
    return before + told.strip().rpartition("\n\n")[2] if graph and node else text


def _death(outcome: Outcome) -> str:
    if corrupts_heap(outcome):
        # The allocator notices long after the fault: signal and frames do not locate it.
        return "memory corruption"
    if check := _CHECK.search(outcome.text):
        return f"{outcome.name}: {normalised(check[1])}"
    # The same fault raises either signal, depending on the addresses.
    name = "SIGSEGV" if outcome.name == "SIGBUS" else outcome.name
    where = " < ".join(_top(outcome.frames))
    return f"{name} in {where}" if where else name


def _top(frames: Sequence[str]) -> list[str]:
    """Return the innermost functions, each once in a row, as far as a thread of a pool would show them too."""
    kept: list[str] = []
    for frame in frames:
        if frame in FAULTS or len(kept) == TOP_FRAMES:
            break
        if frame not in kept[-1:]:
            kept.append(frame)
        if _PARALLEL.search(frame):
            break
    return kept


def corrupts_heap(outcome: Outcome) -> bool:
    """Return whether the allocator's last words say that the heap was corrupted."""
    return outcome.kind == "signal" and any(words.search(outcome.text) for words in CORRUPTION.values())


def normalised(message: str) -> str:
    """Return a message without numbers, addresses, paths, shapes, quoted values and tensors; one line, bounded."""
    # Text beyond this length would not be kept, and a hostile message could make the patterns slow.
    text = _bare(reason_of(_of_node(message))[: 8 * MAX_TEXT])
    # A cut in the middle of a word such as `0A` can leave a number.
    return text if len(text) <= MAX_TEXT else _bare(text[:MAX_TEXT])[:MAX_TEXT].rstrip()


def _bare(text: str) -> str:
    for pattern, replacement in _VARYING:
        text = pattern.sub(replacement, text)
    return " ".join(text.split())


class _Heard(NamedTuple):
    frames: tuple[tuple[str, str], ...]


def printed_frames(output: str) -> list[tuple[str, str]] | None:
    """Return (function, module) of each frame that `stack.py` printed: [] without a death, None if unknown.

    Any other output, of a hostile process for example, gives None too.
    """
    try:
        return [*decode(_Heard, [json.loads(output.strip().rpartition("\n")[2])]).frames]
    except (ValueError, RecursionError, CodecError):
        return None


def parse(output: str, dialect: Dialect) -> tuple[str, ...]:
    """Return the cleaned names of in-library functions in gdb's backtrace."""
    _, _, trace = output.rpartition(" received signal ")
    found = (_LINE.match(line) for line in trace.splitlines())
    return inside([(match.group(1), match.group(2) or "") for match in found if match], dialect)


def inside(told: Sequence[tuple[str, str]], dialect: Dialect) -> tuple[str, ...]:
    """Return the cleaned names of in-library functions, and where memory was missed; `told` as of `printed_frames`."""
    fault = [function for function, module in told[-1:] if not module and function in FAULTS]
    names = _cleaned(function for function, module in told if dialect.native_modules.search(module))
    return (*names[: MAX_FRAMES - len(fault)], *fault)


def _cleaned(names: Iterable[str]) -> list[str]:
    """Return the names that are not empty and not of frames that raise the alarm."""
    return [short for name in names if not _ALARM.search(name) and (short := clean(name)) not in ("", "??")]


def stack_trace(stderr: str) -> tuple[str, ...]:
    """Return the cleaned names in the stack trace that a failed CHECK prints itself (symbolised by absl)."""
    return tuple(_cleaned(name for name in _PRINTED.findall(stderr) if "::" in name)[:MAX_FRAMES])


def clean(name: str) -> str:
    """Return a function's qualified name: no arguments, template arguments, lambdas, addresses or build paths."""
    if name.startswith("_Z"):
        return _demangled(name)
    name = _SUFFIX.sub("", name.replace("(anonymous namespace)::", ""))
    name = _without_brackets(_OPERATOR.sub("operator", name.replace("operator()", "")))
    name = re.sub(r"\s(?:const|volatile|&+)(?=\s|$|::)|0x[0-9a-f]+|lts_\d+", "", name).strip()
    parts = [part for part in name.split("::") if part.strip(" '#$_0123456789")]
    return "::".join(parts).rpartition(" ")[2][:MAX_NAME]


def _demangled(name: str) -> str:
    """Return the leading qualified name of a symbol that gdb could not demangle (an outlined OpenMP body)."""
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
