"""Tests of zygotes that start, of zygotes that cannot, and of the limits of a forked process."""

from __future__ import annotations

import os
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakelib_plans import call, plan_of

from fuzz_core.execution.zygote import Job, JobResult, Zygote, ZygoteError, environment, run_jobs
from fuzz_core.ir.errors import Interrupted
from fuzz_core.worker.limits import children

GIGABYTE = 1 << 30


@pytest.fixture(scope="module")
def tracer() -> Iterator[Zygote]:
    os.environ["GITHUB_TOKEN"] = "secret-of-the-controller"
    try:
        with Zygote(sys.executable, "fakelib", "trace") as zygote:
            yield zygote
    finally:
        del os.environ["GITHUB_TOKEN"]


def snippet(zygote: Zygote, code: str) -> JobResult:
    (result,) = run_jobs(zygote, [Job("seed", {"seed": {"kind": "snippet", "code": code}}, 10.0)], 1, GIGABYTE)
    return result


def test_a_missing_interpreter_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(ZygoteError, match=r"interpreter does not start.*no/such/python"):
        Zygote("/no/such/python", "fakelib", "list")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_library_is_said_with_the_log() -> None:
    with pytest.raises(ZygoteError, match="unknown library 'absent'"):
        Zygote(sys.executable, "absent", "list")


def test_a_library_that_fails_to_import_is_said_with_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = "class Dialect: pass\nclass Adapter:\n    def load(self): raise ImportError('libbroken.so: missing')\n"
    (tmp_path / "nightfuzz_broken.py").write_text(broken)
    monkeypatch.setenv("NIGHTFUZZ_PATH", str(tmp_path))
    with pytest.raises(ZygoteError, match=r"ImportError: libbroken\.so: missing"):
        Zygote(sys.executable, "broken", "list")


def test_a_library_that_crashes_while_it_is_imported_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dying = "class Dialect: pass\nclass Adapter:\n    def load(self): import os; os.abort()\n"
    (tmp_path / "nightfuzz_dying.py").write_text(dying)
    monkeypatch.setenv("NIGHTFUZZ_PATH", str(tmp_path))
    with pytest.raises(ZygoteError, match="ended or does not answer"):
        Zygote(sys.executable, "dying", "list")


def test_starting_stops_when_the_user_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = "class Dialect: pass\nclass Adapter:\n    def load(self):\n        while True: pass\n"
    (tmp_path / "nightfuzz_slow.py").write_text(slow)
    monkeypatch.setenv("NIGHTFUZZ_PATH", str(tmp_path))
    with pytest.raises(Interrupted):
        Zygote(sys.executable, "slow", "list", stopped=lambda: True)


def test_a_dead_zygote_is_started_again(tmp_path: Path) -> None:
    with Zygote(sys.executable, "fakelib", "fuzz", plan_of(tmp_path / "plan", [call("fail", 1)])) as zygote:
        first = zygote.process
        assert first is not None
        os.kill(children(first.pid)[0], signal.SIGKILL)
        first.wait()
        child = zygote.fork("fuzz", GIGABYTE)
        assert os.WTERMSIG(zygote.reap(child, seconds=0.0)) == signal.SIGKILL
        child.close()
        assert zygote.process is not first


def test_the_environment_holds_no_secret_and_no_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "LD_PRELOAD", "PYTHONSTARTUP"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("HOME", "/home/somebody")
    found = environment(tmp_path)
    assert "secret" not in found.values()
    assert found["HOME"] == found["TMPDIR"] == str(tmp_path)


def test_foreign_code_sees_no_secret(tracer: Zygote) -> None:
    seen = snippet(tracer, "import os, pathlib\nassert 'secret' not in repr(os.environ)\nassert len(os.environ) > 3")
    assert (seen.messages[-1]["parts"], seen.messages[-1]["failed"]) == (3, 0)


def test_foreign_code_reaches_no_network(tracer: Zygote) -> None:
    assert tracer.ready["network"] in ("namespace", "python")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = server.getsockname()
        code = f"import socket\nsocket.create_connection({address!r}, 5)\nsocket.socket().connect({address!r})"
        assert snippet(tracer, code).messages[-1]["failed"] == 2
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_huge_allocation_fails_cleanly(tracer: Zygote) -> None:
    end = snippet(tracer, "import numpy\nnumpy.ones(2**20)\nnumpy.ones(2**28)").messages[-1]
    assert end["failed"] == 1
    assert "MemoryError" in end["reason"]


def test_a_file_beyond_the_limit_is_an_error_and_no_death(tracer: Zygote) -> None:
    end = snippet(tracer, "import os\nfile = open('big', 'wb')\nos.ftruncate(file.fileno(), 2**40)").messages[-1]
    assert end["failed"] == 1


def test_each_process_begins_in_an_empty_directory(tracer: Zygote) -> None:
    for _ in range(2):
        assert snippet(tracer, "import os\nassert os.listdir() == []\nopen('left', 'w')").messages[-1]["failed"] == 0


ENDS: dict[str, tuple[str, str, str]] = {
    "os._exit": ("import os; os._exit(3)", "exit", "3"),
    "abort": ("import os; os.abort()", "signal", "SIGABRT"),
    "segfault": ("import ctypes; ctypes.string_at(0)", "signal", "SIGSEGV"),
    "killed": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "signal", "SIGKILL"),
    "interrupt": ("raise KeyboardInterrupt", "exit", "71"),
    "closed pipe": ("import os; os.closerange(3, 301)", "exit", "0"),
    "hang": ("while True: pass", "timeout", "1 s"),
}


@pytest.mark.parametrize("way", ENDS)
def test_a_seed_that_ends_its_process_is_a_result_and_the_next_runs(way: str, tracer: Zygote) -> None:
    code, kind, name = ENDS[way]
    jobs = [Job("seed", {"seed": {"kind": "snippet", "code": each}}, 1.0, tag=each) for each in (code, "1 + 1")]
    dead, well = run_jobs(tracer, jobs, 1, GIGABYTE)
    assert (dead.outcome.kind, dead.outcome.name, dead.complete) == (kind, name, False)
    assert (well.job.tag, well.outcome.name, well.complete) == ("1 + 1", "0", True)


@pytest.mark.parametrize("code", ["import fakelib\nfakelib.scribble(-1)", "import fakelib\nfakelib.chatter(-1)"])
def test_a_seed_that_makes_noise_is_traced_all_the_same(code: str, tracer: Zygote) -> None:
    result = snippet(tracer, code)
    assert result.complete
    assert [message["call"][1] for message in result.messages if "call" in message] == [
        code.split("\n")[1].split("(")[0]
    ]


def test_what_is_left_of_the_jobs_is_dropped_when_asked_to_stop(tracer: Zygote) -> None:
    def after(count: int) -> Callable[[], bool]:
        asked = iter([False] * count)
        return lambda: next(asked, True)

    jobs = [Job("seed", {"seed": {"kind": "snippet", "code": "while True: pass"}}, 100.0) for _ in range(3)]
    assert list(run_jobs(tracer, jobs, 1, GIGABYTE, after(2))) == []
    assert tracer.process is not None
    (zygote,) = children(tracer.process.pid)
    assert children(zygote) == []


def test_a_seed_may_be_longer_than_a_message_of_the_kernels(tracer: Zygote) -> None:
    long = f"import os\nassert os.listdir() == []\ntext = {'x' * (3 << 20)!r}\nassert len(text) == {3 << 20}"
    assert snippet(tracer, long).messages[-1]["failed"] == 0
    assert not list(tracer.root.glob("request-*"))
