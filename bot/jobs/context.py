"""Context of a job: the event that started the run, and the tokens and keys that the job holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import SecretStr

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.action.inputs import Inputs
from nightfuzz.bot.github.auth import PUBLIC_API, AppAuth, Auth, TokenAuth, api_address
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.github.redaction import Secret
from nightfuzz.bot.pulls import PullLinks
from nightfuzz.bot.state.private import Keys

EVENT_BYTES = 32 << 20
CANDIDATES = 20


class WorkflowEvent(NamedTuple):
    """The event that started a job, as the runner reports it."""

    repository: str
    pull: int = 0  # number of the pull request; 0 for none
    sha: str = ""  # head of the pull request
    server: str = "https://github.com"
    run: str = ""
    name: str = ""
    issue: int = 0  # number of the issue in an event about a comment; 0 for none
    comment: int = 0  # number of the comment; 0 for none
    api: str = PUBLIC_API  # address of GitHub's API

    @property
    def links(self) -> PullLinks:
        """Addresses for people."""
        home = f"{self.server}/{self.repository}"
        return PullLinks(
            f"{home}/blob/{self.sha}" if self.sha else "", f"{home}/actions/runs/{self.run}" if self.run else ""
        )


def event_of(inputs: Inputs, environment: Mapping[str, str]) -> WorkflowEvent:
    """Return the event; an input replaces a part of it.

    Raises:
        UserError: the process runs outside of a workflow.
    """
    repository = environment.get("GITHUB_REPOSITORY", "")
    if not repository:
        raise UserError(
            "GITHUB_REPOSITORY is not set", "run this step in a workflow, or set the variable to OWNER/NAME"
        )
    payload = _payload(environment.get("GITHUB_EVENT_PATH", ""))
    pull = payload.get("pull_request") or {}
    other_run = payload.get("workflow_run") or {}
    settings = inputs.settings
    sha = settings.commit or pull.get("head", {}).get("sha") or other_run.get("head_sha")
    return WorkflowEvent(
        repository,
        settings.pull_request or int(pull.get("number", 0)),
        str(sha or environment.get("GITHUB_SHA", "")),
        environment.get("GITHUB_SERVER_URL", "https://github.com"),
        environment.get("GITHUB_RUN_ID", ""),
        environment.get("GITHUB_EVENT_NAME", ""),
        int(payload.get("issue", {}).get("number", 0)),
        int(payload.get("comment", {}).get("id", 0)),
        api_address(environment, settings.api_url),
    )


def workflow_of(environment: Mapping[str, str]) -> str:
    """Return path in the repository of the workflow that runs, a caller's own; empty if it is in another repository."""
    repository, _, path = environment.get("GITHUB_WORKFLOW_REF", "").partition("/.github/")
    is_here = bool(path) and repository == environment.get("GITHUB_REPOSITORY")
    return f".github/{path.partition('@refs/')[0]}" if is_here else ""


def _payload(path: str) -> dict[str, Any]:
    file = Path(path) if path else None
    if file is None or not file.is_file() or file.stat().st_size > EVENT_BYTES:
        return {}
    found = json.loads(file.read_bytes())
    return found if isinstance(found, dict) else {}


def pull_of(hub: Hub, repository: str, commit: str) -> int:
    """Return the number of the open pull request whose head is this commit; 0 for none.

    The search also finds pull requests that mention the commit, so each candidate is checked.

    Args:
        repository: `owner/name`.
    """
    for found in hub.search_issues(f"repo:{repository} is:pr is:open {commit}", CANDIDATES):
        pull = hub.pull(found.number)
        if pull is not None and pull.state == "open" and pull.head_sha == commit:
            return pull.number
    return 0


def app_of(inputs: Inputs) -> AppAuth | None:
    """Return the GitHub App that reports, if the inputs name an app."""
    if inputs.settings.app_id is None or inputs.app_private_key is None:
        return None
    return AppAuth(str(inputs.settings.app_id), secret(inputs.app_private_key))


def auth_of(inputs: Inputs) -> Auth:
    """Return the credentials that write to the user's own repository.

    Raises:
        UserError: the inputs hold none.
    """
    if (app := app_of(inputs)) is not None:
        return app
    if inputs.github_token is None:
        raise UserError(
            "the input github-token is empty", "add `github-token: ${{ github.token }}` to the step's inputs"
        )
    return TokenAuth(secret(inputs.github_token))


def keys_of(inputs: Inputs) -> Keys:
    """Return the keys that private bugs are encrypted for, and the key that reads them."""
    recipients = (inputs.settings.private_recipient,) if inputs.settings.private_recipient else ()
    return Keys(recipients, None if inputs.private_identity is None else secret(inputs.private_identity))


def secret(given: SecretStr) -> Secret:
    """Convert an input's text to the bot's type for secrets."""
    return Secret(given.get_secret_value())
