"""What a model program shows in its modes, for oracles to judge: as it is, compiled, in doubles, and in training."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite

from fuzz_core.adapters.dialect import LIBRARIES, Dialect
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.modelgen.gandalf.scripts import SAID
from fuzz_core.oracles.compare import REFERENCE
from fuzz_core.oracles.contract import Oracle, oracle_of
from fuzz_core.oracles.crash import PROGRAM
from fuzz_core.worker.programs_ran import OWN, Ran

COMPILED, TRAINING, DOUBLED = "compiled", "training", REFERENCE
# What has to be asked for, since it costs further executions.
DEEP = (COMPILED, TRAINING, DOUBLED)
ORACLES = {PROGRAM: "crash", TRAINING: "differential", DOUBLED: "nonfinite"}
# So many times the default tolerance, or what a change of the input by a few roundings makes of the result: each layer
# rounds in its own way when it is compiled.
FURTHER = 100.0
# Between these exponentials neither overflow nor vanish in single precision, and neither do squares.
SMALL, LARGE = 1e-6, 40.0
_PACKAGES = re.compile(r"(?<=\()[^()]*/(?:site|dist)-packages/")
INNERMOST = 5


def verdicts_on(ran: Ran, dialect: Dialect, double: Ran | None = None) -> tuple[tuple[Verdict, Outcome], ...]:
    """Every verdict on a program that is not clean, with its evidence. That it has crashed is for others to see."""
    judged = ((_oracle(mode, seen).judge({mode: seen}, dialect), seen) for mode, seen in shown(ran, double).items())
    return tuple((verdict, seen) for verdict, seen in judged if not verdict.clean)


def _oracle(mode: str, seen: Outcome) -> Oracle:
    """Of what a compiler refuses, internal errors are told alone: no compiler takes everything."""
    refused = mode == COMPILED and seen.kind == "exception"
    return oracle_of("crash" if refused else ORACLES.get(mode, "differential"))


def shown(ran: Ran, double: Ran | None = None) -> Mapping[str, Outcome]:
    """By mode, what a program shows there; `double` is the same in double precision."""
    if ran.unexplained:
        return {PROGRAM: ran.outcome._replace(frames=tuple(_PACKAGES.sub("", each) for each in ran.frames[:INNERMOST]))}
    found = {}
    said = ran.outcome.text.partition(":")[0]
    if ran.how == OWN and ran.outcome.name == "AssertionError" and said in SAID:
        found[LIBRARIES] = Outcome("ok", text=f"{said}\n{ran.outcome.text}")
    if ran.compiled is not None and ran.compiled.refused:
        name, _, text = ran.compiled.refused.partition(": ")
        found[COMPILED] = Outcome("exception", name, text)
    elif ran.compiled is not None and ran.compiled.apart > FURTHER * max(1.0, ran.compiled.moved):
        told = f"{ran.compiled.apart:.1e} times the default tolerance from it"
        found[COMPILED] = Outcome("ok", text=f"the compiled model gives another result\n{told}")
    if ran.untrained:
        found[TRAINING] = Outcome(
            "ok", text=f"no gradient, though the result depends on it\n{', '.join(ran.untrained)}"
        )
    if double is not None and is_overflow(ran, double):
        found[DOUBLED] = Outcome("ok", text="the loss is not finite in single precision alone")
    return found


def is_lost(ran: Ran) -> bool:
    """Whether a program lost its numbers, and ran well but for what it says to that itself."""
    return (ran.outcome.kind == "ok" or ran.how == OWN) and not all(map(isfinite, ran.losses))


def is_overflow(ran: Ran, double: Ran) -> bool:
    """Whether a layer alone, in single precision alone, loses numbers that there is room for.

    Elsewhere it may be the program's own doing, and so are weights that explode.
    """
    kept = double.outcome.kind == "ok" and len(double.losses) >= len(ran.losses) and all(map(isfinite, double.losses))
    least, most = double.scales
    return is_lost(ran) and ran.burst and kept and least >= SMALL and most <= LARGE
