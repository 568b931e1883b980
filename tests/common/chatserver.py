"""A local server that speaks OpenAI's protocol and records the requests of a test."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

from aiohttp import web


@dataclass
class Chat:
    """The behaviour of the server, and the requests that it got."""

    answers: list[str] = field(default_factory=list)  # one for each of the four rounds
    statuses: list[int] = field(default_factory=list)  # errors of the next requests, before status 200
    body: bytes | None = None  # body of every answer
    key: str = ""  # the key that the server demands
    stalls: bool = False  # the server begins an answer and does not go on
    last: int | None = None  # the server refuses requests after so many
    asked: list[dict[str, Any]] = field(default_factory=list)  # requests that the server answered
    embedded: list[dict[str, Any]] = field(default_factory=list)  # requests for embeddings that the server answered
    keys: list[str] = field(default_factory=list)  # authorization headers of these requests

    async def post(self, request: web.Request) -> web.StreamResponse:
        """Answers `/v1/chat/completions`."""
        if self.statuses:
            return web.Response(status=self.statuses.pop(0), headers={"Location": "/elsewhere", "retry-after-ms": "1"})
        if self.body is not None:
            return web.Response(body=self.body)
        if self.stalls:
            return await self._stall(request)
        given = request.headers.get("Authorization", "")
        if self.key and given != f"Bearer {self.key}":
            return web.json_response({"error": f"Incorrect key: {given}"}, status=401)
        if self.last is not None and len(self.asked) >= self.last:
            return web.json_response({"error": "your quota is used up"}, status=402)
        self.keys.append(given)
        self.asked.append(await request.json())
        rounds = sum(message["role"] == "user" for message in self.asked[-1]["messages"])
        message = {"role": "assistant", "content": self.answers[rounds - 1]}
        return web.json_response({"object": "chat.completion", "choices": [{"index": 0, "message": message}]})

    async def embed(self, request: web.Request) -> web.StreamResponse:
        """Answers `/v1/embeddings`: the row of a text is its length and 1. There is none after `last` requests."""
        if self.body is not None:
            return web.Response(body=self.body)
        if self.last is not None and len(self.embedded) >= self.last:
            return web.json_response({"error": "your quota is used up"}, status=402)
        self.embedded.append(await request.json())
        rows = [[float(len(text)), 1.0] for text in self.embedded[-1]["input"]]
        data = [{"object": "embedding", "index": place, "embedding": row} for place, row in enumerate(rows)]
        return web.json_response({"object": "list", "data": data})

    async def _stall(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Length": "1000"})
        await answer.prepare(request)
        await answer.write(b'{"choices": [')
        await asyncio.Event().wait()
        return answer


@contextmanager
def serving(chat: Chat) -> Iterator[str]:
    """Yield the server's address, which ends in /v1."""
    loop = asyncio.new_event_loop()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", chat.post)
    app.router.add_post("/v1/embeddings", chat.embed)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    loop.run_until_complete(runner.setup())
    site = web.TCPSite(runner, "127.0.0.1", 0)
    loop.run_until_complete(site.start())
    thread = Thread(target=loop.run_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(runner.cleanup())
        loop.close()


def four(*rounds: Any) -> list[str]:
    """Return the answers to the four rounds; values other than texts are written as JSON."""
    return ["Yes.", *(each if isinstance(each, str) else json.dumps(each) for each in rounds)]
