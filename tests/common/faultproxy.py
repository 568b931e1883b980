"""A proxy before a GitHub server that misbehaves as planned: the same seed and requests give the same faults."""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, web

# Faults of a request. `before` and `after` say whether a write took effect. A `late` write takes effect after its
# answer has failed.
ANY = (
    "5xx-before", "5xx-after", "secondary", "primary", "429", "cut-before", "cut-after", "slow", "truncated", "torn",
    "html",
)  # fmt: skip
READS, WRITES = ("stale",), ("late",)
ALL = ANY + READS + WRITES
LATE_SECONDS = 8.0
HTML = b"<!DOCTYPE html><html><title>Unicorn! &middot; GitHub</title><p>This page is taking too long to load.</html>"


class ProxiedRequest(NamedTuple):
    """A request as it came, and its answer."""

    verb: str
    url: str
    headers: str  # without Authorization, in which a token belongs
    body: str
    answer: str


class Plan:
    """The faults that a proxy injects.

    Args:
        faults: number of faults of each kind.
        density: share of the requests that get a fault, as long as faults remain.
    """

    def __init__(self, seed: int, faults: Mapping[str, int], density: float = 0.25) -> None:
        self._rng = random.Random(seed)
        self.left = Counter({name: count for name, count in faults.items() if count})
        self._density = density

    def draw(self, fitting: tuple[str, ...]) -> str | None:
        """Returns the fault for the next request, of those that fit it; None if the request gets no fault."""
        if self._rng.random() >= self._density:
            return None
        names = [name for name in fitting if self.left[name] > 0]
        if not names:
            return None
        return self._rng.choices(names, [self.left[name] for name in names])[0]

    def spent(self, name: str) -> None:
        """Counts an injected fault."""
        self.left[name] -= 1

    def any_of(self, count: int) -> int:
        """Returns a random number below `count`."""
        return self._rng.randrange(count)


@dataclass
class Proxy:
    """A proxy that passes requests on, injects faults and records all requests."""

    upstream: str
    plan: Plan
    clock: Callable[[], datetime]
    url: str = ""  # the proxy's own address
    paused: bool = False  # no faults are injected
    # Changes the body of an answer on its way, by path.
    rewrite: Callable[[str, bytes], bytes] = lambda path, body: body
    # Called between the server's answer and its delivery; True cuts the connection.
    forwarded: Callable[[str, str], bool] = lambda verb, path: False
    # Returns status, headers and body of an answer that the server can't give, or None if it can.
    instead: Callable[[str, str], tuple[int, dict[str, str], Any] | None] = lambda verb, path: None
    injected: Counter[str] = field(default_factory=Counter)
    seen: list[ProxiedRequest] = field(default_factory=list)
    asked_to_wait: list[float] = field(default_factory=list)
    _history: dict[str, list[web.Response]] = field(default_factory=lambda: defaultdict(list))
    _late: list[tuple[datetime, web.Request, bytes]] = field(default_factory=list)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def leaks(self, *secrets: str) -> list[str]:
        """Returns the places outside the authorization header that show a secret: `url of …`, `answer of …`."""
        places = ("url", "headers", "body", "answer")
        return [
            f"{place} of {seen.verb} {seen.url}"
            for seen in self.seen
            for place in places
            if any(secret in getattr(seen, place) for secret in secrets)
        ]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answers any request."""
        body = await request.read()
        async with self._turn:
            await self._catch_up()
            fault = None if self.paused else self._drawn(request)
            if fault:
                self.plan.spent(fault)
                self.injected[fault] += 1
            answer = await self._answered(request, body, fault)
        sent = answer.body if isinstance(answer, web.Response) and isinstance(answer.body, bytes) else b""
        head = str({name: value for name, value in request.headers.items() if name != "Authorization"})
        self.seen.append(
            ProxiedRequest(request.method, str(request.url), head, body.decode(), sent.decode(errors="replace"))
        )
        return answer

    def _drawn(self, request: web.Request) -> str | None:
        reads = request.method == "GET"
        fitting = ANY + ((READS if self._history[str(request.url)] else ()) if reads else WRITES)
        return self.plan.draw(fitting)

    async def _answered(self, request: web.Request, body: bytes, fault: str | None) -> web.StreamResponse:
        match fault:
            case "5xx-before":
                return _error(500 + self.plan.any_of(5))
            case "secondary":
                message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
                self.asked_to_wait.append(float(1 + self.plan.any_of(60)))
                return _json(403, message, {"Retry-After": f"{self.asked_to_wait[-1]:.0f}"})
            case "primary":
                reset = int(self.clock().astimezone(UTC).timestamp()) + self.plan.any_of(120)
                head = {"x-ratelimit-limit": "1000", "x-ratelimit-remaining": "0", "x-ratelimit-reset": str(reset)}
                return _json(403, "API rate limit exceeded for installation.", head)
            case "429":
                return _json(429, "Too many requests", {"Retry-After": str(1 + self.plan.any_of(10))})
            case "cut-before":
                return _cut(request)
            case "stale":
                older = self._history[str(request.url)]
                return _copied(older[self.plan.any_of(len(older))])
            case "html":
                return web.Response(status=200 + 302 * self.plan.any_of(2), body=HTML, content_type="text/html")
            case "late":
                # The write takes effect when the client has long given up, but before GitHub would end it.
                self._late.append((self.clock(), request, body))
                return _error(504)
        if (told := self.instead(request.method, request.path)) is not None:
            return web.json_response(told[2], status=told[0], headers=told[1])
        answer = await self._forwarded(request, body)
        if self.forwarded(request.method, request.path):
            return _cut(request)
        return await self._spoiled(request, answer, fault)

    async def _spoiled(self, request: web.Request, answer: web.Response, fault: str | None) -> web.StreamResponse:
        content = answer.body if isinstance(answer.body, bytes) else b""
        match fault:
            case "5xx-after":
                return _error(500 + self.plan.any_of(5))
            case "cut-after":
                return _cut(request)
            case "slow":
                await asyncio.sleep(0.02)
            case "truncated":
                cut = content[: max(1, len(content) * (1 + self.plan.any_of(9)) // 10 - 1)] or b"{"
                return web.Response(status=answer.status, body=cut, content_type="application/json")
            case "torn":
                return await _torn(request, answer.status, content)
        return answer

    async def _forwarded(self, request: web.Request, body: bytes) -> web.Response:
        head = {name: value for name, value in request.headers.items() if name not in ("Host", "Accept-Encoding")}
        async with (
            ClientSession(timeout=ClientTimeout(60), cookie_jar=DummyCookieJar()) as session,
            session.request(request.method, self.upstream + request.raw_path, data=body, headers=head) as answer,
        ):
            content = self.rewrite(request.path, await answer.read())
            kept = {name: answer.headers[name] for name in answer.headers if name.lower().startswith("x-")}
            kind = {"Content-Type": answer.headers.get("Content-Type", "application/json")}
            made = web.Response(status=answer.status, body=content, headers=kept | kind)
        if request.method == "GET":
            self._history[str(request.url)] = [*self._history[str(request.url)], _copied(made)][-6:]
        return made

    async def _catch_up(self) -> None:
        """Sends the late writes whose time has come."""
        due = [each for each in self._late if (self.clock() - each[0]).total_seconds() >= LATE_SECONDS]
        for each in due:
            self._late.remove(each)
            await self._forwarded(each[1], each[2])


@contextmanager
def fault_proxy(
    upstream: str, plan: Plan, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> Iterator[Proxy]:
    """Runs a proxy on a free port of loopback, in a thread of its own."""
    proxy = Proxy(upstream, plan, clock)
    loop, ready = asyncio.new_event_loop(), threading.Event()
    stop = asyncio.Event()

    async def serve() -> None:
        app = web.Application(client_max_size=1 << 26)
        app.router.add_route("*", "/{path:.*}", proxy.handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        proxy.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        ready.set()
        await stop.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    ready.wait(10)
    try:
        yield proxy
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


def _error(status: int) -> web.Response:
    return _json(status, "Server Error", {})


def _json(status: int, message: str, head: dict[str, str]) -> web.Response:
    return web.json_response({"message": message}, status=status, headers=head)


def _copied(answer: web.Response) -> web.Response:
    """Copies an answer, which can be sent only once."""
    head = {name: value for name, value in answer.headers.items() if name != "Content-Length"}
    return web.Response(status=answer.status, body=answer.body, headers=head)


def _cut(request: web.Request) -> web.Response:
    assert request.transport is not None
    request.transport.abort()
    return web.Response(status=599)


async def _torn(request: web.Request, status: int, content: bytes) -> web.StreamResponse:
    """Announces more bytes than it sends."""
    answer = web.StreamResponse(status=status, headers={"Content-Length": str(len(content) + 100)})
    await answer.prepare(request)
    await answer.write(content)
    return _cut(request)
