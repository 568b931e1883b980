"""A check on a commit: the same content is one check, however often it is sent."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from nightfuzz.bot.github.client import Client

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
    client: Client,
    sha: str,
    name: str,
    conclusion: str,
    title: str,
    summary: str,
    annotations: Sequence[Mapping[str, Any]],
) -> int:
    """The number of the finished check with this content; see `Hub.check_run`."""
    output = {"title": title[:LONGEST_TITLE], "summary": summary[:LONGEST]}
    notes = [_cut(each) for each in annotations]
    text = json.dumps([sha, name, conclusion, output, notes])
    identity = f"nightfuzz:{hashlib.sha256(text.encode()).hexdigest()[:32]}"
    body = {"name": name, "head_sha": sha, "external_id": identity, "status": "completed", "conclusion": conclusion}

    def find() -> _Run | None:
        asked = {"check_name": name, "filter": "all", "per_page": 100}
        path = f"commits/{sha}/check-runs"
        runs = client.read(path, lambda data: [_Run.of(each) for each in data["check_runs"]], asked, "checks: read")
        return next((run for run in runs if run.external_id == identity), None)

    def create() -> _Run:
        first = {**body, "output": {**output, "annotations": notes[:MOST_AT_ONCE]}}
        made = client.create("check-runs", first, _Run.of, "checks: write")
        return made._replace(annotations=len(notes[:MOST_AT_ONCE]))

    run = client.create_once(find, create)
    # GitHub takes 50 at once and adds those of every later request.
    for at in range(max(run.annotations, 0), len(notes), MOST_AT_ONCE):
        more = {"output": {**output, "annotations": notes[at : at + MOST_AT_ONCE]}}
        client.write("PATCH", f"check-runs/{run.id}", more, _Run.of, "checks: write")
    return run.id


def _cut(note: Mapping[str, Any]) -> dict[str, Any]:
    limits = {"title": LONGEST_TITLE, "message": LONGEST}
    return {name: value[: limits[name]] if name in limits else value for name, value in note.items() if value != ""}
