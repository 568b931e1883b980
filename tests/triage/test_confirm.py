"""Tests of scripts in fresh processes: every end is classified, no setting gets in, and no file or process is left."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import Fill, Invocation, Tensor, TestCase, prim
from fuzz_core.triage import process
from fuzz_core.triage.process import KEPT_OUTPUT, KEPT_TEXT, Finished, classify, run, run_script
from fuzz_core.triage.script import render

TORCH, JITTOR = dialect_of("torch"), dialect_of("jittor")


def outcome(script: str, timeout: float = 60.0, memory: int = 2 << 30) -> Outcome:
    return run_script(sys.executable, script, TORCH, timeout, memory)


def said(script: str, env: dict[str, str] | None = None) -> str:
    return run([sys.executable, "x.py"], {"x.py": script}, 60.0, env=env).stdout.strip()


class DescribeRunScript:
    def test_knows_success(self) -> None:
        assert outcome("print(1)").kind == "ok"

    def test_knows_an_exception_with_its_message_and_frames(self, tmp_path: Path) -> None:
        package = tmp_path / "site-packages" / "library"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("def outer():\n    inner()\ndef inner():\n    raise KeyError('a\\nb')\n")
        script = f"import sys; sys.path.insert(0, {str(package.parent)!r})\nimport library\nlibrary.outer()"
        found = outcome(script)
        assert (found.kind, found.name, found.text) == ("exception", "KeyError", "'a\\nb'")
        assert found.frames == ("library/__init__.py:inner", "library/__init__.py:outer")

    def test_knows_qualified_exceptions_and_long_messages(self) -> None:
        script = "class E(Exception): __module__ = 'a.b'\nraise E('first\\nsecond' + 'x' * 5000)"
        found = outcome(script)
        assert found.name == "E"
        assert found.text.startswith("first\nsecond")
        assert len(found.text) == KEPT_TEXT

    def test_takes_the_last_of_chained_exceptions(self) -> None:
        found = outcome("try: 1 / 0\nexcept ZeroDivisionError as e: raise ValueError('outer') from e")
        assert (found.name, found.text) == ("ValueError", "outer")

    @pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL"])
    def test_knows_signals(self, name: str) -> None:
        found = outcome(f"import os, signal; os.kill(os.getpid(), signal.{name})")
        assert (found.kind, found.name) == ("signal", name)

    def test_last_words_are_no_warnings(self) -> None:
        script = """import os, sys, warnings
warnings.warn("it is slow\\nand beta")
print("these words", file=sys.stderr)
warnings.warn("again", DeprecationWarning)
os.abort()"""
        found = outcome(script)
        assert (found.name, found.text) == ("SIGABRT", "these words")

    def test_knows_a_real_abort_and_keeps_what_it_said(self) -> None:
        found = outcome("import ctypes; ctypes.CDLL(None).free(ctypes.c_void_p(1 << 4 | 8))")
        assert found.kind == "signal"
        said = "I0000 x] noise\nF0000 00:00:1 2 a.cc:3] Check failed: a > b\n"
        script = f"import os, sys\nsys.stderr.write({said!r})\nos.abort()"
        assert outcome(script).text == "Check failed: a > b"

    def test_reads_the_stack_that_a_failed_check_prints(self) -> None:
        stack = (
            "    @  0x7f8  absl::lts_1::log_internal::LogMessage::Flush()\n    @  0x7f9  tensorflow::Op<>::Compute()\n"
        )
        found = classify(Finished(-6, "", f"F0000 1 a.cc:3] Check failed: x\n{stack}", 1.0), TORCH)
        assert found.frames == ("tensorflow::Op::Compute",)

    def test_knows_an_exit(self) -> None:
        assert outcome("import sys; sys.exit(3)")[:2] == ("exit", "3")
        assert outcome("import os; os._exit(7)")[:2] == ("exit", "7")

    def test_knows_a_hang_and_ends_its_children(self) -> None:
        script = "import os, time\nif os.fork() == 0: print(os.getpid(), flush=True)\nwhile True: time.sleep(9)"
        found = run([sys.executable, "x.py"], {"x.py": script}, 2.0)
        assert classify(found, TORCH)[:2] == ("timeout", "timeout")
        assert not Path(f"/proc/{found.stdout.strip()}/cmdline").exists() or not _alive(int(found.stdout))

    def test_without_a_limit_of_addresses_it_may_reserve_more_than_there_is(self) -> None:
        script = "import mmap\nmmap.mmap(-1, 1 << 36, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)"
        assert outcome(script, memory=2 << 30).kind == "oom"
        assert outcome(script, memory=0).kind == "ok"

    def test_without_such_a_limit_it_may_hold_no_more_than_its_share(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(process, "_MACHINE_BYTES", 1 << 30)
        assert outcome("x = bytearray(b'x') * (1 << 20)", memory=0).kind == "ok"
        greedy = "x = bytearray(b'x') * (1 << 29)\nwhile True: pass"
        found = outcome(greedy, memory=0)
        assert (found.kind, found.name) == ("oom", "SIGKILL")
        # A debugger runs the script as a child of its own.
        found = outcome(f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {greedy!r}])", memory=0)
        assert (found.kind, found.name) == ("oom", "SIGKILL")

    def test_knows_out_of_memory(self) -> None:
        assert outcome("bytearray(1 << 40)").kind == "oom"
        assert outcome("import os, signal; os.kill(os.getpid(), signal.SIGKILL)").kind == "oom"
        died = "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n"
        assert classify(Finished(-6, "", died, 1.0), TORCH).kind == "oom"
        assert classify(Finished(-11, "", died, 1.0), TORCH).kind == "signal"

    @pytest.mark.parametrize(("last", "name"), [("Segfault, exit", "SIGSEGV"), ("Get signal 8, exit", "SIGFPE")])
    @pytest.mark.parametrize("code", [1, -6, -11])
    def test_a_signal_that_the_library_has_caught_is_the_death(self, last: str, name: str, code: int) -> None:
        """Destructors run in the library's handler. A death there is not the bug, and the heap is not corrupt."""
        handled = f"Caught segfault at address 0x55ce4f, thread_name: '', flush log...\n30\twait4.c: no\n{last}\n"
        died = Finished(code, "", f"Check failed: before\n{handled}double free or corruption (!prev)\n", 1.0)
        assert classify(died, JITTOR)[:3] == ("signal", name, "Check failed: before")
        assert classify(died._replace(code=0), JITTOR).kind == "ok"

    def test_what_a_library_says_while_it_works_is_no_last_word(self) -> None:
        working = "\rCompiling Operators(1/2) used: 2.01s eta:    0s\rCompiling Operators(2/2) used: 4.3s eta:    0s\n"
        assert classify(Finished(-8, "", working, 1.0), JITTOR)[:3] == ("signal", "SIGFPE", "")
        assert classify(Finished(-8, "", f"{working}out of range\n", 1.0), JITTOR).text == "out of range"

    def test_refuses_an_interpreter_that_is_not_there(self) -> None:
        with pytest.raises(UserError, match="there is no interpreter /nowhere/python"):
            run_script("/nowhere/python", "", TORCH)


def _alive(pid: int) -> bool:
    return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()


class DescribeProcess:
    def test_runs_in_an_empty_directory_that_is_gone_afterwards(self) -> None:
        directory, *files = said("import os; print(os.getcwd(), *os.listdir())").split()
        assert files == ["x.py"]
        assert not Path(directory).exists()

    def test_hands_down_no_tokens(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GITHUB_TOKEN", "secret")
        seen = said("import os; print(sorted(os.environ), os.environ['HOME'])", {"EXTRA": "1"})
        assert "GITHUB_TOKEN" not in seen
        assert "'EXTRA'" in seen
        assert os.environ["HOME"] not in seen.split("]")[1]

    def test_sets_its_limits(self) -> None:
        script = "import resource as r; print(r.getrlimit(r.RLIMIT_CORE)[0], r.getrlimit(r.RLIMIT_DATA)[0])"
        found = run([sys.executable, "x.py"], {"x.py": script}, 60.0, 3 << 30)
        assert found.stdout.split() == ["0", str(3 << 30)]

    def test_keeps_head_and_tail_of_a_flood(self) -> None:
        found = run([sys.executable, "x.py"], {"x.py": "print('head' + 'x' * 10**6 + 'tail')"}, 60.0)
        assert found.code == 0
        assert found.stdout.startswith("head") and found.stdout.endswith("tail\n")
        assert len(found.stdout) < KEPT_OUTPUT + 10

    def test_survives_bytes_that_are_no_text(self) -> None:
        assert said("import os; os.write(1, bytes(range(128, 160)))") == "\ufffd" * 32


@pytest.mark.real
class DescribeRealCrashes:
    def test_confirms_a_segmentation_fault_in_torch(self, torch_python: Path) -> None:
        reduce = Invocation(
            "torch.segment_reduce",
            (Invocation("torch.zeros", (prim(1),)), prim("sum")),
            (
                ("lengths", Tensor("int64", (1,), Fill("constant", 2.0**40))),
                ("unsafe", prim(True)),
            ),
        )
        script = render(TestCase(reduce, 0), TORCH)
        assert run_script(str(torch_python), script, TORCH).name == "SIGSEGV"

    def test_calls_a_clean_out_of_memory_one(self, torch_python: Path) -> None:
        script = render(TestCase(Invocation("torch.zeros", (prim(2**60),)), 0), TORCH)
        assert run_script(str(torch_python), script, TORCH).kind == "oom"

    def test_reads_a_failed_check_of_tensorflow(self, tensorflow_python: Path) -> None:
        script = (
            "import tensorflow as tf\n"
            "i, v, s = [tf.constant([[0]], tf.int64)] * 2, [[1.0]] * 2, [tf.constant([2**62], tf.int64)] * 2\n"
            "tf.raw_ops.SparseConcat(indices=i, values=v, shapes=s, concat_dim=0)\n"
        )
        found = run_script(str(tensorflow_python), script, dialect_of("tensorflow"), 120.0)
        assert found.name == "SIGABRT"
        assert found.text.startswith("Check failed: ")
        assert "tensorflow::SparseConcatOp::Compute" in found.frames
