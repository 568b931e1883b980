"""git as a subprocess: the only module that starts it.

A checkout of the user's and an unknown remote are read with the user's own settings. A scratch repository of ours has
none of them, and its credentials are in no log and in no list of processes.
"""

from __future__ import annotations

import os
import re
import subprocess
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.github.redaction import Secret, scrub

SECONDS = 600
# From this version on, settings may come from the environment.
OLDEST = (2, 31)
SCHEMES = ("https", "http", "file")
AUTHOR = "nightfuzz"
ADDRESS = "nightfuzz@users.noreply.github.com"
# Variables for a proxy or a company's certificates; git gets all its own settings from this module.
_PASSED = ("PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "LD_LIBRARY_PATH", "TMPDIR")
_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy")


class Remote(NamedTuple):
    """A repository to read and write."""

    url: str  # https, http or file, without a name or password
    token: Secret | None = None  # token with write access


class GitResult(NamedTuple):
    """The exit of a git command."""

    code: int
    output: bytes
    message: str  # standard error, scrubbed and bounded


def remote_of(url: str, token: Secret | None = None) -> Remote:
    """Check an address and return the remote.

    Raises:
        UserError: an address that holds a secret, or that git would reach by a protocol which is not allowed.
    """
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES or (parts.scheme != "file" and not parts.hostname):
        raise UserError(
            f"{scrub(url)[:200]} is not the address of a repository",
            "write an address that begins with https:// or file://",
        )
    if "@" in parts.netloc or re.search(r"[\x00-\x20\x7f]", url):
        remedy = "write the address alone, and give the token in the input github-token"
        raise UserError("the address of the repository has a user name, a password or a blank", remedy)
    return Remote(url, token)


def git(
    *arguments: str, given: bytes = b"", environment: Mapping[str, str] | None = None, seconds: int = SECONDS
) -> GitResult:
    """Run git and return how it ended; code 124 is a timeout.

    Args:
        environment: instead of this process's own.

    Raises:
        UserError: the machine has no git.
    """
    try:
        done = subprocess.run(["git", *arguments], input=given, capture_output=True, env=environment, timeout=seconds)
    except OSError:
        raise UserError(
            "this machine has no git", "install git, or keep the state in a directory: inputs state and state-path"
        ) from None
    except subprocess.TimeoutExpired:
        return GitResult(124, b"", f"it took longer than {seconds} seconds")
    return GitResult(done.returncode, done.stdout, _shortened(done.stderr))


def git_in(checkout: Path, *arguments: str) -> GitResult:
    """Run git in a checkout of the user's.

    A runner in a container owns the files by another name than git sees.
    """
    return git("-c", f"safe.directory={checkout.resolve()}", "-C", str(checkout), *arguments)


def remote_commit(url: str, names: Sequence[str], seconds: int) -> str:
    """Return the commit of the first of these full names that a remote has; empty if git cannot reach the remote."""
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": ""}
    try:
        done = git("ls-remote", "--quiet", "--", url, *names, environment=environment, seconds=seconds)
    except UserError:
        return ""
    lines = [line.partition("\t") for line in done.output.decode("utf-8", "replace").splitlines()]
    heads = {name: commit for commit, _tab, name in lines}
    return next((heads[name] for name in names if name in heads), "")


class Repository:
    """A bare scratch repository with the settings for one remote.

    There is no work tree.
    """

    def __init__(self, folder: Path, remote: Remote) -> None:
        self.folder, self.remote = folder, remote
        version = re.search(rb"(\d+)\.(\d+)", git("version").output)
        if version is None or (int(version[1]), int(version[2])) < OLDEST:
            found = ".".join(part.decode() for part in version.groups()) if version else "of unknown version"
            raise UserError(f"git {found} is too old", f"install git {'.'.join(map(str, OLDEST))} or newer")
        folder.mkdir(parents=True, exist_ok=True)
        self.call("init", "--quiet", "--bare", "--initial-branch=none")

    def call(self, *arguments: str, given: bytes = b"") -> bytes:
        """Return standard output.

        Raises:
            UserError: git fails; these calls fail only because of the disk.
        """
        done = self.run(*arguments, given=given)
        if done.code:
            raise UserError(
                f"git {arguments[0]} failed: {done.message}",
                "correct the cause that git names, such as a full disk, and run the job again",
            )
        return done.output

    def run(self, *arguments: str, given: bytes = b"") -> GitResult:
        """Run git in the scratch repository.

        Raises:
            UserError: the machine has no git.
        """
        environment = _environment(os.environ, self.folder, self.remote)
        return git("-C", str(self.folder), *arguments, given=given, environment=environment)

    def commit(self, files: Mapping[str, bytes], message: str, at: datetime) -> str:
        """Make a commit without a parent and return its hash.

        Names of files need no quoting.
        """
        subject = message.encode()
        head = f"commit refs/scratch\nmark :1\ncommitter {AUTHOR} <{ADDRESS}> {int(at.timestamp())} +0000\n"
        parts = [head.encode(), b"data %d\n%b\n" % (len(subject), subject)]
        for name, data in files.items():
            parts.append(b"M 100644 inline %b\ndata %d\n%b\n" % (name.encode(), len(data), data))
        parts.append(b"get-mark :1\n")
        return self.call("fast-import", "--quiet", "--force", given=b"".join(parts)).decode().strip()


def _shortened(output: bytes) -> str:
    lines = scrub(output.decode("utf-8", "replace")).split("\n")
    message = " | ".join("".join(c for c in line if c.isprintable()).strip() for line in lines if line.strip())
    return message[-600:]


def _environment(own: Mapping[str, str], folder: Path, remote: Remote) -> dict[str, str]:
    passed = {name: value for name, value in own.items() if name in _PASSED or name.lower() in _PROXIES}
    settings = _settings(remote)
    given = {
        f"GIT_CONFIG_{part}_{n}": each[i] for n, each in enumerate(settings) for i, part in enumerate(("KEY", "VALUE"))
    }
    return {
        **passed,
        **given,
        "GIT_CONFIG_COUNT": str(len(settings)),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "HOME": str(folder),
        "LC_ALL": "C",
    }


def _settings(remote: Remote) -> Sequence[tuple[str, str]]:
    """Return settings by which objects are checked as they come, and the token goes to this remote alone."""
    settings = [("fetch.fsckObjects", "true"), ("protocol.allow", "never"), ("gc.auto", "0"), ("credential.helper", "")]
    settings += [(f"protocol.{scheme}.allow", "always") for scheme in SCHEMES]
    settings += [("core.hooksPath", os.devnull), ("core.askPass", ""), ("http.lowSpeedLimit", "1000")]
    # Large files are packed or encrypted already.
    settings += [("http.lowSpeedTime", "60"), ("core.compression", "0")]
    if remote.token is not None:
        basic = Secret(b64encode(f"x-access-token:{remote.token.reveal()}".encode()).decode())
        settings.append((f"http.{remote.url}.extraHeader", f"Authorization: Basic {basic.reveal()}"))
    return settings
