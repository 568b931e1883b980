"""How much is asked of GitHub: counts, the pace of writes, and how long we are willing to wait."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from nightfuzz.bot.github.errors import GaveUpError, UnsureError

Clock = Callable[[], datetime]
Sleep = Callable[[float], None]
LONGEST_BACKOFF = 60.0
# The time limit of the job that reports: `timeout-minutes` in every workflow of ours.
REPORT_MINUTES = 30


class RateLimits(NamedTuple):
    """GitHub's limits on content creation, and the times that the bot waits.

    Times are in seconds.
    """

    between_writes: float = 1.0  # pause that GitHub asks of programs
    a_minute: int = 80  # things created in a minute
    an_hour: int = 500  # things created in an hour
    a_call: float = 600.0  # longest time of one call
    # longest time of all calls; the other half of the job's time is for the state and the list of open work
    in_all: float = REPORT_MINUTES * 60 / 2
    first: float = 120.0  # longest wait for an address that has never answered
    # time until a request without an answer has failed or taken effect; GitHub ends requests after ten
    in_flight: float = 10.0
    lease: float = 120.0  # silence after which a runner with a claim is taken for dead
    poll: float = 5.0  # pause between two looks at a claim


class Budget:
    """Count of the requests to GitHub so far, and the only place that waits for GitHub."""

    def __init__(
        self,
        clock: Clock = lambda: datetime.now(UTC),
        sleep: Sleep = time.sleep,
        limits: RateLimits | None = None,
        rng: random.Random | None = None,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self.clock, self.limits, self.rng = clock, limits or RateLimits(), rng or random.Random()
        self._sleep, self._timer, self._began = sleep, timer, timer()
        self.requests = self.writes = self.repeated = 0
        self.waited = 0.0
        self.answered = False
        self._allowance = ""
        self._created: deque[datetime] = deque(maxlen=max(self.limits.a_minute, self.limits.an_hour))
        self._written: datetime | None = None

    def text(self) -> str:
        """Return the figures: `37 requests (12 writes), 4 repeated, waited 12 s; 963 of 1000 left until 14:00 UTC`."""
        counts = (
            f"{self.requests} requests ({self.writes} writes), {self.repeated} repeated, waited {self.waited:.0f} s"
        )
        return counts + self._allowance

    def wait(self, seconds: float, why: str) -> None:
        """Wait, or raise GaveUpError if all calls would take longer than the limit.

        Hanging requests count as well. The timer is monotonic: a runner's clock may be set meanwhile.
        """
        if seconds <= 0:
            return
        if max(self.waited, self._timer() - self._began) + seconds > self.limits.in_all:
            again = self.clock() + timedelta(seconds=seconds)
            raise GaveUpError(
                f"gave up on GitHub after {self.waited:.0f} s of waiting ({self.text()}): {why}; all writes so "
                f"far are kept, and the next run continues from {again:%Y-%m-%d %H:%M} UTC on"
            )
        self.waited += seconds
        self._sleep(seconds)

    def before_write(self, creates: bool) -> None:
        """Wait until GitHub's pace allows the next write."""
        now = self.clock()
        if self._written is not None:
            self.wait(self.limits.between_writes - (now - self._written).total_seconds(), "the pace of writes")
        for most, span in ((self.limits.a_minute, 60.0), (self.limits.an_hour, 3600.0)) if creates else ():
            # The oldest of as many creations as the span allows has to be over.
            while len(self._created) >= most:
                left = span - (self.clock() - self._created[-most]).total_seconds()
                if left <= 0:
                    break
                self.wait(max(left, 0.001), f"GitHub lets {most} things be created in {span:.0f} s")
        if creates:
            self._created.append(self.clock())

    def after(self, verb: str, headers: Mapping[str, str]) -> None:
        """Count one request and keep what GitHub still allows."""
        self.requests += 1
        if verb != "GET":
            self.writes += 1
            self._written = self.clock()
        remaining, allowed = _number(headers, "x-ratelimit-remaining"), _number(headers, "x-ratelimit-limit")
        if remaining is not None and allowed is not None and headers.get("x-ratelimit-resource", "core") == "core":
            reset = _number(headers, "x-ratelimit-reset")
            until = "" if reset is None else f" until {datetime.fromtimestamp(reset, UTC):%H:%M} UTC"
            self._allowance = f"; {remaining} of {allowed} left{until}"


class Backoff:
    """The waits between attempts at one thing: each is longer than the one before, and their sum is limited."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._failed, self._waited = 0, 0.0

    def retry(self, error: UnsureError, at_least: float = 0.0) -> None:
        """Wait before the next attempt.

        Raises:
            GaveUpError: the wait would be longer than the limit.
        """
        self._failed += 1
        backoff = min(LONGEST_BACKOFF, 2.0 ** min(self._failed - 1, 10)) * self._budget.rng.uniform(0.5, 1.0)
        self.wait(max(error.wait, at_least, backoff), str(error))
        self._budget.repeated += 1

    def wait(self, seconds: float, why: str) -> None:
        """Wait without an attempt.

        Raises:
            GaveUpError: the wait would be longer than the limit.
        """
        limits = self._budget.limits
        if self._waited + seconds > (limits.a_call if self._budget.answered else min(limits.first, limits.a_call)):
            raise GaveUpError(
                f"gave up on GitHub after {self._waited:.0f} s of waiting for a request: {why}; another wait of "
                f"{seconds:.0f} s is too long; all writes so far are kept, and the next run continues"
            )
        self._waited += seconds
        self._budget.wait(seconds, why)


def pause(status: int, headers: Mapping[str, str], message: str, now: datetime) -> float | None:
    """Return the seconds that an answer asks the bot to wait; None if the answer is no rate limit.

    Source: GitHub, "Best practices for using the REST API": Retry-After, else x-ratelimit-reset if no request remains,
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
