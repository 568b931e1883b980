"""`nightfuzz action listen`: heeds a command in the comment that the job was started by."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from fuzz_core.ir.errors import UserError
from fuzz_core.store.opening import open_store
from nightfuzz.bot.action.inputs import Inputs
from nightfuzz.bot.commands.handling import Heard, Listener
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.issues.filings import merged
from nightfuzz.bot.issues.wanted import Wanted
from nightfuzz.bot.jobs.context import Event
from nightfuzz.bot.jobs.filing import remembered, revised
from nightfuzz.bot.jobs.upstream import Abroad, drafter
from nightfuzz.bot.jobs.wanting import wanted
from nightfuzz.bot.state.keeping import fetched
from nightfuzz.bot.state.place import Place


def listen_job(inputs: Inputs, event: Event, hub: Hub, place: Place, clock: Callable[[], datetime]) -> tuple[str, ...]:
    """Does what was asked, or notes it for the next fuzz job. Returns lines for the summary."""
    if not event.comment:
        raise UserError("this run was started by no comment", "use the mode listen in a workflow on issue_comment")
    before = remembered(place)
    if event.issue not in before.issues:
        return (f"issue {event.issue} is none of the bot's: nothing to do",)
    clusters = _clusters(place)
    draft = drafter(hub, Abroad(inputs.upstream), clusters, clock())
    heard: Heard = Listener(hub, before, draft, clock()).hear(event.issue, event.comment)
    revised(place, lambda now: merged(now, heard.filings), f"comment {event.comment}")
    return (f"comment {event.comment} in issue {event.issue} is handled", *heard.problems)


def _clusters(place: Place) -> list[Wanted]:
    with tempfile.TemporaryDirectory(prefix="nightfuzz-listen-") as name:
        path = Path(name) / "state.db"
        fetched(place, path)
        if not path.exists():
            return []
        with open_store(path) as store:
            return wanted(store)
