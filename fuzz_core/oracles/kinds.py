"""The kinds of verdicts. Code that treats kinds differently reads the record of each kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from fuzz_core.ir.errors import CodecError

Level = Literal["error", "warning", "note"]
# A caller can catch an internal error, and notices it; a wrong result passes for a right one.
GRADES = (
    "private", "crash", "out-of-bounds", "wrong-result", "internal-error", "wrong-metadata", "hang", "performance",
    "documentation",
)  # fmt: skip
GRAVE = ("crash", "out-of-bounds", "wrong-result")
UNPLEASANT = ("internal-error", "wrong-metadata", "hang")
# The text of an outcome begins with one of these if one of two modes alone refuses the call.
ACCEPTS, REFUSES = "accepts what ", "refuses what "
# The last line of a difference begins with this if evidence shows which mode is wrong: `wrong: MODE, by WITNESS`.
WRONG = "wrong: "
# The witness against a plain call that gives its argument another shape, although another mode does not.
RESIZED = "the shape of its argument, which it changes"
# A call reads memory that belongs to none of its arguments, so its result is arbitrary.
OUT_OF_BOUNDS = "out-of-bounds"


class Rule(NamedTuple):
    """The meaning of a kind, for readers who do not know nightfuzz."""

    name: str  # identifier for machines
    short: str  # summary in one sentence
    full: str  # how nightfuzz knows it
    level: Level  # level of most of its bugs


@dataclass(frozen=True)
class Kind:
    """A kind of verdict of one oracle, with all properties that depend on it."""

    name: str
    oracle: str
    rule: Rule
    expected: str = ""  # the expected behaviour, in the words of scripts
    title: str = ""  # a maintainer's word for it; empty if the outcome describes it better
    # The reason why the input is valid whenever such a verdict is passed; empty if the verdict does not show that.
    validity: str = ""
    grade: str = "wrong-result"  # one of `GRADES`
    # The word to search for in trackers, and a pattern of the words that reporters use.
    search: tuple[str, str] = ("", "")
    # The part of a verdict that identifies a bug: a comparison, the whole detail, the kind alone, or the outcome.
    fault: Literal["comparison", "detail", "kind", "outcome"] = "comparison"
    # The proof of the bug: a failing script, a script that compares two modes, a script whose memory grows, or a
    # replay by workers.
    reproduction: Literal["script", "comparison", "growth", "replay"] = "comparison"
    # The subject of the verdict: the call's result, its cost, or its documentation.
    about: Literal["result", "cost", "documentation"] = "result"
    # The cost of an examination, in examinations of an exception. A death may need a debugger, and a hang takes five
    # times the limit in each run.
    expense: int = 1
    fails: bool = False  # whether the call gives no result
    numeric: bool = False  # whether it is about numbers, which libraries compare by their own rules
    caveat: str = ""  # cases in which the verdict is wrong, and the remedy


FRESH = "The script was minimised and shows the bug in fresh processes."
_MODES = f"The same call was executed in several equivalent ways. {FRESH}"
_BUILDS = "The same call was executed several times on the target and on the baseline, in separate processes."
_DEATH = f"A signal or a failed check ends the process. A result or an exception was expected. {FRESH}"
_CHECK = f"An internal check of the library failed. No earlier check said what is wrong with the arguments. {FRESH}"
_KINDS = (
    Kind(
        "crash",
        "crash",
        Rule("ProcessDies", "A call ends the process.", _DEATH, "error"),
        "a result or a Python exception",
        grade="crash",
        search=("crash", r"crash|seg(?:mentation )?fault|abort|core dump|SIG[A-Z]{3}|Check failed"),
        fault="outcome",
        reproduction="script",
        expense=3,
        fails=True,
        caveat="Something else ended the process: the machine ran out of memory, or the arguments ask "
        "for more memory than any machine has. Such a test runs once more before it counts.",
    ),
    Kind(
        "hang",
        "crash",
        Rule(
            "CallHangs",
            "A call does not return.",
            f"The call does not return within five times the usual time limit. {FRESH}",
            "warning",
        ),
        "a result or a Python exception within seconds",
        "does not return",
        grade="hang",
        search=("hang", r"hang|deadlock|stuck|never returns|infinite loop"),
        fault="outcome",
        reproduction="script",
        about="cost",
        expense=10,
        caveat="A size among the arguments makes the call slow: the run time grows with this size. nightfuzz repeats "
        "the call with smaller sizes to see the difference.",
    ),
    Kind(
        "internal-error",
        "crash",
        Rule("InternalError", "A call raises an exception that reports an internal error.", _CHECK, "warning"),
        "a result, or an exception that says what is wrong with the arguments",
        grade="internal-error",
        search=("INTERNAL ASSERT FAILED", r"internal (?:assert|error)|Check failed|abort"),
        fault="outcome",
        reproduction="script",
        fails=True,
        caveat="The library raises this exception for wrong arguments as well, and its message says what "
        "is wrong with them.",
    ),
    Kind(
        "wrong-result",
        "differential",
        Rule("WrongResult", "Two modes give different results.", _MODES, "error"),
        "the same result from both calls",
        "wrong result",
        "the call returns; only its result is in question",
        search=("incorrect", r"wrong|incorrect|mismatch|inconsisten|differ"),
        numeric=True,
        caveat="The result is random, or both values are right: ties, a step or a branch at that point, "
        "rounding that grows with the condition of the problem. nightfuzz looks for each of these "
        "reasons before the difference counts.",
    ),
    Kind(
        "wrong-metadata",
        "differential",
        Rule("WrongMetadata", "Two modes give results of different shape, dtype or strides.", _MODES, "error"),
        "the same shape, dtype and strides from both calls",
        "wrong shape, dtype or strides",
        "the call returns; only its shape, dtype or strides are in question",
        grade="wrong-metadata",
        about="documentation",
        caveat="The documentation leaves strides or dtype open for that mode.",
    ),
    Kind(
        "wrong-gradient",
        "differential",
        Rule(
            "WrongGradient",
            "A gradient differs from the derivative of the computed function.",
            f"The gradient was compared with finite differences in double precision. {FRESH}",
            "error",
        ),
        "the derivatives of the computed function",
        "wrong gradient",
        "the call returns; only its gradients are in question",
        search=("gradient", r"gradient|backward"),
        numeric=True,
        caveat="The function has a kink, a step or a very large second derivative at that point. There a "
        "difference quotient is wrong, and several gradients are right.",
    ),
    Kind(
        OUT_OF_BOUNDS,
        "differential",
        Rule(
            "OutOfBounds",
            "A call reads memory outside its arguments.",
            "The call ran twice with the same arguments. The memory around the arguments held zeros in the first run "
            f"and large numbers in the second. The result depends on these numbers. {FRESH}",
            "error",
        ),
        "a result that does not depend on memory outside the arguments",
        "reads out of bounds",
        grade="out-of-bounds",
        search=("out of bounds", r"out[- ]of[- ](?:bounds|range)|invalid (?:read|memory)|heap-buffer-overflow"),
        caveat="The documented result is the address of an argument in memory, and the address differs from call to "
        "call.",
    ),
    Kind(
        "inconsistent",
        "differential",
        Rule("InconsistentModes", "One mode accepts a call that another mode refuses.", _MODES, "error"),
        "both calls return, or both are refused",
        caveat="The documentation says that one of the two modes does not support the call.",
    ),
    Kind(
        "nonfinite",
        "nonfinite",
        Rule(
            "NotFinite",
            "NaN or infinity from finite input.",
            f"The same call in double precision returns a finite number. {FRESH}",
            "error",
        ),
        "finite numbers, as in double precision",
        "NaN or infinity from finite input",
        "the call returns; only a finite result is in question",
        search=("nan", r"\bnan\b|\binf"),
        numeric=True,
        caveat="The exact result is larger than the dtype can hold, or the limit of the function is "
        "infinite at that point.",
    ),
    Kind(
        "slow",
        "performance",
        Rule(
            "Slow",
            "A call takes many times as long as an equivalent call.",
            f"Both calls were timed in turns. {FRESH}",
            "note",
        ),
        "about the time of an equivalent call, and no more time at lower precision",
        "much slower than an equivalent call",
        "the call returns; only its time is in question",
        grade="performance",
        fault="detail",
        reproduction="replay",
        about="cost",
        caveat="Other programs were busy at the time, or the first call compiled code. The modes "
        "are timed in turns, several times.",
    ),
    Kind(
        "bounds",
        "bounds",
        Rule(
            "UndocumentedValue",
            "A call accepts a value that the documentation forbids.",
            f"Either a check is missing, or the documentation is too strict. {FRESH}",
            "note",
        ),
        "an exception, because the documentation forbids the argument",
        grade="documentation",
        fault="outcome",
        reproduction="replay",
        about="documentation",
        caveat="The sentence of the documentation means something else: a value that is rarely useful, "
        "another parameter, or another version.",
    ),
    Kind(
        "leak",
        "leak",
        Rule(
            "Leak",
            "Memory use grows with every repetition of a call.",
            f"The memory was measured over many repetitions. {FRESH}",
            "note",
        ),
        "memory use that does not grow with every call",
        "memory leak",
        "the call returns every time",
        grade="performance",
        fault="kind",
        reproduction="growth",
        about="cost",
        caveat="The library keeps a cache that stops growing, or compiled code for each new shape.",
    ),
    Kind(
        "regression",
        "versions",
        Rule("Regression", "A call that worked on the baseline is broken on the target.", _BUILDS, "error"),
        caveat="The baseline was wrong to accept the call, and the release notes say that it is refused now.",
    ),
    Kind(
        "changed",
        "versions",
        Rule("Changed", "A call behaves differently on the target than on the baseline.", _BUILDS, "warning"),
        caveat="The documentation promises neither of the two behaviours, or the release notes announce the change.",
    ),
    Kind(
        "fixed",
        "versions",
        Rule("Fixed", "A call that was broken on the baseline works on the target.", _BUILDS, "note"),
        caveat="The call is random, and shows the old fault only now and then.",
    ),
)
# The kind of verdicts from oracles outside of the project.
OUTSIDE = Kind("", "", Rule("Other", "An oracle from outside nightfuzz reports the call.", FRESH, "warning"))
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in _KINDS}
_OURS = frozenset(kind.oracle for kind in _KINDS)
# The rules by oracle and kind. No oracle reports an api that is gone.
RULES: Mapping[tuple[str, str], Rule] = {
    **{(kind.oracle, kind.name): kind.rule for kind in _KINDS},
    ("versions", "removed"): Rule(
        "Removed",
        "The target has removed an api that your tests call.",
        "The apis of both builds were listed.",
        "error",
    ),
    ("versions", "deprecated"): Rule(
        "Deprecated",
        "The target calls an api deprecated that your tests call.",
        "Its documentation says so.",
        "warning",
    ),
}
# Changes between two builds, worst first.
CHANGES = tuple(kind.name for kind in _KINDS if kind.oracle == "versions")


def kind_of(name: str) -> Kind:
    """Return the kind of this name; `OUTSIDE` if no oracle of nightfuzz has it, see `check_kind`."""
    return KINDS.get(name, OUTSIDE)


def check_kind(oracle: str, name: str) -> None:
    """Raise CodecError for an unknown kind of nightfuzz's oracles: the verdict comes from untrusted code."""
    if oracle in _OURS and name not in KINDS:
        raise CodecError(f"no kind of verdict: {name[:100]!r} of {oracle}")
