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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import github
import requests

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "common"))

# They are parts of the tests.
import faultproxy  # type: ignore[import-not-found]
import githubserver  # type: ignore[import-not-found]
from clocks import FakeTime  # type: ignore[import-not-found]

from fuzz_core.ir.errors import NightfuzzError
from nightfuzz.bot.github.auth import TokenAuth
from nightfuzz.bot.github.budget import Limits
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.github.marker import Marker, parsed
from nightfuzz.bot.github.redaction import Secret

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
    waited: int
    seconds: float


class _Scene(NamedTuple):
    proxy: faultproxy.Proxy
    repository: str
    clock: FakeTime
    rng: random.Random
    raised: Counter[str]
    tokens: list[str]


def measured(server: githubserver.Server, filings: int, faults: int, seed: int) -> Result:
    """Files `filings` findings, each with a comment, while `faults` faults happen, a run of the bot for every 25.

    Runs are repeated, as the next night would, until all the faults have happened.
    """
    began, rng, clock = time.perf_counter(), random.Random(seed), FakeTime()
    repo = server.repository()
    counts = Counter(rng.choice(faultproxy.ALL) for _ in range(faults))
    plan = faultproxy.Plan(seed, counts, density=min(0.4, faults / (filings * 12)))
    with _logged() as log, faultproxy.fault_proxy(server.url, plan, clock.clock) as proxy:
        scene = _Scene(proxy, repo.name, clock, rng, Counter(), [])
        nights = [range(at, min(at + A_NIGHT, filings)) for at in range(0, filings, A_NIGHT)]
        while nights:
            night = nights.pop(0)
            if not _night(scene, night) or (not nights and sum(plan.left.values())):
                nights.append(night)
        texts = [log.getvalue(), *scene.raised]
    said = [f"log or error {at}" for at, text in enumerate(texts) if any(token in text for token in scene.tokens)]
    return _counted(repo, scene, filings)._replace(
        leaks=[*proxy.leaks(*scene.tokens), *said], seconds=round(time.perf_counter() - began, 1)
    )


def _counted(repo: githubserver.Repository, scene: _Scene, filings: int) -> Result:
    issues = repo.all("/issues?state=all")
    ids = Counter(marker.id for issue in issues if (marker := parsed(issue["body"])))
    notes = [len(repo.all(f"/issues/{issue['number']}/comments")) for issue in issues]
    return Result(
        filed=len(ids),
        duplicates=sum(ids.values()) - len(ids),
        lost=filings - len(ids),
        comment_duplicates=sum(max(0, each - 1) for each in notes),
        comments_lost=notes.count(0),
        leaks=[],
        left_claims=sum(label["name"].startswith("nightfuzz:filing-") for label in repo.all("/labels")),
        injected=dict(sorted(scene.proxy.injected.items())),
        requests=len(scene.proxy.seen),
        raised=dict(scene.raised),
        waited=round(sum(scene.clock.slept)),
        seconds=0.0,
    )


def _night(scene: _Scene, night: range) -> bool:
    """One run of the bot, with a token of its own. Whether it got through."""
    scene.tokens.append(githubserver.new_token())
    auth, limits, clock = TokenAuth(Secret(scene.tokens[-1])), Limits(in_all=1e9), scene.clock
    more = {"clock": clock.clock, "sleep": clock.sleep, "rng": random.Random(scene.rng.random())}
    try:
        hub = Hub.open(auth, scene.repository, scene.proxy.url, limits=limits, **more)
        for at in night:
            about = f"{at:032x}"
            made = hub.create_issue(Marker("bug", about), f"finding {at}", f"what it is about: {at}", ["nightfuzz"])
            hub.upsert_comment(made.number, Marker("recurrence", about), f"seen again: {scene.rng.random()}")
    except NightfuzzError as error:
        scene.raised[f"{type(error).__name__}: {error}"] += 1
        return False
    return True


def plainly(server: githubserver.Server, filings: int, faults: int, seed: int) -> tuple[int, int]:
    """For comparison, PyGithub as it comes with one look-up before each filing: how many filed twice, how many lost.

    Without the faults that ask to wait, as it would wait in real time.
    """
    kinds = [each for each in faultproxy.ALL if each not in ("secondary", "primary", "429", "slow")]
    rng, repo = random.Random(seed), server.repository()
    plan = faultproxy.Plan(seed, Counter(rng.choice(kinds) for _ in range(faults)), min(0.4, faults / (filings * 3)))
    with faultproxy.fault_proxy(server.url, plan) as proxy:
        signed = github.Auth.Token(githubserver.new_token())
        api = github.Github(
            base_url=proxy.url, auth=signed, lazy=True, seconds_between_writes=0, seconds_between_requests=0
        )
        there = api.get_repo(repo.name)
        for at in range(filings):
            with suppress(github.GithubException, requests.RequestException, ValueError, TypeError, AssertionError):
                if not any(issue.title == f"finding {at}" for issue in there.get_issues(state="all")):
                    there.create_issue(f"finding {at}")
    titles = Counter(issue["title"] for issue in repo.all("/issues?state=all"))
    return sum(titles.values()) - len(titles), filings - len(titles)


@contextmanager
def _logged() -> Iterator[io.StringIO]:
    """Everything that is logged meanwhile, with all details."""
    text, root = io.StringIO(), logging.getLogger()
    handler, before = logging.StreamHandler(text), root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield text
    finally:
        root.removeHandler(handler)
        root.setLevel(before)


def main() -> int:
    """0 where nothing was filed twice, lost or leaked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--filings", type=int, default=200)
    parser.add_argument("--faults", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plainly", action="store_true", help="PyGithub as it comes, for comparison")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place, githubserver.github_server(Path(place)) as server:
        if asked.plainly:
            twice, lost = plainly(server, asked.filings, asked.faults, asked.seed)
            print(f"PyGithub as it comes: {twice} duplicates, {lost} lost")
            return 0
        result = measured(server, asked.filings, asked.faults, asked.seed)
    for name, value in result._asdict().items():
        print(f"{name}: {value}")
    bad = result.duplicates, result.lost, result.comment_duplicates, result.comments_lost, len(result.leaks)
    return int(any(bad))


if __name__ == "__main__":
    sys.exit(main())
