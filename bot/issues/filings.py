"""The bot's memory of GitHub between runs: `filings.json`, kept beside the state, which does not read it.

The job that holds the token writes the memory and reads it from that place alone, never from a fuzz job's results.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, AwareDatetime, Field

from nightfuzz.reports.results import Fingerprint, Line, Name, StrictModel, Text

CLAIMED = timedelta(hours=1)
REMEMBERED = timedelta(days=90)
# Fields that are merged from both records of an issue; the later record wins for every other field.
_JOINED = {"signatures", "created_at"}
Number = Annotated[int, Field(ge=1, le=2**53)]
When = Annotated[AwareDatetime, AfterValidator(lambda at: at.astimezone(UTC))]
Link = Annotated[str, Field(pattern=r"^(https?://\S{1,1000})?$")]
Lesson = Literal["", "ignore", "wrong", "known", "declined", "duplicate", "gone"]
CommandKind = Literal["bisect", "minimize", "retry", "ignore", "upstream", "help"]
Digest = Annotated[str, Field(pattern="^([0-9a-f]{32})?$")]
MOST, MOST_LEFT = 100_000, 100


class IssueRecord(StrictModel):
    """An issue of the bot."""

    number: Number
    url: Link
    kind: Literal["bug", "umbrella"] = "bug"
    library: Name
    signatures: dict[Fingerprint, Text]
    title: Line = ""
    created_at: When
    build: Name = ""  # the newest build that the issue names
    told: Digest = ""  # digest of the last recurrence comment
    closed_for: Name = ""  # the build for which the bot closed the issue
    regression: bool = False  # the bot has given the issue that label
    teaching: Lesson = ""  # people's verdict; `declined` for closed as not planned, `gone` for deleted or moved
    taught_at: When | None = None
    at: When  # time of the last change

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the issue's first bug; empty if none is on record."""
        return next(iter(self.signatures), "")


class RunClaim(StrictModel):
    """A run that is about to file a cluster: for an hour no other does."""

    run: Name
    at: When


class CommandRequest(StrictModel):
    """A command that a person gave in a comment."""

    kind: CommandKind
    fingerprint: Fingerprint
    issue: Number
    comment: Number
    by: Name
    at: When
    settled: bool = False  # answered; a command for a fuzz job (bisect, minimize, retry) waits for its answer
    said: Line = ""  # the answer

    @property
    def key(self) -> str:
        """The key of the request: a comment can hold several commands, each once."""
        return f"{self.comment}:{self.kind}"


class DraftRecord(StrictModel):
    """A report for another repository."""

    number: Number
    source: Number  # number of the bug's issue in our repository
    upstream: Name
    # number of the issue there that gets the report as a comment; 0 for an issue of its own
    under: Annotated[int, Field(ge=0, le=2**53)] = 0
    text: Fingerprint  # digest of the exact text
    url: Link = ""  # address of the filed report; empty before
    refused: Line = ""  # reason why the last approval was refused
    at: When


class FilingStatus(StrictModel):
    """The progress of the last report job.

    The job writes it with the state before the first call of GitHub, and at the end.
    """

    run: Name
    at: When
    # work still to be done on GitHub, a line each; the state implies it
    left: tuple[Line, ...] = Field((), max_length=MOST_LEFT)


class Filings(StrictModel):
    """The content of `filings.json`."""

    schema_: Annotated[Literal["nightfuzz-filings/1"], Field(alias="schema")] = "nightfuzz-filings/1"
    issues: dict[Number, IssueRecord] = Field(default_factory=dict, max_length=MOST)
    claims: dict[Fingerprint, RunClaim] = Field(default_factory=dict, max_length=MOST)
    requests: dict[Name, CommandRequest] = Field(default_factory=dict, max_length=MOST)
    drafts: dict[Fingerprint, DraftRecord] = Field(default_factory=dict, max_length=MOST)
    # comments that were read for commands, and when
    handled: dict[Number, When] = Field(default_factory=dict, max_length=MOST)
    swept: When | None = None  # all comments up to this time were read
    status: FilingStatus | None = None

    def to_json(self) -> str:
        """Return the document; equal filings give equal text."""
        return self.model_dump_json(by_alias=True, indent=1)

    def with_issue(self, record: IssueRecord) -> Filings:
        """Return a copy with this record instead of an earlier one, and without the claims that it fulfils."""
        claims = {key: claim for key, claim in self.claims.items() if key not in record.signatures}
        return self.model_copy(update={"issues": _sorted({**self.issues, record.number: record}), "claims": claims})

    def amended(self, number: int, now: datetime, **changes: Any) -> Filings:
        """Return a copy with changed fields of a record; signatures are added.

        Raises:
            KeyError: there is no record.
        """
        record = self.issues[number]
        signatures = {**record.signatures, **changes.pop("signatures", {})}
        # Later than before, also where the clock was turned back: the later record wins.
        at = now if now >= record.at else record.at + timedelta(microseconds=1)
        return self.with_issue(record.model_copy(update={**changes, "signatures": signatures, "at": at}))

    def with_request(self, request: CommandRequest) -> Filings:
        """Return a copy with this request instead of an earlier one with its key; its comment is handled."""
        handled = _sorted({**self.handled, request.comment: request.at})
        requests = _sorted({**self.requests, request.key: request})
        return self.model_copy(update={"handled": handled, "requests": requests})

    def with_answer(self, key: str, text: str, now: datetime) -> Filings:
        """Return a copy with an answered request.

        Raises:
            KeyError: a request that is not there.
        """
        update = {"settled": True, "said": " ".join(text.split())[:2_000], "at": now}
        return self.with_request(self.requests[key].model_copy(update=update))

    def with_left(self, run: str, now: datetime, *left: str) -> Filings:
        """Return a copy with the status of a run that has this work left on GitHub."""
        lines = tuple(" ".join(line.split())[:2_000] for line in dict.fromkeys(left))
        return self.model_copy(update={"status": FilingStatus(run=run or "0", at=now, left=lines[:MOST_LEFT])})

    def with_draft(self, fingerprint: str, draft: DraftRecord) -> Filings:
        """Return a copy with this draft instead of an earlier one of the same bug."""
        return self.model_copy(update={"drafts": _sorted({**self.drafts, fingerprint: draft})})

    def with_claims(self, fingerprints: Iterable[str], run: str, now: datetime) -> Filings:
        """Return a copy with a run's claims on what it will file; expired claims go, claims of other runs stay."""
        live = {key: claim for key, claim in self.claims.items() if abs(now - claim.at) < CLAIMED}
        mine = {key: RunClaim(run=run, at=now) for key in fingerprints}
        return self.model_copy(update={"claims": _sorted({**mine, **live})})

    def claimed(self, fingerprint: str, run: str, now: datetime) -> bool:
        """Return whether another run is about to file this.

        A claim from the future is of a runner with a wrong clock.
        """
        claim = self.claims.get(fingerprint)
        return claim is not None and claim.run != run and abs(now - claim.at) < CLAIMED

    @property
    def waiting(self) -> tuple[CommandRequest, ...]:
        """Requests that fuzz jobs have not answered, the oldest first."""
        return tuple(sorted((each for each in self.requests.values() if not each.settled), key=lambda each: each.at))


def merged(first: Filings, second: Filings) -> Filings:
    """Merge the memory of two runs: the later of each pair of records wins.

    The order makes no difference.

    Requests and handled comments older than `REMEMBERED` before the last comment are dropped, answered or not. If only
    answered requests were dropped, an older copy would bring them back as unanswered.
    """
    handled = _latest(first.handled, second.handled)
    limit = max(handled.values()) - REMEMBERED if handled else datetime.min.replace(tzinfo=UTC)
    return Filings(
        issues={
            number: _joined(record, *(each.issues[number] for each in (first, second) if number in each.issues))
            for number, record in _latest(first.issues, second.issues).items()
        },
        claims=_latest(first.claims, second.claims),
        requests={key: each for key, each in _latest(first.requests, second.requests).items() if each.at >= limit},
        drafts=_latest(first.drafts, second.drafts),
        handled={key: at for key, at in handled.items() if at >= limit},
        swept=min((each for each in (first.swept, second.swept) if each), default=None),
        status=max((each for each in (first.status, second.status) if each), key=_age, default=None),
    )


def _joined(latest: IssueRecord, *records: IssueRecord) -> IssueRecord:
    """Merge records of an issue.

    A fingerprint that one run has added stays, even if another run wrote later.
    """
    signatures = dict(sorted(pair for each in records for pair in each.signatures.items()))
    created = min(each.created_at for each in records)
    return latest.model_copy(update={"signatures": signatures, "created_at": created})


_Key = TypeVar("_Key", bound=int | str)
_Record = TypeVar("_Record")


def _latest(first: Mapping[_Key, _Record], second: Mapping[_Key, _Record]) -> dict[_Key, _Record]:
    both = {key: [each[key] for each in (first, second) if key in each] for key in {*first, *second}}
    return _sorted({key: max(records, key=_age) for key, records in both.items()})


def _age(record: Any) -> tuple[datetime, str]:
    """Record of one moment are ordered by their fields that are not joined, so the order of merges does not count."""
    return (record, "") if isinstance(record, datetime) else (record.at, record.model_dump_json(exclude=_JOINED))


def _sorted(table: dict[_Key, _Record]) -> dict[_Key, _Record]:
    return dict(sorted(table.items()))
