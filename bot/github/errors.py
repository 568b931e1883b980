"""Errors for GitHub's refusals, with the remedy: mostly the missing permission, and the line that grants it."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any, TypeVar

from fuzz_core.ir.errors import NightfuzzError, UserError
from nightfuzz.bot.github.redaction import scrub
from nightfuzz.reports.text import bounded

T = TypeVar("T")
LONGEST = 300
RERUN = 'use "Re-run failed jobs" on this run\'s page once the cause is gone; the next run also writes what is missing'
# Statuses of HTTP for what is not there: the token may lack access, too.
GONE = (404, 410)
# GitHub's names of permissions, and how a workflow spells them.
_WORKFLOW = {"pull_requests": "pull-requests", "security_events": "security-events"}


class GaveUpError(UserError):
    """GitHub gave no usable answer for longer than the bot waits.

    Earlier writes stay; try again later.
    """

    def __init__(self, problem: str) -> None:
        super().__init__(problem, RERUN)


class UnsureError(NightfuzzError):
    """A request has no reliable answer and may have taken effect.

    Args:
        wait: seconds that GitHub asked for.
    """

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


class RefusedError(UserError):
    """GitHub refused a request and changed no data.

    Args:
        status: HTTP status.
        codes: GitHub's words for the reasons.
    """

    def __init__(self, status: int, problem: str, remedy: str, codes: frozenset[str] = frozenset()) -> None:
        super().__init__(problem, remedy)
        self.status = status
        self.codes = codes


def unless_refused(statuses: Container[int], request: Callable[[], T]) -> T | None:
    """Return the result of `request`; None if GitHub refuses it with one of these statuses."""
    try:
        return request()
    except RefusedError as error:
        if error.status not in statuses:
            raise
        return None


def refusal(
    status: int, headers: Mapping[str, str], data: Any, request: str, repository: str, permission: str
) -> RefusedError:
    """Return the error for a 3xx or 4xx answer.

    Args:
        permission: what the request takes, like `issues: write`.
    """
    found = data.get("errors") if isinstance(data, dict) else None
    errors = [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
    parts = [data, *errors] if isinstance(data, dict) else []
    message = bounded(" ".join(str(each.get("message", "")) for each in parts), LONGEST)
    needed = _spell(headers.get("x-accepted-github-permissions", "")) or permission
    problem, remedy = _explain(status, message.lower(), repository, needed)
    details = f"{request}: {problem} (HTTP {status}{f': {message}' if message else ''})"
    return RefusedError(status, scrub(details), remedy, frozenset(str(each.get("code", "")) for each in errors))


def _explain(status: int, message: str, repository: str, needed: str) -> tuple[str, str]:
    lines = f"add to the job in the workflow: `permissions:` with the line `{needed}`"
    others = "a fine-grained token or an app needs the same permission and access to this repository"
    settings = "Settings > General > Features > Issues"
    if "archived" in message:
        return f"{repository} is archived, so GitHub refuses writes", "unarchive the repository, or remove the workflow"
    if "issues" in message and "disabled" in message:
        return f"issues are disabled in {repository}", f"enable them: {settings}"
    if status == 401:
        return (
            "the token is wrong, expired or revoked",
            "make a new token, and store it as the secret that the workflow names",
        )
    if status == 403:
        return f"the token may not do this in {repository}: it lacks `{needed}`", f"{lines}; {others}"
    if status == 404:
        problem = f"not found in {repository}, or the token has no access to {repository}"
        return problem, f"check the name of the repository; if it is right, {lines}; {others}"
    if status == 410:
        return f"the issue was deleted, or issues are disabled in {repository}", f"enable issues: {settings}"
    if 300 <= status < 400:
        return f"{repository} was moved or renamed", "write the new name of the repository into the workflow"
    return "GitHub refuses the content of the request", "please report this as a bug of nightfuzz"


def _spell(accepted: str) -> str:
    """Spell `issues=write; pull_requests=write` as a workflow's permissions; "or" joins alternatives."""
    ways = []
    for way in bounded(accepted, LONGEST).split(";"):
        pairs = (each.strip().partition("=") for each in way.split(",") if "=" in each)
        ways.append(", ".join(f"{_WORKFLOW.get(name, name)}: {level}" for name, _, level in pairs))
    return "` or `".join(way for way in ways if way)
