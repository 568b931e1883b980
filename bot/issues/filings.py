"""The bot's memory of GitHub between runs: `filings.json`, kept beside the state, which does not read it.

It is written by the job that holds the token, and taken from there alone: never from what a fuzz job hands over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, AwareDatetime, Field

from nightfuzz.reports.results import Fingerprint, Line, Name, Part, Text

CLAIMED = timedelta(hours=1)
REMEMBERED = timedelta(days=90)
# Of an issue's records, whichever is the later: both count.
_JOINED = {"signatures", "created_at"}
Number = Annotated[int, Field(ge=1, le=2**53)]
When = Annotated[AwareDatetime, AfterValidator(lambda at: at.astimezone(UTC))]
Link = Annotated[str, Field(pattern=r"^(https?://\S{1,1000})?$")]
Lesson = Literal["", "ignore", "wrong", "known", "declined", "duplicate", "gone"]
CommandKind = Literal["bisect", "minimize", "retry", "ignore", "upstream", "help"]
Digest = Annotated[str, Field(pattern="^([0-9a-f]{32})?$")]
MOST, MOST_LEFT = 100_000, 100


class IssueRecord(Part):
    """An issue of the bot. build: the newest that the issue names. told: digest of the recurrence comment last written.

    closed_for: the build for which the bot closed it. regression: whether the bot has given it that label. teaching:
    the verdict of people; `declined` for closed as not planned, `gone` for deleted or moved. at: of the last change.
    """

    number: Number
    url: Link
    kind: Literal["bug", "umbrella"] = "bug"
    library: Name
    signatures: dict[Fingerprint, Text]
    title: Line = ""
    created_at: When
    build: Name = ""
    told: Digest = ""
    closed_for: Name = ""
    regression: bool = False
    teaching: Lesson = ""
    taught_at: When | None = None
    at: When

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the issue's first bug; empty where none is on record."""
        return next(iter(self.signatures), "")


class RunClaim(Part):
    """A run that is about to file a cluster: for an hour no other does."""

    run: Name
    at: When


class CommandRequest(Part):
    """A command that a person gave in a comment. said: the answer.

    settled: whether it is answered. A command for a fuzz job (bisect, minimize, retry) waits for its answer.
    """

    kind: CommandKind
    fingerprint: Fingerprint
    issue: Number
    comment: Number
    by: Name
    at: When
    settled: bool = False
    said: Line = ""

    @property
    def key(self) -> str:
        """One comment can hold several commands, each once."""
        return f"{self.comment}:{self.kind}"


class DraftRecord(Part):
    """A report for another repository. source: the issue of the bug. text: the digest of the exact text.

    under: the number of the issue there that gets the report as a comment; 0 for an issue of its own.

    url: where it was filed, empty before. refused: what was found against it when it was last approved.
    """

    number: Number
    source: Number
    upstream: Name
    under: Annotated[int, Field(ge=0, le=2**53)] = 0
    text: Fingerprint
    url: Link = ""
    refused: Line = ""
    at: When


class FilingStatus(Part):
    """How far the last report came. left: what is still to be done on GitHub, a line each; the state implies it.

    It is written together with the state, before GitHub is asked for anything, and again at the end.
    """

    run: Name
    at: When
    left: tuple[Line, ...] = Field((), max_length=MOST_LEFT)


class Filings(Part):
    """All of it. handled: comments that were read for commands, and when; swept: up to when all were read."""

    schema_: Annotated[Literal["nightfuzz-filings/1"], Field(alias="schema")] = "nightfuzz-filings/1"
    issues: dict[Number, IssueRecord] = Field(default_factory=dict, max_length=MOST)
    claims: dict[Fingerprint, RunClaim] = Field(default_factory=dict, max_length=MOST)
    requests: dict[Name, CommandRequest] = Field(default_factory=dict, max_length=MOST)
    drafts: dict[Fingerprint, DraftRecord] = Field(default_factory=dict, max_length=MOST)
    handled: dict[Number, When] = Field(default_factory=dict, max_length=MOST)
    swept: When | None = None
    status: FilingStatus | None = None

    def to_json(self) -> str:
        """The document; equal filings give equal text."""
        return self.model_dump_json(by_alias=True, indent=1)

    def with_issue(self, record: IssueRecord) -> Filings:
        """With this record in the place of an earlier one; what it claims of is filed."""
        claims = {key: claim for key, claim in self.claims.items() if key not in record.signatures}
        return self.model_copy(update={"issues": _sorted({**self.issues, record.number: record}), "claims": claims})

    def amended(self, number: int, now: datetime, **changes: Any) -> Filings:
        """With these fields of an issue's record changed; signatures are added. Raises KeyError without a record."""
        record = self.issues[number]
        signatures = {**record.signatures, **changes.pop("signatures", {})}
        # Later than before, also where the clock was turned back: the later record wins.
        at = now if now >= record.at else record.at + timedelta(microseconds=1)
        return self.with_issue(record.model_copy(update={**changes, "signatures": signatures, "at": at}))

    def with_request(self, request: CommandRequest) -> Filings:
        """With this request in the place of an earlier one with its key; its comment is handled."""
        handled = _sorted({**self.handled, request.comment: request.at})
        requests = _sorted({**self.requests, request.key: request})
        return self.model_copy(update={"handled": handled, "requests": requests})

    def with_answer(self, key: str, text: str, now: datetime) -> Filings:
        """With a request answered. Raises KeyError for a request that is not there."""
        update = {"settled": True, "said": " ".join(text.split())[:2_000], "at": now}
        return self.with_request(self.requests[key].model_copy(update=update))

    def with_left(self, run: str, now: datetime, *left: str) -> Filings:
        """With the status of a run that has still to do this on GitHub."""
        lines = tuple(" ".join(line.split())[:2_000] for line in dict.fromkeys(left))
        return self.model_copy(update={"status": FilingStatus(run=run or "0", at=now, left=lines[:MOST_LEFT])})

    def with_draft(self, fingerprint: str, draft: DraftRecord) -> Filings:
        """With this draft in the place of an earlier one of the same bug."""
        return self.model_copy(update={"drafts": _sorted({**self.drafts, fingerprint: draft})})

    def with_claims(self, fingerprints: Iterable[str], run: str, now: datetime) -> Filings:
        """With claims of a run on what it is about to file; those that have run out go, others' stay."""
        live = {key: claim for key, claim in self.claims.items() if abs(now - claim.at) < CLAIMED}
        mine = {key: RunClaim(run=run, at=now) for key in fingerprints}
        return self.model_copy(update={"claims": _sorted({**mine, **live})})

    def claimed(self, fingerprint: str, run: str, now: datetime) -> bool:
        """Whether another run is about to file this. A claim from the future is of a runner with a wrong clock."""
        claim = self.claims.get(fingerprint)
        return claim is not None and claim.run != run and abs(now - claim.at) < CLAIMED

    @property
    def waiting(self) -> tuple[CommandRequest, ...]:
        """Requests that fuzz jobs have not answered, the oldest first."""
        return tuple(sorted((each for each in self.requests.values() if not each.settled), key=lambda each: each.at))


def merged(first: Filings, second: Filings) -> Filings:
    """Merge the memory of two runs: the later of each pair of records wins. The order makes no difference.

    What was asked or handled more than `REMEMBERED` before the last comment goes, answered or not: where only what is
    answered went, an older copy would bring it back as if nobody had answered.
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
    """A fingerprint that one run has added to an issue stays, whatever the other wrote there later."""
    signatures = dict(sorted(pair for each in records for pair in each.signatures.items()))
    created = min(each.created_at for each in records)
    return latest.model_copy(update={"signatures": signatures, "created_at": created})


_Key = TypeVar("_Key", bound=int | str)
_Record = TypeVar("_Record")


def _latest(first: Mapping[_Key, _Record], second: Mapping[_Key, _Record]) -> dict[_Key, _Record]:
    both = {key: [each[key] for each in (first, second) if key in each] for key in {*first, *second}}
    return _sorted({key: max(records, key=_age) for key, records in both.items()})


def _age(record: Any) -> tuple[datetime, str]:
    """Records of one moment are ordered by their fields that are not joined, so the order of merges does not count."""
    return (record, "") if isinstance(record, datetime) else (record.at, record.model_dump_json(exclude=_JOINED))


def _sorted(table: dict[_Key, _Record]) -> dict[_Key, _Record]:
    return dict(sorted(table.items()))
