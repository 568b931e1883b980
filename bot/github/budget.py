"""How much is asked of GitHub: counts, the pace of writes, and how long we are willing to wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from nightfuzz.bot.github.errors import GaveUpError

Clock = Callable[[], datetime]
Sleep = Callable[[float], None]


class RateLimits(NamedTuple):
    """GitHub's limits on content creation, and our patience. Times are in seconds.

    between_writes: what GitHub asks of programs. a_minute, an_hour: things created. a_call, in_all: how long one call
    and all of them may wait. first: how long we wait for an address that has never answered. in_flight: until a request
    without an answer has taken effect or never will (GitHub ends its requests after ten). lease: when a runner that
    claimed something and is not heard of any more is taken for dead. poll: how often we look whether it is done.
    """

    between_writes: float = 1.0
    a_minute: int = 80
    an_hour: int = 500
    a_call: float = 900.0
    in_all: float = 3600.0
    first: float = 120.0
    in_flight: float = 10.0
    lease: float = 120.0
    poll: float = 5.0


class Budget:
    """What was asked of GitHub so far, and the only place that waits."""

    def __init__(self, clock: Clock, sleep: Sleep, limits: RateLimits) -> None:
        self.clock, self.limits = clock, limits
        self._sleep = sleep
        self.requests = self.writes = self.repeated = 0
        self.waited = 0.0
        self.answered = False
        self.remaining: int | None = None
        self.allowed: int | None = None
        self.resets: datetime | None = None
        self._created: deque[datetime] = deque()
        self._written: datetime | None = None

    def text(self) -> str:
        """For people: `37 requests (12 writes), 4 repeated, waited 12 s; 963 of 1000 left until 14:00 UTC`."""
        said = f"{self.requests} requests ({self.writes} writes), {self.repeated} repeated, waited {self.waited:.0f} s"
        if self.remaining is None or self.allowed is None:
            return said
        until = f" until {self.resets:%H:%M} UTC" if self.resets else ""
        return f"{said}; {self.remaining} of {self.allowed} left{until}"

    def wait(self, seconds: float, why: str) -> None:
        """Waits, or raises GaveUpError where that would be longer than we wait in all."""
        if seconds <= 0:
            return
        if self.waited + seconds > self.limits.in_all:
            again = self.clock() + timedelta(seconds=seconds)
            raise GaveUpError(
                f"gave up on GitHub after {self.waited:.0f} s of waiting ({self.text()}): {why}; what was written so "
                f"far is kept, the rest is done by the next run, from {again:%Y-%m-%d %H:%M} UTC on"
            )
        self.waited += seconds
        self._sleep(seconds)

    def before_write(self, creates: bool) -> None:
        """Waits until GitHub's pace allows the next write."""
        now = self.clock()
        if self._written is not None:
            self.wait(self.limits.between_writes - (now - self._written).total_seconds(), "the pace of writes")
        if creates:
            self._before_creation()

    def after(self, verb: str, headers: Mapping[str, str]) -> None:
        """Counts one request and reads what GitHub says about the rest of its allowance."""
        self.requests += 1
        if verb != "GET":
            self.writes += 1
            self._written = self.clock()
        remaining, allowed = _number(headers, "x-ratelimit-remaining"), _number(headers, "x-ratelimit-limit")
        if remaining is not None and allowed is not None and headers.get("x-ratelimit-resource", "core") == "core":
            self.remaining, self.allowed = remaining, allowed
            reset = _number(headers, "x-ratelimit-reset")
            self.resets = datetime.fromtimestamp(reset, UTC) if reset is not None else None

    def _before_creation(self) -> None:
        for most, span in ((self.limits.a_minute, 60.0), (self.limits.an_hour, 3600.0)):
            while len(recent := self._since(span)) >= most:
                left = span - (self.clock() - recent[-most]).total_seconds()
                self.wait(max(left, 0.001), f"GitHub lets {most} things be created in {span:.0f} s")
        self._created.append(self.clock())

    def _since(self, span: float) -> list[datetime]:
        now = self.clock()
        while self._created and (now - self._created[0]).total_seconds() >= 3600.0:
            self._created.popleft()
        return [each for each in self._created if (now - each).total_seconds() < span]


def pause(status: int, headers: Mapping[str, str], message: str, now: datetime) -> float | None:
    """How many seconds an answer asks us to wait; None where it is no rate limit.

    Source: GitHub, "Best practices for using the REST API": Retry-After, else x-ratelimit-reset where nothing remains,
    else at least a minute.
    """
    if status not in (403, 429):
        return None
    after = _number(headers, "retry-after")
    if after is not None:
        return float(after)
    if _number(headers, "x-ratelimit-remaining") == 0:
        reset = _number(headers, "x-ratelimit-reset")
        return max(reset - now.timestamp(), 0.0) + 1.0 if reset is not None else 60.0
    limited = any(words in message.lower() for words in ("rate limit", "abuse detection"))
    return 60.0 if status == 429 or limited else None


def _number(headers: Mapping[str, str], name: str) -> int | None:
    text = headers.get(name, "").strip()
    return int(text) if text.isdecimal() and len(text) < 12 else None
