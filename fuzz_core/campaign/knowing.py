"""Whether a bug is to be reported: the registry of known findings is asked first."""

from __future__ import annotations

from fuzz_core.store.known import KNOWN, OPEN
from fuzz_core.store.records import BugRow
from fuzz_core.store.store import Store
from fuzz_core.triage.known import Known, Registry, Sighting


def match(store: Store, registry: Registry, bug: BugRow) -> Known | None:
    """The entry that a bug is known by."""
    target = store.target(bug.target)
    what = (bug.signature_text, bug.api, bug.oracle, bug.kind)
    return registry.match(Sighting(*what, store.modes_of(bug.id), target.library, target.version))


def consult(store: Store, registry: Registry, number: int, findings: int, new: bool) -> bool:
    """Whether a bug of which findings were just settled is to be reported: a known one is counted instead.

    It is where it is new, and where the entry that it was known by matches no longer.
    """
    bug = store.bug(number)
    entry = match(store, registry, bug)
    if entry is not None:
        store.count_known(entry.name, number, findings)
        return False
    if bug.status == KNOWN:
        store.reopen_bug(number)
        return True
    return new


def review(store: Store, registry: Registry, target: str | None = None) -> list[int]:
    """Holds all bugs (of one target) against the registry as it is now. Returns those that speak again."""
    speaking = []
    for bug in store.bugs(target):
        entry = match(store, registry, bug) if bug.status in (KNOWN, OPEN) else None
        if bug.status == OPEN and entry is not None:
            store.count_known(entry.name, bug.id, bug.findings)
        elif bug.status == KNOWN and entry is None:
            store.reopen_bug(bug.id)
            speaking.append(bug.id)
    return speaking
