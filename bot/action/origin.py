"""Which pull request a commit belongs to, by GitHub's own word: a run of a fork's code may say anything of itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from nightfuzz.bot.github.views import IssueView, PullView

CANDIDATES = 20


class Finder(Protocol):
    """What it takes of `bot.github.hub.Hub`."""

    def search_issues(self, query: str, most: int = 100) -> Sequence[IssueView]: ...
    def pull(self, number: int) -> PullView | None: ...


def pull_of(hub: Finder, repository: str, commit: str) -> int:
    """The number of the open pull request whose head is this commit, 0 for none.

    repository: `owner/name`. Search finds whoever mentions the commit, so each candidate is looked at.
    """
    for found in hub.search_issues(f"repo:{repository} is:pr is:open {commit}", CANDIDATES):
        pull = hub.pull(found.number)
        if pull is not None and pull.state == "open" and pull.head_sha == commit:
            return pull.number
    return 0
