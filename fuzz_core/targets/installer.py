"""pip and uv: their settings, and installing into an environment."""

from __future__ import annotations

import ensurepip
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from fuzz_core.ir.errors import UserError
from fuzz_core.targets import process
from fuzz_core.worker.confinement import confined

INSTALL_TIMEOUT_S = 3600.0
_TAIL = 6
_NETWORK = re.compile(
    r"Retrying|NewConnectionError|ConnectionError|ConnectTimeout|ReadTimeout|NameResolution|Temporary failure in name"
    r"|Could not fetch URL|ProxyError|SSLError|Network is unreachable|dns error|error sending request|timed out",
)
_FULL = re.compile(r"No space left|Disk quota exceeded")
_SETTING = re.compile(r"^(?::env:|global|install)\.([\w-]+)='(.*)'$", re.MULTILINE)
_SOURCES = {"index-url", "extra-index-url", "find-links", "no-index"}


class IndexUnreachable(UserError):  # noqa: N818 - says what happened, as UserError does
    """The package index did not answer, so its content is unknown."""


def pip_command() -> list[str]:
    """Return the pip of this interpreter, or the one that its ensurepip carries.

    Raises:
        UserError: there is neither of them.
    """
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-P", "-m", "pip"]
    # Debian keeps it beside Python, in a folder that it names there.
    folders = [Path(ensurepip.__file__).with_name("_bundled"), Path(sysconfig.get_config_var("WHEEL_PKG_DIR") or "-")]
    bundled = [wheel for folder in folders for wheel in sorted(folder.glob("pip-*.whl"))]
    if not bundled:
        raise UserError(f"the Python {sys.executable} has no pip", "install pip (on Debian: apt install python3-pip)")
    return [sys.executable, str(bundled[-1] / "pip")]


def pip_settings() -> dict[str, str]:
    """Return the settings of pip that hold for an installation, by name: `index-url`.

    Values may have several words.
    """
    return _settings(tuple(sorted(process.for_installer(os.environ).items())))


@lru_cache
def _settings(environment: tuple[tuple[str, str], ...]) -> dict[str, str]:
    listed = process.run([*pip_command(), "config", "list"], 60, dict(environment)).stdout
    # Pip lists its settings by rank; the variables come last and count most.
    return {name: value.replace("\\n", " ") for name, value in _SETTING.findall(listed)}


def make_environment(folder: Path) -> Path:
    """Make an empty virtual environment with this Python (without pip: it is installed into from outside).

    Returns:
        Its interpreter.

    Raises:
        UserError: this Python has no venv module, or the disk refuses.
    """
    done = process.run([sys.executable, "-P", "-m", "venv", "--without-pip", folder], timeout=300)
    if done.returncode != 0:
        raise UserError(
            _told(f"no virtual environment could be made in {folder}", done.stdout + done.stderr),
            "install Python's venv module (on Debian: apt install python3-venv)",
        )
    return folder / "bin" / "python"


def install(python: Path, requirements: Sequence[str], options: Sequence[str] = (), runs_code: bool = False) -> None:
    """Install in one resolution, so that no companion can move the version of the library.

    Args:
        runs_code: whether code of packages runs meanwhile. Such code runs if a source archive is built, if the
            environment holds packages already, or if a dependency has no wheel. The installer can then change only the
            environment, and has no cache, which that code could spoil for later targets.

    Raises:
        IndexUnreachable: the package index does not answer.
        UserError: the installation fails; the message has the installer's last lines.
    """
    if not runs_code:
        try:
            return _install(python, requirements, [*_installer(python), "--only-binary", ":all:", *options])
        except IndexUnreachable:
            raise
        except UserError:
            # A dependency may have no wheel. Another reason is met again.
            pass
    uncached = ["--no-cache" if uses_uv() else "--no-cache-dir"]
    with tempfile.TemporaryDirectory(prefix="installing-", dir=python.parent.parent) as temporary:
        command = [*_installer(python), *uncached, *options]
        _install(python, requirements, command, temporary)


def _install(python: Path, requirements: Sequence[str], command: Sequence[str], temporary: str = "") -> None:
    """Run an installer on these requirements.

    Args:
        temporary: the folder for temporary files of an installer that is confined; empty for one that is not.
    """
    command, environment = [*command, *requirements], process.for_installer(os.environ)
    if temporary:
        environment["TMPDIR"] = temporary
        command = confined(command, [python.parent.parent], network=True)
    try:
        # uv reads settings from the folder that it starts in, and that may hold a stranger's sources.
        done = process.run(command, INSTALL_TIMEOUT_S, environment, python.parent)
    except subprocess.TimeoutExpired as error:
        raise UserError(
            f"the installation of {' '.join(requirements)} took more than {INSTALL_TIMEOUT_S:.0f} s and was stopped",
            _CHECK,
        ) from error
    if done.returncode != 0:
        raise _failure(requirements, done.stdout + done.stderr)


def uses_uv() -> bool:
    """Return whether uv installs.

    The program uv does not read pip's configuration. If that names indexes or folders of wheels, uv would find other
    builds, so pip installs then.
    """
    return shutil.which("uv") is not None and not _SOURCES & pip_settings().keys()


def _installer(python: Path) -> list[str]:
    if uses_uv():
        # Ask every index, as pip does: by default uv stops at the first index that knows the name.
        return ["uv", "pip", "install", "--python", str(python), "--index-strategy", "unsafe-best-match"]
    quiet = ["--no-input", "--disable-pip-version-check", "--no-warn-script-location", "--progress-bar", "off"]
    return [*pip_command(), "--python", str(python), "install", *quiet]


def _failure(requirements: Sequence[str], output: str) -> UserError:
    if _FULL.search(output):
        return UserError(_told("the disk is full", output), "free some space, or set NIGHTFUZZ_CACHE to another disk")
    what = f"{' '.join(requirements)} could not be installed"
    if _NETWORK.search(output):
        return IndexUnreachable(_told(f"{what}: the package index cannot be reached", output), _CHECK)
    return UserError(_told(what, output), "correct the cause in the lines above, or name another build")


def _told(what: str, output: str) -> str:
    lines = process.last_lines(output, _TAIL)
    return f"{what}\n{lines}" if lines else what


_CHECK = "check the network and the settings of pip (pip config list)"
