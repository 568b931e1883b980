"""Tests of the controller's end of a worker: the messages of its pipe, and the way it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fuzz_core.execution.link import CHUNK_BYTES, CompileClock, Ending, Link, Links, Output
from fuzz_core.worker.journal import Entry, Journal, make


class Other:
    """A link, and the descriptors at the far end of its pipes: `asked` is read from, `answers` written to."""

    def __init__(self, folder: Path) -> None:
        self.asked, to_child = os.pipe()
        from_child, self.answers = os.pipe()
        for ours in (to_child, from_child):
            os.set_blocking(ours, False)
        self.process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        (folder / "own").mkdir()
        output, journal = Output(folder / "output"), Journal(make(), reading=True)
        self.link = Link(to_child, from_child, journal, output, folder / "own", 0, self.reap)
        self.link.pid, self.link.pidfd = self.process.pid, os.pidfd_open(self.process.pid)

    def reap(self, link: Link) -> int:
        return os.waitpid(link.pid, 0)[1]


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Other]:
    made = Other(tmp_path)
    yield made
    made.link.discard()
    assert not (tmp_path / "own").exists()


def test_lines_come_whole_and_empty_ones_do_not(other: Other) -> None:
    assert other.link.receive() == []
    os.write(other.answers, b"\n\none\ntw")
    assert other.link.receive() == [b"one"]
    os.write(other.answers, b"")
    assert other.link.receive() == []
    os.write(other.answers, b"o\n\nthree\n")
    assert other.link.receive() == [b"two", b"three"]
    assert other.link.closed is None


def test_a_line_that_is_too_long_is_kept_no_further(other: Other) -> None:
    other.link.longest = 10
    for _ in range(3):
        os.write(other.answers, b"x" * 7)
        assert other.link.receive() == []
    assert other.link.is_flooded and len(other.link.buffer) == 11
    os.write(other.answers, b"\nnext\n")
    assert other.link.receive() == [b"x" * 11, b"next"]
    assert not other.link.is_flooded


def test_one_call_takes_all_that_a_pipe_holds(other: Other) -> None:
    os.set_blocking(other.answers, False)
    written = os.write(other.answers, b"y" * (2 * CHUNK_BYTES))
    other.link.receive()
    assert len(other.link.buffer) == written


def test_the_end_of_a_pipe_is_noticed_once(other: Other) -> None:
    with Links[str](CompileClock(False)) as links:
        links.add(other.link, "it")
        os.write(other.answers, b"last\nhalf")
        os.close(other.answers)
        assert list(links.wait(5.0)) == [("it", [b"last"], False)]
        assert list(links.wait(5.0)) == [("it", [], False)]
        assert other.link.closed is not None
        assert list(links.wait(0.0)) == []
        other.link.kill()
        assert list(links.wait(5.0)) == [("it", [], True)]
        links.drop(other.link)
        assert list(links.wait(0.0)) == []


def test_what_was_dropped_over_another_event_is_not_told(other: Other) -> None:
    with Links[str](CompileClock(False)) as links:
        links.add(other.link, "it")
        os.write(other.answers, b"last\n")
        other.link.kill()
        os.waitid(os.P_PID, other.process.pid, os.WEXITED | os.WNOWAIT)
        events = 0
        for _ in links.wait(5.0):
            events += 1
            links.drop(other.link)
        assert events == 1


def test_a_process_that_reads_nothing_is_not_waited_for_and_one_that_cannot_is_told(other: Other) -> None:
    other.link.send({"long": "z" * CHUNK_BYTES}, 0.2)
    os.close(other.asked)
    with pytest.raises(OSError, match="Broken pipe"):
        other.link.send({}, 5.0)


def test_how_it_ended_is_said_with_its_last_words(other: Other) -> None:
    os.write(other.link.output.descriptor, b"last words")
    other.link.kill()
    reaped = other.link.reap()
    assert (reaped.outcome.kind, reaped.outcome.name, reaped.outcome.text) == ("signal", "SIGKILL", "last words")
    other.link.reaper = lambda _: 0


@pytest.mark.parametrize(
    ("status", "kind", "name"),
    [(0, "exit", "0"), (3 << 8, "exit", "3"), (signal.SIGSEGV, "signal", "SIGSEGV"), (40, "signal", "signal 40")],
)
def test_a_wait_status_is_an_outcome(status: int, kind: str, name: str) -> None:
    ending = Ending(status, "said", Entry(0, 0, 0.0, 0, ""))
    assert (ending.outcome.kind, ending.outcome.name, ending.outcome.text) == (kind, name, "said")
