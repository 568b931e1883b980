"""What makes two findings one bug: the api and what its failure says, without anything that varies between runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.outcome import Outcome, Verdict, reason_of
from fuzz_core.oracles.crash import CORRUPTION
from fuzz_core.oracles.kinds import kind_of
from fuzz_core.triage.stack import FAULTS

TOP_FRAMES = 3
MAX_TEXT = 200
# Whether the calling thread or one of its pool meets the fault first is chance; beyond these, stacks differ by that.
_PARALLEL = re.compile(r"::(?:invoke_parallel|parallel|parallel_for|parallelFor|ParallelFor|parallel_nd)$")
# One wrong dtype shows as many, by those of the arguments.
_DTYPE = re.compile(rf"\b(?:torch\.|tf\.)?(?:{'|'.join(sorted(DTYPES, key=len, reverse=True))})\b")
_GRAPH, _NODE = "Graph execution error:", "[[{{node "
_CHECK = re.compile(r"(Check failed: .*|what\(\): .*|Assertion .* failed.*|LLVM ERROR: .*)")
# Each rule removes one thing that varies: the order matters, from the largest form to the smallest.
_VARYING = (
    (re.compile(r"\s*Exception raised from .*", re.DOTALL), ""),
    (re.compile(r"\s*\*{10}\s*Async error was detected.*", re.DOTALL), ""),
    # One way into the library adds the kernel, another its name in the graph as well.
    (re.compile(r"(?<!\s)(?:\s*+\[Op:\w++\])++(?:\s*+name:.*)?\s*+\Z", re.DOTALL), ""),
    (re.compile(r"\b(?:tf\.)?[Tt]ensor\((?:[^()]|\([^()]*\))*\)"), "<tensor>"),
    (re.compile(r"<tf\.(?:Tensor|Variable)[^<>]*>"), "<tensor>"),
    (re.compile(r"\bVar\([^()]*\)\[[^\[\]]*\]"), "<tensor>"),
    (re.compile(r"\{\{[^{}]*\}\}"), ""),
    (re.compile(r"(?:[A-Za-z]:)?(?:[\w.+-]*/)+[\w.+-]*\.\w+(?::\d+)?"), "<path>"),
    (re.compile(r"0x[0-9a-fA-F]+"), "<address>"),
    (re.compile(r"'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"|`[^`\n]{0,200}`|\u2018[^\u2019\n]{0,200}\u2019"), "<value>"),
    # Possessive, since there are exponentially many ways to split a run of digits: a message could stop the controller.
    (re.compile(r"[\[(]\s*+(?:[-+]?(?=(?:[^\W\d]|\.)*+\d)[\w.]++\s*+,?\s*+)++[\])]"), "<shape>"),
    (re.compile(r"[-+]?\b(?:nan|inf|infinity)\b", re.IGNORECASE), "<number>"),
    (re.compile(r"[-+]?(?<![A-Za-z_\d])\d+(?:\.\d*)?(?:[eE][-+]?\d+)?[jJ]?\b"), "<number>"),
    (re.compile(r"<number>(?:\s*[,x*]\s*<number>)+"), "<number>"),
)


class Signature(NamedTuple):
    """The identity of a bug: readable, and as a digest of 128 bits."""

    text: str
    digest: str


def signature(api: str, verdict: Verdict, outcome: Outcome) -> Signature:
    """The signature of a finding; the same for the same fault with other numbers, addresses, paths and shapes."""
    text = f"{api}: {_fault(verdict, outcome)}"
    return Signature(text, blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest())


def _fault(verdict: Verdict, outcome: Outcome) -> str:
    kind = kind_of(verdict.kind)
    if kind.fault == "comparison" and kind.oracle == verdict.oracle:
        return f"{verdict.kind}: {_DTYPE.sub('<dtype>', normalised(_first_line(_of_node(verdict.detail))))}"
    if kind.fault == "detail":
        return f"{verdict.kind}: {normalised(verdict.detail)}"
    if kind.fault == "kind":
        return verdict.kind
    if outcome.kind == "exception":
        return f"{outcome.name}: {normalised(outcome.text)}"
    if outcome.kind == "signal":
        return _death(outcome)
    return "hang" if outcome.kind == "timeout" else f"{outcome.kind} {outcome.name}".strip()


def _first_line(text: str) -> str:
    """How the results differ; what follows says where and by how much."""
    return text.partition("\n")[0]


def _of_node(text: str) -> str:
    """What failed inside of a graph, the paragraph before its node; others say where the graph was made."""
    before, graph, after = text.partition(_GRAPH)
    told, node, _ = after.partition(_NODE)
    return before + told.strip().rpartition("\n\n")[2] if graph and node else text


def _death(outcome: Outcome) -> str:
    if corrupts_heap(outcome):
        # The allocator notices long after the fault: signal and frames say nothing of where it was.
        return "memory corruption"
    check = _CHECK.search(outcome.text)
    if check:
        return f"{outcome.name}: {normalised(check.group(1))}"
    # One fault misses memory as either, as the addresses fall.
    name = "SIGSEGV" if outcome.name == "SIGBUS" else outcome.name
    where = " < ".join(_top(outcome.frames))
    return f"{name} in {where}" if where else name


def _top(frames: Sequence[str]) -> list[str]:
    """The innermost functions, each once in a row, as far as a thread of a pool would show them too."""
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
    """Whether the allocator's last words say that the heap was corrupted."""
    return outcome.kind == "signal" and any(words.search(outcome.text) for words in CORRUPTION.values())


def normalised(message: str) -> str:
    """A message without numbers, addresses, paths, shapes, quoted values and tensors; one line, bounded."""
    # Beyond this nothing would be kept, and a hostile message could make the patterns slow.
    text = _bare(reason_of(_of_node(message))[: 8 * MAX_TEXT])
    # A cut can leave a number of what was none, as in the middle of `0A`.
    return text if len(text) <= MAX_TEXT else _bare(text[:MAX_TEXT])[:MAX_TEXT].rstrip()


def _bare(text: str) -> str:
    for pattern, replacement in _VARYING:
        text = pattern.sub(replacement, text)
    return " ".join(text.split())
