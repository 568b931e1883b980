"""`nightfuzz advise`: a private bug for its library's security contact; sent only when a person says so."""

from __future__ import annotations

import os

from rich.console import Console

from fuzz_core.campaign.cases import case, guarded, keep_environment
from fuzz_core.cli.config import Settings
from fuzz_core.cli.display import printable
from fuzz_core.cli.state import state_file
from fuzz_core.ir.errors import UserError
from fuzz_core.store.opening import open_store
from nightfuzz.bot.github.auth import api_address, from_environment
from nightfuzz.bot.upstream.advisories import instructions, report_privately
from nightfuzz.bot.upstream.elsewhere import Elsewhere
from nightfuzz.bot.upstream.policies import policies, policy_of
from nightfuzz.reports.issues import Issue, bug_report


def advise(settings: Settings, console: Console, number: int, send: bool) -> int:
    """Raises UserError for a bug that is not private, and where it cannot be sent."""
    library, text = _text(settings, number)
    if not send:
        print(printable(instructions(text.title, text.body, policies().get(library), library)))
        return 0
    repository = policy_of(policies(), library).repository
    tracker = Elsewhere.open(from_environment(os.environ), repository, repository, api_address(os.environ))
    console.print(f"reported privately: {report_privately(tracker, text.title, text.body)}", soft_wrap=True)
    return 0


def _text(settings: Settings, number: int) -> tuple[str, Issue]:
    """The library, and the report in its form."""
    with open_store(state_file(settings)) as store:
        target = store.target(store.bug(number).target)
        each = next(each for each in guarded(store, store.bugs(target.key)) if each.row.id == number)
        if not each.severity.private:
            raise UserError(f"bug {number} is not private", f"`nightfuzz report {number}` prints it for an issue")
        keep_environment(store, target)
        return target.library, bug_report(case(store, each), private=True)
