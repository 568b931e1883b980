"""Jittor's compile folders: every process has a folder of its own, and later processes reuse it."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

from fuzz_core.adapters.jittor.compiler import hasten

SETTLED = """
import sys
from types import SimpleNamespace
from fuzz_core.adapters.jittor.compiler import settle

locks = []
jittor = SimpleNamespace(
    flags=SimpleNamespace(cache_path=sys.argv[1]), jittor_core=SimpleNamespace(set_lock_path=locks.append)
)
settle(jittor)
print(jittor.flags.cache_path, *locks, flush=True)
sys.stdin.read()
"""


def settled(folder: Path) -> tuple[subprocess.Popen[str], list[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", SETTLED, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, process.stdout.readline().split()


def test_no_two_processes_compile_in_one_folder_and_one_that_is_left_is_used_again(tmp_path: Path) -> None:
    first, own = settled(tmp_path)
    second, other = settled(tmp_path)
    first.kill()
    first.wait()
    third, again = settled(tmp_path)
    for process in (first, second, third):
        process.kill()
        process.communicate()
    assert own[0] != other[0] and again == own
    assert all((Path(folder) / "jit").is_dir() and Path(lock).parent == Path(folder) for folder, lock in (own, other))


COMPILER = """#!/bin/sh
# Called as a compiler: CODE OPTIONS -o MADE, with what the script adds behind.
echo "$1" >> "{log}"
code="$1"
while [ "$1" != -o ]; do shift; done
grep -q wrong "$code" && exit 3
cp "$code" "$2"
"""


class Compilers:
    """A library whose processes share one compiler. Each process has a folder of its own."""

    def __init__(self, folder: Path, header: str = "") -> None:
        self.folder, self.log = folder, folder / "log"
        compiler = folder / "compiler"
        compiler.write_text(COMPILER.format(log=self.log))
        compiler.chmod(0o700)
        self.log.touch()
        flags = SimpleNamespace(
            cache_path=str(folder), cc_path=str(compiler), cc_flags="", python_path=shlex.quote(sys.executable)
        )
        package = folder / "jittor"
        (package / "src").mkdir(parents=True, exist_ok=True)
        (package / "src" / "var.h").write_text(header)
        hasten(SimpleNamespace(flags=flags, __file__=str(package / "__init__.py")))
        self.place = Path(flags.cache_path)
        self.command = [*shlex.split(flags.python_path), "/x/asm_tuner.py", f"--cc_path={compiler}"]

    def made(self, process: str, code: str, options: str = "-O2") -> tuple[int, str, int]:
        """Compiles code in a process's folder.

        Returns:
            the exit code, the text of the compiled file, and the number of operators compiled so far.
        """
        (self.folder / process).mkdir(exist_ok=True)
        source, library = (self.folder / process / f"a b_op.{end}" for end in ("cc", "so"))
        source.write_text(code)
        library.unlink(missing_ok=True)
        done = subprocess.run([*self.command, str(source), *options.split(), "-o", str(library)], check=False)
        calls = [line for line in self.log.read_text().splitlines() if line.endswith("_op.cc")]
        return done.returncode, library.read_text() if library.exists() else "", len(calls)


def test_what_one_process_has_compiled_no_other_compiles(tmp_path: Path) -> None:
    compilers = Compilers(tmp_path)
    assert compilers.made("0", "x") == (0, "x", 1)
    assert compilers.made("1", "x") == (0, "x", 1)


def test_other_code_and_other_options_are_compiled(tmp_path: Path) -> None:
    compilers = Compilers(tmp_path)
    compilers.made("0", "x")
    assert compilers.made("1", "y") == (0, "y", 2)
    assert compilers.made("1", "x", "-O0 -g") == (0, "x", 3)
    assert compilers.made("0", "y") == (0, "y", 3)


def test_what_was_compiled_with_other_headers_is_not_used(tmp_path: Path) -> None:
    older = Compilers(tmp_path)
    older.made("0", "x")
    newer = Compilers(tmp_path, "struct Var;")
    assert newer.place != older.place
    assert newer.made("1", "x") == (0, "x", 2)


def test_what_does_not_compile_fails_each_time(tmp_path: Path) -> None:
    compilers = Compilers(tmp_path)
    assert compilers.made("0", "wrong") == (3, "", 1)
    assert compilers.made("0", "wrong") == (3, "", 2)


def test_other_calls_of_python_stay_what_they_are(tmp_path: Path) -> None:
    command = Compilers(tmp_path).command[:-2]
    assert subprocess.run([*command, "-c", "print(1)"], capture_output=True, text=True, check=True).stdout == "1\n"
