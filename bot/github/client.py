"""The API of GitHub over HTTP, for one repository: which requests are repeated, how long, and how an answer is read.

The client repeats reads, and writes that have the same effect if GitHub executes them twice. A write that creates an
object is sent once, and its caller learns whether the outcome is known. PyGithub's own retry would send it again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import github
import requests

import fuzz_core
from nightfuzz.bot.github.budget import Backoff, Budget, pause
from nightfuzz.bot.github.errors import GONE, RefusedError, UnsureError, refusal, unless_refused
from nightfuzz.bot.github.redaction import scrub
from nightfuzz.reports.text import bounded

T = TypeVar("T")
PAGE, MOST_PAGES = 100, 1000
TIMEOUT_SECONDS = 30
VERSION = "2022-11-28"


class Client:
    """GitHub's API for one repository, with retries.

    A path is one of the repository's, like `issues/5`, one of the API's, like `/user`, or a whole address.

    Args:
        credentials: makes what PyGithub signs requests with.

    Raises:
        RefusedError: GitHub refuses a request.
        GaveUpError: GitHub does not answer for too long.
    """

    def __init__(
        self,
        credentials: Callable[[], github.Auth.Auth],
        repository: str,
        address: str,
        budget: Budget,
    ) -> None:
        self.repository, self.address, self.budget = repository, address, budget
        self._credentials = credentials
        self._connect()

    def _connect(self) -> None:
        self._requester = github.Github(
            auth=self._credentials(),
            base_url=self.address,
            timeout=TIMEOUT_SECONDS,
            user_agent=f"nightfuzz/{fuzz_core.__version__}",
            retry=None,
            seconds_between_requests=None,
            seconds_between_writes=None,
            api_version=VERSION,
        ).requester

    def read(
        self,
        path: str,
        parse: Callable[[Any], T],
        parameters: Mapping[str, Any] | None = None,
        permission: str = "issues: read",
    ) -> T:
        """Send a GET until it has an answer that `parse` understands."""
        return self._repeat(lambda: self._send("GET", path, None, parse, parameters, permission))

    def pages(self, path: str, parse: Callable[[Any], T], parameters: Mapping[str, Any] | None = None) -> Iterator[T]:
        """Yield the entries of a listing, a page at a time."""
        for page in range(1, MOST_PAGES + 1):
            found = self.read(path, many(parse), {**(parameters or {}), "per_page": PAGE, "page": page})
            yield from found
            if len(found) < PAGE:
                return

    def write(self, verb: str, path: str, body: Any, parse: Callable[[Any], T], permission: str = "issues: write") -> T:
        """Send a write until it has an answer.

        GitHub may execute it twice.
        """
        # A write that takes effect late must not undo a later one.
        at_least = self.budget.limits.in_flight
        return self._repeat(lambda: self._send(verb, path, body, parse, permission=permission), at_least)

    def find(self, path: str, parse: Callable[[Any], T], permission: str = "issues: read") -> T | None:
        """Like `read`; None if the path does not exist."""
        return unless_refused(GONE, lambda: self.read(path, parse, permission=permission))

    def find_surely(self, path: str, parse: Callable[[Any], T]) -> T | None:
        """Like `find`, by a write that changes no data: answers to writes are never old."""
        return self.change(path, {}, parse)

    def change(self, path: str, body: Any, parse: Callable[[Any], T]) -> T | None:
        """Change the object at this path; None if the path does not exist."""
        return unless_refused(GONE, lambda: self.write("PATCH", path, body, parse))

    def delete(self, path: str) -> None:
        """Delete the object at this path; a missing object is no error."""
        unless_refused(GONE, lambda: self.write("DELETE", path, None, nothing))

    def create(self, path: str, body: Any, parse: Callable[[Any], T], permission: str = "issues: write") -> T:
        """Send a POST once.

        Raises:
            UnsureError: it may or may not have taken effect.
        """
        return self._send("POST", path, body, parse, permission=permission)

    def create_once(
        self,
        find: Callable[[], T | None],
        create: Callable[[], T],
        before: Callable[[], None] = lambda: None,
        patience: float = 1.0,
    ) -> T:
        """Return the object that `find` finds, else the object that `create` makes; the object is never made twice.

        A `create` without an answer may have taken effect. So the client waits until GitHub has executed or dropped the
        request, and calls `find` again.

        Args:
            find: looks the object up.
            create: makes the object.
            before: called just before each `create`.
            patience: a factor for the wait.
        """
        backoff = Backoff(self.budget)
        while (found := find()) is None:
            before()
            try:
                return create()
            except UnsureError as error:
                backoff.retry(error, self.budget.limits.in_flight * patience)
        return found

    def _repeat(self, request: Callable[[], T], at_least: float = 0.0) -> T:
        backoff, is_renewed = Backoff(self.budget), False
        while True:
            try:
                return request()
            except UnsureError as error:
                backoff.retry(error, at_least)
            except RefusedError as error:
                # The token of an installation may end before its time, once.
                by_app = isinstance(self._requester.auth, github.Auth.AppInstallationAuth)
                if is_renewed or error.status != 401 or not by_app:
                    raise
                is_renewed = True
                self._connect()

    def _send(
        self,
        verb: str,
        path: str,
        body: Any,
        parse: Callable[[Any], T],
        parameters: Mapping[str, Any] | None = None,
        permission: str = "issues: write",
    ) -> T:
        """Send a request.

        Raises:
            RefusedError: GitHub refuses, and has changed no object.
            UnsureError: the outcome is unknown.
        """
        if verb != "GET":
            self.budget.before_write(creates=verb == "POST")
        address = path if path.startswith(("/", "http")) else f"/repos/{self.repository}/{path}".rstrip("/")
        status, headers, text = self._exchange(verb, address, body, parameters)
        try:
            data, is_json = json.loads(text) if text else None, True
        except (ValueError, RecursionError):
            data, is_json = None, False
        message = str(data.get("message", "")) if isinstance(data, dict) else ""
        wait = pause(status, headers, message, self.budget.clock())
        if wait is not None:
            raise UnsureError(f"GitHub's rate limit (HTTP {status})", wait)
        if status == 408 or status >= 500 or not is_json:
            raise UnsureError(f"no usable answer (HTTP {status})")
        if status >= 300:
            raise refusal(status, headers, data, f"{verb} {address}", self.repository, permission)
        try:
            return parse(data)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UnsureError(f"an answer of another shape than GitHub's: {type(error).__name__}") from None

    def _exchange(
        self, verb: str, path: str, body: Any, parameters: Mapping[str, Any] | None
    ) -> tuple[int, Mapping[str, str], str]:
        headers: Mapping[str, str] = {}
        try:
            self._check_token()
            status, headers, text = self._requester.requestJson(verb, path, dict(parameters or {}), {}, body)
            self.budget.answered = True
            return status, headers, text
        except requests.RequestException as error:
            raise UnsureError(f"no answer from {self.address} ({type(error).__name__})") from None
        except github.GithubException as error:
            headers = {name.lower(): str(value) for name, value in (error.headers or {}).items()}
            return error.status, headers, json.dumps(error.data if isinstance(error.data, dict) else {})
        except (RuntimeError, AssertionError) as error:
            raise RefusedError(
                301,
                scrub(bounded(f"{self.repository}: {error}", 300)),
                "write the new name of the repository into the workflow",
            ) from None
        finally:
            self.budget.after(verb, headers)

    def _check_token(self) -> None:
        """Let PyGithub ask for the token of an installation, if there is none."""
        if isinstance(self._requester.auth, github.Auth.AppInstallationAuth):
            try:
                found = bool(self._requester.auth.token)
            except (ValueError, TypeError, AttributeError, AssertionError):
                found = False
            if not found:
                self._connect()
                raise UnsureError("no usable answer about the token of the app's installation")


def many(parse: Callable[[Any], T]) -> Callable[[Any], list[T]]:
    """Return a parser for a list of entries that `parse` reads.

    The parser raises TypeError for any other value.
    """

    def parse_list(data: Any) -> list[T]:
        if not isinstance(data, list):
            raise TypeError("no list")
        return [parse(each) for each in data]

    return parse_list


def nothing(data: Any) -> None:
    """Parse an answer that the caller does not need."""
