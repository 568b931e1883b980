"""`nightfuzz known`: what is reported already, or declared by the library, and how often it was met again."""

from __future__ import annotations

from datetime import date
from typing import Any

from fuzz_core.campaign.cases import match, review_known
from fuzz_core.cli.output import CommandOutput, Report, TextTable
from fuzz_core.cli.settings import Settings
from fuzz_core.cli.state import open_state, read_state, state_file, today
from fuzz_core.ir.errors import UserError
from fuzz_core.store.checks import KnownCount
from fuzz_core.store.records import BugRow, TargetRecord
from fuzz_core.triage.known import KnownEntry, Registry, add_entry, entry_of, load_registry, remove_entry

MATCHED = 80
SHIPPED = "nightfuzz ships this entry; to replace it, write an entry of the same name into your file of known findings"


def add(
    settings: Settings, output: CommandOutput, bug: int, issue: str | None, reason: str | None, expires: str | None
) -> Report:
    """Write a bug into the user's file; from then on it is counted, not reported."""
    file = settings.known
    with open_state(settings) as store:
        row = store.bug(bug)
        registry = load_registry(file, today())
        already = match(store, registry, row)
        if already is not None:
            remedy = SHIPPED
            if already.name in registry.own:
                remedy = f"to replace the entry, run `nightfuzz known remove {already.name}` first"
            raise UserError(f"the entry {already.name!r} already covers bug {bug}", remedy)
        given = {"issue": issue, "reason": reason, "expires": _day(expires)}
        entry = _entry_for(row, store.target(row.target), registry, given)
        add_entry(file, entry)
        review_known(store, load_registry(file, today()))
    text = f"{entry.name}: added to {file}; later runs count bug {bug} and do not report it"
    return Report({"name": entry.name, "file": str(file), "bug": bug}, [text])


def _entry_for(bug: BugRow, target: TargetRecord, registry: Registry, given: dict[str, Any]) -> KnownEntry:
    """Make an entry for the bug's own signature, under a name that is free."""
    stem, taken = f"{bug.api}-{bug.kind}", {entry.name for entry in registry.entries}
    names = (stem, *(f"{stem}-{number}" for number in range(2, len(taken) + 3)))
    name = next(name for name in names if name not in taken)
    row = {"name": name, "signature": bug.signature_text, "library": target.library, **given}
    return entry_of({key: value for key, value in row.items() if value is not None}, f"bug {bug.id}")


def _day(text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError as error:
        raise UserError(f"--expires {text!r} is not a date", "write a date such as 2027-03-31") from error


def list_entries(settings: Settings, output: CommandOutput) -> Report:
    """List all entries with their matches and their dates of expiry."""
    registry, file = load_registry(settings.known, today()), state_file(settings)
    counts: dict[str, KnownCount] = {}
    # If there is no state file, no entry has matched yet, and the entries can still be listed.
    if file.exists():
        with read_state(settings) as store:
            counts = store.known_counts()
    rows = [_row(registry, entry, counts.get(entry.name)) for entry in registry.entries]
    shown = [
        [
            row["name"],
            row["origin"],
            _what(row),
            f"{row['expires'] or 'never'}{' (expired)' * row['expired']}",
            row["bugs"],
            row["findings"],
            row["last_seen"] or "never",
        ]
        for row in rows
    ]
    table = TextTable(["entry", "from", "matches", "expires", "bugs", "findings", "last"], shown)
    return Report(rows, [table, f"{len(rows)} entries; yours are in {settings.known}"])


def _row(registry: Registry, entry: KnownEntry, count: KnownCount | None) -> dict[str, Any]:
    seen = count or KnownCount(entry.name, 0, 0, "")
    return {
        **entry.model_dump(mode="json"),
        "origin": "yours" if entry.name in registry.own else "shipped",
        "expired": entry.expired(registry.today),
        "bugs": seen.bugs,
        "findings": seen.findings,
        "last_seen": seen.last_seen or None,
    }


def _what(row: dict[str, Any]) -> str:
    """Return the first thing that it asks for, in short; the file and the JSON have all of it."""
    key = next(key for key in ("signature", "pattern", "api") if row[key])
    value = row[key]
    if isinstance(value, list):
        value = f"{value[0]} +{len(value) - 1}" if len(value) > 1 else value[0]
    return f"{key} {value}"[:MATCHED] + (f" in mode {row['mode']}" if row["mode"] else "")


def remove(settings: Settings, output: CommandOutput, name: str) -> Report:
    """Take an entry out of the user's file; what only it matched is reported again."""
    if name in load_registry(settings.known, today()).shipped:
        raise UserError(
            f"nightfuzz ships the entry {name!r}, so it cannot be removed",
            "to replace the entry, write an entry of the same name into your file of known findings",
        )
    file = state_file(settings)
    if not file.exists():
        remove_entry(settings.known, name)
        speaking = []
    else:
        with open_state(settings) as store:
            remove_entry(settings.known, name)
            speaking = review_known(store, load_registry(settings.known, today()))
    again = f"; reported again: bug {', '.join(map(str, speaking))}" if speaking else ""
    text = f"{name}: removed from {settings.known}{again}"
    return Report({"name": name, "file": str(settings.known), "reported_again": list(speaking)}, [text])
