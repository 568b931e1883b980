"""How long a test of an api may take: many times what its tests have taken so far."""

from __future__ import annotations

FACTOR = 20.0
LEAST_SECONDS = 0.5
KNOWN_AFTER = 100
# Most apis that hang do so before much is known of them: with the full time they took a sixth of a run.
UNKNOWN_SHARE = 1 / 3


class Patience:
    """Time-outs from an api's own history; a third of `most` seconds for one of which fewer than 100 tests are known.

    A shorter time-out makes no hang of a test that only takes long: the examination gives every test the full one.
    """

    def __init__(self, most: float) -> None:
        self.most = most
        self.tests: dict[str, int] = {}
        self.longest: dict[str, float] = {}

    def learn(self, api: str, tests: int, longest: float) -> None:
        """Tests of the api ended by themselves, the longest of them after so many seconds."""
        self.tests[api] = self.tests.get(api, 0) + tests
        self.longest[api] = max(self.longest.get(api, 0.0), longest)

    def of(self, api: str) -> float:
        """Seconds that the next tests of the api may take each."""
        known = self.tests.get(api, 0) >= KNOWN_AFTER
        least = LEAST_SECONDS if known else max(LEAST_SECONDS, self.most * UNKNOWN_SHARE)
        return min(self.most, max(least, FACTOR * self.longest.get(api, 0.0)))
