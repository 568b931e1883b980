"""Files issues through a proxy that injects faults, and counts: `python -m bench.filings --filings 200 --faults 1000`.

Needs npm's `emulate`, which it fetches (see tests/common/githubserver.py). Time passes only where the bot waits, so a
night of rate limits takes seconds.
"""

from __future__ import annotations

import argparse
import io
import logging
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "common"))

import faultproxy
import githubserver
from clocks import FakeTime

from bot.github.auth import TokenAuth
from bot.github.budget import Limits
from bot.github.hub import Hub
from bot.github.marker import Marker, parsed
from bot.github.redaction import Secret
from fuzz_core.ir.errors import NightfuzzError

A_NIGHT = 25


class Result(NamedTuple):
    """What happened. raised: errors that reached the caller, by type. waited: seconds of the bot's own time."""

    filed: int
    duplicates: int
    lost: int
    comment_duplicates: int
    comments_lost: int
    leaks: list[str]
    left_claims: int
    injected: dict[str, int]
    requests: int
    raised: dict[str, int]
    waited: float
    seconds: float


def faults_of(count: int, rng: random.Random) -> dict[str, int]:
    """So many faults, of every kind about as often."""
    return dict(Counter(rng.choice(faultproxy.ALL) for _ in range(count)))


def measured(server: githubserver.Server, filings: int, faults: int, seed: int, comments: bool = True) -> Result:
    """Files `filings` findings while `faults` faults happen, then all of them again as another run would."""
    began, rng, clock = time.perf_counter(), random.Random(seed), FakeTime()
    repo = server.repository()
    plan = faultproxy.Plan(seed, faults_of(faults, rng), density=min(0.4, faults / (filings * 12)))
    log, raised = _logging(), Counter[str]()
    tokens: list[str] = []
    with faultproxy.fault_proxy(server.url, plan, clock.clock) as proxy:
        nights = [range(at, min(at + A_NIGHT, filings)) for at in range(0, filings, A_NIGHT)]
        while nights:
            night = nights.pop(0)
            tokens.append(githubserver.new_token())
            done = _night(proxy, repo.name, tokens[-1], night, clock, rng, comments, raised)
            if not done or (not nights and sum(plan.left.values())):
                nights.append(night)
        texts = [log.getvalue(), *raised]
    leaks = proxy.leaks(*tokens) + [f"log or error {at}" for at, text in enumerate(texts) for t in tokens if t in text]
    issues, claims = repo.all("/issues?state=all"), repo.all("/labels")
    ids = Counter(marker.id for issue in issues if (marker := parsed(issue["body"])))
    notes = [_comments_of(repo, issue["number"]) for issue in issues] if comments else []
    return Result(
        filed=len(ids),
        duplicates=sum(ids.values()) - len(ids),
        lost=filings - len(ids),
        comment_duplicates=sum(max(0, each - 1) for each in notes),
        comments_lost=sum(each == 0 for each in notes),
        leaks=leaks,
        left_claims=sum(label["name"].startswith("nightfuzz:filing-") for label in claims),
        injected=dict(sorted(proxy.injected.items())),
        requests=len(proxy.seen),
        raised=dict(raised),
        waited=sum(clock.slept),
        seconds=time.perf_counter() - began,
    )


def _night(
    proxy: faultproxy.Proxy,
    repository: str,
    token: str,
    night: range,
    clock: FakeTime,
    rng: random.Random,
    comments: bool,
    raised: Counter[str],
) -> bool:
    """One run of the bot: a Hub of its own. Whether it got through."""
    try:
        auth, limits = TokenAuth(Secret(token)), Limits(in_all=1e9)
        hub = Hub.open(
            auth,
            repository,
            proxy.url,
            clock=clock.clock,
            sleep=clock.sleep,
            limits=limits,
            rng=random.Random(rng.random()),
        )
        for at in night:
            made = hub.create_issue(
                Marker("bug", f"{at:032x}"), f"finding {at}", f"what it is about: {at}", ["nightfuzz"]
            )
            if comments:
                hub.upsert_comment(made.number, Marker("recurrence", f"{at:032x}"), f"seen again: {rng.random()}")
    except NightfuzzError as error:
        raised[f"{type(error).__name__}: {error}"] += 1
        return False
    return True


def _comments_of(repo: githubserver.Repository, number: int) -> int:
    return len(repo.all(f"/issues/{number}/comments"))


def _logging() -> io.StringIO:
    """Everything that is logged from now on, with all details."""
    text = io.StringIO()
    logging.basicConfig(stream=text, level=logging.DEBUG, force=True)
    return text


def main() -> int:
    """0 where nothing was filed twice, lost or leaked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--filings", type=int, default=200)
    parser.add_argument("--faults", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place, githubserver.github_server(Path(place)) as server:
        result = measured(server, asked.filings, asked.faults, asked.seed)
    for name, value in result._asdict().items():
        print(f"{name}: {value}")
    return int(
        bool(result.duplicates or result.lost or result.comment_duplicates or result.comments_lost or result.leaks)
    )


if __name__ == "__main__":
    sys.exit(main())
