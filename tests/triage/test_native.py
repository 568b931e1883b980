"""Tests of native frames: names without variable parts, taken from gdb if it is installed."""

from __future__ import annotations

import ctypes
import platform
import re
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.triage import process
from fuzz_core.triage.process import frames, run_script
from fuzz_core.triage.signature import MAX_FRAMES, MAX_NAME, clean, parse, printed_frames, stack_trace
from fuzz_core.worker import stack

TORCH, JITTOR = dialect_of("torch"), dialect_of("jittor")
TRACE = """
Thread 1 "python" received signal SIGSEGV, Segmentation fault.
0x00007f in f () from /env/torch/lib/libtorch_cpu.so
#0  0x00007f in at::native::(anonymous namespace)::ctc<float, (c10::Type)4>(at::Tensor const&, long)::\
{lambda(long, long)#1}::operator()(long, long) const () from /env/torch/lib/libtorch_cpu.so
#1  0x00007f in c10::impl::wrap_kernel_functor_unboxed_<F<int> >::call(int) () from /env/torch/lib/libtorch_cpu.so
#2  0x00007f in void at::_ops::ctc::call(at::Tensor const&) () from /env/torch/lib/libtorch_cpu.so
#3  0x00007f in __libc_start () from /lib/libc.so.6
#4  0x00007f in ?? () from /env/torch/lib/libtorch_python.so
#5  cfunction_call (func=..., args=...) at Objects/methodobject.c:542
"""


class DescribeClean:
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("at::native::f(at::Tensor const&)", "at::native::f"),
            ("void at::f<float, std::vector<int> >(int) const", "at::f"),
            ("at::(anonymous namespace)::f(int)::{lambda(int)#2}::operator()(int) const", "at::f"),
            ("tensorflow::Op<Eigen::Device, float>::Compute(Ctx*) [clone .cold.12]", "tensorflow::Op::Compute"),
            ("absl::lts_20250814::Foo::Bar()", "absl::Foo::Bar"),
            ("std::ostream& std::operator<< <char>(int)", "std::operator"),
            ("_ZN2at8internal15invoke_parallelIZNS_12parallel_forE._omp_fn.0", "at::internal::invoke_parallel"),
            ("TFE_Execute", "TFE_Execute"),
        ],
    )
    def test_keeps_the_qualified_name(self, name: str, expected: str) -> None:
        assert clean(name) == expected

    @pytest.mark.parametrize(
        "name",
        [
            "dnnl::f(int) const::{lambda(int, int)#1}::operator()(int, int) const",
            "void dnnl::f<avx512>(long)::{lambda(int)#7}::operator()(int) const [clone ._omp_fn.3]",
            "(anonymous namespace)::dnnl::f(int) const [clone .cold]",
            "dnnl::f[abi:cxx11](int)",
        ],
    )
    def test_drops_what_varies_between_builds(self, name: str) -> None:
        assert clean(name) == "dnnl::f"

    @given(st.lists(st.from_regex(r"[A-Za-z_]\w{0,9}", fullmatch=True), min_size=1, max_size=5).map("::".join))
    def test_leaves_what_is_clean_as_it_is(self, name: str) -> None:
        once = clean(name)
        assert clean(once) == once

    @pytest.mark.parametrize("name", ["", "<<<", ")))", "_Z", "_ZN99x", "a::" * 500, "((" * 500])
    def test_survives_what_is_no_name(self, name: str) -> None:
        assert len(clean(name)) <= MAX_NAME


class DescribeParse:
    def test_takes_in_library_functions_only(self) -> None:
        assert parse(TRACE, TORCH) == ("at::native::ctc", "at::_ops::ctc::call")

    def test_does_not_depend_on_addresses_and_paths(self) -> None:
        moved = TRACE.replace("0x00007f", "0xdeadbeef").replace("/env/", "/home/other/venv/")
        assert parse(moved, TORCH) == parse(TRACE, TORCH)

    def test_is_bounded(self) -> None:
        line = "#1  0x1 in at::f() () from /env/libtorch.so\n"
        assert len(parse("x received signal SIGSEGV, y\n" + line * 500, TORCH)) == MAX_FRAMES

    def test_finds_nothing_without_a_crash(self) -> None:
        assert parse("[Inferior 1 (process 7) exited normally]\n", TORCH) == ()
        assert stack_trace("no stack here") == ()


class DescribeHeard:
    def test_takes_the_last_line(self) -> None:
        assert printed_frames('noise\n[["f()", "/a/libc.so"], ["", ""]]\n') == [("f()", "/a/libc.so"), ("", "")]
        assert printed_frames("[]") == []

    @pytest.mark.parametrize("output", ["", "null", "{}", "3", "[1]", '["ab"]', '[["f"]]', "[[", "[" * 10**5, '"x"'])
    def test_is_none_where_nothing_is_told(self, output: str) -> None:
        assert printed_frames(output) is None

    @given(st.text())
    def test_survives_what_a_process_may_print(self, output: str) -> None:
        told = printed_frames(output)
        assert told is None or all(len(frame) == 2 for frame in told)


CRASH = "import ctypes\nctypes.string_at(8)\n"
IN_A_THREAD = (
    f"import threading\nthread = threading.Thread(target=lambda: exec({CRASH!r}))\nthread.start()\nthread.join()\n"
)
EXHAUSTED = "import sys\nsys.setrecursionlimit(1 << 30)\nclass R:\n    __repr__ = lambda self: repr(self)\nrepr(R())\n"
# The heap's end follows the last block. If there is a second thread, the allocator dies of it and holds its lock.
CORRUPTED = """
import ctypes, threading
ended = threading.Event()
threading.Thread(target=ended.wait).start()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
ctypes.memset(libc.malloc(100_000), 255, 100_000 + 4096)
while True:
    libc.malloc(100_000)
"""
ABORTED = "import os\nos.abort()\n"
NATIVE = sys.platform == "linux" and platform.machine() == "x86_64"


def found(script: str, modules: str = r"python|_ctypes|libffi|libc\.so") -> tuple[str, ...]:
    dialect = dialect_of("torch")
    dialect.native_modules = re.compile(modules)
    return frames(sys.executable, script, 120.0, dialect)


@pytest.mark.skipif(not NATIVE, reason="the handler is for Linux on x86-64")
class DescribeFramesWithoutADebugger:
    @pytest.fixture(autouse=True)
    def no_gdb(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(shutil, "which", lambda _: None)

    @pytest.mark.parametrize("script", [CRASH, IN_A_THREAD])
    def test_begin_with_the_fault_and_tell_its_callers(self, script: str) -> None:
        names = found(script, "_ctypes|libffi|libc")
        assert any("ffi_call" in name or "call_function_pointer" in name or "PyCFuncPtr" in name for name in names[:6])

    def test_survive_an_exhausted_stack(self) -> None:
        names = found(EXHAUSTED)
        assert (len(names), names[-1]) == (MAX_FRAMES, stack.OVERFLOW)

    @pytest.mark.parametrize(
        ("script", "fault"),
        [
            (CRASH, (stack.NULL_PAGE,)),
            (CRASH.replace("8", str(1 << 40)), (stack.WILD,)),
            (CRASH.replace("8", "0xdead << 48"), (stack.WILD,)),
            (ABORTED, ()),
            ("import os\nos.kill(os.getpid(), 11)\n", ()),
        ],
    )
    def test_end_with_where_memory_was_missed(self, script: str, fault: tuple[str, ...]) -> None:
        assert tuple(name for name in found(script) if name in stack.FAULTS) == fault

    def test_tell_of_abort(self) -> None:
        assert any("os_abort" in name or "fatal" in name or "abort" in name for name in found(ABORTED))

    def test_tell_of_a_death_inside_the_allocator(self) -> None:
        assert "ffi_call" in found(CORRUPTED, "libc|libffi")

    def test_are_there_where_a_module_has_taken_the_signals(self, tmp_path: Path) -> None:
        (tmp_path / "taker").mkdir()
        (tmp_path / "taker" / "__init__.py").write_text("import signal\nsignal.signal(11, signal.SIG_IGN)\n")
        taking = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nimport taker\n{CRASH}"
        assert stack.NULL_PAGE in found(taking)

    @pytest.mark.parametrize("ending", ["", "1 / 0", "raise SystemExit(3)", "import os; os._exit(4)"])
    def test_are_none_where_the_script_lives(self, ending: str) -> None:
        assert found(f'print(\'[["f", "libc.so"]]\')\n{ending}\n') == ()

    def test_are_none_where_nothing_handles_the_signal(self) -> None:
        assert found("import os\nos.kill(os.getpid(), 9)\n") == ()


@pytest.mark.real
@pytest.mark.skipif(not NATIVE, reason="the handler is for Linux on x86-64")
def test_a_library_that_takes_the_signals_at_import_is_followed_all_the_same(
    jittor_python: Path,
) -> None:
    script = "import jittor\nx = jittor.array([1.0, 2.0])\nprint(x[jittor.array([2**30])])\n"
    outcome = run_script(str(jittor_python), script, JITTOR)
    assert (outcome.kind, outcome.name, outcome.text) == ("signal", "SIGSEGV", "")
    names = frames(str(jittor_python), script, 120.0, JITTOR)
    assert (names[0], names[-1]) == ("jittor::GetitemOp::jit_run", stack.WILD)


@pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
class DescribeFramesOfADebugger:
    def test_are_among_those_of_the_handler(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """If gdb knows the source file, it names the file instead of the module."""
        handled = found(CRASH, "_ctypes|libffi")
        monkeypatch.setattr(process, "printed_frames", lambda _: None)
        debugged = found(CRASH, "_ctypes|libffi")
        assert debugged
        assert set(debugged) <= set(handled)


@pytest.mark.skipif(not NATIVE, reason="modules are in ELF's 64-bit form")
class DescribeSymbols:
    def test_are_found_by_address(self) -> None:
        address = stack._of(ctypes.CDLL(None).qsort)
        mapped = stack.mappings(Path("/proc/self/maps").read_text())
        place = next(m for m in mapped if m.start <= address < m.end)
        module = stack.Module(place.path)
        assert module.function(address - place.start + place.offset + 1) == "qsort"
        assert module.function(1 << 40) == ""

    def test_of_what_is_no_module_are_refused(self, tmp_path: Path) -> None:
        text = tmp_path / "text.so"
        text.write_text("no module")
        with pytest.raises(ValueError, match="not a 64-bit ELF file"):
            stack.Module(str(text))

    def test_a_stack_that_begins_nowhere_is_not_told(self) -> None:
        lost = stack.Mapping(0x1000, 0x2000, 0, "/env/libtorch.so")
        root = stack.Mapping(0x3000, 0x4000, 0, "/lib/libc.so.6")
        assert stack.frames([0x1004, 0x1008], [lost, root]) is None
        assert stack.frames([0x1004], []) is None
