"""`nightfuzz bump`: what another build of a dependency does otherwise around the calls of a project's own tests."""

from __future__ import annotations

import time
from dataclasses import replace

from fuzz_core.campaign.changes import OwnTests, dropped_apis, own_tests
from fuzz_core.campaign.session import Session
from fuzz_core.cli.commands.changes import changes_report, compare_builds
from fuzz_core.cli.errors import BUGS, INTERRUPTED
from fuzz_core.cli.output import CommandOutput, Report, TextTable, shorten
from fuzz_core.cli.session import TRACE_SHARE, check_stop, open_sessions, targets_of, trace_phase
from fuzz_core.cli.settings import Settings
from fuzz_core.ir.errors import UserError
from fuzz_core.store.records import TargetRecord

# The rest is for starting and ending.
COMPARED_BY = 0.95


def bump(settings: Settings, output: CommandOutput, old: str, new: str) -> Report:
    """Traces the user's own tests on the old build, and says what the new one does otherwise around those calls."""
    began = time.monotonic()
    if not settings.tests:
        raise UserError("no tests: the calls that they make are what is compared", "add --tests DIR")
    with open_sessions(settings, output, lambda store: targets_of(store, settings, new, old)) as [session, on_old]:
        before = on_old.target
        own = _trace_both(session, settings, before, began + settings.time * TRACE_SHARE)
        check_stop(session)
        dropped = dropped_apis(session.store, session.target.key, before.key, own.calls)
        compared = compare_builds(session, settings, before, began + settings.time * COMPARED_BY, before, own.calls)
        report = changes_report(session.store, compared.changes, (session.target, before), compared)
        stopped = session.stopped()
    text: list[str | TextTable] = []
    for each in own.untraced:
        what = f"{each.failed} of {each.tests} tests failed" if each.failed < each.tests else "not traced"
        text.append(f"{each.file}: {what}: {each.reason}")
    text.append(f"{own.tests} tests of {own.files} files traced on {before.key}, {len(own.calls):,} different calls")
    if dropped:
        rows = [[each.kind, each.api, each.said, shorten(each.seeds)] for each in dropped]
        text.append(TextTable(["api", "name", "what is said", "reached from"], rows))
    data = {
        "traced": {"files": own.files, "tests": own.tests, "calls": len(own.calls)},
        "untraced": [each._asdict() for each in own.untraced],
        "dropped_apis": [each._asdict() for each in dropped],
        **report.data,
    }
    bad = settings.fail_on_bugs and (compared.changes or dropped)
    return Report(data, [*text, *report.text], INTERRUPTED if stopped else BUGS if bad else 0)


def _trace_both(session: Session, settings: Settings, before: TargetRecord, deadline: float) -> OwnTests:
    """The tests on the old build, and the apis of either."""
    on_old = replace(session, target=before)
    trace_phase(on_old, settings.model_copy(update={"source": ["tests"]}), own=True, deadline=deadline)
    check_stop(session)
    own = own_tests(on_old, settings.tests)
    trace_phase(session, settings.model_copy(update={"source": []}), own=True)
    return own
