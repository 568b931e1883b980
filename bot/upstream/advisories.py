"""A private bug, told to its library in private: only when a person says so, of one bug, by name. Never by itself."""

from __future__ import annotations

from typing import Any

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.github.errors import RefusedError, UnsureError
from nightfuzz.bot.upstream.elsewhere import Elsewhere
from nightfuzz.bot.upstream.policies import Policy
from nightfuzz.reports.text import TITLE, bounded, clean, clipped

# GitHub's limits on a report's summary and description.
SUMMARY, DESCRIPTION = 1024, 65_535
_PERMISSION = "repository security advisories: write"


def takes_reports(tracker: Elsewhere) -> bool:
    """Whether the repository has private vulnerability reporting enabled; False where GitHub does not say."""
    path = f"{tracker.client.home}/private-vulnerability-reporting"
    try:
        return tracker.client.read(path, lambda data: data["enabled"] is True, permission="metadata: read")
    except RefusedError as error:
        if error.status not in (403, 404, 422):
            raise
        return False


def report_privately(tracker: Elsewhere, title: str, body: str) -> str:
    """Sends a private vulnerability report once, and returns its address.

    Raises UserError where the repository takes none, where GitHub refuses, and where nobody knows whether it arrived:
    it is not sent again then, as reporters can't look it up.
    """
    if not takes_reports(tracker):
        remedy = f"follow the written instructions instead: nothing was sent to {tracker.repository}"
        raise UserError(f"{tracker.repository} does not take private reports through GitHub", remedy)
    path = f"{tracker.client.home}/security-advisories/reports"
    try:
        return tracker.client.once(path, content(title, body), _address, _PERMISSION)
    except UnsureError as error:
        remedy = f"look at https://github.com/{tracker.repository}/security/advisories before you send it again"
        raise UserError(f"it is not known whether the report arrived: {error}", remedy) from error


def content(title: str, body: str) -> dict[str, Any]:
    """The request: how severe it is, and whose fault, is for the maintainers to say."""
    return {
        "summary": bounded(title, min(TITLE, SUMMARY)),
        "description": clipped(clean(body), DESCRIPTION - 100),
    }


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


def _address(data: Any) -> str:
    return str(data["html_url"])
