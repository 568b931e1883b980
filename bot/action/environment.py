"""The environment of a job that runs untrusted code: a list of allowed variables, so that no secret is among them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from fuzz_core.adapters.dialect import all_surroundings
from fuzz_core.targets.process import for_installer
from nightfuzz.bot.action.inputs import PREFIX, SECRETS, Inputs

# Places of nightfuzz, where the Docker engine is, and a choice that Keras reads.
OWN = {"NIGHTFUZZ_CACHE", "NIGHTFUZZ_PATH", "NIGHTFUZZ_COMPILED", "PYTHONPATH", "DOCKER_HOST", "KERAS_BACKEND"}
# Files and public facts of the runner that a step reads; no entry is a secret.
RUNNER = {
    "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "GITHUB_REPOSITORY", "GITHUB_SERVER_URL",
    "GITHUB_API_URL", "GITHUB_RUN_ID", "GITHUB_SHA", "GITHUB_EVENT_NAME", "GITHUB_EVENT_PATH", "RUNNER_TEMP",
}  # fmt: skip


def command_environment(own: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for a command of nightfuzz: PATH, HOME, locale, proxies, CUDA, pip, uv, and OWN."""
    allowed = OWN | all_surroundings(sys.executable).keys()
    return for_installer(own) | {name: value for name, value in own.items() if name in allowed}


def step_environment(own: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for the step that fuzzes: those of its commands, RUNNER, and inputs that are no secrets."""
    inputs = {f"{PREFIX}{name.upper()}" for name in Inputs.model_fields if name not in SECRETS}
    return command_environment(own) | {name: value for name, value in own.items() if name in RUNNER | inputs}


def drop_variables() -> None:
    """Start this process anew without the variables that a step must not have; return if it has none.

    The kernel shows the first environment of a process to every process of the same user (`/proc/PID/environ`), so to
    delete a variable is not enough. The process keeps its number, so the runner's signals reach it.
    """
    kept = step_environment(os.environ)
    if kept.keys() != os.environ.keys():
        sys.stdout.flush()
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], kept)
