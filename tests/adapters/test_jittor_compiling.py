"""Every process that compiles has a folder of its own, and leaves it to the next."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SETTLED = """
import sys
from types import SimpleNamespace
from fuzz_core.adapters.jittor.compiling import settle

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
