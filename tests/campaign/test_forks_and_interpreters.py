"""Confirmation of a script: by forks of a process that has only imported the library, and by a fresh interpreter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from fuzz_core.campaign.bench import HANG_FACTOR, Bench
from fuzz_core.ir.outcome import Outcome
from fuzz_core.store.records import TargetRecord
from fuzz_core.triage.process import Confirmation, Processes
from fuzz_core.worker.observers import GARBAGE
from fuzz_core.worker.stack import is_supported

RUNS = 5
IN_A_FORK = "import sys\nforked = 'fuzz_core.worker.zygote' in sys.modules\n"
RAISES = "raise ValueError('it')"
# A fork finds out which run it is: it reads memory that no run has written to.
SECOND_FORK = f"""{IN_A_FORK}import ctypes
malloc = ctypes.CDLL(None).malloc
malloc.restype = ctypes.c_void_p
second = forked and ctypes.string_at(malloc(5000) + 4000, 1) == bytes([255 - {GARBAGE[1]}])
"""


@pytest.fixture(scope="module")
def bench(fakelib_target: TargetRecord) -> Iterator[Bench]:
    with closing(Bench(fakelib_target, Processes(), 4.0)) as bench:
        yield bench


def confirmed(bench: Bench, script: str, known: bool = False) -> Confirmation:
    def fails(outcome: Outcome) -> bool:
        return outcome.kind != "ok"

    first = bench.look(script, "crash", alone=False)
    return bench.confirm(script, "crash", fails, RUNS, first, alone=False, known=known)


def test_one_interpreter_confirms_what_forks_show(bench: Bench) -> None:
    found = confirmed(bench, RAISES)
    assert (found.hits, found.runs, found.forks) == (RUNS, RUNS, RUNS - 1)
    assert (found.outcome.name, found.outcome.text, found.outcome.frames) == ("ValueError", "it", ())


def test_interpreters_alone_settle_what_only_forks_show(bench: Bench) -> None:
    found = confirmed(bench, f"{IN_A_FORK}assert not forked")
    assert (found.hits, found.forks, found.outcome.kind) == (0, 0, "ok")


def test_interpreters_alone_settle_what_not_every_fork_shows(bench: Bench) -> None:
    found = confirmed(bench, f"{SECOND_FORK}if not second: {RAISES}")
    assert (found.hits, found.runs, found.forks) == (RUNS, RUNS, 0)


def test_a_bug_on_record_needs_no_further_interpreter(bench: Bench) -> None:
    found = confirmed(bench, f"{IN_A_FORK}if forked: {RAISES}", known=True)
    assert (found.hits, found.runs, found.forks) == (RUNS, RUNS, RUNS)


@pytest.mark.skipif(not is_supported(), reason="the handler of signals is code of x86-64")
def test_half_of_the_runs_are_interpreters_where_foreign_memory_is_touched(bench: Bench) -> None:
    null, wild = (confirmed(bench, f"import ctypes\nctypes.string_at({address})") for address in (0, 0x123456789000))
    assert null.outcome.frames == ("(fault in the null page)",)
    assert wild.outcome.frames == ("(fault at a wild address)",)
    assert (null.forks, wild.forks) == (4, 2)


def test_a_fork_says_what_an_interpreter_says(bench: Bench) -> None:
    for script in (
        "print('it')",
        "raise SystemExit(3)",
        "raise SystemExit('words')",
        "def f(): raise KeyError('a')\nf()",
        "import os; os.abort()",
        "import sys; sys.exit()",
        "assert __name__ == '__main__' and __import__('sys').argv == ['repro.py']",
    ):
        fork, fresh = (bench.look(script, "crash", alone)._replace(seconds=0.0) for alone in (False, True))
        assert fork == fresh, script


def test_a_fork_that_hangs_is_ended(bench: Bench) -> None:
    end = bench.shared.run("import time\ntime.sleep(60)", 0.5)
    assert end.status is None


def test_a_fork_that_ends_its_parent_is_no_success(bench: Bench) -> None:
    end = bench.shared.run("import os\nos.kill(os.getppid(), 9)", 10.0)
    assert end.status not in (0, None)
    assert bench.look("1", "crash", alone=False).kind == "ok"


class SlowCall(Bench):
    """A bench on which every script takes twice the time for which a hang is looked at."""

    def run(self, script: str, kind: str, seconds: float | None = None, memory_bytes: int = 0) -> Outcome:
        limit = self.seconds(kind) if seconds is None else seconds
        return Outcome("timeout") if limit < 2 * HANG_FACTOR * self.timeout else Outcome("ok")

    def fork(
        self, script: str, kind: str, number: int = 0, traced: bool = False, seconds: float | None = None
    ) -> Outcome:
        return Outcome("timeout")


def test_a_minimised_call_that_is_merely_slow_is_no_hang(fakelib_target: TargetRecord) -> None:
    def hangs(outcome: Outcome) -> bool:
        return outcome.kind == "timeout"

    bench = SlowCall(fakelib_target, Processes(), 3.0)
    found = bench.confirm("slow()", "hang", hangs, RUNS, Outcome("timeout"), alone=False)
    assert (found.hits, found.outcome.kind) == (0, "ok")
