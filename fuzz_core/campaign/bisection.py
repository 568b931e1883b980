"""Bisection over builds of an index: the build with which a bug came or went.

The search tries few builds, each in an environment of its own.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

from fuzz_core.adapters.library import library_of
from fuzz_core.campaign.bench import Bench, speaks
from fuzz_core.campaign.plans import make_replay_plan
from fuzz_core.campaign.reproduce import case_of, is_replayed, sightings
from fuzz_core.campaign.session import Session, run_parallel
from fuzz_core.execution.scratch import scratch
from fuzz_core.ir.errors import Interrupted, UserError
from fuzz_core.ir.outcome import Outcome
from fuzz_core.store.checks import BugTrial
from fuzz_core.store.records import BugRow, TargetRecord
from fuzz_core.targets.candidates import (
    Candidate,
    Environments,
    candidates,
    is_version,
    package_of,
    placed,
    release_of,
    version_of,
)
from fuzz_core.targets.commits import said_by_library
from fuzz_core.targets.record import cache_folder, read_record, targets_root
from fuzz_core.targets.resolve import DEFAULT_ACCESS, Access
from fuzz_core.targets.spec import Flavour
from fuzz_core.triage.bisect import BuildSearch, Status, miss_probability, runs_needed
from fuzz_core.triage.process import Processes
from fuzz_core.triage.recheck import CHANGED, UNRUNNABLE, summed
from fuzz_core.triage.signature import corrupts_heap

# The number of runs on each build while the rate is learnt: few are enough as long as every run shows the bug.
STEADY_RUNS = 5
RATE_RUNS = 20
INNERMOST = 2
_HASH = re.compile(r"[0-9a-f]{7,40}")


@dataclass(frozen=True)
class BisectOptions:
    """Options of a bisection."""

    good: str | None = None  # spec or version of a build without the bug; None: a good build is searched for
    bad: str | None = None  # spec or version of a build with the bug; None: the bug's own target
    fixed: bool = False  # whether to search forward for the first build without the bug
    runs: int | None = None  # runs on each build; None: as many as the bug's rate needs
    keep: int = 2  # environments on disk at a time
    index: str | None = None  # address of a package index, reached by `access`
    flavour: Flavour = "auto"
    access: Access = DEFAULT_ACCESS
    timeout: float = 3.0  # seconds of a test


@dataclass(frozen=True)
class Bisection:
    """Result of a bisection."""

    bug: int
    fixed: bool
    bad: BugTrial  # the bad build next to the change
    good: BugTrial | None  # the good build next to the change; None if it is not known
    between: tuple[BugTrial, ...]  # builds between them whose probes are inconclusive
    # If no good build was found, the number of builds before the bad one; all that were tried are inconclusive.
    beyond: int
    sure: float | None  # the probability that the good build is good, from the bug's rate of hits in runs
    hits: int
    runs: int
    compare: str  # address of the changes in the repository, or empty
    builds: int  # number of builds to search
    tried: int  # probes on record
    installs: int  # environments made by this call


def bisect(session: Session, bug: BugRow, options: BisectOptions) -> Bisection:
    """Search until no untried build would narrow the result.

    Builds that an earlier call has tried are not tried again.

    Raises:
        UserError: the bug does not show itself on the bad end, or an end cannot be installed.
        Interrupted: the user stops the search.
    """
    with ExitStack() as stack:
        return _Bisector(session, bug, options, stack).run()


def _search(listed: Sequence[Candidate], bad: str, options: BisectOptions, target: TargetRecord) -> BuildSearch:
    place = {release_of(each.version): number for number, each in enumerate(listed)}
    here = place[release_of(bad)]
    if options.good is None:
        return BuildSearch(len(listed), here, fixed=options.fixed)
    good = version_of(options.good, target.library, options.index)
    there = place.get(release_of(good))
    if there is None:
        near = ", ".join(each.version for each in listed[-5:])
        raise UserError(
            f"--good {options.good}: the index has no build {good}",
            f"name one of its builds; the newest are: {near}",
        )
    if (there < here) == options.fixed or there == here:
        side, flag = ("newer", "leave out") if options.fixed else ("older", "add")
        raise UserError(
            f"--good {good} is not {side} than the bad build {bad}",
            f"exchange --good and --bad, or {flag} --first-fixed, which searches for the build that fixed the bug",
        )
    return BuildSearch(len(listed), here, there, options.fixed)


def may_share_cause(bug: Outcome, seen: Outcome) -> bool:
    """Return whether two deaths by a signal may have one cause although they look different.

    A corrupted heap is noticed anywhere, and another build inlines other functions. The innermost frames show the
    place: all kernels have the same callers.
    """
    if bug.kind != "signal" or seen.kind != "signal":
        return False
    unnamed = bug.name == seen.name and bool(bug.frames) and not speaks(seen)
    inner = {*bug.frames[:INNERMOST]} & {*seen.frames[:INNERMOST]}
    return corrupts_heap(bug) or (unnamed and (not seen.frames or bool(inner)))


class _Bisector:
    """The state of a search and its limits; the bug's script runs on builds in several threads.

    Attributes:
        said: the signature that the script has today on the bug's own build, `own`, if it differs from the bug's. Other
            processors run other kernels, and another version of nightfuzz may write the signature in another way.
    """

    def __init__(self, session: Session, bug: BugRow, options: BisectOptions, stack: ExitStack) -> None:
        target = session.target
        package = package_of(target.spec, target.library, options.bad, options.index)
        if options.bad is None and not is_version(target.version):
            problem = f"the target {target.key} has the version {target.version!r}, which no index can list"
            raise UserError(problem, "name a build that shows the bug: --bad VERSION")
        bad = version_of(target.version if options.bad is None else options.bad, target.library, options.index)
        self.session, self.bug, self.options = session, bug, options
        self.listed = placed(candidates(package, options.flavour, options.access), package, bad)
        self.search = _search(self.listed, bad, options, target)
        ends: tuple[tuple[int | None, str], ...] = ((self.search.bad, "bad"), (self.search.good, "good"))
        self.ends = [(end, status) for end, status in ends if end is not None]
        session.watch.phase(f"bisecting bug {bug.id} over {len(self.listed)} builds of {package.text}")
        # The folder belongs to this state alone, which has one writer: any leftovers there may be removed.
        name = hashlib.sha256(str(session.state_dir.absolute()).encode()).hexdigest()[:12]
        folder = cache_folder() / "bisect" / name
        self.environments = Environments(folder, options.flavour, target.library, options.access)
        stack.callback(self.environments.clear)
        self.case, self.plan = case_of(session.store, bug), None
        if is_replayed(self.case.verdict, session.dialect):
            self.plan = stack.enter_context(scratch()) / "plan.jsonl"
            make_replay_plan(session, self.plan)
        self.processes = Processes()
        self.own = self.said = ""
        self.known: dict[int, BugTrial] = {}
        self.installs = 0
        # Another index may have another build of this version.
        same = options.index is None or package_of(target.spec, target.library, None, None).text == package.text
        if same and is_version(target.version) and release_of(bad) == release_of(target.version):
            self.own = self.listed[self.search.bad].spec
            if (here := read_record(targets_root(), target.key)) is not None:
                self.environments.given[self.own] = here

    def run(self) -> Bisection:
        """Search round by round; an end on record with a status that it was not expected to have is tried again."""
        place = {each.spec: number for number, each in enumerate(self.listed)}
        kept = self.session.store.probes(self.bug.id)
        self.known = {place[spec]: probe for spec, probe in kept.items() if spec in place}
        for end, status in self.ends:
            if end in self.known and self.known[end].status != status:
                del self.known[end]
        if self.search.bad in self.known:
            self.said = str(self.known[self.search.bad].info.get("said", ""))
        with ThreadPoolExecutor(self.session.workers, "bisect") as threads:
            try:
                while wanted := self._wanted():
                    self._round(threads, wanted)
                    self._check_ends()
            finally:
                self.processes.end()
        return self._bisection()

    def _probe(self, candidate: Candidate, runs: int, rate: bool) -> BugTrial:
        """Try a build until it shows the bug.

        Args:
            runs: the most runs.
            rate: whether runs go on after the first hit, to learn how often the bug shows itself.

        Raises:
            UserError: the fault of a missing answer is this machine's.
        """
        info: dict[str, Any] = {"version": candidate.version, "day": candidate.day, "commit": "", "reason": ""}
        try:
            target, made = self.environments.get(candidate)
        except UserError as error:
            if self.environments.is_ours(error, candidate):
                raise
            return BugTrial(candidate.spec, "broken", 0, 0, {**info, "reason": error.problem, "made": True})
        origin, session, own = target.origin, self.session, candidate.spec == self.own
        commit = (origin and origin.commit) or said_by_library(target.info.commit).text
        info |= {"commit": commit, "made": made, "day": (origin and origin.day) or candidate.day}
        record = TargetRecord(target.key, target.spec, target.library, target.version, str(target.python))
        hits = done = 0
        other = ""
        with closing(Bench(record, self.processes, self.options.timeout, self.plan, session.stopped)) as bench:
            while done < runs and (rate or not hits):
                check = summed(sightings(bench, self.case, 1))
                changed = check.status == CHANGED
                if changed and own:
                    self.said = self.said or check.said
                same = check.said == self.said or may_share_cause(self.case.bug.outcome, check.outcome)
                shown = bool(check.hits) or (changed and same)
                hits, done = hits + shown, done + 1
                if not shown and check.status in (CHANGED, UNRUNNABLE):
                    other = check.said or f"{check.outcome.kind} {check.outcome.name}"
                if check.status == UNRUNNABLE or (rate and hits == done == STEADY_RUNS):
                    break
        status = "bad" if hits else "broken" if other else "good"
        why = f"the bug's script fails in another way on this build: {other}" if status == "broken" else ""
        return BugTrial(candidate.spec, status, hits, done, {**info, "reason": why, "said": self.said if own else ""})

    def _statuses(self) -> dict[int, Status]:
        return {number: probe.status for number, probe in self.known.items()}  # type: ignore[misc]

    def _wanted(self) -> list[int]:
        """Return the builds to try: the next with installed later ones, or a good one that needs more runs."""
        if self.search.bad not in self.known:
            return [self.search.bad]
        width = min(self.session.workers, self.options.keep)
        ahead = self.search.ahead(self._statuses(), 2 * width)
        others = [each for each in ahead[1:] if self.environments.at_hand(self.listed[each])]
        if ahead or self.options.runs is not None:
            return [*ahead[:1], *others[: width - 1]]
        # The bug may have turned out to show itself too rarely for the runs that the last good build had.
        good = self.search.answer(self._statuses()).good
        return [] if good is None or self.known[good].runs >= runs_needed(*self._rate()) else [good]

    def _rate(self) -> tuple[int, int]:
        """Return how often the bug showed itself on bad builds, and in how many runs."""
        bad = [probe for probe in self.known.values() if probe.status == "bad"]
        return sum(probe.hits for probe in bad), sum(probe.runs for probe in bad)

    def _round(self, threads: ThreadPoolExecutor, wanted: Sequence[int]) -> None:
        builds = {number: self.listed[number] for number in wanted}
        self.environments.make_room(builds.values(), self.options.keep)
        runs = self.options.runs or (runs_needed(*self._rate()) if self.known else RATE_RUNS)

        def work(number: int) -> BugTrial:
            first = number == self.search.bad and self.options.runs is None
            silent = self.known[number].runs if number in self.known else 0
            return self._probe(builds[number], RATE_RUNS if first else runs - silent, number == self.search.bad)

        trying = ", ".join(build.version for build in builds.values())
        self.session.watch.advance(len(self.known), trying=trying)
        for number, probe in run_parallel(self.session, threads, wanted, work):
            if number in self.known and probe.status == "good":
                # Silent runs of a build add up.
                probe = probe._replace(runs=self.known[number].runs + probe.runs)
            self.session.store.save_probe(self.bug.id, probe)
            self.known[number] = probe
            self.installs += bool(probe.info["made"])
            self.session.watch.note(f"{probe.build}: {probe.status}, shown in {probe.hits} of {probe.runs} runs")
        if self.session.stopped():
            raise Interrupted("stopped by the user")

    def _check_ends(self) -> None:
        for end, status in self.ends:
            probe = self.known.get(end)
            if probe is None or probe.status == status:
                continue
            if probe.status == "broken":
                raise UserError(
                    f"the bug cannot be run on {probe.build}: {probe.info['reason']}",
                    f"name another build with --{status}",
                )
            shows = "does not show itself" if status == "bad" else "shows itself"
            problem = f"bug {self.bug.id} {shows} on {probe.build} ({probe.hits} of {probe.runs} runs)"
            raise UserError(problem, f"name another build with --{status}")

    def _bisection(self) -> Bisection:
        answer, (hits, runs) = self.search.answer(self._statuses()), self._rate()
        assert answer.bad is not None
        good = None if answer.good is None else self.known[answer.good]
        bad = self.known[answer.bad]
        return Bisection(
            bug=self.bug.id,
            fixed=self.options.fixed,
            bad=bad,
            good=good,
            between=tuple(self.known[each] for each in answer.between),
            beyond=0 if good else len(self.listed) - 1 - answer.bad if self.options.fixed else answer.bad,
            sure=None if good is None else 1 - miss_probability(hits, runs, good.runs),
            hits=hits,
            runs=runs,
            compare=compare_link(self.session.target.library, *((bad, good) if self.options.fixed else (good, bad))),
            builds=len(self.listed),
            tried=len(self.known),
            installs=self.installs,
        )


def compare_link(library: str, older: BugTrial | None, newer: BugTrial | None) -> str:
    """Return GitHub's page of the changes between two source commits."""
    commits = [probe.info["commit"] for probe in (older, newer) if probe is not None]
    known = len(commits) == 2 and all(_HASH.fullmatch(commit) for commit in commits)
    repository = library_of(library).repository
    if not known or not repository:
        return ""
    return f"https://github.com/{repository}/compare/{commits[0]}...{commits[1]}"


def as_json(found: Bisection) -> Mapping[str, Any]:
    """Return the result as JSON data."""
    probes = {"bad": found.bad, "good": found.good}
    told = {name: None if probe is None else probe._asdict() for name, probe in probes.items()}
    return {**vars(found), **told, "between": [probe._asdict() for probe in found.between]}
