"""Reports to the libraries' own trackers, as far as the input `upstream` and a person let them go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from fuzz_core.ir.errors import UserError
from fuzz_core.store.store import Store
from nightfuzz.bot.github.auth import Auth
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.issues.filings import Filings
from nightfuzz.bot.issues.wanted import Wanted, by_fingerprint
from nightfuzz.bot.upstream.approving import Approver, Reviewed, Tracker
from nightfuzz.bot.upstream.drafting import Drafter
from nightfuzz.bot.upstream.elsewhere import Elsewhere
from nightfuzz.bot.upstream.policies import Mode, policies
from nightfuzz.bot.upstream.verifying import verifier


class Abroad(NamedTuple):
    """auth: who files elsewhere, None where nobody may; who files there may do nothing in our own repository, so that
    has `home_auth`. api_url: of that GitHub.
    """

    mode: Mode
    auth: Auth | None = None
    home_auth: Auth | None = None
    api_url: str | None = None


def drafter(hub: Hub, abroad: Abroad, clusters: Sequence[Wanted], now: datetime) -> Drafter:
    """What the command `/nightfuzz upstream` calls."""
    return Drafter(hub, abroad.mode, policies(), by_fingerprint(clusters), now)


def reviewed(
    hub: Hub, abroad: Abroad, home: str, store: Store, clusters: Sequence[Wanted], filings: Filings, now: datetime
) -> Reviewed:
    """Files what people have approved, where that is allowed."""
    if abroad.mode != "approved" or not filings.drafts:
        return Reviewed(filings)
    found = by_fingerprint(clusters)
    return Approver(hub, "approved", policies(), found, _tracker(abroad, home), verifier(store), now).review(filings)


def _tracker(abroad: Abroad, home: str) -> Callable[[str], Tracker]:
    def opened(repository: str) -> Tracker:
        if abroad.auth is None:
            raise UserError(
                f"there is no token that may write to {repository}",
                "a workflow's own token cannot: store one as a secret and give it as the input upstream-token",
            )
        return Elsewhere.open(abroad.auth, repository, home, abroad.api_url, home_auth=abroad.home_auth)

    return opened
