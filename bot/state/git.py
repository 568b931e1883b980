"""git as a subprocess, with nothing of the user's settings, and with credentials that no log or process list shows."""

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
# What a proxy or a company's certificates need; everything else of git's own comes from here.
_PASSED = ("PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "LD_LIBRARY_PATH", "TMPDIR")
_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy")


class Remote(NamedTuple):
    """A repository. url: https, http or file, without a name or password in it. token: of whoever may write there."""

    url: str
    token: Secret | None = None


class Done(NamedTuple):
    """How git ended. said: what it wrote to standard error and output, scrubbed and bounded."""

    code: int
    output: bytes
    said: str


def remote_of(url: str, token: Secret | None = None) -> Remote:
    """Raises UserError for an address that git would not reach in the way meant here, or that holds a secret."""
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES or (parts.scheme != "file" and not parts.hostname):
        raise UserError(f"{scrub(url)[:200]} is no address of a repository", "it begins with https:// (or file://)")
    if "@" in parts.netloc or re.search(r"[\x00-\x20\x7f]", url):
        remedy = "give the address alone, and the token in its own setting"
        raise UserError("the address of the repository has a name or password in it, or blanks", remedy)
    return Remote(url, token)


class Git:
    """A bare scratch repository, and what it needs to talk to one remote."""

    def __init__(self, folder: Path, remote: Remote) -> None:
        self.folder, self.remote = folder, remote
        self._refuse_old()
        folder.mkdir(parents=True, exist_ok=True)
        self.call("init", "--quiet", "--bare", "--initial-branch=none")

    def _refuse_old(self) -> None:
        told = re.search(rb"(\d+)\.(\d+)", self._git("version", folder=Path()).output)
        if told is None or (int(told[1]), int(told[2])) < OLDEST:
            raise UserError("git is too old", f"install git {'.'.join(map(str, OLDEST))} or newer")

    def call(self, *arguments: str, given: bytes | None = None, at: datetime | None = None) -> bytes:
        """Standard output. Raises UserError where git fails, which for these calls is nobody's fault but the disk's."""
        done = self.run(*arguments, given=given, at=at)
        if done.code:
            raise UserError(f"git {arguments[0]} failed: {done.said}", "is there space left, and a git of this decade?")
        return done.output

    def run(self, *arguments: str, given: bytes | None = None, at: datetime | None = None) -> Done:
        """Runs git in the scratch repository. at: the time of a commit. Raises UserError where there is no git."""
        return self._git(*arguments, folder=self.folder, given=given, at=at)

    def _git(self, *arguments: str, folder: Path, given: bytes | None = None, at: datetime | None = None) -> Done:
        command = ["git", "-C", str(folder), *arguments]
        environment = {**_environment(os.environ, self.folder, self.remote), **_dates(at)}
        try:
            done = subprocess.run(command, input=given or b"", capture_output=True, env=environment, timeout=SECONDS)
        except FileNotFoundError:
            raise UserError(
                "there is no git on this machine", "install git, or keep the state in a directory"
            ) from None
        except subprocess.TimeoutExpired:
            return Done(124, b"", f"it took longer than {SECONDS} seconds")
        return Done(done.returncode, done.stdout, _shortened(done.stderr))


def _shortened(output: bytes) -> str:
    lines = scrub(output.decode("utf-8", "replace")).split("\n")
    told = " | ".join("".join(c for c in line if c.isprintable()).strip() for line in lines if line.strip())
    return told[-600:]


def _dates(at: datetime | None) -> dict[str, str]:
    if at is None:
        return {}
    when = f"{int(at.timestamp())} +0000"
    names = {"GIT_AUTHOR_NAME": AUTHOR, "GIT_COMMITTER_NAME": AUTHOR}
    addresses = {"GIT_AUTHOR_EMAIL": ADDRESS, "GIT_COMMITTER_EMAIL": ADDRESS}
    return {**names, **addresses, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}


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
    """Objects are checked as they come; no other protocol is spoken; the token goes to this remote alone."""
    settings = [("fetch.fsckObjects", "true"), ("protocol.allow", "never"), ("gc.auto", "0"), ("credential.helper", "")]
    settings += [(f"protocol.{scheme}.allow", "always") for scheme in SCHEMES]
    settings += [("core.hooksPath", os.devnull), ("core.askPass", ""), ("http.lowSpeedLimit", "1000")]
    # What is large is packed or encrypted already.
    settings += [("http.lowSpeedTime", "60"), ("core.compression", "0")]
    if remote.token is not None:
        basic = Secret(b64encode(f"x-access-token:{remote.token.reveal()}".encode()).decode())
        settings.append((f"http.{remote.url}.extraHeader", f"Authorization: Basic {basic.reveal()}"))
    return settings
