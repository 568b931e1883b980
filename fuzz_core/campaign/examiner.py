"""One thread's work on findings that look alike: does it reproduce, how small can it be, is it the same each time."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fuzz_core.adapters.dialect import LIBRARIES
from fuzz_core.campaign.scripts import CORRUPTION_FACTOR, HANG_FACTOR, Scripts, is_compared, mode_of
from fuzz_core.campaign.session import MEMORY_BYTES, Session
from fuzz_core.execution.replay import Replayer
from fuzz_core.execution.zygote import Zygote
from fuzz_core.ir.complaints import reason_of
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.messages import Replayed
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.modelgen.gandalf.scripts import is_of_shape
from fuzz_core.oracles.contract import oracle_of
from fuzz_core.oracles.crash import PROGRAM
from fuzz_core.oracles.kinds import kind_of
from fuzz_core.store.records import BugRow, FindingRow, NewBug
from fuzz_core.triage.assess import excuse
from fuzz_core.triage.confirm import Confirmation
from fuzz_core.triage.process import Processes
from fuzz_core.triage.reduce import minimise, slice_of
from fuzz_core.triage.script import CALL, RAISED, render, render_comparison
from fuzz_core.triage.signature import corrupts_heap, signature

PLAIN = "cpu"
# The oracles that execute a test case in other modes than the first.
COMPARING = ("differential", "nonfinite")


@dataclass
class Examination:
    """What became of a group: the finding that was decided on, its status and, when confirmed, its bug."""

    finding: FindingRow
    status: str = "rejected"
    reason: str = ""
    hits: int = 0
    runs: int = 0
    bug: NewBug | None = None
    postponed: bool = False


class Examiner:
    """Replays, minimises and confirms with a zygote of its own."""

    def __init__(
        self,
        session: Session,
        zygote: Zygote,
        processes: Processes,
        timeout: float,
        runs: int,
        bug_seconds: float,
        deadline: float | None,
    ) -> None:
        self.session = session
        self.dialect = session.dialect
        self.scripts = Scripts(session.target.python, session.dialect, processes, timeout)
        self.replayer = Replayer(zygote, timeout, MEMORY_BYTES)
        self.runs = runs
        self.bug_seconds = bug_seconds
        self.deadline = deadline
        self.timeout = timeout
        # What the last minimising came to, where it came to its end.
        self.smallest: TestCase | None = None
        self.crash = oracle_of("crash")

    def examine(self, group: Sequence[FindingRow]) -> Examination:
        """The first finding that is confirmed decides; else the one that reproduced most often."""
        tried = (self._one(finding) for finding in itertools.takewhile(lambda _: not self._over(), group))
        return _decisive(tried) or Examination(group[0], postponed=True)

    def improve(self, finding: FindingRow, bug: BugRow) -> NewBug | None:
        """A bug whose minimising was cut short, minimised further from where it was; None where that brings nothing."""
        found = self._one(finding._replace(api=bug.api, test=bug.test), known=True).bug
        return found if found is not None and found.signature == bug.signature_text else None

    def _over(self) -> bool:
        return self.session.stopped() or (self.deadline is not None and self.session.clock() >= self.deadline)

    def _one(self, finding: FindingRow, known: bool = False) -> Examination:
        wanted = signature(finding.api, finding.verdict, finding.outcome).text
        try:
            if finding.verdict.kind == "hang" and not known and (why := self._excuse(finding)):
                return Examination(finding, reason=why, runs=1)
            small = self._minimised(finding, wanted)
            if finding.verdict.kind == "leak":
                return self._by_growth(finding, small)
            if mode_of(finding.verdict) == PROGRAM:
                return self._by_words(finding, small, wanted)
            if is_compared(finding.verdict, self.dialect):
                return self._by_comparison(finding, small)
            if finding.verdict.oracle != "crash":
                return self._by_replay(finding, small, wanted)
            return self._by_script(finding, small)
        except CodecError as error:
            return Examination(finding, reason=f"cannot be written as a script: {error}")

    def _excuse(self, finding: FindingRow) -> str:
        """Most time-outs are long work: one look at five times the limit, alone, before any minimising."""

        def seconds(test: TestCase) -> float | None:
            told = self.replayer.tell(test).get(PLAIN, ())
            return told[0].outcome.seconds if told and told[0].outcome.kind in ("ok", "exception") else None

        def hangs(limit: float) -> bool:
            return not self.scripts.ends(self._script(finding.test, finding, True), limit)

        return excuse(finding.test, seconds, hangs, self.timeout * HANG_FACTOR)

    def _minimised(self, finding: FindingRow, wanted: str) -> TestCase:
        """The smallest test case with the finding's signature; the original where it does not replay."""
        self.smallest = None
        first = self._reproduced(finding.test, finding, wanted)
        if first is None:
            return finding.test
        end, late = self._end(finding.verdict), False
        stated, program = mode_of(finding.verdict) == LIBRARIES, finding.test.program
        depends = () if not stated or is_of_shape(program) else slice_of(program)

        def over() -> bool:
            nonlocal late
            late = late or self.session.clock() >= end or self._over()
            return late

        def reproduces(test: TestCase) -> bool:
            # What the program is compared with stands in it: of one that computes something else, it says nothing.
            if depends and slice_of(test.program) != depends:
                return False
            seen = self._reproduced(test, finding, wanted)
            return seen is not None and (not stated or seen.text == first.text)

        small = minimise(finding.test, reproduces, over)
        self.smallest = None if late else small
        return small

    def _end(self, verdict: Verdict) -> float:
        """When minimising has to end: what it has found is still to be confirmed before the deadline."""
        end = self.session.clock() + self.bug_seconds
        if self.deadline is None:
            return end
        return min(end, self.deadline - self.runs * (self.timeout * HANG_FACTOR if verdict.kind == "hang" else 1.0))

    def _reproduced(self, test: TestCase, finding: FindingRow, wanted: str) -> Outcome | None:
        leak, mode = finding.verdict.kind == "leak", mode_of(finding.verdict)
        return self._seen(self.replayer.run(test, weigh=leak, mode=mode), finding, wanted)

    def _seen(self, replayed: Replayed, finding: FindingRow, wanted: str) -> Outcome | None:
        """The evidence in a replay for the finding's own signature."""
        verdicts = list(replayed.verdicts)
        verdicts.append((self.crash.judge({"cpu": replayed.outcome}, self.dialect), replayed.outcome))
        for verdict, outcome in verdicts:
            same = (verdict.oracle, verdict.kind) == (finding.verdict.oracle, finding.verdict.kind)
            if mode_of(finding.verdict) == PROGRAM:
                # Other ways into the library may end in the same words.
                same = same and mode_of(verdict) == PROGRAM and outcome.frames == finding.outcome.frames
            if same and signature(finding.api, verdict, outcome).text == wanted:
                return outcome
        return None

    def _by_words(self, finding: FindingRow, small: TestCase, wanted: str) -> Examination:
        """An exception that nobody has thought of is confirmed by the program, which ends with the same words."""

        def same(outcome: Outcome) -> bool:
            return outcome.kind == "exception" and signature(finding.api, finding.verdict, outcome).text == wanted

        scripts = ((test, self._script(test, finding)) for test in dict.fromkeys((small, finding.test)))
        seen = ((test, self.scripts.saying(script, same, self.runs)) for test, script in scripts)
        found = _decisive(self._decided(finding, *each) for each in seen)
        assert found is not None
        return found

    def _by_comparison(self, finding: FindingRow, small: TestCase) -> Examination:
        """Modes that disagree are confirmed by a script that calls in both ways and asserts that they agree."""
        tries = [(small, False), (small, True), (finding.test, True)]
        found = _decisive(self._compared(finding, *each) for each in dict.fromkeys(tries))
        assert found is not None
        return found

    def _compared(self, finding: FindingRow, test: TestCase, seeded: bool) -> Examination:
        seen = self.scripts.asserting(self._script(test, finding, seeded), self.runs)
        return self._decided(finding, test, seen._replace(outcome=finding.outcome), seeded)

    def _by_replay(self, finding: FindingRow, small: TestCase, wanted: str) -> Examination:
        """What no script can show (the cost of a call) is confirmed in fresh workers."""
        mode = mode_of(finding.verdict)
        seen = [self._seen(self.replayer.run(small, fresh=True, mode=mode), finding, wanted) for _ in range(self.runs)]
        hits = [outcome for outcome in seen if outcome is not None]
        outcome = hits[0] if hits else finding.outcome
        return self._decided(finding, small, Confirmation(len(hits), self.runs, outcome))

    def _by_growth(self, finding: FindingRow, small: TestCase) -> Examination:
        """A leak is confirmed by a script that repeats the call and ends with an assertion on its own memory."""
        seen = self.scripts.asserting(self._script(small, finding), self.runs)
        return self._decided(finding, small, seen._replace(outcome=finding.outcome))

    def _by_script(self, finding: FindingRow, small: TestCase) -> Examination:
        """Confirms the smallest script; where that fails, with seeded streams, then the test case as it was found.

        The call as it is comes before the mode in which a worker died: that may have been its second execution.
        """
        tries = [(small, False), (small, True)] + ([(finding.test, True)] if small != finding.test else [])
        plain = (self._tried(_in(PLAIN, finding), test, seeded) for test, seeded in tries)
        found = _decisive(itertools.chain(plain, self._in_other_modes(finding, small)))
        assert found is not None
        return found

    def _in_other_modes(self, finding: FindingRow, small: TestCase) -> Iterator[Examination]:
        """The mode that the journal names, or else those that were executed for the test case."""
        own = mode_of(finding.verdict)
        modes = {*(self.dialect.programs if finding.test.program else self.dialect.ways)}
        if finding.outcome.kind != "signal" and own not in modes:
            return
        for test in dict.fromkeys((small, finding.test)):
            planned = (oracle_of(name).plan(test, (PLAIN, *self.dialect.ways)) for name in COMPARING)
            for mode in [own] if own in modes else itertools.chain.from_iterable(planned):
                yield self._tried(_in(mode, finding), test, True)

    def _tried(self, finding: FindingRow, test: TestCase, seeded: bool) -> Examination:
        script = self._script(test, finding, seeded)
        seen, verdict = self._confirm(script, finding.verdict)
        return self._decided(finding._replace(verdict=verdict), test, seen, seeded)

    def _confirm(self, script: str, found: Verdict) -> tuple[Confirmation, Verdict]:
        """How often the script fails as it does the first time, and the verdict on that.

        Under a worker's limits the same fault may have looked otherwise (an exception before the abort). A hang is one
        only where it was found as one: a script's limit is far longer than a test's. The first run has no limit of
        address space: some die of what the limit has denied them.
        """
        first = self.scripts.failing(script, found.kind, 1, roomy=True)
        verdict = self.crash.judge({mode_of(found): first.outcome}, self.dialect)
        if verdict.clean or (verdict.kind == "hang" and found.kind != "hang"):
            return first._replace(hits=0), found
        first = first._replace(hits=1)
        # What the allocator notices of a corrupted heap depends on where things happen to lie: more runs tell.
        runs = self.runs * (CORRUPTION_FACTOR if corrupts_heap(first.outcome) else 1)
        if runs == 1:
            return first, verdict
        rest = self.scripts.failing(script, verdict.kind, runs - 1)
        return Confirmation(first.hits + rest.hits, runs, first.outcome), verdict

    def _decided(self, finding: FindingRow, test: TestCase, seen: Confirmation, seeded: bool = False) -> Examination:
        if not seen.hits or seen.hits < seen.runs:
            status = "flaky" if seen.hits else "rejected"
            reason = f"{seen.outcome.kind} {seen.outcome.name}: {seen.outcome.text[-200:]}"
            return Examination(finding, status, reason, seen.hits, seen.runs)
        outcome = self.scripts.with_frames(seen.outcome, self._script(test, finding, seeded))
        # Where the smallest call is one that was an argument, that is what fails.
        verdict, api = finding.verdict, test.invocation.api
        text = signature(api, verdict, outcome).text
        # Written again with what happened in the fresh process, which may say more than the first sight did.
        script = self._script(test, finding._replace(outcome=outcome), seeded)
        head = (text, api, verdict.oracle, verdict.kind)
        bug = NewBug(*head, test, script, outcome, seen.hits, seen.runs, minimised=test == self.smallest)
        return Examination(finding, "confirmed", "", seen.hits, seen.runs, bug)

    def _script(self, test: TestCase, finding: FindingRow, seeded: bool = False) -> str:
        kind = finding.verdict.kind
        observed = f"{finding.outcome.name}: {reason_of(finding.outcome.text).strip()}".splitlines()
        mode = mode_of(finding.verdict)
        if mode in (self.dialect.programs if test.program else self.dialect.ways):
            crash = finding.verdict.oracle == "crash"
            said = observed[0] if crash else finding.outcome.text.strip().partition("\n")[0]
            check = CALL if crash else RAISED if kind == "inconsistent" else None
            return render_comparison(test, mode, self.dialect, kind_of(kind).expected, f"{kind}: {said}", seeded, check)
        return render(test, self.dialect, kind_of(kind).expected, f"{kind}: {observed[0]}", seeded, kind == "leak")


def _in(mode: str, finding: FindingRow) -> FindingRow:
    """The finding with a verdict about this mode."""
    said = finding.verdict.detail.partition(": ")[2]
    return finding._replace(verdict=finding.verdict._replace(detail=f"{mode}: {said}"))


def _decisive(examinations: Iterable[Examination]) -> Examination | None:
    """The first confirmed one, after which none is asked for; else the one with most hits; None out of none."""
    best: Examination | None = None
    for found in examinations:
        if found.status == "confirmed":
            return found
        if best is None or found.hits > best.hits:
            best = found
    return best
