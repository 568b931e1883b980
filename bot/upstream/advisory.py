"""`nightfuzz advise`: a private bug, reported to its library in private. Sent only when a person names one bug."""

from __future__ import annotations

import os

from fuzz_core.adapters.disclosure import disclosure_of
from fuzz_core.adapters.library import Disclosure
from fuzz_core.campaign.cases import case, keep_environment, with_privacy
from fuzz_core.cli.output import CommandOutput, Report, Verbatim
from fuzz_core.cli.settings import Settings
from fuzz_core.cli.state import state_file
from fuzz_core.ir.errors import UserError
from fuzz_core.store.statefile import open_store
from nightfuzz.bot.github.auth import api_address, from_environment
from nightfuzz.bot.github.errors import UnsureError
from nightfuzz.bot.github.hub import Hub
from nightfuzz.reports.issues import Issue, bug_report
from nightfuzz.reports.text import TITLE, bounded, clean, clipped

# GitHub's limits on a report's summary and description.
SUMMARY, DESCRIPTION = 1024, 65_535


def advise(settings: Settings, output: CommandOutput, bug: int, send: bool) -> Report:
    """Send a private report.

    Raises:
        UserError: the bug is not private, or the report cannot be sent.
    """
    library, api, text = _text(settings, bug)
    rules = disclosure_of(api)
    if not send:
        steps = instructions(text.title, text.body, rules, library)
        data = {"bug": bug, "library": library, "sent": None}
        data |= {"title": bounded(text.title, TITLE), "body": clean(text.body), "place": place_of(rules, library)}
        return Report(data, [Verbatim(steps)])
    if rules is None:
        raise UserError(
            f"nightfuzz does not know where {library} takes private reports",
            f"look for the file SECURITY.md in the repository of {library}",
        )
    repository = rules.repository
    hub = Hub.open(from_environment(os.environ), repository, api_address(os.environ))
    address = report_privately(hub, text.title, text.body)
    return Report({"bug": bug, "library": library, "sent": address}, [f"reported privately: {address}"])


def _text(settings: Settings, number: int) -> tuple[str, str, Issue]:
    """Return the library, the api, and the report in the library's form."""
    with open_store(state_file(settings)) as store:
        target = store.target(store.bug(number).target)
        each = next(each for each in with_privacy(store, store.bugs(target.key)) if each.row.id == number)
        if not each.severity.private:
            raise UserError(f"bug {number} is not private", f"print it as an issue: `nightfuzz report {number}`")
        keep_environment(store, target)
        return target.library, each.row.api, bug_report(case(store, each), private=True)


def report_privately(hub: Hub, title: str, body: str) -> str:
    """Send a private vulnerability report once, and return its address.

    A lost report is not sent again, as reporters can't look it up.

    Raises:
        UserError: the repository takes no reports, GitHub refuses, or GitHub's answer is lost.
    """
    if not hub.takes_private_reports():
        remedy = "no report was sent: leave out --send, and follow the steps that `nightfuzz advise` prints"
        raise UserError(f"{hub.name} does not take private reports through GitHub", remedy)
    try:
        return hub.report_privately(*content(title, body))
    except UnsureError as error:
        remedy = f"look at https://github.com/{hub.name}/security/advisories before you send the report again"
        raise UserError(f"the report may or may not have arrived at {hub.name}: {error}", remedy) from error


def content(title: str, body: str) -> tuple[str, str]:
    """Return summary and description.

    The maintainers judge severity and cause.
    """
    return bounded(title, min(TITLE, SUMMARY)), clipped(clean(body), DESCRIPTION - 100)


def place_of(rules: Disclosure | None, library: str) -> str:
    """Return where a library takes private reports, in words."""
    where = rules.security if rules is not None else ""
    return where or f"the security contact of {library}: look for SECURITY.md in its repository"


def instructions(title: str, body: str, rules: Disclosure | None, library: str) -> str:
    """Return the steps for a person, with the report's text.

    The text is for the private place alone.
    """
    return (
        f"# Private: not for a public issue, log or artifact\n\n"
        f"1. Run the script below on the newest build, in an environment that you can throw away.\n"
        f"2. Explain in your own words who could exploit the bug, and how.\n"
        f"3. Send the report to {place_of(rules, library)}, and to no other address. "
        f"Wait for the answer before you publish any part.\n\n"
        f"---\n\n{bounded(title, TITLE)}\n\n{clean(body).strip()}\n"
    )
