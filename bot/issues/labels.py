"""The labels that the bot sets, and those by which people teach it. They are made where they are missing."""

from __future__ import annotations

from typing import Literal

OURS = "nightfuzz"
REGRESSION = "nightfuzz:regression"
UMBRELLA = "nightfuzz:umbrella"
IGNORE = "nightfuzz:ignore"
WRONG = "nightfuzz:wrong"
KNOWN = "nightfuzz:known"
DRAFT = "nightfuzz:draft"
APPROVE = "nightfuzz:approve-upstream"

# Colour and description (100 characters at most) of each.
LABELS = {
    OURS: ("1d76db", "Filed by nightfuzz"),
    REGRESSION: ("b60205", "An earlier build does not show it"),
    UMBRELLA: ("c5def5", "Crashes on corner-case arguments, batched"),
    IGNORE: ("cfd3d7", "For people: nightfuzz says no more of this"),
    WRONG: ("cfd3d7", "For people: this is no bug; nightfuzz says no more of it"),
    KNOWN: ("cfd3d7", "For people: reported elsewhere already; nightfuzz says no more of it"),
    DRAFT: ("fbca04", "The text of a report to another repository, for a person to read"),
    APPROVE: ("0e8a16", "For people with write access: nightfuzz may file this text upstream"),
}
# What each teaches; where an issue has several, the first.
TEACHING: dict[str, Literal["wrong", "known", "ignore"]] = {WRONG: "wrong", KNOWN: "known", IGNORE: "ignore"}
