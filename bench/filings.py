"""Filing of issues while GitHub fails: does the bot file each issue once through a proxy that injects faults?

Needs npm's `emulate`, which it fetches (see tests/common/githubserver.py). Time passes only while the bot waits, so
hours of rate limits take seconds.
"""

from __future__ import annotations

import io
import logging
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "common"))

# The server and the proxy are parts of the tests.
import faultproxy  # type: ignore[import-not-found]
import githubserver  # type: ignore[import-not-found]
from clocks import FakeTime  # type: ignore[import-not-found]

from bench.harness import Measurement
from fuzz_core.ir.errors import NightfuzzError
from nightfuzz.bot.github.auth import TokenAuth
from nightfuzz.bot.github.budget import Budget, RateLimits
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.github.marker import Marker, parsed
from nightfuzz.bot.github.redaction import Secret

BATCH = 25


class FilingCounts(NamedTuple):
    """Result of the filings."""

    filed: int
    duplicates: int
    lost: int
    comment_duplicates: int
    comments_lost: int
    leaks: list[str]  # places where a token stands that must not be there
    left_claims: int
    injected: dict[str, int]  # faults by kind
    requests: int
    raised: dict[str, int]  # errors that reached the caller, by type and text
    waited: int  # seconds of the bot's own time
    seconds: float


def measure(
    filings: Annotated[int, typer.Option(help="Number of issues to file, each with a comment")] = 200,
    faults: Annotated[int, typer.Option(help="Number of faults of GitHub during the filing")] = 1000,
    seed: Annotated[int, typer.Option(help="Random seed of the faults")] = 0,
) -> Measurement:
    """File issues through a proxy that injects faults.

    Exit code 1: one was filed twice, or one was lost or leaked.
    """
    with tempfile.TemporaryDirectory() as place, githubserver.github_server(Path(place)) as server:
        result = measured(server, filings, faults, seed)
    bad = result.duplicates, result.lost, result.comment_duplicates, result.comments_lost, len(result.leaks)
    return Measurement(
        [{"figure": name, "value": value} for name, value in result._asdict().items()], is_sound=not any(bad)
    )


def measured(server: githubserver.Server, filings: int, faults: int, seed: int) -> FilingCounts:
    """File `filings` findings, each with a comment, while `faults` faults happen, with a run of the bot for every 25.

    Runs are repeated, as in the next night, until all the faults have happened.
    """
    began, rng, time_of_bot = time.perf_counter(), random.Random(seed), FakeTime()
    repo, raised, tokens = server.repository(), Counter[str](), list[str]()
    counts = Counter(rng.choice(faultproxy.ALL) for _ in range(faults))
    plan = faultproxy.Plan(seed, counts, density=min(0.4, faults / (filings * 12)))
    with _logged() as log, faultproxy.fault_proxy(server.url, plan, time_of_bot.clock) as proxy:
        batches = [range(at, min(at + BATCH, filings)) for at in range(0, filings, BATCH)]
        while batches:
            batch, is_through = batches.pop(0), True
            tokens.append(githubserver.new_token())
            try:
                _file(batch, tokens[-1], repo.name, proxy.url, time_of_bot, rng)
            except NightfuzzError as error:
                raised[f"{type(error).__name__}: {error}"] += 1
                is_through = False
            if not is_through or (not batches and sum(plan.left.values())):
                batches.append(batch)
        texts = [log.getvalue(), *raised]
    leaks = [f"log or error {at}" for at, text in enumerate(texts) if any(token in text for token in tokens)]
    issues = repo.all("/issues?state=all")
    ids = Counter(marker.id for issue in issues if (marker := parsed(issue["body"])))
    comments = [len(repo.all(f"/issues/{issue['number']}/comments")) for issue in issues]
    return FilingCounts(
        filed=len(ids),
        duplicates=sum(ids.values()) - len(ids),
        lost=filings - len(ids),
        comment_duplicates=sum(max(0, each - 1) for each in comments),
        comments_lost=comments.count(0),
        leaks=[*proxy.leaks(*tokens), *leaks],
        left_claims=sum(label["name"].startswith("nightfuzz:filing-") for label in repo.all("/labels")),
        injected=dict(sorted(proxy.injected.items())),
        requests=len(proxy.seen),
        raised=dict(raised),
        waited=round(sum(time_of_bot.slept)),
        seconds=round(time.perf_counter() - began, 1),
    )


def _file(batch: range, token: str, repository: str, url: str, clock: FakeTime, rng: random.Random) -> None:
    """File a batch as one run of the bot does, with a token of its own."""
    budget = Budget(clock.clock, clock.sleep, RateLimits(in_all=1e9), random.Random(rng.random()))
    hub = Hub.open(TokenAuth(Secret(token)), repository, url, budget=budget)
    for at in batch:
        about = f"{at:032x}"
        made = hub.create_issue(Marker("bug", about), f"finding {at}", f"what it is about: {at}", ["nightfuzz"])
        hub.upsert_comment(made.number, Marker("recurrence", about), f"seen again: {rng.random()}")


@contextmanager
def _logged() -> Iterator[io.StringIO]:
    """Collect the log meanwhile, with all details."""
    text, root = io.StringIO(), logging.getLogger()
    handler, before = logging.StreamHandler(text), root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield text
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
