"""Native frames: names without what varies, from gdb where there is one."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.triage import native
from fuzz_core.triage.native import MAX_FRAMES, MAX_NAME, clean, frames, parse, stack_trace

TORCH = dialect_of("torch")
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


class DescribeFrames:
    def test_needs_gdb(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(native.shutil, "which", lambda _: None)
        assert frames(sys.executable, str(tmp_path / "missing.py"), 1.0, TORCH) == ()

    @pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
    def test_reads_the_stack_of_a_crash(self, tmp_path: Path) -> None:
        script = tmp_path / "crash.py"
        script.write_text("import ctypes\nctypes.string_at(8)\n")
        dialect = dialect_of("torch")
        dialect.native_modules = re.compile(r"_ctypes|libffi|libc\.so")
        found = frames(sys.executable, str(script), 120.0, dialect)
        assert found
        assert all(re.fullmatch(r"[\w:~]+", name) for name in found)
