"""The place of a bug: the parts of its outcome that say where in the library it happened.

Clustering compares places. The place of a failure comes from its outcome: check, frames, words, and the names of the
called functions. The place of a difference between modes comes from its signature.
"""

from __future__ import annotations

import builtins
import re
from typing import NamedTuple, Protocol

from fuzz_core.ir.outcome import Outcome, announced, complaint_in
from fuzz_core.oracles.kinds import kind_of
from fuzz_core.triage.contrast import fault_in
from fuzz_core.triage.signature import corrupts_heap, normalised
from fuzz_core.worker.stack import FAULTS

MEMORY, EXCEPTION = "memory", "exception"
_DOCUMENTED = "bounds"
REFUSED = "inconsistent"
_BOUND = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\w)")
# In characters. Longer documentation that is equal is a copy of one text.
LONG = 40
_LOCATION = re.compile(
    r"(?P<file>[\w+-]++(?:\.[\w+-]++)*?\.(?:cc|cpp|cxx|c|h|hpp|cu|cuh|inc|mlir))\"?\s?[:(]\s?(?P<line>\d+)"
)
_WARNED = re.compile(r"\(Triggered internally at [^)\n]*\)")
_CHECK = re.compile(r"Check failed: |Assertion .* failed|LLVM ERROR: |INTERNAL ASSERT FAILED|what\(\): ")
# Text that every check of a library prints, and the marks that stand for varying parts.
_BOILERPLATE = re.compile(
    r"INTERNAL ASSERT FAILED at|,? ?please report a bug to [\w ]+\.?|Check failed:|what\(\):"
    r"|terminate called.*?(?=what|$)|\[Op:\w+\]|name:.*$|<\w+>|\(\s*vs\.\s*\)"
)
# Words of the language's runtime name a failure, but no place in the library.
_RUNTIME = re.compile(r"\bstd::|\b_M_\w+|basic_string|\bmap::at\b|\bsto(?:i|l|ul|ll|f|d)\b|\bbad_\w+|unknown exception")
_KERNEL = re.compile(r"\[Op:(?!__inference_)(\w+)\]|__wrapped__(\w+?)_device_")
# The operators whose code did not compile, as Jittor names them at the execution and before it.
_OPERATORS = re.compile(r"(?:\[OP TYPE\]: ?(?:fused_op:)?|failed:\[?(?=Op\())(.*)")
_OPERATOR = re.compile(r"(?:^|[(,]) *([a-z_][\w.]*)")
_NUMBERED = re.compile(r"\bop(\d+)_")
# Functions that run, dispatch, bind, destroy or give the alarm for any kernel.
_MACHINERY = re.compile(
    r"::~\w+$|^const\b|^std::|TensorIterator|^c10::|^at::(?:_ops|redispatch|internal|wrapper_\w+|\w*Dispatch\w*)(?:::|$)"
    r"|^torch::(?:autograd|jit|ADInplaceOrView|TraceType)::|^_?THP\w+|DispatchStub|pybind11|ThreadPool|Eigen::\w*Device"
    r"|\b(?:abort|raise|malloc|free|calloc|realloc|mem(?:cpy|move|set)|_FUN|__invoke|_start|clone\d?|start_thread)$"
    r"|Executor\w*::|FunctionLibraryRuntime|KernelAndDevice|^TFE_|^(?:tensorflow::)?(?:Create\w*Kernel|New\w*Executor)$"
)
_DIMENSIONS = re.compile(r"\d+[dD](?=_|[A-Z]|$)|(?:_v|(?<=[a-z])V)\d$")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


class Failure(Protocol):
    """A failure: a bug, or a finding that is not a bug yet."""

    @property
    def target(self) -> str:
        """The key of the installed build that shows the failure."""

    @property
    def signature_text(self) -> str:
        """`API: FAULT`, without the parts that vary from run to run."""

    @property
    def api(self) -> str:
        """The canonical public name of the called function."""

    @property
    def kind(self) -> str:
        """The kind of verdict, such as crash, internal-error, hang or wrong-result."""

    @property
    def outcome(self) -> Outcome:
        """The outcome of the failure's test case."""


class Symptom(NamedTuple):
    """The failure of a finding, see `Failure`."""

    target: str
    signature_text: str
    api: str
    kind: str
    outcome: Outcome


class FailedCheck(NamedTuple):
    """A condition that did not hold: file and line if the library prints them, and the library's words."""

    file: str
    line: str
    words: str


class BugPlace(NamedTuple):
    """The parts of a bug that clustering compares."""

    target: str
    library: str
    family: str
    names: frozenset[str]  # the names of the called function and its kernel
    # The failure: memory, another signal, an exception, a hang, …. Bugs of different natures are different.
    nature: str
    check: FailedCheck | None = None
    # A death by a check has the innermost function that few functions call; `clusters` fills it in. Code that did not
    # compile has the kind of operator that has generated it.
    caller: str = ""
    frames: tuple[str, ...] = ()  # frames that locate a fault, innermost first
    words: str = ""  # the library's words; empty if only the language's runtime wrote a message
    vague: bool = False  # whether the death came long after the fault
    difference: str = ""  # what two modes disagree about, or what documentation says; empty for crashes
    fault: str = ""  # what the plain call does wrong, in any mode; empty if no evidence decides
    words_of_name: tuple[str, ...] = ()
    contrast: tuple[str, ...] = ()  # see `contrast_of`
    # The documentation's words, if they are so many that two places share them only as a copy.
    quoted: str = ""
    # Module of the api, argument, and the numbers in its documentation; empty if there are no numbers.
    bounds: tuple[str, ...] = ()


def place_of(bug: Failure) -> BugPlace:
    """Return the place of a failure, from its outcome.

    The outcome of a bug that is no crash only repeats nightfuzz's own words.
    """
    name, outcome = plain_name(bug.api), bug.outcome
    told = bug.target, bug.api.partition(".")[0], name
    if not kind_of(bug.kind).fails:
        nature, difference = disagreement(bug)
        # The words of `ARGUMENT = VALUE, documented: WORDS (SOURCE)`, if they are many.
        words = " ".join(outcome.text.partition(", documented: ")[2].split()) if bug.kind == _DOCUMENTED else ""
        quoted, numbers = words if len(words) > LONG else "", sorted(map(float, _BOUND.findall(words)))
        bounds = (bug.api.rpartition(".")[0], nature, *map(str, numbers)) if numbers else ()
        place = BugPlace(*told, frozenset((name,)), nature, difference=difference, quoted=quoted, bounds=bounds)
        return place._replace(fault=fault_in(outcome.text, difference), words_of_name=_words(bug.api))
    parts, kernels = bug.api.split("."), _KERNEL.findall(outcome.text[:4000])
    # Names with the module's name: raw operators carry the purpose of a module in their names (`SparseReduceSum`).
    qualified = ["_".join(parts[-2:])] * (len(parts) > 2)
    names = frozenset([name, *map(_plain, [*qualified, *(one or other for one, other in kernels)])])
    vague = corrupts_heap(outcome)
    frames = [_frame(each) for each in outcome.frames if each not in FAULTS and not _MACHINERY.search(each)]
    place = BugPlace(*told, names, _nature(outcome), frames=tuple(dict.fromkeys(frames)), vague=vague)
    if vague or not spoke(outcome):
        return place
    if complaint := complaint_in(outcome.text):
        # The location behind a complaint is the code that runs all compilers, so it is left out.
        return place._replace(words=_stripped(complaint), caller=_generator(complaint, outcome.text))
    # Messages of the interpreter's own exceptions are not the library's words.
    built_in = hasattr(builtins, outcome.name) and outcome.name != "RuntimeError"
    words = _stripped(outcome.text)
    return place._replace(check=_check(outcome), words="" if built_in or _RUNTIME.search(words) else words)


def spoke(outcome: Outcome) -> bool:
    """Return whether an outcome has last words; the output of other deaths holds only warnings."""
    return outcome.kind == "exception" or outcome.name == "SIGABRT"


def plain_name(api: str) -> str:
    """Return the name that aliases share: `torch.nn.Conv2d`, `torch.conv2d` and `Tensor.conv2d_` are all `conv`."""
    return _plain(api.rpartition(".")[2])


def _words(api: str) -> tuple[str, ...]:
    name = _DIMENSIONS.sub("", api.rpartition(".")[2])
    return tuple(word.lower() for word in _WORD.findall(name))


def _plain(name: str) -> str:
    return ("".join(_WORD.findall(_DIMENSIONS.sub("", name))) or name).lower()


def disagreement(bug: Failure) -> tuple[str, str]:
    """Return kind and mode, and the difference (`API: KIND: MODE: HOW`); or the argument and its documentation.

    Modes that refuse a call in equal words count as one: they share the code that checks.
    """
    if bug.kind == _DOCUMENTED:
        nature = f"{bug.kind} {bug.outcome.text.partition(' = ')[0]}"
        return nature, normalised(bug.outcome.text)
    fault = bug.signature_text.removeprefix(f"{bug.api}: ").removeprefix(f"{bug.kind}: ")
    mode, _, how = fault.partition(": ")
    if not how:
        return bug.kind, ""
    nature = f"{bug.kind} {mode}"
    return nature, f"{bug.kind if bug.kind == REFUSED else nature}: {how}"


def _nature(outcome: Outcome) -> str:
    if corrupts_heap(outcome) or outcome.name in ("SIGSEGV", "SIGBUS"):
        return MEMORY
    return outcome.name if outcome.kind == "signal" else outcome.kind


def _frame(frame: str) -> str:
    """Return the last two parts of a frame's name in words.

    Dimensions, digits and single letters are left out: dtypes have them.
    """
    if ".py:" in frame:
        return frame
    parts = [_WORD.findall(_DIMENSIONS.sub("", part)) for part in frame.split("::")[-2:]]
    return "::".join("_".join(w.lower() for w in words if len(w) > 1 and not w.isdigit()) for words in parts)


def _generator(complaint: str, text: str) -> str:
    """Return the kind of operator whose code did not compile (`binary` of `binary.less`); empty if none is named.

    If several operators are compiled as one, the complaint quotes a variable of one of them (`op0_i`). Without such a
    variable, the last operator counts.
    """
    told, number = _OPERATORS.search(text), _NUMBERED.search(complaint)
    operators = _OPERATOR.findall(told[1]) if told else []
    place = int(number[1]) if number and int(number[1]) < len(operators) else -1
    return operators[place].partition(".")[0] if operators else ""


def _check(outcome: Outcome) -> FailedCheck | None:
    # Before the reason are the locations of code that runs or compiles any operator.
    text = _WARNED.sub("", announced(outcome.text))
    where = _LOCATION.search(text)
    if not where and not _CHECK.search(text):
        return None
    words = _stripped(text)
    if _RUNTIME.search(words) and not where:
        return None
    return FailedCheck(where["file"] if where else "", where["line"] if where else "", words)


def _stripped(text: str) -> str:
    return " ".join(_BOILERPLATE.sub(" ", normalised(text)).split())
