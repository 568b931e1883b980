"""A private bug, told to its library in private: only when a person says so, of one bug, by name. Never by itself."""

from __future__ import annotations

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.github.errors import UnsureError
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.upstream.policies import Policy
from nightfuzz.reports.text import TITLE, bounded, clean, clipped

# GitHub's limits on a report's summary and description.
SUMMARY, DESCRIPTION = 1024, 65_535


def report_privately(hub: Hub, title: str, body: str) -> str:
    """Sends a private vulnerability report once, and returns its address.

    Raises UserError where the repository takes none, where GitHub refuses, and where nobody knows whether it arrived:
    it is not sent again then, as reporters can't look it up.
    """
    if not hub.takes_private_reports():
        remedy = f"follow the written instructions instead: nothing was sent to {hub.name}"
        raise UserError(f"{hub.name} does not take private reports through GitHub", remedy)
    try:
        return hub.report_privately(*content(title, body))
    except UnsureError as error:
        remedy = f"look at https://github.com/{hub.name}/security/advisories before you send it again"
        raise UserError(f"it is not known whether the report arrived: {error}", remedy) from error


def content(title: str, body: str) -> tuple[str, str]:
    """Summary and description: how severe it is, and whose fault, is for the maintainers to say."""
    return bounded(title, min(TITLE, SUMMARY)), clipped(clean(body), DESCRIPTION - 100)


def instructions(title: str, body: str, policy: Policy | None, library: str) -> str:
    """What a person does by hand, with the text of the report: for the private place alone."""
    where = policy.security if policy is not None else ""
    place = where or f"the security contact of {library}: look for SECURITY.md in its repository"
    return (
        f"# Private: not for a public issue, log or artifact\n\n"
        f"1. Run the script below on the newest build, in an environment that you can throw away.\n"
        f"2. Say in your own words who could exploit it, and how.\n"
        f"3. Send it to {place}. Send it to nobody else, and wait for the answer before you publish anything.\n\n"
        f"---\n\n{bounded(title, TITLE)}\n\n{clean(body).strip()}\n"
    )
