"""A hub on a repository of the test server, whose time passes only while the hub waits."""

from __future__ import annotations

import random

from clocks import FakeTime
from githubserver import Repository

from nightfuzz.bot.github.auth import TokenAuth
from nightfuzz.bot.github.budget import Budget, RateLimits
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.github.redaction import Secret
from nightfuzz.bot.issues.clusters import ClusterReport, Umbrella
from nightfuzz.bot.issues.filings import Filings
from nightfuzz.bot.issues.plan import Rules, plan
from nightfuzz.bot.issues.writer import WriteReport, carry_out, load_issues


def budget_of(time: FakeTime) -> Budget:
    """Returns a budget that waits as long as GitHub asks."""
    return Budget(time.clock, time.sleep, RateLimits(in_all=1e9), random.Random(1))


def hub_of(repo: Repository, time: FakeTime | None = None, address: str = "") -> Hub:
    """Returns the bot's hub.

    Args:
        address: address of a proxy before the server.
    """
    time = time or FakeTime()
    return Hub.open(TokenAuth(Secret(repo.token)), repo.name, address or repo.server.url, budget=budget_of(time))


def night(
    hub: Hub, filings: Filings, time: FakeTime, *wanted: ClusterReport, umbrellas: tuple[Umbrella, ...] = ()
) -> WriteReport:
    """Carries out the part of one night's report job that concerns issues."""
    existing, gone = load_issues(hub, filings)
    rules = Rules(login=hub.login())
    return carry_out(hub, plan(wanted, existing, filings, rules, time.now, umbrellas, gone), filings, time.clock)


def elsewhere_of(repo: Repository, home: Hub, time: FakeTime | None = None) -> Hub:
    """Returns the bot's hub on a foreign repository."""
    time = time or FakeTime()
    return Hub.open(TokenAuth(Secret(repo.token)), repo.name, repo.server.url, home=home, budget=budget_of(time))
