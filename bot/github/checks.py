"""A check on a commit: the same content is one check, however often it is sent."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from nightfuzz.bot.github.client import Client
from nightfuzz.bot.github.errors import UnsureError
from nightfuzz.bot.github.views import Annotation

MOST_AT_ONCE = 50
LONGEST = 65_535
LONGEST_TITLE = 255


class _Run(NamedTuple):
    id: int
    external_id: str
    annotations: int

    @classmethod
    def of(cls, data: Any) -> _Run:
        return cls(int(data["id"]), str(data["external_id"] or ""), int(data["output"]["annotations_count"]))


def check_run(
    client: Client, sha: str, name: str, conclusion: str, title: str, summary: str, annotations: Sequence[Annotation]
) -> int:
    """The number of the finished check with this content; see `Hub.check_run`."""
    output = {"title": title[:LONGEST_TITLE], "summary": summary[:LONGEST]}
    notes = [_note(each) for each in annotations]
    text = json.dumps([sha, name, conclusion, output, notes])
    identity = f"nightfuzz:{hashlib.sha256(text.encode()).hexdigest()[:32]}"
    body = {"name": name, "head_sha": sha, "external_id": identity, "status": "completed", "conclusion": conclusion}
    run = _found(client, sha, name, identity) or _made(client, sha, name, body, output, notes)
    # GitHub takes 50 at once and adds those of every later request.
    for at in range(max(run.annotations, 0), len(notes), MOST_AT_ONCE):
        more = {"output": {**output, "annotations": notes[at : at + MOST_AT_ONCE]}}
        client.put("PATCH", f"{client.home}/check-runs/{run.id}", more, _Run.of, "checks: write")
    return run.id


def _made(
    client: Client, sha: str, name: str, body: dict[str, Any], output: dict[str, Any], notes: list[dict[str, Any]]
) -> _Run:
    content = {**body, "output": {**output, "annotations": notes[:MOST_AT_ONCE]}}
    turn = client.turn()
    while True:
        try:
            made = client.once(f"{client.home}/check-runs", content, _Run.of, "checks: write")
            return made._replace(annotations=len(notes[:MOST_AT_ONCE]))
        except UnsureError as error:
            turn.again(error.settled(client.budget.limits.settled))
        if (run := _found(client, sha, name, str(body["external_id"]))) is not None:
            return run


def _found(client: Client, sha: str, name: str, identity: str) -> _Run | None:
    asked = {"check_name": name, "filter": "all", "per_page": 100}
    path = f"{client.home}/commits/{sha}/check-runs"
    runs = client.read(path, lambda data: [_Run.of(each) for each in data["check_runs"]], asked, "checks: read")
    return next((run for run in runs if run.external_id == identity), None)


def _note(note: Annotation) -> dict[str, Any]:
    given = {"path": note.path, "start_line": note.line, "end_line": note.line, "annotation_level": note.level}
    return given | {"message": note.message[:LONGEST]} | ({"title": note.title[:LONGEST_TITLE]} if note.title else {})
