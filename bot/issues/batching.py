"""The umbrella issue of a library: crashes on corner-case arguments, of which people want to hear in batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from nightfuzz.bot.issues.actions import Action, Create, Extend
from nightfuzz.bot.issues.filings import Filings
from nightfuzz.bot.issues.labels import OURS, UMBRELLA
from nightfuzz.bot.issues.ours import Ours
from nightfuzz.bot.issues.umbrella import chosen, extended, items
from nightfuzz.bot.issues.wanted import Umbrella, digest


class Batches:
    """Plans umbrella issues. notes: what could not be put anywhere, a line each."""

    def __init__(self, issues: Mapping[int, Ours], filings: Filings, cooldown: timedelta, now: datetime) -> None:
        self.issues, self.filings, self.cooldown, self.now = issues, filings, cooldown, now
        on_record = {key for filed in filings.issues.values() for key in filed.signatures}
        self.listed = on_record | {key for issue in issues.values() for key in issue.fingerprints}
        self.notes: list[str] = []

    def planned(self, umbrellas: Sequence[Umbrella], room: int) -> list[Action]:
        """What is to be done for all libraries. room: how many new issues the day's limit leaves.

        Items go to the open umbrella of their library; what people have checked off or deleted there stays so. A new
        one is filed only for what no earlier one lists, a while after that was closed, and never where people have
        said no.
        """
        actions: list[Action] = []
        for umbrella in umbrellas:
            more = self._actions(umbrella, room > 0)
            room -= sum(isinstance(action, Create) for action in more)
            actions += more
        return actions

    def _actions(self, umbrella: Umbrella, room: bool) -> list[Action]:
        mine = [issue for issue in self.issues.values() if self._is_of(issue, umbrella)]
        fresh = {key: text for key, text in umbrella.signatures.items() if key not in self.listed}
        if not fresh or any(issue.teaching for issue in mine):
            return []
        still = [issue for issue in mine if issue.open]
        if still:
            return self._extended(still[0], umbrella, fresh, items(umbrella.body))
        closed = max((issue.view.closed_at or issue.view.updated_at for issue in mine), default=None)
        if not room or (closed is not None and self.now - closed < self.cooldown):
            self.notes.append(f"{len(fresh)} crashes on corner-case arguments of {umbrella.library} wait to be filed")
            return []
        name = digest("umbrella", umbrella.library, next(iter(fresh)))
        labels = (OURS, UMBRELLA)
        return [Create("umbrella", name, umbrella.library, fresh, umbrella.title, chosen(umbrella.body, fresh), labels)]

    def _is_of(self, issue: Ours, umbrella: Umbrella) -> bool:
        if issue.kind != "umbrella":
            return False
        by_record = issue.filed is not None and issue.filed.library == umbrella.library
        return by_record or not issue.fingerprints.isdisjoint(umbrella.signatures)

    def _extended(
        self, issue: Ours, umbrella: Umbrella, fresh: Mapping[str, str], lines: Mapping[str, str]
    ) -> list[Action]:
        there = items(issue.view.body)
        more = {key: lines[key] for key in fresh if key in lines and key not in there}
        _, fitting = extended(issue.view.body, more)
        if len(fitting) < len(more):
            self.notes.append(
                f"{len(more) - len(fitting)} crashes on corner-case arguments have no room in #{issue.number}"
            )
        if not fitting:
            return []
        ours = issue.filed is not None and issue.filed.title == issue.view.title != umbrella.title
        texts = {key: fresh[key] for key in fitting}
        return [Extend(issue.number, texts, {key: more[key] for key in fitting}, umbrella.title if ours else None)]
