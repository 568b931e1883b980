"""Order, grouping, words and severity of a result's entries: shared by every rendered form of a result."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

from fuzz_core.ir.outcome import Outcome
from fuzz_core.oracles.kinds import GRADES, GRAVE, UNPLEASANT, Level
from fuzz_core.triage.assess import STATUSES
from fuzz_core.triage.signature import normalised
from nightfuzz.reports.case import SHOWS
from nightfuzz.reports.contradiction import outcome_sentence
from nightfuzz.reports.results import (
    BugEntry,
    BuildEntry,
    ChangeEntry,
    Entry,
    OutcomeEntry,
    RemovalEntry,
    RunResult,
    Site,
)
from nightfuzz.reports.text import bounded, call_of

# These modes ask for the effects of a change of the build, if there is a baseline.
COMPARING = ("pr", "bump")
# Length of the common part of two long results that is shown before their difference.
NEAR = 60
LINE = 400


E = TypeVar("E", bound=BugEntry | ChangeEntry)


class Cause(NamedTuple, Generic[E]):
    """Bugs or changes that look like one root cause: the entry to show, and its further entries."""

    entry: E
    others: Sequence[E] = ()

    @property
    def sites(self) -> list[Site]:
        """Lines of the user's tests that reach any of the entries, the shown entry's first."""
        return list(dict.fromkeys(site for one in (self.entry, *self.others) for site in one.sites))


def worst_first(bugs: Iterable[BugEntry]) -> list[BugEntry]:
    """Return regressions first, then valid input before invalid, then by grade and number."""
    return sorted(bugs, key=_rank)


def _rank(bug: BugEntry) -> tuple[bool, int, int, int, str]:
    return (
        not bug.regression,
        _place(STATUSES, bug.validity),
        _place(GRADES, bug.grade),
        bug.number,
        bug.fingerprint,
    )


def _place(names: Sequence[str], name: str) -> int:
    return names.index(name) if name in names else len(names)


def causes(bugs: Iterable[BugEntry]) -> list[Cause[BugEntry]]:
    """Return the bugs by cause, the worst cause first.

    Shown is the one that the cause is named after, else the worst.
    """
    found: dict[str, list[BugEntry]] = {}
    for bug in worst_first(bugs):
        found.setdefault(bug.cluster, []).append(bug)
    shown = [next((bug for bug in group if bug.fingerprint == name), group[0]) for name, group in found.items()]
    return [Cause(first, [bug for bug in found[first.cluster] if bug is not first]) for first in shown]


def opened(result: RunResult) -> list[BugEntry]:
    """Return bugs that are neither fixed nor known."""
    return [bug for bug in result.bugs if bug.status == "open"]


def new_and_back(result: RunResult) -> list[BugEntry]:
    """Return open bugs that are there since this run: regressions, and new bugs.

    A comparison of two builds counts no new bug, because the bug may be as old as both builds.
    """
    compares = result.mode in COMPARING and result.baseline is not None
    return [bug for bug in opened(result) if bug.regression or (bug.new and not compares)]


def older(result: RunResult) -> list[BugEntry]:
    """Return the open bugs that `new_and_back` leaves out."""
    recent = {bug.fingerprint for bug in new_and_back(result)}
    return [bug for bug in opened(result) if bug.fingerprint not in recent]


def changes(result: RunResult, *kinds: str) -> list[ChangeEntry]:
    """Change of these kinds, those that the user's tests reach first."""
    found = [change for change in result.changes if change.kind in kinds]
    return sorted(found, key=lambda change: (kinds.index(change.kind), not change.sites))


def alike(changes: Iterable[ChangeEntry]) -> list[Cause[ChangeEntry]]:
    """Change by cause, in their order: one message under many apis, or one new check before many old ones."""
    found: dict[str, list[ChangeEntry]] = {}
    for change in changes:
        said, after = change.signature.partition(": ")[2], change.after
        cause = f"{after.name}: {normalised(after.text)}" if after.kind == "exception" else said
        found.setdefault(f"{change.kind} {cause}", []).append(change)
    return [Cause(first, others) for first, *others in found.values()]


def dropped(result: RunResult) -> list[RemovalEntry]:
    """Return removed apis, then deprecated apis."""
    return sorted(result.dropped, key=lambda one: one.kind != "removed")


def level(entry: Entry) -> Level:
    """Return how bad an entry is: a regression or a removed api is an error, a bug on invalid input alone is not."""
    if isinstance(entry, BugEntry):
        if entry.regression or (entry.grade in GRAVE and entry.validity != "invalid"):
            return "error"
        return "warning" if entry.grade in (*GRAVE, *UNPLEASANT) else "note"
    if entry.kind in ("regression", "removed"):
        return "error"
    return "note" if entry.kind == "fixed" else "warning"


def shows(bug: BugEntry) -> list[str]:
    """Return the modes that show a bug."""
    return [mode for mode, seen in bug.modes.items() if seen == SHOWS]


def call(one: ChangeEntry | BugEntry) -> str:
    """Return the call that a script is about."""
    return call_of(one.script, one.api)


def outcome_in_words(said: OutcomeEntry) -> tuple[str, str]:
    """Return the result of a call: our words, and the call's own message."""
    returned = said.kind == "ok"
    shown = said.text.strip() if returned else outcome_sentence("", Outcome(said.kind, said.name, said.text))
    words = {
        "ok": "returns",
        "exception": "raises",
        "signal": "dies:",
        "timeout": "does not return in time",
        "oom": "runs out of memory",
        "exit": "ends the process",
    }
    return words.get(said.kind, "ends otherwise:"), shown


def sides(change: ChangeEntry) -> tuple[OutcomeEntry, OutcomeEntry]:
    """Return the outcomes before and after; of two long results, the parts that differ."""
    before, after = change.before, change.after
    shorter = range(min(len(before.text), len(after.text)))
    same = bisect_left(shorter, True, key=lambda end: before.text[: end + 1] != after.text[: end + 1])
    if before.kind != "ok" or after.kind != "ok" or same < NEAR:
        return before, after
    start = same - NEAR
    return before.model_copy(update={"text": f"…{before.text[start:]}"}), after.model_copy(
        update={"text": f"…{after.text[start:]}"}
    )


def outcome_line(said: OutcomeEntry) -> str:
    """Return the result of a call in one line of plain text."""
    return bounded(" ".join(outcome_in_words(said)), LINE)


def named(build: BuildEntry | None, other: BuildEntry | None = None) -> str:
    """Return a build by library and version; by its key as well if the compared build has the same name."""
    if build is None:
        return "no baseline"
    name = f"{build.library} {build.version}"
    same = other is not None and (other.library, other.version) == (build.library, build.version)
    return f"{name} ({build.key})" if same else name


def gaps(result: RunResult) -> list[str]:
    """List checks that were not made, although a reader may assume them: a line of plain text each."""
    compared = {
        "bump": "calls that your tests do not make, except for variations of your tests' calls",
        "pr": "apis that no changed seed calls",
    }.get(result.mode)
    devices = ", ".join(result.target.devices)
    lines = {
        "a part of the plan, because the run was cancelled early": result.stopped,
        f"{result.figures.pending:,} findings that are not examined yet": result.figures.pending > 0,
        "any call, because no test was run": result.figures.tests == 0,
        compared or "": compared is not None,
        f"other hardware than {devices}, other operating systems, other versions of Python": True,
        "whether more bugs exist: fuzzing cannot prove that a library has no bug": True,
    }
    return [line for line, there in lines.items() if there]
