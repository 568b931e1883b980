"""Marks at lines of the user's tests: as workflow commands for a job's log, and for a check through GitHub's API.

A runner executes each line of a log that looks like a command, so untrusted text goes through `command`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fuzz_core.oracles.kinds import Level
from nightfuzz.reports import wording
from nightfuzz.reports.results import ChangeEntry, Entry, RunResult, Site
from nightfuzz.reports.text import bounded, clean

# GitHub shows ten errors and ten warnings of a step, and takes fifty annotations of a check in one request.
STEP, REQUEST = 10, 50
TITLE, MESSAGE = 200, 1_000
COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}
LEVELS = {"error": "failure", "warning": "warning", "note": "notice"}


class Note(NamedTuple):
    """An annotation in plain text.

    Attributes:
        site: None if no line of the user's files is known.
    """

    level: Level
    title: str
    message: str
    site: Site | None


def notes(result: RunResult) -> list[Note]:
    """List the new entries of a run, one for each cause, the worst first: changes, bugs, removed apis."""
    return sorted(_notes(result), key=lambda note: (list(COMMANDS).index(note.level), note.site is None))


def _notes(result: RunResult) -> Iterator[Note]:
    for change, others in wording.alike(wording.changes(result, "regression", "changed")):
        more = f" and {len(others)} more" if others else ""
        yield _note(change, wording.call(change) + more, _compared(result, change))
    for cause in wording.causes(wording.new_and_back(result)):
        shown = f"{cause.entry.hits} of {cause.entry.runs} fresh processes show the bug"
        yield _note(cause.entry, cause.entry.title, f"{wording.named(result.target)}: {shown}.")
    for gone in wording.dropped(result):
        said = f"{gone.kind} in {wording.named(result.target)}. {gone.said}"
        yield _note(gone, gone.api, said)


def _compared(result: RunResult, change: ChangeEntry) -> str:
    was, now = wording.named(result.baseline, result.target), wording.named(result.target, result.baseline)
    before, after = wording.sides(change)
    return f"{was} {wording.outcome_line(before)}\n{now} {wording.outcome_line(after)}"


def _note(entry: Entry, title: str, message: str) -> Note:
    lines = [bounded(line, MESSAGE) for line in message.split("\n")[:2]]
    return Note(wording.level(entry), bounded(title, TITLE), "\n".join(lines), next(iter(entry.sites), None))


def commands(result: RunResult, most: int = STEP) -> list[str]:
    """Return the worst as workflow commands, a line each: `::error file=…,line=…,title=…::message`."""
    return [
        command(COMMANDS[note.level], note.message, title=note.title, **_place(note.site))
        for note in notes(result)[:most]
    ]


def problem_commands(result: RunResult, most: int = STEP) -> list[str]:
    """Return the problems of a run as workflow commands, a line each."""
    return [command("error", bounded(line, MESSAGE), title="nightfuzz") for line in result.problems[:most]]


def _place(site: Site | None) -> dict[str, str]:
    return {} if site is None else {"file": site.path, "line": str(site.line)}


def check_annotations(result: RunResult, most: int = REQUEST) -> list[dict[str, str | int]]:
    """Return the worst that have a line, as GitHub's API for check runs takes them."""
    placed = ((note, note.site) for note in notes(result) if note.site is not None)
    return [
        {
            "path": site.path,
            "start_line": site.line,
            "end_line": site.line,
            "annotation_level": LEVELS[note.level],
            "title": note.title,
            "message": note.message,
        }
        for note, site in list(placed)[:most]
    ]


def command(name: str, message: str, **properties: str) -> str:
    """Return a workflow command as a single line, with its texts escaped."""
    told = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in properties.items())
    return f"::{name}{' ' if told else ''}{told}::{_escaped(message)}"


def _escaped(text: str, more: str = "") -> str:
    shown = clean(text)
    for sign in f"%\r\n{more}":
        shown = shown.replace(sign, f"%{ord(sign):02X}")
    return shown
