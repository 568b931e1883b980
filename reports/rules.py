"""What each kind of verdict means, for readers who do not know nightfuzz: the rules of the SARIF file."""

from __future__ import annotations

from typing import NamedTuple

from reports.telling import Level


class Rule(NamedTuple):
    """A kind of verdict. name: for machines; short: one sentence; full: how it is known; level: of most of its bugs."""

    name: str
    short: str
    full: str
    level: Level


_FRESH = "Its script was minimised and shows it in fresh processes."
_MODES = f"The same call was executed in several ways that mean the same. {_FRESH}"
_BUILDS = "The same call was executed on the target and on the baseline, in processes of their own, several times."

# By oracle and kind, as the oracles name them.
RULES: dict[tuple[str, str], Rule] = {
    ("crash", "crash"): Rule(
        "ProcessDies",
        "A call ends the process.",
        f"A signal or a failed check ends the process where a result or an exception was expected. {_FRESH}",
        "error",
    ),
    ("crash", "hang"): Rule(
        "CallHangs",
        "A call does not return.",
        f"It does not return in five times the usual limit either. {_FRESH}",
        "warning",
    ),
    ("crash", "internal-error"): Rule(
        "InternalError",
        "A call fails with an exception that says that it is a bug.",
        f"An internal check of the library failed instead of one that says what is wrong with the arguments. {_FRESH}",
        "warning",
    ),
    ("differential", "wrong-result"): Rule("WrongResult", "Two modes give different results.", _MODES, "error"),
    ("differential", "wrong-metadata"): Rule(
        "WrongMetadata", "Two modes give results of different shape, dtype or strides.", _MODES, "error"
    ),
    ("differential", "wrong-gradient"): Rule(
        "WrongGradient",
        "A gradient is not that of the function that is computed.",
        f"It was compared with differences in double precision. {_FRESH}",
        "error",
    ),
    ("differential", "inconsistent"): Rule(
        "InconsistentModes", "One mode accepts a call that another one refuses.", _MODES, "error"
    ),
    ("nonfinite", "nonfinite"): Rule(
        "NotFinite",
        "NaN or infinity out of finite input.",
        f"The same call in double precision has a number there. {_FRESH}",
        "error",
    ),
    ("performance", "slow"): Rule(
        "Slow",
        "A call takes many times as long as one that means the same.",
        f"Modes were timed beside each other. {_FRESH}",
        "note",
    ),
    ("bounds", "bounds"): Rule(
        "UndocumentedValue",
        "A value that the documentation rules out is taken without a word.",
        f"Either the check or the documentation is wrong. {_FRESH}",
        "note",
    ),
    ("leak", "leak"): Rule(
        "Leak",
        "Every repetition of a call leaves memory behind.",
        f"The memory was measured over many repetitions. {_FRESH}",
        "note",
    ),
    ("versions", "regression"): Rule(
        "Regression", "A call that worked on the baseline is broken on the target.", _BUILDS, "error"
    ),
    ("versions", "changed"): Rule("Changed", "A call does something else than on the baseline.", _BUILDS, "warning"),
    ("versions", "fixed"): Rule(
        "Fixed", "A call that was broken on the baseline works on the target.", _BUILDS, "note"
    ),
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


# What an oracle from outside of the project says.
OTHER = Rule("Other", "A verdict of an oracle that is not part of nightfuzz.", _FRESH, "warning")
