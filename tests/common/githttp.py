"""Git repositories over HTTP, as GitHub serves them: git's own `http-backend` behind a server that wants a token."""

from __future__ import annotations

import os
import subprocess
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

BACKEND = (
    Path(subprocess.run(["git", "--exec-path"], capture_output=True, text=True).stdout.strip()) / "git-http-backend"
)
# Takes the path of a request and returns its answer. `cut` breaks the connection before git gets the request, `lose`
# breaks it after git has done its work, and an empty text means no fault.
Fault = Callable[[str], str]


class GitServer:
    """A server of the bare repositories of a folder."""

    def __init__(self, root: Path, token: str) -> None:
        self.root, self.token = root, token
        self.fault: Fault = lambda path: ""
        # Authorization header and path of every request.
        self.seen: list[tuple[str, str]] = []
        self.port = 0

    @property
    def url(self) -> str:
        """The address of the server."""
        return f"http://127.0.0.1:{self.port}"

    def add(self, name: str) -> str:
        """Makes an empty repository that takes pushes; returns its address."""
        subprocess.run(["git", "init", "--quiet", "--bare", str(self.root / name)], check=True)
        subprocess.run(["git", "-C", str(self.root / name), "config", "http.receivepack", "true"], check=True)
        return f"{self.url}/{name}"

    def permits(self, header: str) -> bool:
        """Returns whether the authorization is ours."""
        return header == "Basic " + b64encode(f"x-access-token:{self.token}".encode()).decode()


@contextmanager
def serving(root: Path, token: str) -> Iterator[GitServer]:
    """Runs a server until the block ends."""
    server = GitServer(root, token)

    class Handler(_Handler):
        git = server

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server.port = http.server_port
        thread = threading.Thread(target=http.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    git: GitServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self._body())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name it has in the base class
        """Prints no log."""

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _answer(self, body: bytes) -> None:
        header = self.headers.get("Authorization", "")
        self.git.seen.append((header, self.path))
        fault = self.git.fault(self.path)
        if fault.isdigit():
            self._send(int(fault), {}, b"said by a proxy\n")
        elif fault == "cut":
            self.close_connection = True
        elif not self.git.permits(header):
            self._send(401 if not header else 403, {"WWW-Authenticate": "Basic"}, b"no access\n")
        else:
            status, headers, answer = self._backend(body)
            if fault == "lose":
                self.close_connection = True
            else:
                self._send(status, headers, answer)

    def _backend(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        parts = urlsplit(self.path)
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.git.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "REQUEST_METHOD": self.command,
            "PATH_INFO": parts.path,
            "QUERY_STRING": parts.query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "REMOTE_USER": "somebody",
        }
        done = subprocess.run([str(BACKEND)], input=body, capture_output=True, env=environment)
        head, _, answer = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        return int(headers.pop("Status", "200").split()[0]), headers, answer

    def _send(self, status: int, headers: dict[str, str], answer: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
