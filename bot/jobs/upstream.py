"""Reports to the libraries' own trackers, as far as the input `upstream` and a person let them go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple

from fuzz_core.ir.errors import UserError
from fuzz_core.store.store import Store
from nightfuzz.bot.commands import Upstream
from nightfuzz.bot.github.auth import Auth
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.issues.clusters import ClusterReport, by_fingerprint
from nightfuzz.bot.issues.filings import Filings
from nightfuzz.bot.upstream.approval import ApprovalResult, Approver, newest_checks
from nightfuzz.bot.upstream.draft import write_draft
from nightfuzz.bot.upstream.policy import Mode, policies


class Abroad(NamedTuple):
    """auth: who files elsewhere, None where nobody may. api_url: of that GitHub."""

    mode: Mode
    auth: Auth | None = None
    api_url: str | None = None


def drafter(hub: Hub, abroad: Abroad, clusters: Sequence[ClusterReport], now: datetime) -> Upstream:
    """What the command `/nightfuzz upstream` calls."""
    return partial(write_draft, hub, abroad.mode, policies(), by_fingerprint(clusters), now)


def reviewed(
    hub: Hub, abroad: Abroad, store: Store, clusters: Sequence[ClusterReport], filings: Filings, now: datetime
) -> ApprovalResult:
    """Files what people have approved, where that is allowed."""
    if abroad.mode != "approved" or not filings.drafts:
        return ApprovalResult(filings)
    found = by_fingerprint(clusters)
    return Approver(hub, "approved", policies(), found, _tracker(abroad, hub), newest_checks(store), now).review(
        filings
    )


def _tracker(abroad: Abroad, home: Hub) -> Callable[[str], Hub]:
    def opened(repository: str) -> Hub:
        if abroad.auth is None:
            raise UserError(
                f"there is no token that may write to {repository}",
                "a workflow's own token cannot: store one as a secret and give it as the input upstream-token",
            )
        return Hub.open(abroad.auth, repository, abroad.api_url, home=home)

    return opened
