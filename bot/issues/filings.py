"""What the bot remembers of GitHub from run to run: `filings.json`, kept beside the state, which does not read it.

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
Taught = Literal["", "ignore", "wrong", "known", "declined", "duplicate", "gone"]
Digest = Annotated[str, Field(pattern="^([0-9a-f]{32})?$")]
MOST = 100_000


class Filed(Part):
    """An issue of ours. build: the newest that its readers were told of. told: of the recurrence comment last written.

    closed_for: the build for which we closed it. regression: whether it has had that label of us. teaching: what people
    said of it; `declined` for closed as not planned, `gone` for deleted or moved. at: when this record last changed.
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
    teaching: Taught = ""
    taught_at: When | None = None
    at: When

    @property
    def fingerprint(self) -> str:
        """Of the bug that it was filed about; empty where none is on record."""
        return next(iter(self.signatures), "")


class Claim(Part):
    """A run that is about to file a cluster: for an hour no other does."""

    run: Name
    at: When


class Request(Part):
    """A command that a person gave in a comment, and what became of it.

    What a fuzz job has to do (bisect, minimize, retry) waits until it is `settled`; said: the answer.
    """

    kind: Literal["bisect", "minimize", "retry", "ignore", "upstream", "help"]
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


class Draft(Part):
    """A report for another repository. source: the issue of the bug. text: the digest of the exact text.

    url: where it was filed, empty before. refused: what was found against it when it was last approved.
    """

    number: Number
    source: Number
    upstream: Name
    text: Fingerprint
    url: Link = ""
    refused: Line = ""
    at: When


class Filings(Part):
    """All of it. handled: comments that were read for commands, and when; swept: up to when all were read."""

    schema_: Annotated[Literal["nightfuzz-filings/1"], Field(alias="schema")] = "nightfuzz-filings/1"
    issues: dict[Number, Filed] = Field(default_factory=dict, max_length=MOST)
    claims: dict[Fingerprint, Claim] = Field(default_factory=dict, max_length=MOST)
    requests: dict[Name, Request] = Field(default_factory=dict, max_length=MOST)
    drafts: dict[Fingerprint, Draft] = Field(default_factory=dict, max_length=MOST)
    handled: dict[Number, When] = Field(default_factory=dict, max_length=MOST)
    swept: When | None = None

    def to_json(self) -> str:
        """The document; equal filings give equal text."""
        return self.model_dump_json(by_alias=True, indent=1)

    def with_issue(self, filed: Filed) -> Filings:
        """With this record in the place of an earlier one; what it claims of is filed."""
        claims = {key: claim for key, claim in self.claims.items() if key not in filed.signatures}
        return self.model_copy(update={"issues": _sorted({**self.issues, filed.number: filed}), "claims": claims})

    def amended(self, number: int, now: datetime, **changes: Any) -> Filings:
        """With these fields of an issue's record changed; signatures are added. Raises KeyError without a record."""
        filed = self.issues[number]
        signatures = {**filed.signatures, **changes.pop("signatures", {})}
        return self.with_issue(filed.model_copy(update={**changes, "signatures": signatures, "at": now}))

    def with_request(self, request: Request) -> Filings:
        """With this request in the place of an earlier one with its key; its comment is handled."""
        handled = _sorted({**self.handled, request.comment: request.at})
        requests = _sorted({**self.requests, request.key: request})
        return self.model_copy(update={"handled": handled, "requests": requests})

    def with_draft(self, fingerprint: str, draft: Draft) -> Filings:
        """With this draft in the place of an earlier one of the same bug."""
        return self.model_copy(update={"drafts": _sorted({**self.drafts, fingerprint: draft})})

    def with_claims(self, fingerprints: Iterable[str], run: str, now: datetime) -> Filings:
        """With claims of a run on what it is about to file; those that have run out go, others' stay."""
        live = {key: claim for key, claim in self.claims.items() if now - claim.at < CLAIMED}
        mine = {key: Claim(run=run, at=now) for key in fingerprints}
        return self.model_copy(update={"claims": _sorted({**mine, **live})})

    def claimed(self, fingerprint: str, run: str, now: datetime) -> bool:
        """Whether another run is about to file this."""
        claim = self.claims.get(fingerprint)
        return claim is not None and claim.run != run and now - claim.at < CLAIMED

    @property
    def waiting(self) -> tuple[Request, ...]:
        """What fuzz jobs still have to do, the oldest first."""
        return tuple(sorted((each for each in self.requests.values() if not each.settled), key=lambda each: each.at))


def settled(filings: Filings, key: str, said: str, now: datetime) -> Filings:
    """With a request answered. Raises KeyError for one that is not there."""
    update = {"settled": True, "said": " ".join(said.split())[:2_000], "at": now}
    return filings.with_request(filings.requests[key].model_copy(update=update))


def merged(first: Filings, second: Filings) -> Filings:
    """What two runs remember, put together: of each record the later. The order makes no difference.

    What was asked or handled more than `REMEMBERED` before the last comment goes, settled or not: where only what is
    settled went, an older copy would bring it back as if nobody had answered.
    """
    handled = _latest(first.handled, second.handled)
    limit = max(handled.values()) - REMEMBERED if handled else datetime.min.replace(tzinfo=UTC)
    requests = _latest(first.requests, second.requests)
    filed = _latest(first.issues, second.issues)
    return Filings(
        issues={number: _with_all(each, first, second) for number, each in filed.items()},
        claims=_latest(first.claims, second.claims),
        requests={key: each for key, each in requests.items() if each.at >= limit},
        drafts=_latest(first.drafts, second.drafts),
        handled={key: at for key, at in handled.items() if at >= limit},
        swept=min((each for each in (first.swept, second.swept) if each), default=None),
    )


def _with_all(filed: Filed, *both: Filings) -> Filed:
    """A fingerprint that one run has added to an issue stays, whatever the other wrote there later."""
    records = [filings.issues[filed.number] for filings in both if filed.number in filings.issues]
    signatures = dict(sorted(pair for each in records for pair in each.signatures.items()))
    created = min(each.created_at for each in records)
    return filed.model_copy(update={"signatures": signatures, "created_at": created})


_Key = TypeVar("_Key", bound=int | str)
_Kept = TypeVar("_Kept")


def _latest(first: Mapping[_Key, _Kept], second: Mapping[_Key, _Kept]) -> dict[_Key, _Kept]:
    both = {key: [each[key] for each in (first, second) if key in each] for key in {*first, *second}}
    return _sorted({key: max(records, key=_age) for key, records in both.items()})


def _age(record: Any) -> tuple[datetime, str]:
    """Records of one moment are told apart by the text of what is not joined, so that all orders give the same."""
    return (record, "") if isinstance(record, datetime) else (record.at, record.model_dump_json(exclude=_JOINED))


def _sorted(table: dict[_Key, _Kept]) -> dict[_Key, _Kept]:
    return dict(sorted(table.items()))
