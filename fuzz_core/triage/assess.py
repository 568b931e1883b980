"""Assessment of a bug: validity of its input, severity, and whether a call that does not end is a bug."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.adapters.disclosure import disclosure_of
from fuzz_core.adapters.library import KNOWN_LIBRARIES
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.tree import with_tensors
from fuzz_core.ir.values import Fill, Tensor, TestCase
from fuzz_core.oracles.kinds import ACCEPTS, GRADES, OUT_OF_BOUNDS, REFUSES, kind_of
from fuzz_core.triage.cluster import Bug, clusters
from fuzz_core.triage.place import MEMORY, place_of, spoke
from fuzz_core.triage.signature import corrupts_heap
from fuzz_core.worker.stack import NULL_PAGE, OVERFLOW

STATUSES = ("valid", "unknown", "invalid")

# The library itself says that it refuses the argument. If the process dies of the refusal, it is no clean one.
_REFUSAL = re.compile(
    r"INVALID_ARGUMENT: *(?P<status>[^\n]{3,200}?)\)*$"
    r"|(?P<words>[^.:\n)\]]{0,80}\b(?:[Mm]ust be|(?:only|not) (?:yet )?supported|[Uu]nsupported|Unrecognized)\b"
    r"[^.\n]{0,80})",
    re.MULTILINE,
)
# A failed internal check names no argument: the library expects it to hold for any arguments. The same goes for a
# pointer that must not be null.
_OWN_CHECK = re.compile(
    r"^.*?INTERNAL ASSERT FAILED at [^,\n]*,? ?(?:please report a bug to [\w ]+\.?)?|'[^'\n]{0,200}' Must be non NULL",
    re.MULTILINE,
)


class Validity(NamedTuple):
    """The validity of a bug's input."""

    status: str  # valid, unknown or invalid
    reason: str  # the evidence, for a reader


class DocumentationRuling(NamedTuple):
    """The statement of documentation about a test case."""

    holds: bool
    text: str  # the documentation's words
    source: str = ""  # where these words stand
    untold: tuple[str, ...] = ()  # arguments whose documentation says too little to call them valid


Rule = Callable[[TestCase], DocumentationRuling | None]


def validity(bug: Bug, rules: Sequence[Rule] = ()) -> Validity:
    """Return the validity of the bug's input.

    The order of evidence: documentation, the origin of the input, a mode that accepts it.
    Documentation and the library's own words alone make an input invalid. Documentation that holds makes an input valid
    only if no other evidence is against it, and if each argument is documented well enough.

    Args:
        rules: each returns the documentation's ruling on a test case, or None if documentation has no ruling.
    """
    rulings = [ruling for rule in rules if (ruling := rule(bug.test)) is not None]
    broken = [_cited(ruling) for ruling in rulings if not ruling.holds]
    untold = ", ".join(dict.fromkeys(name for ruling in rulings for name in ruling.untold))
    reasons = (
        ("invalid", broken and f"documented: {broken[0]}"),
        ("valid", _origin(bug)),
        # The verdict is about a call that has returned: the library accepted the input.
        ("valid", kind_of(bug.kind).validity),
        ("invalid", _refusal(bug)),
        ("unknown", untold and f"the documented constraints hold, but say too little about {untold}"),
        ("valid", rulings and f"the documented constraints hold: {'; '.join(map(_cited, rulings))}"),
    )
    known = (Validity(status, str(reason)) for status, reason in reasons if reason)
    return next(
        known,
        Validity("unknown", "fuzzing changed the arguments; no documentation says whether they are allowed"),
    )


def _cited(ruling: DocumentationRuling) -> str:
    return f"{ruling.text} ({ruling.source})" if ruling.source else ruling.text


def _origin(bug: Bug) -> str:
    if bug.test.program:
        return "a model program; each of its blocks works alone"
    if bug.test.rules:
        return ""
    if bug.minimised:
        return "a call from documentation, tests or programs shows the bug; the script is a simpler call"
    return "a call from documentation, tests or programs"


def _refusal(bug: Bug) -> str:
    """Return the library's own words that refuse the call; empty if modes disagree whether to accept it."""
    if bug.kind == "inconsistent" or not spoke(bug.outcome):
        return ""
    found = _REFUSAL.search(_OWN_CHECK.sub("", bug.outcome.text[:4000]))
    return f"the library's own words: {(found['status'] or found['words']).strip()}" if found else ""


def goes_alone(bug: Bug, judged: Validity) -> bool:
    """Return whether a bug may have an issue of its own, by its validity.

    These bugs go to their library in batches or not at all:

    - bugs of documentation alone, and checks that one of two modes lacks;
    - failures and reads out of bounds on input that is not known to be valid;
    - all bugs on invalid input.
    """
    kind = kind_of(bug.kind)
    if lacks_check(bug):
        return False
    needs_check = kind.fails or bug.kind == OUT_OF_BOUNDS
    return judged.status == "valid" or not (needs_check or judged.status == "invalid")


def lacks_check(bug: Bug) -> bool:
    """Return whether a call returns although documentation, or another mode, refuses it.

    The plain call lacks a check if a graph refuses its shapes or attributes, unless documentation, a test or a program
    makes this very call.
    """
    text = bug.outcome.text
    is_plain = text.startswith(REFUSES) and bool(bug.test.rules) and _is_static_check(bug)
    return kind_of(bug.kind).grade == "documentation" or text.startswith(ACCEPTS) or is_plain


def _is_static_check(bug: Bug) -> bool:
    root = bug.test.invocation.api.partition(".")[0]
    dialects = (dialect_of(name) for name, library in KNOWN_LIBRARIES.items() if root in library.roots)
    return any(dialect.static_check.search(bug.outcome.text) for dialect in dialects)


_MEMORY_SIGNALS = ("SIGSEGV", "SIGBUS")
_SANITIZER = re.compile(
    r"(?:Address|Memory|HWAddress|Leak|Thread)Sanitizer|heap-(?:buffer-overflow|use-after-free)|stack-buffer-overflow"
    r"|runtime error: .*(?:out of bounds|misaligned|null pointer)|Invalid (?:read|write) of size \d"
)
_FOREIGN = re.compile(r"out-of-bounds|uninitiali[sz]ed|foreign memory", re.IGNORECASE)


class Severity(NamedTuple):
    """The severity of a bug."""

    grade: str  # one of GRADES
    reason: str  # the reason why the bug is private; empty otherwise
    validity: Validity
    regression: bool = False  # whether a baseline does not show the bug

    @property
    def private(self) -> bool:
        """Return whether the bug may be reported in a private place only."""
        return self.grade == "private"

    @property
    def rank(self) -> tuple[int, int, int, int]:
        """A sort key, smaller for urgent bugs: private ones, regressions, valid input before invalid, the grade."""
        place = GRADES.index(self.grade)
        return int(not self.private), int(not self.regression), STATUSES.index(self.validity.status), place


class Suspect(Bug, Protocol):
    """A bug on record, with the evidence from other inputs of the same bug."""

    @property
    def suspicion(self) -> str:
        """The reason why the bug is private although its minimal script does not show it; empty otherwise."""


def severity(bug: Suspect, judged: Validity | None = None, regression: bool = False) -> Severity:
    """Return the severity of a bug; `judged` is its validity, if known already.

    A regression is what a baseline target does not show. Sort bugs by `order`, which no two of them share.
    """
    suspected = _suspected(bug)
    died = bug.kind == "internal-error" and bug.outcome.kind == "signal"
    grade = "private" if suspected else "crash" if died else kind_of(bug.kind).grade
    return Severity(grade, suspected, judged or validity(bug), regression or bug.kind == "regression")


def order(bug: Bug, found: Severity) -> tuple[tuple[int, ...], int]:
    """Return the place of a bug in a total order: by severity, the oldest first among equals."""
    return found.rank, bug.id


def withheld(bugs: Sequence[Suspect]) -> dict[int, str]:
    """Return the bugs that must stay private, by number, each with the reason.

    A suspect may have touched memory that does not belong to the library. Suspects are private, and so are bugs with
    the signature of a suspect on another build. Bugs that look like the cause of a suspect are private too: members of
    one cluster, and deaths on bad memory in one kernel or one api. A null pointer here and a corrupted heap
    there may be one missing check.
    """
    reasons = {bug.id: reason for bug in bugs if (reason := _suspected(bug))}
    groups: dict[tuple[str, object], list[Suspect]] = defaultdict(list)
    for number, cluster in enumerate(clusters(bugs)):
        groups["cluster", number] += cluster.members
    for bug in bugs:
        groups["signature", bug.signature_text].append(bug)
        place = place_of(bug)
        if place.nature == MEMORY:
            groups["api", (place.library, place.family)].append(bug)
            if place.frames and not place.vague:
                groups["kernel", (place.library, place.frames[0])].append(bug)
    alike: dict[int, str] = {}
    for group in groups.values():
        suspects = [bug.id for bug in group if bug.id in reasons]
        if suspects:
            alike |= {bug.id: f"looks like the cause of bug {min(suspects)}" for bug in group}
    return alike | reasons


def _suspected(bug: Suspect) -> str:
    return suspicion(bug.kind, bug.outcome, bug.test) or bug.suspicion


def filled(test: TestCase) -> TestCase:
    """Return the call with two elements along each empty dimension: zeros for integers, drawn numbers otherwise.

    An empty buffer is a null pointer, so that a read outside of it looks harmless.
    """

    def fill(tensor: Tensor) -> Tensor:
        if tensor.size:
            return tensor
        shape = tuple(extent or 2 for extent in tensor.shape)
        whole = tensor.dtype == "bool" or "int" in tensor.dtype
        return tensor._replace(shape=shape, strides=None, fill=Fill("constant", 0.0, 0.0) if whole else Fill())

    return test._replace(invocation=with_tensors(test.invocation, fill))


def suspicion(kind: str, outcome: Outcome, test: TestCase) -> str:
    """Return why a bug is private; empty if no evidence shows that foreign memory may have been touched.

    Foreign memory does not belong to the library. See `is_public_on_bad_input`.
    """
    if is_public_on_bad_input(kind, test):
        return ""
    foreign = not kind_of(kind).fails and _FOREIGN.search(f"{kind} {outcome.text}")
    return suspected_death(outcome) or (
        "the result holds memory that does not belong to the library" if foreign else ""
    )


def is_public_on_bad_input(kind: str, test: TestCase) -> bool:
    """Return whether the maintainers want a memory error on this input as an ordinary public bug.

    Maintainers may want that for bad input. A traced call, a model program and a call that returns are no bad input.
    """
    rules = disclosure_of(test.invocation.api)
    is_bad = bool(test.rules) and not test.program and not kind_of(kind).validity
    return rules is not None and rules.memory_errors == "public" and is_bad


def suspected_death(outcome: Outcome) -> str:
    """Return why a process may have touched foreign memory before it died; empty if there is no evidence."""
    if _SANITIZER.search(outcome.text):
        return "a sanitizer's report"
    if corrupts_heap(outcome):
        return "the heap is corrupted"
    harmless = NULL_PAGE in outcome.frames or OVERFLOW in outcome.frames
    if outcome.kind == "signal" and outcome.name in _MEMORY_SIGNALS and not harmless:
        return f"{outcome.name} at an address that is not known to be harmless"
    return ""
