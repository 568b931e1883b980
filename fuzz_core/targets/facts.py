"""Facts about a target, gathered by its own interpreter: its build (`probe`), and its versions (`collect_env`).

One script does both. The controller does not import the library. The profile of a library may define three functions
for the script. `describe(module)` returns `commit`, `cuda` and `devices`. `versions(module)` returns further facts for
the "Versions" of an issue. `form()` returns the text that an issue form asks for.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from fuzz_core.adapters.dialect import all_surroundings, compiled_folders, dialect_of, profile_of
from fuzz_core.ir.errors import UserError
from fuzz_core.targets import process
from fuzz_core.targets.spec import libraries
from fuzz_core.worker.confinement import NO_START, confined

TIMEOUT_S = 120.0
# A library that compiles its core at its first import needs longer.
COMPILING_S = 1200.0
VERSIONS_S = 180.0
MAX_TEXT = 12_000
MAX_FACT = 300
OLDEST = (3, 9)
# A library that compiles its core may exit and expect another start.
STARTS = 4
_MARK = "nightfuzz-facts "
Launch = Callable[[Sequence[str], Sequence[Path], float, Mapping[str, str]], subprocess.CompletedProcess[str]]
"""Runs a command with the folders that it may write to, for so many seconds at most, with these variables."""

# The user may name any interpreter: Python 2 can read this script, too, and is refused by the check of its version.
_SCRIPT = r"""
import json, sys

MARK, ASKED = sys.argv[1], json.loads(sys.argv[2])

def say(**answer):
    sys.stdout.write("\n" + MARK + json.dumps(answer) + "\n")
    sys.stdout.flush()

def package(name):
    import importlib.metadata
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""

def output(*command):
    import subprocess
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=20).stdout
    except (OSError, subprocess.SubprocessError):
        return ""

def gpus(names):
    return ["cpu"] + ["cuda:%d %s" % pair for pair in enumerate(names)]

def describe(module):
    # Libraries around PyTorch keep their commit where PyTorch does.
    commit = getattr(getattr(module, "version", None), "git_version", None)
    return {"commit": commit if isinstance(commit, str) else None}

def versions(module):
    return {}

def form():
    return ""

def describe_machine():
    import platform
    system, cpu = platform.platform(), platform.processor()
    try:
        system = platform.freedesktop_os_release()["PRETTY_NAME"] + " (" + platform.machine() + ")"
    except (OSError, KeyError, AttributeError):
        pass
    try:
        with open("/proc/cpuinfo") as file:
            cpu = next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), cpu)
    except OSError:
        pass
    listed = output("nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader")
    return {"python": sys.version.split("\n")[0], "os": system, "kernel": platform.platform(), "cpu": cpu,
            "gpu": "; ".join(listed.strip().split("\n")[:8]), "numpy": package("numpy"), "keras": package("keras")}

def main():
    python = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info < tuple(ASKED["oldest"]):
        return say(old=python)
    import importlib, importlib.util, sysconfig
    found = [name for name in ASKED["sources"] if importlib.util.find_spec(name)]
    if not ASKED["library"] and len(found) != 1:
        return say(found=found)
    library = ASKED["library"] or found[0]
    module = importlib.import_module(library)
    exec(ASKED["sources"].get(library, ""), globals())
    facts, version = describe(module), str(getattr(module, "__version__", "") or package(library))
    if ASKED["versions"]:
        told = {"version": version, "git_version": facts.get("commit"), "cuda": facts.get("cuda")}
        told.update(describe_machine())
        told.update(versions(module))
        return say(facts={name: str(value) for name, value in told.items() if value}, text=form())
    tag = {"cpython": "cp", "pypy": "pp"}.get(sys.implementation.name, sys.implementation.name)
    say(library=library, version=version, python=python, platform=sysconfig.get_platform(),
        tag="%s%d%d" % (tag, sys.version_info[0], sys.version_info[1]), numpy=package("numpy") or None, **facts)

main()
"""
_TITLES = {
    "version": "{library} version", "git_version": "Git version", "compiler": "Compiler", "cuda": "CUDA used to build",
    "os": "OS", "kernel": "Platform", "python": "Python version", "cpu": "CPU", "gpu": "GPU", "numpy": "numpy version",
    "keras": "keras version", "options": "Compiled with", "cache": "Compiled for",
}  # fmt: skip
# PyTorch's own text asks pip for packages, and a target has no pip.
_BELOW_FORM = ("git_version", "numpy")
# Facts of a library that compiles itself where it is installed.
_COMPILED = {"options", "cache"}


@dataclass(frozen=True)
class TargetInfo:
    """Facts that an interpreter printed about itself and its library.

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


def _cut_facts(facts: dict[str, str]) -> dict[str, str]:
    return {name: facts[name][:MAX_FACT] for name in _TITLES if facts.get(name)}


@dataclass(frozen=True)
class Environment:
    """The versions of a target."""

    # The versions as an issue form wants them, cut to `MAX_TEXT`.
    text: Annotated[str, AfterValidator(lambda text: text[:MAX_TEXT])] = ""
    # Single versions by the names of `_TITLES`.
    facts: Annotated[dict[str, str], AfterValidator(_cut_facts)] = field(default_factory=dict)
    problem: str = ""  # the reason why there are none


def compiles(library: str | None) -> bool:
    """Return whether a library compiles what it runs; False for an unknown library."""
    with suppress(UserError):
        return library is not None and bool(dialect_of(library).compiled)
    return False


def probe(python: Path, library: str | None = None, timeout: float | None = None) -> TargetInfo:
    """Run `python` on a small script that imports the library (the only one it has, if None).

    Args:
        timeout: seconds, by default as many as a first import may take.

    Raises:
        UserError: there is no such interpreter, it is too old or silent, or the library doesn't import.
    """
    timeout = timeout or (COMPILING_S if compiles(library) else TIMEOUT_S)
    try:
        done, answer = _run(python, library, timeout)
    except subprocess.TimeoutExpired as error:
        what = f"{python} did not import {library or 'its library'} within {timeout:.0f} s"
        raise UserError(what, f"run `{python} -c 'import {library or 'LIBRARY'}'` to see what it waits for") from error
    except OSError as error:
        raise UserError(
            f"{python} cannot be run: {error.strerror}",
            "name the file of a Python interpreter: python:/path/to/bin/python",
        ) from error
    # Another program complains about its arguments; a Python does not.
    if _MARK in done.stderr or (answer is None and not done.returncode):
        raise UserError(
            f"{python} is not a Python interpreter: it did not run a script",
            "name a Python interpreter: python:/path/to/bin/python",
        )
    if done.returncode:
        what = f"failed to import {library}" if library else "failed"
        remedy = f"run `{python} -c 'import {library or 'LIBRARY'}'`, and correct the error, or name another build"
        raise UserError(f"{python} {what}: {_reason(done)}", remedy)
    data = _read(answer or "")
    if data is None:
        raise UserError(
            f"{python} gave an answer that is not JSON: {(answer or '')[:80]!r}",
            "name a Python interpreter: python:/path/to/bin/python",
        )
    if "old" in data:
        oldest = ".".join(map(str, OLDEST))
        raise UserError(f"{python} is Python {data['old']}, which is too old", f"name a Python {oldest} or newer")
    if data.get("found") == []:
        raise UserError(
            f"{python} has none of {', '.join(libraries())} installed",
            "install one of these libraries there, or name another interpreter",
        )
    if "found" in data:
        raise UserError(
            f"{python} has several libraries: {', '.join(data['found'])}", "name one of them with --library"
        )
    return info_from_json(data)


def collect_env(python: str, library: str, timeout: float = VERSIONS_S) -> Environment:
    """Gather the versions of a target.

    A broken target raises no error: `problem` names the fault.
    """
    try:
        done, answer = _run(Path(python), library, timeout, versions=True)
    except subprocess.TimeoutExpired:
        return Environment(problem=f"gathering took longer than {timeout:.0f} s")
    except OSError as error:
        return Environment(problem=f"the target's interpreter cannot be run: {error.strerror}")
    if done.returncode or answer is None:
        return Environment(problem=f"gathering failed: {_reason(done)[:MAX_FACT]}")
    found = environment_from_json(_read(answer))
    if found is None:
        return Environment(problem="gathering failed: the answer is none")
    text = found.text.strip()
    text = f"{text}\n\n{_layout(found.facts, library, _BELOW_FORM)}" if text else _layout(found.facts, library, _TITLES)
    return replace(found, text=without_places(text, python))


def info_from_json(data: object) -> TargetInfo:
    """Make a TargetInfo of untrusted JSON.

    Raises:
        UserError: a field is missing or of another type.
    """
    try:
        return TypeAdapter(TargetInfo).validate_python(data)
    except ValidationError as error:
        wrong = ", ".join(dict.fromkeys(str(each["loc"][0]) for each in error.errors()))
        raise UserError(
            f"the description of a target has no valid {wrong}", "make the target again with `nightfuzz pull`"
        ) from error


def environment_from_json(data: object) -> Environment | None:
    """Read a kept Environment, or a target's answer; None if the data is not an Environment."""
    if not isinstance(data, dict) or not data.keys() >= {"text", "facts"}:
        return None
    try:
        return TypeAdapter(Environment).validate_python(data)
    except ValidationError:
        return None


def without_places(text: str, python: str) -> str:
    """Return the text without places of this machine.

    Such places are environments, scripts run here, home directories and users.
    """
    text = re.sub(rf"{re.escape(tempfile.gettempdir())}/nightfuzz-\w+/", "", text)
    root = re.escape(str(Path(python).parent.parent))
    text = re.sub(rf"{root}(?=/|\b)", "<env>", text)
    return re.sub(r"/(?:home|Users)/[^/\s:\"']+|/root(?=/)", "~", text)


def _run(
    python: Path, library: str | None, timeout: float, versions: bool = False
) -> tuple[subprocess.CompletedProcess[str], str | None]:
    """Run the script and return the process with the script's answer, None if the script did not answer."""
    sources = {name: profile.facts if (profile := profile_of(name)) else "" for name in libraries()}
    asked = {"oldest": OLDEST, "library": library, "sources": sources, "versions": versions}
    # Compiled code may depend on these folders, so each is made before a process of another user runs.
    writable, surroundings = _writable(python, library), all_surroundings(python)
    env = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONDONTWRITEBYTECODE": "1", **surroundings}
    for _ in range(STARTS):
        command = [str(python), "-c", _SCRIPT, _MARK, json.dumps(asked)]
        done = _launch.get()(command, writable, timeout, env)
        answers = [line.removeprefix(_MARK) for line in done.stdout.splitlines() if line.startswith(_MARK)]
        if done.returncode or answers:
            break
    return done, answers[-1] if answers else None


def _launched(
    command: Sequence[str], writable: Sequence[Path], timeout: float, env: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run an interpreter in its confinement on this machine."""
    # An empty directory: `-c` puts the current one first on the path, and a folder named torch there would win. The
    # directory is the home too: a library may keep settings in its home, and the user's own settings would change the
    # facts.
    with tempfile.TemporaryDirectory(prefix="nightfuzz-facts-") as empty:
        own = {**process.scrubbed(os.environ), **env, "HOME": empty, "TMPDIR": empty}
        done = process.run(confined(command, [empty, *writable]), timeout, own, Path(empty))
    if done.returncode and done.stderr.startswith(NO_START):
        raise OSError(0, done.stderr.strip().rpartition(": ")[2])
    return done


_launch: ContextVar[Launch] = ContextVar("launch", default=_launched)


@contextmanager
def launched_by(launch: Launch) -> Iterator[None]:
    """Let `launch` run the interpreters that are asked about themselves, in a container say."""
    token = _launch.set(launch)
    try:
        yield
    finally:
        _launch.reset(token)


def _writable(python: Path, library: str | None) -> list[Path]:
    """Return the folders that a library may compile into; the environment itself if the library is not known yet."""
    if library is None:
        return [python.absolute().parent.parent]
    return compiled_folders(dialect_of(library), python) if compiles(library) else []


def _reason(done: subprocess.CompletedProcess[str]) -> str:
    """Return why the script gave no answer, in one line."""
    said = process.last_lines(done.stderr)
    if done.returncode < 0:
        killer = signal.strsignal(-done.returncode) or f"signal {-done.returncode}"
        return f"killed: {killer}" + (f" ({said})" if said else "")
    return said or f"exit status {done.returncode}"


def _read(answer: str) -> dict[str, Any] | None:
    """Return the answer as data; None if it is no JSON, empty if it is JSON of another kind."""
    try:
        data = json.loads(answer)
    except json.JSONDecodeError:
        return None
    return data if isinstance(data, dict) else {}


def _layout(facts: Mapping[str, str], library: str, names: Iterable[str]) -> str:
    shown = (name for name in names if name in facts or name not in _COMPILED)
    return "\n".join(f"{_TITLES[name].format(library=library)}: {facts.get(name, 'N/A')}" for name in shown)
