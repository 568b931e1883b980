"""Which runner is about to file what: written to the state's place before anything is filed, so nothing is twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from bot.state.place import CLAIMS, Place, revise

# A job ends within six hours on a hosted runner: whoever claimed it before that is gone.
LASTS = timedelta(hours=6)
MANY = 10_000


class Claim(BaseModel):
    """by: a name that no other runner has. at: when it said so."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    by: Annotated[str, Field(max_length=200)]
    at: datetime


_CLAIMS = TypeAdapter(Annotated[dict[Annotated[str, Field(max_length=200)], Claim], Field(max_length=MANY)])


def claim(place: Place, fingerprints: Iterable[str], by: str, clock: Callable[[], datetime]) -> frozenset[str]:
    """Of these fingerprints those that are ours to file from now on: no other runner's claim on them still stands."""
    wanted = frozenset(fingerprints)
    ours: frozenset[str] = frozenset()

    def change(content: bytes) -> bytes:
        nonlocal ours
        now = clock()
        standing = {key: one for key, one in _read(content).items() if now - one.at < LASTS}
        ours = frozenset(key for key in wanted if key not in standing or standing[key].by == by)
        return _written({**standing, **{key: Claim(by=by, at=now) for key in sorted(ours)}})

    if wanted:
        revise(place, CLAIMS, change, f"{by} files {len(wanted)}")
    return ours


def release(place: Place, fingerprints: Iterable[str], by: str) -> None:
    """Gives claims back: what was filed is on record elsewhere, what was not is anybody's."""
    done = frozenset(fingerprints)

    def change(content: bytes) -> bytes:
        return _written({key: one for key, one in _read(content).items() if key not in done or one.by != by})

    if done:
        revise(place, CLAIMS, change, f"{by} has filed {len(done)}")


def _read(content: bytes) -> Mapping[str, Claim]:
    """Claims that cannot be read are none: what they are for is looked up at GitHub too, before and after filing."""
    try:
        return _CLAIMS.validate_json(content or b"{}")
    except ValidationError:
        return {}


def _written(claims: Mapping[str, Claim]) -> bytes:
    return _CLAIMS.dump_json(dict(sorted(claims.items())), indent=1) + b"\n"
