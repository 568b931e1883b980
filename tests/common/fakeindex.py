"""Package indexes on loopback: a real one over a folder, and a faulty one whose faults a test sets."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pypiserver


class _Silent(WSGIRequestHandler):
    def log_message(self, *_arguments: object) -> None:
        """Prints no log: standard error belongs to the tests."""


@contextmanager
def real_index(folder: Path) -> Iterator[str]:
    """Yields the address of a pypiserver over a folder of wheels."""
    app = pypiserver.app(roots=[folder], password_file=".", authenticate=[], disable_fallback=True)
    with make_server("127.0.0.1", 0, app, handler_class=_Silent) as server, _running(server):
        yield f"http://127.0.0.1:{server.server_port}/simple"


@dataclass
class Faults:
    """Faults of an index. Files are named by their file names."""

    gone: set[str] = field(default_factory=set)  # files that are listed and answered with 404
    cut: list[int] = field(default_factory=list)  # the next answers end after so many bytes, one number for each
    deaf: bool = False  # Range is ignored
    unhashed: bool = False  # no file has a hash
    lies: bool = False  # hashes are wrong
    yanked: dict[str, str] = field(default_factory=dict)  # reason by file
    requires_python: dict[str, str] = field(default_factory=dict)  # listed value by file
    uploaded: dict[str, str] = field(default_factory=dict)  # listed time by file
    html: bool = False  # the list comes in HTML alone
    broken: int | None = None  # status of every answer
    page: str | None = None  # text of the list, instead of JSON
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    """Every file that was asked for, with the range."""


@contextmanager
def faulty_index(folder: Path) -> Iterator[tuple[str, Faults]]:
    """Yields the address of an index over a folder of wheels, and its faults, which a test can set at any time."""
    faults = Faults()

    class Handler(_Handler):
        place, told = folder, faults

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server, _running(server):
        yield f"http://127.0.0.1:{server.server_port}/simple", faults


@contextmanager
def _running(server: Any) -> Iterator[None]:
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    place: Path
    told: Faults

    def log_message(self, *_arguments: object) -> None:
        """Prints no log: standard error belongs to the tests."""

    def do_GET(self) -> None:
        """Lists the files at `/simple/PROJECT/`, and sends a file at `/files/NAME`."""
        if self.told.broken is not None:
            self._send(self.told.broken, b"", {})
        elif self.path.startswith("/files/"):
            self._file(self.path.removeprefix("/files/"))
        else:
            self._listing(self.path.strip("/").split("/")[-1])

    def _listing(self, project: str) -> None:
        names = sorted(each.name for each in self.place.iterdir() if _project(each.name) == project)
        if not names:
            self._send(404, b"", {})
        elif self.told.html:
            links = [f'<a href="/files/{name}{self._anchor(name)}">{name}</a>' for name in names]
            self._send(200, "<br>\n".join(links).encode(), {"Content-Type": "text/html"})
        elif self.told.page is not None:
            self._send(200, self.told.page.encode(), {"Content-Type": "application/vnd.pypi.simple.v1+json"})
        else:
            files = [self._described(name) for name in names]
            page = {"meta": {"api-version": "1.1"}, "name": project, "files": files, "versions": []}
            self._send(200, json.dumps(page).encode(), {"Content-Type": "application/vnd.pypi.simple.v1+json"})

    def _anchor(self, name: str) -> str:
        return "".join(f"#sha256={digest}" for digest in self._hashes(name).values())

    def _hashes(self, name: str) -> dict[str, str]:
        digest = hashlib.sha256((self.place / name).read_bytes()).hexdigest()
        return {} if self.told.unhashed else {"sha256": digest[::-1] if self.told.lies else digest}

    def _described(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = {"filename": name, "url": f"/files/{name}", "hashes": self._hashes(name)}
        found["size"] = (self.place / name).stat().st_size
        more = (("requires-python", self.told.requires_python), ("upload-time", self.told.uploaded))
        found |= {key: values[name] for key, values in more if name in values}
        return found | ({"yanked": self.told.yanked[name] or True} if name in self.told.yanked else {})

    def _file(self, name: str) -> None:
        self.told.asked.append((name, self.headers.get("Range")))
        if name in self.told.gone:
            return self._send(404, b"", {})
        content = (self.place / name).read_bytes()
        found = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        if found is None or self.told.deaf:
            return self._send(200, content, {})
        start = int(found[1])
        if start >= len(content):
            return self._send(416, b"", {"Content-Range": f"bytes */{len(content)}"})
        place = {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"}
        return self._send(206, content[start:], place)

    def _send(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        cut = self.told.cut.pop(0) if self.told.cut and self.path.startswith("/files/") else len(content)
        self.wfile.write(content[:cut])


def _project(filename: str) -> str:
    return filename.split("-")[0].replace("_", "-").lower()
