"""The health issue of a repository: it says that a night was incomplete or that GitHub has disabled a schedule.

A repository has at most one health issue, found by its marker. The bot updates it in place, and the next complete night
closes it.
"""

from __future__ import annotations

from collections.abc import Sequence

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.github.marker import marked, marker_of
from nightfuzz.bot.github.views import IssueView, is_same_login
from nightfuzz.bot.issues.labels import HEALTH, LABELS, OURS
from nightfuzz.reports.markdown import escaped
from nightfuzz.reports.text import bounded

MARKER = marker_of("health", "nights")
TITLE = "The nightly runs of nightfuzz need attention"
SHOWN, LINE = 20, 500
_END = "nightfuzz updates this issue. The next complete nightly run closes this issue."


def update_health(hub: Hub, faults: Sequence[str], run_url: str, is_night: bool = True) -> tuple[str, ...]:
    """Open, update or close the health issue.

    A disabled schedule is noticed by the next run of any kind: another night, a recheck, a command in a comment.

    Args:
        hub: our own repository.
        faults: problems of this night, a line each.
        run_url: the address of this run.
        is_night: a run that is no night adds the faults that it sees, and removes none.

    Returns:
        Lines for the summary.
    """
    disabled = [
        f"GitHub has disabled the schedule of {path}: enable the workflow on the Actions page" for path in _paths(hub)
    ]
    found = _find(hub)
    try:
        if not (*faults, *disabled):
            return _close(hub, found) if is_night else ()
        if found is None:
            hub.ensure_labels(LABELS)
            found = hub.create_issue(MARKER, TITLE, _body(faults, disabled, run_url), (OURS, HEALTH))
        elif is_night or found.state == "closed":
            hub.edit_issue(found.number, state="open", body=marked(_body(faults, disabled, run_url), MARKER))
        return (f"health issue {found.number}: {len(faults) + len(disabled)} problems",)
    except UserError as error:
        return (f"the health issue is not up to date: {error.problem}",)


def _paths(hub: Hub) -> list[str]:
    """Return workflows with nightfuzz in their file's name that GitHub has disabled for inactivity."""
    return [path for path, state in hub.workflows() if "nightfuzz" in path and state == "disabled_inactivity"]


def _find(hub: Hub) -> IssueView | None:
    ours = (each for each in hub.issues(label=HEALTH) if is_same_login(each.author, hub.login()))
    return next((each for each in ours if MARKER.marks(each.body)), None)


def _close(hub: Hub, found: IssueView | None) -> tuple[str, ...]:
    if found is None or found.state == "closed":
        return ()
    hub.edit_issue(found.number, state="closed", state_reason="completed")
    return (f"health issue {found.number} is closed",)


def _body(faults: Sequence[str], disabled: Sequence[str], run_url: str) -> str:
    lines = [f"- {escaped(bounded(line, LINE))}" for line in (*faults, *disabled)[:SHOWN]]
    where = f"\n\nThe run: {run_url}" if run_url else ""
    return "\n".join(["nightfuzz cannot do all of its work:", "", *lines]) + f"{where}\n\n{_END}"
