"""`nightfuzz bump`: what another build of a dependency does otherwise around the calls of a project's own tests."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from fuzz_core.campaign.changes import Dropped, OwnTests, dropped_apis, own_tests
from fuzz_core.campaign.comparison import CompareReport, by_cause, worst_first
from fuzz_core.campaign.session import Session
from fuzz_core.cli.commands.changes import changes_report, compare_builds, difference
from fuzz_core.cli.errors import BUGS, INTERRUPTED
from fuzz_core.cli.output import CommandOutput, Report, TextTable, Verbatim, shorten
from fuzz_core.cli.session import TRACE_SHARE, check_stop, open_sessions, targets_of, trace_phase
from fuzz_core.cli.settings import Settings
from fuzz_core.ir.errors import UserError
from fuzz_core.store.checks import Change
from fuzz_core.store.records import TargetRecord

# The remaining time is for starting and ending.
COMPARED_BY = 0.95
# Scripts that are printed, one for each cause; tests that the answer names.
SCRIPTS, NAMED = 3, 5


def bump(settings: Settings, output: CommandOutput, old: str, new: str) -> Report:
    """Trace the user's own tests on the old build, and say what the new one does otherwise around those calls."""
    began = time.monotonic()
    if not settings.tests:
        raise UserError(
            "bump runs the calls of your tests on two builds, and no test directory is named", "add --tests DIR"
        )
    with open_sessions(settings, output, lambda store: targets_of(store, settings, new, old)) as [session, on_old]:
        before = on_old.target
        own = _trace_both(session, settings, before, began + settings.time * TRACE_SHARE)
        check_stop(session)
        dropped = dropped_apis(session.store, session.target.key, before.key, own.calls)
        compared = compare_builds(session, settings, before, began + settings.time * COMPARED_BY, before, own.calls)
        report = changes_report(session.store, compared.changes, (session.target, before), compared)
        answer = _answer(session, before, own, compared, dropped)
        stopped = session.stopped()
    text: list[str | TextTable] = [str(answer["text"])]
    if dropped:
        rows = [[each.kind, each.api, each.said, shorten(each.seeds)] for each in dropped]
        text.append(TextTable(["change", "api", "message", "called by"], rows))
    text += report.text
    causes = _causes(compared.changes)
    for first, *_ in causes[:SCRIPTS]:
        text += ["", f"{first.kind}: {first.api}: {difference(first)}", "", Verbatim(first.script)]
    if len(causes) > SCRIPTS:
        text.append(f"{len(causes) - SCRIPTS} more scripts: `nightfuzz changes --json` prints them")
    for each in own.untraced:
        what = f"{each.failed} of {each.tests} tests failed" if each.failed < each.tests else "not traced"
        text.append(f"{each.file}: {what}: {each.reason}")
    text.append(f"{own.tests} tests of {own.files} files traced on {before.key}: {len(own.calls):,} different calls")
    data = {
        "answer": answer,
        "traced": {"files": own.files, "tests": own.tests, "calls": len(own.calls)},
        "untraced": [each._asdict() for each in own.untraced],
        "dropped_apis": [each._asdict() for each in dropped],
        **report.data,
    }
    bad = settings.fail_on_bugs and (compared.changes or dropped)
    return Report(data, text, INTERRUPTED if stopped else BUGS if bad else 0)


def _causes(changes: Sequence[Change]) -> list[list[Change]]:
    return list(by_cause(worst_first(changes)).values())


def _answer(
    session: Session, before: TargetRecord, own: OwnTests, compared: CompareReport, dropped: Sequence[Dropped]
) -> dict[str, object]:
    """Say in a sentence and as data whether the user's own calls do the same on both builds.

    The data's `tests` are those whose own calls change. A change that only a mutated call shows counts as none.
    """
    plain = [change for change in compared.changes if not change.test.rules]
    names = {name for change in plain for name in session.store.seeds_of(change.test.origin)}
    names |= {name for each in dropped for name in each.seeds}
    between = f"between {before.version} and {session.target.version}"
    tests = f"your {own.tests} {'traced ' * bool(own.untraced)}tests"
    missing = len(own.calls) - compared.plain
    if names:
        makes = "makes" if len(names) == 1 else "make"
        text = f"{len(names)} of {tests} {makes} calls that change {between}: {', '.join(sorted(names)[:NAMED])}"
        text += f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    elif missing > 0:
        text = f"Unknown: {missing:,} of the {len(own.calls):,} calls of {tests} were not compared in time"
        text += f" {between}. No other call changes. Use a longer --time"
    else:
        around = len(_causes(compared.changes))
        text = f"No call of {tests} changes {between}, in {compared.tests:,} test cases"
        text += f". {around} differences of similar calls follow" if around else ""
    safe = not names and missing <= 0
    return {"safe": safe, "text": f"{text}.", "compared_calls": compared.plain, "tests": sorted(names)}


def _trace_both(session: Session, settings: Settings, before: TargetRecord, deadline: float) -> OwnTests:
    """Return the tests on the old build, and the apis of either."""
    on_old = replace(session, target=before)
    trace_phase(on_old, settings.model_copy(update={"source": ["tests"]}), own=True, deadline=deadline)
    check_stop(session)
    own = own_tests(on_old, settings.tests)
    trace_phase(session, settings.model_copy(update={"source": []}), own=True)
    return own
