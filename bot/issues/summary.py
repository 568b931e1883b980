"""What was done about issues, and what waits, for the summary of a job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bot.issues.doing import Done
from bot.issues.planning import Plan
from reports.markdown import escaped
from reports.pages import counted

SHOWN = 50
_DONE = {
    "create": "filed", "reopen": "opened again", "close": "closed as fixed", "extend": "extended by items",
    "relabel": "labelled as regressions", "recur": "brought up to date",
}  # fmt: skip


def told(plan: Plan, done: Done) -> str:
    """Markdown: what was done; then what waits, the most urgent first; then what could not be done."""
    counts = [f"{done.counts[name]} {did}" for name, did in _DONE.items() if done.counts.get(name)]
    lines = [f"Issues: {', '.join(counts) or 'nothing to do'}.", *_quiet(plan)]
    lines += [f"- #{filed.number}: {escaped(filed.title)}" for filed in done.filed[:SHOWN]]
    lines += _listed("wait for a day with room", (each.title for each in plan.waiting))
    lines += _listed("were not done, the next run does them", done.left)
    lines += _listed("could not be done", (*done.problems, *plan.notes))
    return "\n".join(lines) + "\n"


def _quiet(plan: Plan) -> Iterator[str]:
    if plan.silent:
        yield f"Of {counted(plan.silent, 'cause')} people want to hear no more."
    if plan.cooling:
        yield f"{counted(len(plan.cooling), 'issue')} that a person has closed just now stay closed for the time being."
    if plan.private:
        yield f"{counted(plan.private, 'cause')} may not be told here: see the private part of the state."


def _listed(what: str, items: Iterable[str]) -> list[str]:
    every = list(items)
    more = [f"- and {len(every) - SHOWN} more"] if len(every) > SHOWN else []
    head = ["", f"{len(every)} {what}:", ""] if every else []
    return [*head, *(f"- {escaped(item)}" for item in every[:SHOWN]), *more]
