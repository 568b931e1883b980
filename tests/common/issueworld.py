"""Clusters as a state wants them, and a repository in memory that serves `bot.issues.writer` as a hub."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from nightfuzz.bot.github.errors import RefusedError
from nightfuzz.bot.github.marker import Marker, marked, parsed
from nightfuzz.bot.github.views import CommentView, IssueView
from nightfuzz.bot.issues.clusters import ClusterReport, Umbrella
from nightfuzz.bot.issues.umbrella import mark_items as with_items

ME = "nightfuzz-bot"
START = datetime(2026, 11, 1, 3, tzinfo=UTC)
REPOSITORY = "https://github.test/o/r"


def fingerprint(name: str) -> str:
    """Returns 32 hexadecimal digits for a name."""
    return blake2b(name.encode(), digest_size=16).hexdigest()


def cluster(*names: str, **more: Any) -> ClusterReport:
    """Returns a cluster whose members have these names; `more` overrides fields by their names."""
    api = f"torch.{names[0]}"
    usual: dict[str, Any] = {
        "library": "torch",
        "signatures": {fingerprint(name): f"torch.{name}: RuntimeError: no" for name in names},
        "title": f"{api}(): abort",
        "body": f"### Describe the bug\n\n`{api}` ends the process.\n",
        "api": api,
        "kind": "crash",
        "seen": "2.14.0.dev20261101",
        "seen_at": START,
        "rank": (1, 1, 0, 1),
    }
    return ClusterReport(**{**usual, **more})


REPORT = """### Describe the bug

Found by fuzzing. Expected a result or a Python exception.

```python
import fakelib

fakelib.NAME(0)
```

It reproduces in 5 of 5 fresh processes. Input: valid.
First bad version: 1

| how the call is made | shows it? |
|---|---|
| cpu | yes |

```text
RuntimeError: no such thing
```

fakelib version: 1

Not checked:
"""


def reportable(name: str, **more: Any) -> ClusterReport:
    """Returns a cluster whose report has everything that a tracker asks for."""
    api = f"fakelib.{name}"
    usual: dict[str, Any] = {
        "library": "fakelib",
        "signatures": {fingerprint(name): f"{api}: RuntimeError: no such thing as <value> in the table"},
        "title": f"{api}(0): RuntimeError: no such thing as 'x' in the table",
        "body": REPORT.replace("NAME", name),
        "api": api,
        "kind": "internal-error",
    }
    return cluster(name, **{**usual, **more})


HEAD = "### Describe the bug\n\nFound by fuzzing.\n\n"
FOOT = "\nNot checked:\n\n- nightly builds\n"


def umbrella(*names: str, text: str = "abort") -> Umbrella:
    """Returns an umbrella of one library's corner cases, with an item for each name."""
    lines = [f"- [ ] `torch.{name}`: {text} (5 of 5)\n\n      ```python\n      {name}()\n      ```\n" for name in names]
    signatures = {fingerprint(name): f"torch.{name}: abort" for name in names}
    body = with_items(HEAD + "\n".join(lines) + FOOT, list(signatures))
    comment = "\n".join(f"| `torch.{name}` | {text} |" for name in names)
    return Umbrella("torch", signatures, f"{len(names)} calls crash", body, f"torch.{names[0]}", comment)


class Memory:
    """A repository in memory. Actions of people are calls of `edit_issue`, `label` and similar methods."""

    def __init__(self, now: datetime = START, url: str = REPOSITORY) -> None:
        self.now, self.url, self.newest = now, url, 0
        self.by_number: dict[int, IssueView] = {}
        self.said: dict[int, dict[Marker, str]] = {}
        self.writes: list[str] = []
        self.filed: list[datetime] = []
        self.refuses: set[str] = set()
        self.moved: set[int] = set()

    def _write(self, what: str) -> None:
        self.writes.append(what)
        if what in self.refuses:
            raise RefusedError(403, f"{what}: no", "ask")

    def issues(self, label: str | None = None) -> list[IssueView]:
        return [each for each in self.by_number.values() if label is None or label in each.labels]

    def issue(self, number: int) -> IssueView | None:
        if number in self.moved:
            raise RefusedError(301, f"issue {number} was moved away", "")
        return self.by_number.get(number)

    def add(self, title: str, body: str, labels: Sequence[str] = (), author: str = ME) -> IssueView:
        self.newest = number = self.newest + 1
        url = f"{self.url}/issues/{number}"
        times = self.now, self.now, None
        view = IssueView(number, title, body, "open", None, tuple(labels), author, *times, url, False)
        self.by_number[number] = view
        return view

    def create_issue(self, marker: Marker, title: str, body: str, labels: Sequence[str] = ()) -> IssueView:
        self._write("create")
        for view in self.by_number.values():
            found = parsed(view.body) if view.author == ME else None
            if found is not None and found.covers(marker.id):
                return view
        self.filed.append(self.now)
        return self.add(title, marked(body, marker), labels)

    def change(self, number: int, **fields: Any) -> IssueView:
        self.by_number[number] = self.by_number[number]._replace(**fields, updated_at=self.now)
        return self.by_number[number]

    def edit_issue(
        self,
        number: int,
        *,
        title: str | None = None,
        body: str | None = None,
        state: str | None = None,
        state_reason: str | None = None,
    ) -> IssueView:
        self._write(f"edit #{number}")
        given = {"title": title, "body": body, "state": state}
        fields: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if state is not None:
            fields |= {"state_reason": state_reason, "closed_at": self.now if state == "closed" else None}
        return self.change(number, **fields)

    def close(self, number: int, reason: str) -> None:
        """Closes an issue, as a person does."""
        self.change(number, state="closed", state_reason=reason, closed_at=self.now)

    def add_labels(self, number: int, names: Iterable[str]) -> None:
        self._write(f"label #{number}")
        self.change(number, labels=tuple(dict.fromkeys((*self.by_number[number].labels, *names))))

    def ensure_labels(self, wanted: Mapping[str, tuple[str, str]]) -> None:
        """Does no work: labels need not be made here."""

    def upsert_comment(self, number: int, marker: Marker, body: str) -> CommentView:
        self._write(f"comment #{number}")
        self.said.setdefault(number, {})[marker] = body
        return CommentView(1, body, ME)
