"""Rules of maintainers about reports: which ones hold for an api, and which have to be read again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from functools import cache

from fuzz_core.adapters.dialect import profile_of
from fuzz_core.adapters.library import KNOWN_LIBRARIES, Disclosure

FRESH = timedelta(days=180)


@cache
def disclosures() -> Mapping[str, Disclosure]:
    """Return the rules of all trackers, by the beginning of the names of apis; the longest beginning counts."""
    profiles = [profile for name in KNOWN_LIBRARIES if (profile := profile_of(name)) is not None]
    found = {prefix: rules for profile in profiles for prefix, rules in profile.disclosures.items()}
    return dict(sorted(found.items(), key=lambda item: -len(item[0])))


def disclosure_of(api: str) -> Disclosure | None:
    """Return the rules of the tracker that takes bugs of an api; None for a library without any."""
    return next((rules for prefix, rules in disclosures().items() if f"{api}.".startswith(f"{prefix}.")), None)


def outdated(rules: Disclosure, today: date) -> str:
    """Say that rules were read too long ago; empty if all of them are fresh enough."""
    oldest = min(rules.sources.values(), key=lambda source: source.read, default=None)
    if oldest is None or today - oldest.read <= FRESH:
        return ""
    return (
        f"the rules of {rules.repository} were read on {oldest.read}, {(today - oldest.read).days} days ago: "
        f"look whether they still hold ({oldest.page})"
    )
