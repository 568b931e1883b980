"""Which of nightfuzz's own commands a fuzz job runs, one after the other, in its time-box."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from nightfuzz.reports.results import Mode

# Of a night's time-box, so much at most goes to bugs that are known already.
RECHECK_SHARE = 0.2


class Step(NamedTuple):
    """A command line behind `nightfuzz`. name: what its answer is kept under."""

    name: str
    arguments: tuple[str, ...]


class Asked(NamedTuple):
    """What a job is to do. seconds: for all of it. target, baseline: keys of targets that are made already.

    recheck: whether there are bugs to run again. bisect: numbers of bugs. common: options of every command but `pull`,
    which has its own.
    """

    mode: Mode
    seconds: float
    target: str
    baseline: str | None = None
    tests: Sequence[Path] = ()
    shard: int = 0
    shards: int = 1
    recheck: bool = False
    bisect: Sequence[int] = ()
    common: Sequence[str] = ()
    pull: Sequence[str] = ()


def steps(asked: Asked) -> list[Step]:
    """The commands. Of several shards, the first one alone looks at known bugs."""
    if asked.mode == "bump":
        return [_bump(asked)]
    if asked.mode == "recheck":
        return [_recheck(asked, asked.seconds)]
    known = asked.recheck and asked.shard == 0 and asked.mode == "nightly"
    spent = asked.seconds * RECHECK_SHARE if known else 0.0
    first = [_recheck(asked, spent)] if known else []
    return [*first, *_bisections(asked), _run(asked, asked.seconds - spent)]


def _recheck(asked: Asked, seconds: float) -> Step:
    return Step("recheck", ("recheck", "--target", asked.target, *_time(seconds), *asked.common, "--json"))


def _bisections(asked: Asked) -> list[Step]:
    """Without the common options: a bisection installs builds, so it has the network."""
    return [Step(f"bisect-{number}", ("bisect", str(number), "--json")) for number in asked.bisect]


def _bump(asked: Asked) -> Step:
    builds = ("--from", asked.baseline or "", "--to", asked.target)
    return Step("bump", ("bump", *builds, *_tests(asked), *_time(asked.seconds), *asked.common, "--json"))


def _run(asked: Asked, seconds: float) -> Step:
    baseline = ("--baseline", asked.baseline) if asked.baseline else ()
    shard = ("--shard", f"{asked.shard + 1}/{asked.shards}") if asked.shards > 1 else ()
    changed = ("--changed",) if asked.mode == "pr" else ()
    chosen = (*baseline, *_tests(asked), *shard, *changed)
    return Step("run", ("run", "--target", asked.target, *chosen, *_time(seconds), *asked.common, "--json"))


def _tests(asked: Asked) -> tuple[str, ...]:
    return tuple(part for folder in asked.tests for part in ("--tests", str(folder)))


def _time(seconds: float) -> tuple[str, str]:
    return "--time", f"{seconds:.0f}s"
