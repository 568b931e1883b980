"""Operators compiled for tests, in a third of the time, and apart from the operators that scripts use."""

from __future__ import annotations

import fcntl
import itertools
import os
import shlex
import shutil
import subprocess
from hashlib import blake2b
from pathlib import Path
from typing import Any

FOLDER = "nightfuzz"
HEADER, STEP = "common.h", "compile.sh"
# Jittor's folder of operators, inside any folder of its cache. The cache of all processes holds operators that one
# process has made.
OPERATORS = "jit"
# Files in a folder of one process: a lock that it holds as long as it lives, and a lock for Jittor's compilations.
CLAIM, LOCK = "claim", "lock"
# Headers that every operator includes. If the headers of all operators were included, each operator would instantiate
# all their templates.
_BASE = ("<algorithm>", "<cassert>", "<cmath>", "<cstring>", "<iostream>", "<vector>", '"var.h"', '"fused_op.h"')
# Script in place of the Python that Jittor calls for its tuner of machine code. The tuner has stores pass the
# processor's cache and takes as long as the compiler. Arguments: the compiler, the operator's code, options, and at
# last the library to be made. A library that any process has made of the same code with the same options is copied.
_STEP = """case "$1" in
*/asm_tuner.py) ;;
*) exec {python} "$@";;
esac
compiler="${{2#--cc_path=}}" code="$3" options="" made=""
shift 3
for each; do options="$options $made" made="$each"; done
kept={kept}/"${{made##*/}}-$({{ echo "$options"; cat "$code"; }} | cksum | tr ' ' -)"
cp "$kept" "$made" 2>/dev/null && exit
"$compiler" "$code" "$@" {options} || exit
cp "$made" "$kept.$$" && mv "$kept.$$" "$kept"
exit 0
"""
# Options that only a linker takes.
_LINKED = ("-l", "-L", "-shared", "-Wl,")


def hasten(jittor: Any) -> None:
    """Have this process and its children compile operators with their common headers compiled before.

    Reading those headers takes longer than compiling an operator, and so does Jittor's tuning of its machine code. The
    compiled header lies in a folder of its own, as Jittor compiles an operator again whose command has changed. If the
    compiler does not take the headers as a whole, they are read each time. Changed headers get another folder.
    """
    flags = jittor.flags
    folder = Path(flags.cache_path) / FOLDER / _edition(Path(jittor.__file__).parent)
    (folder / OPERATORS).mkdir(parents=True, exist_ok=True)
    header = folder / HEADER
    if _precompiled(header, flags):
        flags.cc_flags = f' -include "{header}" {flags.cc_flags}'
    flags.python_path = _step(folder / STEP, flags.python_path)
    flags.cache_path = str(folder)


def _edition(package: Path) -> str:
    """Return a digest of the paths, sizes and times of a package's headers."""
    states = [(path, path.stat()) for path in sorted(package.glob("src/**/*.h"))]
    told = [f"{path} {state.st_size} {state.st_mtime_ns}" for path, state in states]
    return blake2b("\n".join(told).encode("utf-8", "surrogateescape"), digest_size=4).hexdigest()


def settle(jittor: Any) -> None:
    """Give this process a folder of its own to compile into, with what earlier ones have compiled there.

    Jittor locks the whole cache while it compiles an operator, so that processes that share one wait for each other.
    """
    shared = Path(jittor.flags.cache_path)
    folder = next(each for number in itertools.count() if _claimed(each := shared / str(number)))
    (folder / OPERATORS).mkdir(exist_ok=True)
    (folder / LOCK).touch()
    jittor.jittor_core.set_lock_path(str(folder / LOCK))
    jittor.flags.cache_path = str(folder)


def _claimed(folder: Path) -> bool:
    """Return whether the folder is this process's from now on.

    The open file keeps the lock until the process ends.
    """
    folder.mkdir(exist_ok=True)
    claim = os.open(folder / CLAIM, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(claim)
        return False
    return True


def _step(script: Path, python: str) -> str:
    """Return the command for the script of `_STEP`."""
    options = "-pipe -fuse-ld=gold" if shutil.which("ld.gold") else "-pipe"
    part = script.with_suffix(f".{os.getpid()}")
    kept = shlex.quote(str(script.parent / OPERATORS))
    part.write_text(_STEP.format(options=options, python=shlex.quote(python), kept=kept))
    part.replace(script)
    return f'sh "{script}"'


def _precompiled(header: Path, flags: Any) -> bool:
    """Return whether the header is compiled for the flags of operators, after compiling it if it was not."""
    made = header.with_suffix(".h.gch")
    if made.exists():
        return True
    lines = ["#define JIT 1", "#define JIT_cpu 1", *(f"#include {name}" for name in _BASE)]
    header.write_text("\n".join(lines) + "\n")
    options = [option for option in shlex.split(flags.cc_flags) if not option.startswith(_LINKED)]
    part = made.with_suffix(f".{os.getpid()}")
    done = subprocess.run(
        [flags.cc_path, "-x", "c++-header", str(header), *options, "-o", str(part)], capture_output=True
    )
    if done.returncode == 0:
        part.replace(made)
    return done.returncode == 0
