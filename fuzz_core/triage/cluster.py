"""Bugs that look like one cause: the same check, the same native frames, the same kernel, or aliases of one api.

One missing check fails under a hundred apis, each with a signature of its own; a reader wants one report. The place of
a failure comes from its outcome: check, frames, words, and the names of the called functions. `similar` compares two
places by the most certain evidence that both have: location or words of a failed check and the function that fails it,
then the difference between two modes, then the words of the failure, then native frames or called functions. Each bug,
the simplest first, joins the cluster with the largest share of similar members, if that share is at least QUORUM;
otherwise it begins a cluster. So one odd member does not merge two causes.
"""

from __future__ import annotations

import builtins
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import compress, pairwise
from typing import Generic, NamedTuple, Protocol, TypeVar

from rapidfuzz.distance import Indel, LCSseq

from fuzz_core.ir.outcome import Outcome, complaint_in
from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.kinds import kind_of
from fuzz_core.triage.contrast import contrast_of, fault_in
from fuzz_core.triage.cost import cost
from fuzz_core.triage.neighbours import grouped
from fuzz_core.triage.signature import corrupts_heap, normalised
from fuzz_core.worker.stack import FAULTS

TOP = 3
IN_COMMON = 2
ALIKE = 0.8
# Functions of one family have names that share this part (`logical_or`, `logical_not`; `addmm`, `baddbmm`).
RELATED = 2 / 3
# A first word of so many letters names a family (`conv2d`, `conv_transpose2d`).
FAMILIAR = 4
# A frame that apis of this many families share does not locate a fault.
GENERIC_FROM = 3
# A bug joins a cluster if it resembles this share of the members: single likenesses form no chain.
QUORUM = 0.5
MEMORY, EXCEPTION = "memory", "exception"
_DOCUMENTED = "bounds"
_REFUSED = "inconsistent"
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


class Bug(Failure, Protocol):
    """A class of findings with one signature, shown by its simplest test case."""

    @property
    def id(self) -> int:
        """The bug's number in the store."""

    @property
    def oracle(self) -> str:
        """The oracle that found the bug."""

    @property
    def test(self) -> TestCase:
        """The simplest test case that shows the bug."""

    @property
    def script(self) -> str:
        """The bug's standalone script."""

    @property
    def minimised(self) -> bool:
        """Whether the test case is simpler than the one that was found."""


class Symptom(NamedTuple):
    """The failure of a finding, see `Failure`."""

    target: str
    signature_text: str
    api: str
    kind: str
    outcome: Outcome


B = TypeVar("B", bound=Bug)


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
    caller: str = ""  # the function whose call fails the check, see `_with_callers`
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
        nature, difference = _disagreement(bug)
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
        return place._replace(words=_stripped(complaint))
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


def _contrast(bug: Bug) -> tuple[str, ...]:
    return contrast_of(_disagreement(bug)[0], bug.outcome.text, bug.test.invocation)


def _plain(name: str) -> str:
    return ("".join(_WORD.findall(_DIMENSIONS.sub("", name))) or name).lower()


def _disagreement(bug: Failure) -> tuple[str, str]:
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
    return nature, f"{bug.kind if bug.kind == _REFUSED else nature}: {how}"


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


def _check(outcome: Outcome) -> FailedCheck | None:
    text = _WARNED.sub("", outcome.text)
    where = _LOCATION.search(text)
    if not where and not _CHECK.search(text):
        return None
    words = _stripped(text)
    if _RUNTIME.search(words) and not where:
        return None
    return FailedCheck(where["file"] if where else "", where["line"] if where else "", words)


def _stripped(text: str) -> str:
    return " ".join(_BOILERPLATE.sub(" ", normalised(text)).split())


class BugPlaces:
    """Places of bugs that fresh interpreters have shown: a failure that looks like one needs no further interpreter."""

    def __init__(self, bugs: Iterable[Failure] = ()) -> None:
        self._places = [place_of(bug) for bug in bugs]

    def add(self, bug: Failure) -> None:
        """Add the place of a bug."""
        self._places.append(place_of(bug))

    def has(self, failure: Failure) -> bool:
        """Return whether a failure looks like a bug of these."""
        place = place_of(failure)
        return any(similar(place, other) for other in self._places)


class Cluster(NamedTuple, Generic[B]):
    """Bugs of one cause, the simplest test case first."""

    members: tuple[B, ...]
    apis: tuple[str, ...]  # names of the apis, each once, in the order of `members`

    @property
    def first(self) -> B:
        """The member to report."""
        return self.members[0]


def clusters(bugs: Sequence[B]) -> list[Cluster[B]]:
    """Return all bugs, each in one cluster, the cluster of the simplest bug first; their order has no effect."""
    ranked = sorted(bugs, key=lambda bug: (cost(bug.test), bug.target, bug.id))
    places = _informative(_with_callers([place_of(bug)._replace(contrast=_contrast(bug)) for bug in ranked]))
    groups = grouped(places, similar, QUORUM)
    members = [tuple(ranked[number] for number in group) for group in groups]
    return [Cluster(bugs, tuple(dict.fromkeys(bug.api for bug in bugs))) for bugs in members]


def _with_callers(places: Sequence[BugPlace]) -> list[BugPlace]:
    """Return the places, those that die of a check with the innermost function that few functions call.

    A check in a function that many kernels call, such as the size of a dimension, is a bug of each kernel that does not
    ask before it calls.
    """
    callers: dict[str, set[str]] = defaultdict(set)
    deaths = [place.check is not None and place.nature != EXCEPTION for place in places]
    for place in compress(places, deaths):
        for inner, outer in pairwise(place.frames):
            callers[inner].add(outer)
    return [
        place._replace(caller=next((f for f in place.frames if len(callers[f]) < GENERIC_FROM), "") if dies else "")
        for place, dies in zip(places, deaths, strict=True)
    ]


def _informative(places: Sequence[BugPlace]) -> list[BugPlace]:
    """Return the places without frames that apis of many families share, cut to the innermost frames."""
    families = Counter(frame for _, frame in {(place.family, frame) for place in places for frame in place.frames})
    return [
        place._replace(frames=tuple(f for f in place.frames if families[f] < GENERIC_FROM)[:TOP]) for place in places
    ]


def similar(one: BugPlace, other: BugPlace) -> bool:
    """Return whether two places look like the same one; the relation is symmetric."""
    if one.library != other.library:
        return False
    if one.check and other.check:
        return _same_check(one.check, other.check, one.target == other.target) and _same_caller(one, other)
    if _same_difference(one, other):
        return True
    if one.nature != other.nature or one.fault != other.fault:
        return False
    if one.words and other.words:
        return _ratio(one.words, other.words) > ALIKE
    return _same_frames(one, other) or _same_call(one, other)


def _same_check(one: FailedCheck, other: FailedCheck, one_build: bool) -> bool:
    """Return whether two checks are the same: by location in one build, by words if lines may have moved."""
    if one.file and other.file and (one_build or one.file != other.file):
        return (one.file, one.line) == (other.file, other.line)
    return _ratio(one.words, other.words) > ALIKE


def _same_caller(one: BugPlace, other: BugPlace) -> bool:
    """Return whether one function calls both failed checks, as far as frames show it."""
    return not one.caller or not other.caller or one.caller == other.caller or _akin(one, other)


def _same_frames(one: BugPlace, other: BugPlace) -> bool:
    """Return whether both share two of the top frames, in the same order; with one frame only, the innermost one."""
    if one.vague or other.vague or not one.frames or not other.frames:
        return False
    if min(len(one.frames), len(other.frames)) < IN_COMMON:
        return one.frames[0] == other.frames[0]
    return LCSseq.similarity(one.frames, other.frames) >= IN_COMMON


def _same_call(one: BugPlace, other: BugPlace) -> bool:
    """Return whether two aliases fail in one place; frames may contradict it, except those of a corrupted heap."""
    if not _akin(one, other) or bool(one.words) != bool(other.words):
        return False
    told = one.frames and other.frames and not one.vague and not other.vague
    return not told or bool(set(one.frames) & set(other.frames))


def _same_difference(one: BugPlace, other: BugPlace) -> bool:
    """Return whether modes disagree about the same in two bugs of one family of functions.

    Functions of one family share their formulas and wrappers. If the plain call is wrong, the mode that shows it makes
    no difference. The family does not matter if shapes and keywords are the same, or a long text of documentation.
    It does not matter either if functions of one module do not check the same bounds of the same argument.
    """
    if one.fault and other.fault:
        return one.fault == other.fault and _same_family(one, other)
    if one.fault or other.fault:
        how, another = (place.difference.rpartition(": ")[2] for place in (one, other))
        return one.family == other.family and how == another != ""
    if not one.difference or one.difference != other.difference:
        return False
    keys = ((one.quoted, other.quoted), (one.bounds, other.bounds), (one.contrast, other.contrast))
    return any(key and key == same for key, same in keys) or _same_family(one, other)


def _same_family(one: BugPlace, other: BugPlace) -> bool:
    """Return whether two apis are of one family, by their names without the last words that they share (`loss`)."""
    first, second = list(one.words_of_name), list(other.words_of_name)
    while first and second and first[-1] == second[-1]:
        first.pop()
        second.pop()
    if first and second and len(first[0]) >= FAMILIAR and first[: len(second)] == second[: len(first)]:
        return True
    names = ("".join(first), "".join(second)) if first and second else (one.family, other.family)
    return _ratio(*names) >= RELATED


def _akin(one: BugPlace, other: BugPlace) -> bool:
    pairs = ((one, other), (other, one))
    return bool(one.names & other.names) or any(a.vague and a.family in _functions(b) for a, b in pairs)


def _functions(place: BugPlace) -> set[str]:
    return {frame.rpartition("::")[2].replace("_", "") for frame in place.frames}


def _ratio(one: str, other: str) -> float:
    return Indel.normalized_similarity(one, other)
