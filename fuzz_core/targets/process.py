"""Child processes of the controller that are no workers: installers, interpreters asked who they are, system tools."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

_KEPT = {
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "LD_LIBRARY_PATH",
}  # fmt: skip
_KEPT_PREFIXES = ("LC_", "CUDA_", "NVIDIA_", "ROCR_", "HIP_", "DYLD_")
_INSTALLER = {"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NETRC"}
_INSTALLER_PREFIXES = ("PIP_", "UV_", "XDG_")
_PROXIES = {"http_proxy", "https_proxy", "all_proxy", "no_proxy"}
# Variables that redirect an install away from the environment that it is meant for.
_MISLEADING = {
    "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_PYTHON", "PIP_REQUIRE_VIRTUALENV", "PIP_DRY_RUN",
    "UV_PYTHON", "UV_TARGET", "UV_PREFIX", "UV_SYSTEM_PYTHON", "UV_PROJECT_ENVIRONMENT",
}  # fmt: skip


def scrubbed(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a target's own code: only names on a list of harmless ones, so never a token."""
    return {name: value for name, value in environ.items() if name in _KEPT or name.startswith(_KEPT_PREFIXES)}


def for_installer(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the scrubbed environment with the settings of pip, uv, proxies and certificates.

    Further variables are left out: a package that is built from source runs its own code with this environment.
    """
    kept = {
        name: value
        for name, value in environ.items()
        if name in _INSTALLER or name.startswith(_INSTALLER_PREFIXES) or name.lower() in _PROXIES
    }
    return scrubbed(environ) | {name: value for name, value in kept.items() if name not in _MISLEADING}


def run(
    command: Sequence[str | Path],
    timeout: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command without standard input and captures its text, undecodable bytes replaced.

    `timeout` in seconds.

    Raises:
        OSError: the program cannot start.
        subprocess.TimeoutExpired: the program does not end in time.
    """
    child = subprocess.Popen(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        env=dict(scrubbed(os.environ) if env is None else env),
        cwd=cwd,
        start_new_session=True,
    )
    try:
        out, err = child.communicate(timeout=timeout)
    except BaseException:
        _end_group(child)
        raise
    return subprocess.CompletedProcess(child.args, child.returncode, out, err)


def _end_group(child: subprocess.Popen[str]) -> None:
    """End the command with all it started: pip works in a child of its own, which outlives pip and holds the pipes."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.communicate()


def last_lines(text: str, count: int = 1) -> str:
    """Return the last lines that are not empty."""
    return "\n".join([line.rstrip() for line in text.splitlines() if line.strip()][-count:])
