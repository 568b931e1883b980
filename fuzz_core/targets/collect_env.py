"""What maintainers ask for under "Versions": gathered by the target's own interpreter, in the library's own form."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fuzz_core.adapters.dialect import all_surroundings
from fuzz_core.targets import process

TIMEOUT_S = 180.0
MAX_TEXT = 12_000
MAX_FACT = 300
_MARK = "nightfuzz-environment "

# PyTorch has a script for it, whose text its form asks for; the others get the same facts in the same layout.
_SCRIPT = r"""
import importlib, importlib.metadata, json, platform, subprocess, sys

MARK, LIBRARY = sys.argv[1], sys.argv[2]

def version_of(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""

def cpu():
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
        return names[0] if names else platform.processor()
    except OSError:
        return platform.processor()

def system():
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"] + " (" + platform.machine() + ")"
    except (OSError, KeyError):
        return platform.platform()

def gpus():
    query = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader"]
    try:
        said = subprocess.run(query, capture_output=True, text=True, timeout=20).stdout
        return "; ".join(said.strip().split("\n")[:8])
    except (OSError, subprocess.SubprocessError):
        return ""

def torch_facts(torch):
    return {"git_version": torch.version.git_version, "cuda": torch.version.cuda}

def tensorflow_facts(tf):
    build = tf.sysconfig.get_build_info()
    known = [name + " " + str(build[key]) for name, key in (("CUDA", "cuda_version"), ("cuDNN", "cudnn_version"))
             if build.get(key)]
    return {"git_version": tf.version.GIT_VERSION, "cuda": ", ".join(known), "compiler": tf.version.COMPILER_VERSION}

def said(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20).stdout
    except (OSError, subprocess.SubprocessError):
        return ""

def jittor_facts(jittor):
    flags, release = jittor.flags, ""
    if jittor.compiler.has_cuda:
        release = said(flags.nvcc_path, "--version").partition("release ")[2].partition(",")[0]
    options = "use_mkl=%d use_cuda=%d" % (bool(jittor.compile_extern.use_mkl), bool(jittor.compiler.has_cuda))
    return {"compiler": said(flags.cc_path, "--version").split("\n")[0], "cuda": release, "options": options,
            "cache": flags.cache_path.rpartition(".cache/jittor/")[2]}

def torch_text():
    from torch.utils.collect_env import get_pretty_env_info
    return get_pretty_env_info()

def main():
    module = importlib.import_module(LIBRARY)
    version = str(getattr(module, "__version__", version_of(LIBRARY)))
    facts = {"version": version, "python": sys.version.split("\n")[0], "os": system(),
             "kernel": platform.platform(), "cpu": cpu(), "gpu": gpus(), "numpy": version_of("numpy"),
             "keras": version_of("keras")}
    own = {"torch": torch_facts, "tensorflow": tensorflow_facts, "jittor": jittor_facts}
    facts.update(own.get(LIBRARY, lambda module: {})(module))
    text = {"torch": torch_text}.get(LIBRARY, lambda: "")()
    sys.stdout.write("\n" + MARK + json.dumps({"facts": facts, "text": text}) + "\n")

main()
"""
_TITLES = {
    "version": "{library} version", "git_version": "Git version", "compiler": "Compiler", "cuda": "CUDA used to build",
    "os": "OS", "kernel": "Platform", "python": "Python version", "cpu": "CPU", "gpu": "GPU", "numpy": "numpy version",
    "keras": "keras version", "options": "Compiled with", "cache": "Compiled for",
}  # fmt: skip
PACKAGES = ("git_version", "numpy")
# Of a library that compiles itself where it is installed.
_COMPILED = {"options", "cache"}


class Environment(NamedTuple):
    """text: as a form's "Versions" wants it. facts: single ones by name. problem: why there is nothing of it."""

    text: str = ""
    facts: Mapping[str, str] = {}
    problem: str = ""

    def to_json(self) -> dict[str, Any]:
        """For the target's record."""
        return {"text": self.text, "facts": dict(self.facts), "problem": self.problem}


def environment_from_json(data: object) -> Environment | None:
    """Reads `to_json`'s form back, keeping texts alone; None for anything else: it comes from untrusted code."""
    if not isinstance(data, dict) or not isinstance(data.get("text"), str) or not isinstance(data.get("facts"), dict):
        return None
    facts = {name: value[:MAX_FACT] for name in _TITLES if isinstance(value := data["facts"].get(name), str) and value}
    problem = data.get("problem", "")
    return Environment(data["text"][:MAX_TEXT], facts, problem if isinstance(problem, str) else "")


def collect_env(python: str, library: str, timeout: float = TIMEOUT_S) -> Environment:
    """Gathers the versions of a target. Never raises for what is wrong with it: then `problem` says what."""
    try:
        done = _run(python, library, timeout)
    except subprocess.TimeoutExpired:
        return Environment(problem=f"gathering took longer than {timeout:.0f} s")
    except OSError as error:
        return Environment(problem=f"the target's interpreter cannot be run: {error.strerror}")
    lines = [line for line in done.stdout.splitlines() if line.startswith(_MARK)]
    if done.returncode or not lines:
        said = process.last_lines(done.stderr) or f"exit status {done.returncode}"
        return Environment(problem=f"gathering failed: {said[:MAX_FACT]}")
    return _read(lines[-1].removeprefix(_MARK), library, python)


def _run(python: str, library: str, timeout: float) -> subprocess.CompletedProcess[str]:
    env = process.scrubbed(os.environ) | {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONDONTWRITEBYTECODE": "1"}
    env |= all_surroundings(python)
    # An empty directory: `-c` puts the current one first on the path, and a folder named torch there would win. It is
    # the home too: a library may keep there what it was told, and the user's own would go by it.
    with tempfile.TemporaryDirectory(prefix="nightfuzz-versions-") as empty:
        return process.run([python, "-c", _SCRIPT, _MARK, library], timeout, {**env, "HOME": empty}, Path(empty))


def _read(answer: str, library: str, python: str) -> Environment:
    try:
        found = environment_from_json(json.loads(answer))
    except json.JSONDecodeError:
        found = None
    if found is None:
        return Environment(problem="gathering failed: the answer is none")
    text = found.text.strip()
    # PyTorch's script asks pip for packages, which a target has none of.
    text = f"{text}\n\n{_layout(found.facts, library, PACKAGES)}" if text else _layout(found.facts, library, _TITLES)
    return found._replace(text=without_places(text, python))


def _layout(facts: Mapping[str, str], library: str, names: Iterable[str]) -> str:
    told = (name for name in names if name in facts or name not in _COMPILED)
    return "\n".join(f"{_TITLES[name].format(library=library)}: {facts.get(name, 'N/A')}" for name in told)


def without_places(text: str, python: str) -> str:
    """The text without where things lie on this machine: environments, scripts run here, home directories, users."""
    text = re.sub(rf"{re.escape(tempfile.gettempdir())}/nightfuzz-\w+/", "", text)
    root = re.escape(str(Path(python).parent.parent))
    text = re.sub(rf"{root}(?=/|\b)", "<env>", text)
    return re.sub(r"/(?:home|Users)/[^/\s:\"']+|/root(?=/)", "~", text)
