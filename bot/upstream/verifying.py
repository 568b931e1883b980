"""What the newest build on record does with a bug's script: out of the state, without running anything."""

from __future__ import annotations

from collections.abc import Callable

from fuzz_core.campaign.history import ordered
from fuzz_core.store.records import BugRow, TargetRecord
from fuzz_core.store.store import Store
from fuzz_core.triage.recheck import SHOWN, UNRUNNABLE
from nightfuzz.bot.upstream.approving import Verified


def verifier(store: Store) -> Callable[[str], Verified]:
    """Answers by fingerprint. A bug counts as shown where every run of its script on the newest build showed it."""
    targets, later = store.targets(), store.later_rows()
    rows = {(bug.signature, bug.target): bug for bug in store.bugs()}
    home = {target.key: target.library for target in targets}
    newest = {library: ordered(targets, library)[-1] for library in set(home.values())}

    def verify(fingerprint: str) -> Verified:
        found = [bug for (signature, _), bug in rows.items() if signature == fingerprint]
        if not found:
            return Verified("unknown")
        build = newest[home[found[0].target]]
        numbers = {later.get(bug.id, bug.id) for bug in found}
        return _checked(store, build, numbers) or _found(rows.get((fingerprint, build.key)), build)

    return verify


def _checked(store: Store, build: TargetRecord, numbers: set[int]) -> Verified | None:
    """What the last check on a build says; None where there is none that could run."""
    checks = [check for number in numbers for check in store.checks(number) if check.target == build.key]
    last = next((check for check in reversed(checks) if check.status != UNRUNNABLE), None)
    if last is None:
        return None
    shown = last.status == SHOWN and last.hits == last.runs
    return Verified("shown" if shown else "clean", build.version)


def _found(bug: BugRow | None, build: TargetRecord) -> Verified:
    """What was seen when it was found on that build itself."""
    if bug is None:
        return Verified("unknown", build.version)
    return Verified("shown" if bug.hits == bug.runs else "clean", build.version)
