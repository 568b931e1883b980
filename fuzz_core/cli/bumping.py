"""`nightfuzz bump`: what another build of a dependency does otherwise around the calls of a project's own tests."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console

from fuzz_core.campaign.changes import Dropped, OwnTests, dropped_apis, own_tests
from fuzz_core.campaign.session import Session
from fuzz_core.cli.boundary import BUGS, INTERRUPTED
from fuzz_core.cli.comparing import changes_json, compare_phase, print_changes, shortened
from fuzz_core.cli.config import Settings
from fuzz_core.cli.display import table
from fuzz_core.cli.targets import target_of
from fuzz_core.cli.work import TRACE_SHARE, check, session_of, trace_phase
from fuzz_core.ir.errors import UserError
from fuzz_core.store.records import TargetRecord

# The rest is for starting and ending.
COMPARED_BY = 0.95


def bump(settings: Settings, console: Console, old: str, new: str, as_json: bool) -> int:
    """Traces the user's own tests on the old build, and says what the new one does otherwise around those calls."""
    began = time.monotonic()
    if not settings.tests:
        raise UserError("no tests: the calls that they make are what is compared", "add --tests DIR")
    with session_of(settings.model_copy(update={"target": new}), console, as_json) as session:
        before = target_of(session.store, settings.model_copy(update={"target": old}))
        own = _trace_both(session, settings, before, began + settings.time * TRACE_SHARE)
        check(session.stopped)
        dropped = dropped_apis(session.store, session.target.key, before.key, own.calls)
        end, most = began + settings.time * COMPARED_BY, settings.tests_count
        report = compare_phase(session, settings, before, end, before, own.calls, most)
        stopped, builds = session.stopped(), (session.target, before)
        if as_json:
            told = {**_json(own, dropped), **changes_json(session.store, report.changes, builds, report)}
            console.print_json(json.dumps(told))
        else:
            _print(console, own, dropped, before)
            print_changes(session.store, console, report.changes, False, builds, report)
    if stopped:
        return INTERRUPTED
    return BUGS if settings.fail_on_bugs and (report.changes or dropped) else 0


def _trace_both(session: Session, settings: Settings, before: TargetRecord, deadline: float) -> OwnTests:
    """The tests on the old build, and the apis of either."""
    on_old = replace(session, target=before)
    trace_phase(on_old, settings.model_copy(update={"source": ["tests"]}), own=True, deadline=deadline)
    check(session.stopped)
    own = own_tests(on_old, settings.tests)
    trace_phase(session, settings.model_copy(update={"source": []}), own=True)
    return own


def _print(console: Console, own: OwnTests, dropped: Sequence[Dropped], before: TargetRecord) -> None:
    for each in own.untraced:
        what = f"{each.failed} of {each.tests} tests failed" if each.failed < each.tests else "not traced"
        console.print(f"{each.file}: {what}: {each.reason}", markup=False, soft_wrap=True)
    told = f"{own.tests} tests of {own.files} files traced on {before.key}, {len(own.calls):,} different calls"
    console.print(told, markup=False, soft_wrap=True)
    if dropped:
        rows: list[list[object]] = [
            [each.kind, each.api, each.said, "\n".join(shortened(each.seeds))] for each in dropped
        ]
        table(console, ["api", "name", "what is said", "reached from"], rows)


def _json(own: OwnTests, dropped: Sequence[Dropped]) -> dict[str, Any]:
    traced = {"files": own.files, "tests": own.tests, "calls": len(own.calls)}
    untraced = [each._asdict() for each in own.untraced]
    return {"traced": traced, "untraced": untraced, "dropped_apis": [each._asdict() for each in dropped]}
