"""Asks an interpreter which library it holds: version, source commit, devices. Nothing is imported here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzz_core.adapters.dialect import all_surroundings
from fuzz_core.ir.errors import UserError
from fuzz_core.targets import process
from fuzz_core.targets.spec import libraries

TIMEOUT_S = 120.0
# A library that compiles its core at first.
COMPILING_S = 1200.0
# One that does so may end and ask to be started again.
STARTS = 4
OLDEST = (3, 9)
_MARK = "nightfuzz-probe "

# Runs in whatever interpreter the user named, so its first half is valid in Python 2 as well.
_SCRIPT = r"""
import json, sys

MARK, OLDEST = sys.argv[1], tuple(json.loads(sys.argv[2]))

def say(**answer):
    sys.stdout.write("\n" + MARK + json.dumps(answer) + "\n")
    sys.stdout.flush()

def version_of(name):
    try:
        return str(__import__(name).__version__)
    except ImportError:
        return None

def torch_facts(torch):
    if version_of("numpy"):
        # Raises where it was built for another one: it is imported all the same then.
        torch.zeros(1).numpy()
    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return {"commit": torch.version.git_version, "cuda": torch.version.cuda,
            "devices": ["cpu"] + ["cuda:%d %s" % pair for pair in enumerate(names)]}

def tensorflow_facts(tf):
    gpus = tf.config.list_physical_devices("GPU")
    names = [tf.config.experimental.get_device_details(gpu).get("device_name", gpu.name) for gpu in gpus]
    return {"commit": tf.version.GIT_VERSION, "cuda": tf.sysconfig.get_build_info().get("cuda_version"),
            "devices": ["cpu"] + ["cuda:%d %s" % pair for pair in enumerate(names)]}

def jittor_facts(jittor):
    # It is built here: for CUDA where it has found a compiler for that.
    if not getattr(getattr(jittor, "compiler", None), "has_cuda", 0):
        return {"cuda": None}
    import subprocess
    said = subprocess.check_output([jittor.flags.nvcc_path, "--version"]).decode("utf-8", "replace")
    return {"cuda": said.partition("release ")[2].partition(",")[0] or "unknown"}

def facts_of(module):
    # Where the libraries around PyTorch keep it as well.
    said = getattr(getattr(module, "version", None), "git_version", None)
    return {"commit": said if isinstance(said, str) else None}

def version_said(module, library):
    if hasattr(module, "__version__"):
        return str(module.__version__)
    import importlib.metadata
    return importlib.metadata.version(library)

def main(asked, known):
    python = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info < OLDEST:
        return say(old=python)
    import importlib, importlib.util, sysconfig
    found = [name for name in known if importlib.util.find_spec(name)]
    if not asked and len(found) != 1:
        return say(found=found)
    library = asked or found[0]
    module = importlib.import_module(library)
    told = {"torch": torch_facts, "tensorflow": tensorflow_facts, "jittor": jittor_facts}
    facts = told.get(library, facts_of)(module)
    tag = {"cpython": "cp", "pypy": "pp"}.get(sys.implementation.name, sys.implementation.name)
    say(library=library, version=version_said(module, library), python=python, platform=sysconfig.get_platform(),
        tag="%s%d%d" % (tag, sys.version_info[0], sys.version_info[1]), numpy=version_of("numpy"), **facts)

main(sys.argv[3], sys.argv[4:])
"""


@dataclass(frozen=True)
class TargetInfo:
    """What an interpreter said of itself and its library.

    `commit` is what the library calls its source revision, which need not be one. `tag` is the Python tag of wheels
    (`cp311`), `platform` that of sysconfig. `devices` begins with "cpu"; a GPU is "cuda:INDEX NAME". `cuda` is the
    CUDA version that the build was made for, None for a CPU build.
    """

    library: str
    version: str
    python: str
    tag: str
    platform: str
    commit: str | None = None
    numpy: str | None = None
    cuda: str | None = None
    devices: tuple[str, ...] = ("cpu",)

    @property
    def flavour(self) -> str:
        """`cpu` or `cuda`: what the build was made for, not what this machine has."""
        return "cuda" if self.cuda else "cpu"


def probe(python: Path, library: str | None = None, timeout: float = TIMEOUT_S) -> TargetInfo:
    """Runs `python` on a small script that imports the library (the only one it has, if None). `timeout` in seconds.

    Raises UserError where there is no such interpreter, it is too old or silent, or the library doesn't import.
    """
    done = _run(python, library, timeout)
    for _ in range(STARTS - 1):
        if done.returncode or _MARK in done.stdout:
            break
        done = _run(python, library, timeout)
    answer = _answer(python, done, library)
    if "old" in answer:
        oldest = ".".join(map(str, OLDEST))
        raise UserError(f"{python} is Python {answer['old']}", f"a target needs Python {oldest} or newer")
    if "found" in answer:
        raise _undecided(python, list(answer["found"]))
    return info_from_json(answer)


def info_from_json(data: dict[str, Any]) -> TargetInfo:
    """Makes a TargetInfo of untrusted JSON. Raises UserError where a field is missing or of another type."""
    optional = {name: data.get(name) for name in ("commit", "numpy", "cuda")}
    required = {name: data.get(name) for name in ("library", "version", "python", "tag", "platform")}
    devices = data.get("devices", ["cpu"])
    wrong = [name for name, value in required.items() if not isinstance(value, str)]
    wrong += [name for name, value in optional.items() if not isinstance(value, str | None)]
    if not isinstance(devices, list | tuple) or not all(isinstance(device, str) for device in devices):
        wrong.append("devices")
    if wrong:
        raise UserError(f"a target described itself without a valid {', '.join(wrong)}", "make it anew")
    return TargetInfo(**required, **optional, devices=tuple(devices))  # type: ignore[arg-type]


def _run(python: Path, library: str | None, timeout: float) -> subprocess.CompletedProcess[str]:
    env = process.scrubbed(os.environ) | {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONDONTWRITEBYTECODE": "1"}
    env |= all_surroundings(python)
    # An empty directory: `-c` puts the current one first on the path, and a folder named torch there would win. It is
    # the home too: a library may keep there what it was told, and the user's own would go by it.
    with tempfile.TemporaryDirectory(prefix="nightfuzz-probe-") as empty:
        try:
            script: list[str | Path] = [python, "-c", _SCRIPT, _MARK, json.dumps(OLDEST), library or "", *libraries()]
            return process.run(script, timeout, {**env, "HOME": empty}, Path(empty))
        except subprocess.TimeoutExpired as error:
            raise UserError(
                f"{python} did not import {library or 'its library'} within {timeout:.0f} s", "try the import by hand"
            ) from error
        except OSError as error:
            raise UserError(f"{python} can't be run: {error.strerror}", "name a Python interpreter") from error


def _answer(python: Path, done: subprocess.CompletedProcess[str], library: str | None) -> dict[str, Any]:
    lines = [line for line in done.stdout.splitlines() if line.startswith(_MARK)]
    if done.returncode == 0 and lines:
        return _read(python, lines[-1].removeprefix(_MARK))
    if done.returncode == 0:
        raise UserError(f"{python} is no Python interpreter: it did not run a script", "name a Python interpreter")
    reason = process.last_lines(done.stderr)
    if done.returncode < 0:
        killer = signal.strsignal(-done.returncode) or f"signal {-done.returncode}"
        reason = f"killed: {killer}" + (f" ({reason})" if reason else "")
    what = f"failed to import {library}" if library else "failed"
    raise UserError(f"{python} {what}: {reason or f'exit status {done.returncode}'}", "repair that environment")


def _read(python: Path, text: str) -> dict[str, Any]:
    try:
        answer = json.loads(text)
    except json.JSONDecodeError as error:
        raise UserError(f"{python} answered with garbage: {text[:80]!r}", "name a Python interpreter") from error
    return answer if isinstance(answer, dict) else {}


def _undecided(python: Path, found: list[str]) -> UserError:
    if not found:
        return UserError(f"{python} has none of {', '.join(libraries())}", "install one there, or name another one")
    return UserError(f"{python} has several libraries: {', '.join(found)}", "say which one with --library")
