"""Why GitHub refused, in words that say what to do: mostly which permission is missing, and the line that grants it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fuzz_core.ir.errors import NightfuzzError, UserError
from nightfuzz.bot.github.redaction import scrub
from nightfuzz.reports.text import bounded

LONGEST = 300
# GitHub's names of permissions, and how a workflow spells them.
_WORKFLOW = {"pull_requests": "pull-requests", "security_events": "security-events"}


class GaveUpError(NightfuzzError):
    """GitHub does not answer as it should, for longer than we wait. What was written before stays; try again later."""


class UnsureError(NightfuzzError):
    """One attempt has no answer that can be relied on: it may have taken effect. wait: seconds GitHub asked for."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait

    def settled(self, seconds: float) -> UnsureError:
        """The same with a wait of at least so long: until it has taken effect or never will."""
        return UnsureError(str(self), max(self.wait, seconds))


class RefusedError(UserError):
    """GitHub said no, and nothing was changed. status: of HTTP. code: GitHub's word for it, where it gave one."""

    def __init__(self, status: int, problem: str, remedy: str, codes: frozenset[str] = frozenset()) -> None:
        super().__init__(problem, remedy)
        self.status = status
        self.codes = codes


def refusal(
    status: int, headers: Mapping[str, str], data: Any, doing: str, repository: str, permission: str
) -> RefusedError:
    """What a 3xx or 4xx answer means. doing: what we tried. permission: what it takes, like `issues: write`."""
    said = _message(data)
    accepted = headers.get("x-accepted-github-permissions", "")
    needed = _spelled(accepted) if accepted else permission
    problem, remedy = _explained(status, said.lower(), repository, needed)
    details = f"{doing}: {problem} (HTTP {status}{f': {said}' if said else ''})"
    return RefusedError(status, scrub(details), remedy, _codes(data))


def _explained(status: int, said: str, repository: str, needed: str) -> tuple[str, str]:
    if "archived" in said:
        return f"{repository} is archived, so nothing can be written to it", "un-archive it, or remove the workflow"
    if "issues" in said and "disabled" in said:
        return f"issues are disabled in {repository}", "enable them: Settings > General > Features > Issues"
    if status == 401:
        return "the token is wrong, expired or revoked", "make a new one and store it as the secret the workflow names"
    if status in (403, 404):
        return _missing(status, repository, needed)
    if status == 410:
        return "it was deleted, or issues are disabled", "enable issues: Settings > General > Features > Issues"
    if 300 <= status < 400:
        return f"{repository} was moved or renamed", "use its new name"
    return "GitHub does not take what was sent", "please report this: it is a bug in nightfuzz"


def _missing(status: int, repository: str, needed: str) -> tuple[str, str]:
    lines = f"add to the job in the workflow: `permissions:` with the line `{needed}`"
    others = "a fine-grained token or an app needs the same permission and access to this repository"
    if status == 403:
        return f"the token may not do this in {repository}: it lacks `{needed}`", f"{lines}; {others}"
    problem = f"not found in {repository}, or the token has no access to it"
    return problem, f"check the name; if it is right, {lines}; {others}"


def _spelled(accepted: str) -> str:
    """`issues=write; pull_requests=write` as a workflow's permissions; alternatives are joined by "or"."""
    ways = []
    for way in bounded(accepted, LONGEST).split(";"):
        pairs = (each.strip().partition("=") for each in way.split(",") if "=" in each)
        ways.append(", ".join(f"{_WORKFLOW.get(name, name)}: {level}" for name, _, level in pairs))
    return "` or `".join(way for way in ways if way)


def _message(data: Any) -> str:
    if not isinstance(data, dict):
        return ""
    details = [str(each.get("message", "")) for each in _errors(data)]
    return bounded(" ".join([str(data.get("message", "")), *details]), LONGEST)


def _codes(data: Any) -> frozenset[str]:
    return frozenset(str(each.get("code", "")) for each in _errors(data))


def _errors(data: Any) -> list[dict[str, Any]]:
    found = data.get("errors") if isinstance(data, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
