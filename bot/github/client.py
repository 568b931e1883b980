"""One repository of GitHub's API over HTTP: what is repeated, what is waited for, and what an answer means.

Reads are repeated, and so are writes that change nothing when they are done twice. A write that makes something is
tried once, and tells when it is not known whether it took effect (PyGithub's own way would send it again).
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import github
import requests
from github.Requester import Requester

import fuzz_core
from nightfuzz.bot.github.auth import AppAuth, Auth
from nightfuzz.bot.github.budget import Budget, pause
from nightfuzz.bot.github.errors import GaveUpError, RefusedError, UnsureError, refusal
from nightfuzz.bot.github.redaction import scrub
from nightfuzz.reports.text import bounded

T = TypeVar("T")
PAGE, MOST_PAGES = 100, 1000
TIMEOUT_SECONDS = 30
LONGEST_BACKOFF = 60.0
VERSION = "2022-11-28"


class Answer(NamedTuple):
    """data: the JSON of the body, None where it was empty."""

    status: int
    headers: Mapping[str, str]
    data: Any


class Turn:
    """Attempts at one thing: each waits longer than the one before it, and all of them together a limited time."""

    def __init__(self, budget: Budget, rng: random.Random) -> None:
        self._budget, self._rng = budget, rng
        self._failed, self._waited = 0, 0.0

    def again(self, error: UnsureError) -> None:
        """Waits before the next attempt. Raises GaveUpError."""
        self._failed += 1
        backoff = min(LONGEST_BACKOFF, 2.0 ** min(self._failed - 1, 10)) * self._rng.uniform(0.5, 1.0)
        self.wait(max(error.wait, backoff), str(error))
        self._budget.repeated += 1

    def wait(self, seconds: float, why: str) -> None:
        """Waits for something else than an attempt."""
        limits = self._budget.limits
        if self._waited + seconds > (limits.a_call if self._budget.answered else min(limits.first, limits.a_call)):
            raise GaveUpError(
                f"gave up on GitHub after {self._waited:.0f} s of waiting for one thing: {why}; it would take another "
                f"{seconds:.0f} s; what was written so far is kept, the rest is done by the next run"
            )
        self._waited += seconds
        self._budget.wait(seconds, why)


class Client:
    """Raises RefusedError where GitHub says no, GaveUpError where it does not answer for too long."""

    def __init__(self, auth: Auth, repository: str, address: str, budget: Budget, rng: random.Random) -> None:
        self.auth, self.repository, self.address, self.budget = auth, repository, address, budget
        self._rng = rng
        self._requester: Requester | None = None

    @property
    def home(self) -> str:
        """The path of the repository."""
        return f"/repos/{self.repository}"

    @property
    def graphql(self) -> str:
        """Where GraphQL is asked: beside the REST API."""
        place = self.address.removesuffix("/v3") if self.address.endswith("/api/v3") else self.address
        return f"{place}/graphql"

    def read(
        self,
        path: str,
        parse: Callable[[Any], T],
        parameters: Mapping[str, Any] | None = None,
        permission: str = "issues: read",
    ) -> T:
        """A GET, repeated until it has an answer that `parse` understands."""
        return self._insist(lambda: _understood(parse, self.attempt("GET", path, None, parameters, permission).data))

    def pages(self, path: str, parse: Callable[[Any], T], parameters: Mapping[str, Any] | None = None) -> Iterator[T]:
        """All of a listing, a page at a time."""
        for page in range(1, MOST_PAGES + 1):
            asked = {**(parameters or {}), "per_page": PAGE, "page": page}
            found = self.read(path, lambda data: [parse(each) for each in listed(data)], asked)
            yield from found
            if len(found) < PAGE:
                return

    def put(self, verb: str, path: str, body: Any, parse: Callable[[Any], T], permission: str = "issues: write") -> T:
        """A write that may be done twice, repeated until it has an answer."""
        settled = self.budget.limits.settled
        return self._insist(lambda: _understood(parse, self.attempt(verb, path, body, None, permission).data), settled)

    def once(self, path: str, body: Any, parse: Callable[[Any], T], permission: str = "issues: write") -> T:
        """A POST that makes something, sent once. Raises UnsureError where it may or may not have taken effect."""
        return _understood(parse, self.attempt("POST", path, body, None, permission).data)

    def attempt(
        self,
        verb: str,
        path: str,
        body: Any = None,
        parameters: Mapping[str, Any] | None = None,
        permission: str = "issues: write",
    ) -> Answer:
        """One request, sent once. Raises RefusedError (nothing changed) and UnsureError (nobody knows)."""
        if verb != "GET":
            self.budget.before_write(creates=verb == "POST")
        status, headers, text = self._send(verb, path, body, parameters)
        data = _decoded(text)
        wait = pause(status, headers, str(data.get("message", "")) if isinstance(data, dict) else "", self._now())
        if wait is not None:
            raise UnsureError(f"GitHub's rate limit (HTTP {status})", wait)
        if status == 408 or status >= 500 or data is _BROKEN:
            raise UnsureError(f"no usable answer (HTTP {status})")
        if status >= 300:
            raise refusal(status, headers, data, f"{verb} {path}", self.repository, permission)
        return Answer(status, headers, data)

    def turn(self) -> Turn:
        """The attempts at one thing, from now on."""
        return Turn(self.budget, self._rng)

    def as_app(self, path: str, parse: Callable[[Any], T]) -> T:
        """A GET signed by the app itself, not by where it is installed."""
        assert isinstance(self.auth, AppAuth)
        mine, self._requester = self._requester, self._connected(self.auth.app())
        try:
            return self.read(path, parse)
        finally:
            self._requester = mine

    def _insist(self, work: Callable[[], T], settled: float = 0.0) -> T:
        turn, renewed = self.turn(), False
        while True:
            try:
                return work()
            except UnsureError as error:
                # A write that comes into effect late must not undo a later one.
                turn.again(error.settled(settled))
            except RefusedError as error:
                # An installation token may end before its time, once.
                if renewed or error.status != 401 or not isinstance(self.auth, AppAuth):
                    raise
                renewed, self._requester = True, None

    def _now(self) -> Any:
        return self.budget.clock()

    def _send(
        self, verb: str, path: str, body: Any, parameters: Mapping[str, Any] | None
    ) -> tuple[int, Mapping[str, str], str]:
        headers: Mapping[str, str] = {}
        try:
            status, headers, text = self._ready().requestJson(verb, path, dict(parameters or {}), {}, body)
            self.budget.answered = True
            return status, headers, text
        except requests.RequestException as error:
            raise UnsureError(f"no answer from {self.address} ({type(error).__name__})") from None
        except github.GithubException as error:
            headers = {name.lower(): str(value) for name, value in (error.headers or {}).items()}
            return error.status, headers, json.dumps(error.data if isinstance(error.data, dict) else {})
        except (RuntimeError, AssertionError) as error:
            raise RefusedError(301, scrub(bounded(f"{self.repository}: {error}", 300)), "use its new name") from None
        finally:
            self.budget.after(verb, headers)

    def _ready(self) -> Requester:
        """Connected, and with the token of an installation at hand: PyGithub asks for that one by itself."""
        if self._requester is None:
            self._requester = self._connected(self.auth.signed())
        if isinstance(self._requester.auth, github.Auth.AppInstallationAuth):
            try:
                got = bool(self._requester.auth.token)
            except (ValueError, TypeError, AttributeError, AssertionError):
                got = False
            if not got:
                self._requester = None
                raise UnsureError("no usable answer about the token of the app's installation")
        return self._requester

    def _connected(self, signed: github.Auth.Auth) -> Requester:
        return github.Github(
            auth=signed,
            base_url=self.address,
            timeout=TIMEOUT_SECONDS,
            user_agent=f"nightfuzz/{fuzz_core.__version__}",
            retry=None,
            seconds_between_requests=None,
            seconds_between_writes=None,
            api_version=VERSION,
        ).requester


class _Broken:
    """Stands for a body that is no JSON."""


_BROKEN = _Broken()


def _decoded(text: str) -> Any:
    if not text:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _BROKEN


def _understood(parse: Callable[[Any], T], data: Any) -> T:
    try:
        return parse(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnsureError(f"an answer of another shape than GitHub's: {type(error).__name__}") from None


def listed(data: Any) -> list[Any]:
    """The answer as a list. Raises TypeError."""
    if not isinstance(data, list):
        raise TypeError("no list")
    return data
