"""The workflows that `nightfuzz init` can write, and the Action that they call, pinned to a commit if possible."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, get_args

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.git import remote_commit

Workflow = Literal["nightly", "pull-request", "bump", "manual", "report", "commands"]
WORKFLOWS: tuple[Workflow, ...] = get_args(Workflow)


DEFAULT = "nightfuzz/nightfuzz@v1"
SERVER = "https://github.com"
SECONDS = 30
_FORM = re.compile(r"([A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+)@([A-Za-z0-9_][A-Za-z0-9_./-]*)")
_SERVER = re.compile(r"https://[A-Za-z0-9.-]+(:\d+)?")
_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class Action(NamedTuple):
    """`OWNER/NAME` and the reference in it.

    Attributes:
        commit: its hash, empty if it is not known.
        server: where it is.
    """

    repository: str
    reference: str
    commit: str = ""
    server: str = SERVER

    @property
    def pin(self) -> str:
        """The reference behind the `@`, with a comment that names its version."""
        if not self.commit:
            return f"{self.reference} # zizmor: ignore[unpinned-uses]"
        return self.commit if self.commit == self.reference else f"{self.commit} # {self.reference}"

    @property
    def page(self) -> str:
        """The address of the documentation of that version."""
        return f"{self.server}/{self.repository}/blob/{self.commit or self.reference}/docs/reference/github-action.md"


def action_of(text: str, server: str = SERVER) -> Action:
    """Read OWNER/REPO@REF on a server.

    Raises:
        UserError: any other text.
    """
    found = _FORM.fullmatch(text.strip())
    if not found or ".." in found[2] or found[1].endswith(("/.", "/..")):
        raise UserError(
            f"--action {text[:80]!r} is not an action with a ref", f"write OWNER/REPO@REF, such as {DEFAULT}"
        )
    if not _SERVER.fullmatch(server):
        raise UserError(
            f"--server {server[:80]!r} is not the address of a server", f"write an address such as {SERVER}"
        )
    repository, reference = found.groups()
    return Action(repository, reference, reference if _HASH.fullmatch(reference) else "", server)


def pin_action(action: Action, address: str | None = None) -> Action:
    """Return the Action at the commit that its tag or branch names now; unchanged if the repository cannot be asked.

    Args:
        address: of the repository, for git.
    """
    if action.commit:
        return action
    where = address or f"{action.server}/{action.repository}"
    names = [f"refs/tags/{action.reference}^{{}}", f"refs/tags/{action.reference}", f"refs/heads/{action.reference}"]
    commit = remote_commit(where, names, SECONDS)
    return action._replace(commit=commit) if _HASH.fullmatch(commit) else action
