"""History of bugs on the builds of their library: open, fixed or back; and the work done on each build."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from packaging.version import InvalidVersion, Version

from fuzz_core.store.checks import FIXED as FIXED_STATUS
from fuzz_core.store.checks import NOT_REAL, OPEN, BugTrial, BuildRow
from fuzz_core.store.records import RunRow, TargetRecord
from fuzz_core.store.store import Store
from fuzz_core.triage.cluster import clusters
from fuzz_core.triage.recheck import CLEAN, FIXED, REGRESSED, Event, Mark, events

BAD, GOOD = "bad", "good"


class BugHistory(NamedTuple):
    """The changes of a bug's status; no changes: the bug is open as it was found."""

    past: tuple[Event, ...] = ()
    clean_before: str = ""  # the newest build before the bug's own on which the bug was run, if it is clean there

    @property
    def status(self) -> str:
        """`fixed` or `open`."""
        return FIXED_STATUS if self.past and self.past[-1].kind == FIXED else OPEN

    @property
    def regression(self) -> bool:
        """Return whether the bug was fixed and is back, or is absent from earlier builds."""
        return bool(self.past or self.clean_before) and self.status == OPEN

    @property
    def build(self) -> str:
        """The build of the last change: the first clean one, or the one that shows the bug again; else empty."""
        return self.past[-1].build if self.past else ""


def libraries(store: Store) -> dict[str, str]:
    """Return the library of each target, by key."""
    return {target.key: target.library for target in store.targets()}


def ordered(targets: Iterable[TargetRecord], library: str) -> list[TargetRecord]:
    """Return the builds of a library, the oldest first: by version, then in the order in which they were made.

    Local labels (`+cpu`) mark flavours and checkouts, not age. An invalid version comes first.
    """
    own = (each for each in targets if each.library == library)
    return sorted(own, key=lambda each: (release(each.version), each.made_at, each.key))


def release(version: str) -> Version:
    """Return the version without local labels; an invalid one comes first."""
    try:
        return Version(Version(version).public)
    except InvalidVersion:
        return Version("0.dev0")


class Lives:
    """Reader of all checks on record, with the order of builds that they are read in."""

    def __init__(self, store: Store) -> None:
        targets = store.targets()
        self.library = libraries(store)
        self.order = {name: [each.key for each in ordered(targets, name)] for name in set(self.library.values())}
        self.marks: dict[int, list[Mark]] = defaultdict(list)
        self.found: dict[int, str] = {}
        for check in store.checks():
            self.marks[check.bug].append(Mark(check.target, check.status))
            self.found[check.bug] = check.found

    def history_of(self, bug: int, found: str, more: Sequence[Mark] = ()) -> BugHistory:
        """Return the status of a bug that was found on this target, as if it had `more` checks."""
        marks = [*self.marks.get(bug, ()), *more]
        order = self.order[self.library[found]]
        newest = {mark.build: mark.status for mark in marks}
        earlier = [build for build in order[: order.index(found)] if build in newest]
        clean = earlier[-1] if earlier and newest[earlier[-1]] == CLEAN else ""
        return BugHistory(events(found, order, marks), clean)


def histories(store: Store) -> dict[int, BugHistory]:
    """Return the standing of each bug that has checks, by number."""
    lives = Lives(store)
    return {number: lives.history_of(number, found) for number, found in sorted(lives.found.items())}


def review_statuses(store: Store) -> list[int]:
    """Bring the status of every bug up to its checks.

    Returns:
        Those that have come back with this.
    """
    back = []
    for number, standing in histories(store).items():
        before = store.bug(number).status
        if before in (OPEN, FIXED_STATUS) and before != standing.status:
            store.set_status(number, standing.status)
            if standing.regression:
                back.append(number)
    return back


class Build(NamedTuple):
    """A build with what was done there."""

    row: BuildRow
    day: str  # when it was built or uploaded, ISO; empty if unknown
    commit: str  # its source commit; empty if unknown
    # Bugs that were first clean there for good.
    fixed: tuple[int, ...]
    regressed: tuple[int, ...]  # fixed bugs that the build shows again
    judged: Mapping[str, int] = {}  # number of causes of bugs first seen there, by the verdict of people

    @property
    def date(self) -> str:
        """The day of the build, or else the one on which it became a target."""
        return self.day or self.row.made_at[:10]

    def to_json(self) -> dict[str, Any]:
        """Return the build as JSON data."""
        more = {"day": self.day or None, "commit": self.commit or None}
        turns = {"fixed": list(self.fixed), "regressed": list(self.regressed)}
        return {**self.row._asdict(), **more, **turns, "judged": dict(self.judged)}


def history(store: Store) -> list[Build]:
    """Return all builds, library by library, in the order of `ordered`."""
    turns: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, standing in histories(store).items():
        for event in standing.past:
            turns[event.build, event.kind].append(number)
    rows, verdicts = {row.target: row for row in store.builds()}, judged_causes(store)
    targets = store.targets()
    in_order = [each for name in sorted({each.library for each in targets}) for each in ordered(targets, name)]
    return [
        Build(
            rows[each.key],
            *origin_of(each.info),
            tuple(turns[each.key, FIXED]),
            tuple(turns[each.key, REGRESSED]),
            verdicts.get(each.key, {}),
        )
        for each in in_order
    ]


def judged_causes(store: Store) -> dict[str, Counter[str]]:
    """Count verdicts of people by build: one for each cluster of judged bugs, on the build of its first bug."""
    verdicts = store.judgements()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for cluster in clusters([bug for bug in store.bugs() if bug.id in verdicts]):
        first = min(cluster.members, key=lambda bug: bug.id)
        counts[first.target][verdicts[first.id].verdict] += 1
    return counts


def share_of_real(verdicts: Mapping[str, int]) -> str:
    """Say how many causes are real bugs, out of those judged; empty if people have judged none.

    A duplicate is a real bug, and so is one that the maintainers will not fix.
    """
    total = sum(verdicts.values())
    return f"{total - verdicts.get(NOT_REAL, 0)} of {total}" if total else ""


def origin_of(info: Mapping[str, Any]) -> tuple[str, str]:
    """Return the day and the commit of a build, as its record says; empty if the record lacks them."""
    origin = info.get("origin")
    told = origin if isinstance(origin, Mapping) else {}
    return str(told.get("day") or ""), str(told.get("commit") or info.get("commit") or "")


def flavours_differ(target: TargetRecord, baseline: TargetRecord) -> str:
    """Return a warning if one of two builds is for CUDA and one for the CPU alone; empty if both are alike."""
    new, old = (str(build.info.get("flavour") or "") for build in (target, baseline))
    if not new or not old or new == old:
        return ""
    return (
        f"{target.version} is a {new.upper()} build, and {baseline.version} is a {old.upper()} build: "
        "a difference may come from that alone"
    )


class Came(NamedTuple):
    """The builds between which a bug came."""

    bad: BugTrial | None  # the oldest build that shows the bug; None if there is none
    good: BugTrial | None  # the newest build before it that does not show the bug; None if there is none
    tried: int  # number of builds that the bug was run on

    @property
    def version(self) -> str:
        """The first bad version; empty if it is not known, because no good version is before it."""
        return self.bad.build.rpartition("==")[2] if self.bad is not None and self.good is not None else ""


def came_with(store: Store, bug: int) -> Came:
    """Return the builds between which a bug came, from its probes in the order of their versions."""

    def version(probe: BugTrial) -> tuple[Version, str]:
        return release(probe.build.rpartition("==")[2]), probe.build

    tried = sorted(store.probes(bug).values(), key=version)
    bad = next((probe for probe in tried if probe.status == BAD), None)
    before = tried[: tried.index(bad)] if bad is not None else []
    good = next((probe for probe in reversed(before) if probe.status == GOOD), None)
    return Came(bad, good, len(tried))


def growth(runs: Sequence[RunRow]) -> list[Sequence[float]]:
    """Return (seconds, tests, outcome classes, operators) over runs that record them, one after another.

    Shards ran side by side; their curves stand one after another.
    """
    points: list[Sequence[float]] = []
    seconds = tests = 0.0
    for run in runs:
        curve = run.summary.get("growth")
        if not isinstance(curve, list):
            continue
        points += [(seconds + point[0], tests + point[1], *point[2:4]) for point in curve]
        seconds, tests = seconds + run.seconds, tests + run.tests
    return points
