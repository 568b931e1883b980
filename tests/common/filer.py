"""A bot in a process of its own: `python filer.py API REPOSITORY TOKEN COUNT` files so many findings and comments."""

from __future__ import annotations

import sys

from nightfuzz.bot.github.auth import TokenAuth
from nightfuzz.bot.github.budget import Budget, RateLimits
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.github.marker import Marker
from nightfuzz.bot.github.redaction import Secret

QUICK = RateLimits(between_writes=0.0, in_flight=0.2, lease=30.0, poll=0.02)


def main(api: str, repository: str, token: str, count: str) -> None:
    """Files the findings and prints the numbers of the issues."""
    hub = Hub.open(TokenAuth(Secret(token)), repository, api, budget=Budget(limits=QUICK))
    for at in range(int(count)):
        made = hub.create_issue(Marker("bug", f"{at:032x}"), f"finding {at}", "what it is about")
        hub.upsert_comment(made.number, Marker("recurrence", f"{at:032x}"), "seen again")
        print(made.number, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
