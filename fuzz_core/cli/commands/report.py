"""`nightfuzz report`: a bug, a regression or a batch of bugs as the text of an issue. The command sends no data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.adapters.disclosure import disclosure_of, outdated
from fuzz_core.adapters.library import library_of
from fuzz_core.campaign.cases import (
    ENVIRONMENT,
    JudgedBug,
    batch,
    case,
    is_for_umbrella,
    keep_environment,
    with_privacy,
)
from fuzz_core.cli.output import CommandOutput, Report
from fuzz_core.cli.settings import Settings
from fuzz_core.cli.state import open_state, read_state, target_key, today
from fuzz_core.cli.streams import printable
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.files import write_whole
from fuzz_core.store.records import BugRow, TargetRecord
from fuzz_core.store.store import Store
from fuzz_core.targets.facts import Environment, collect_env, environment_from_json, without_places
from fuzz_core.triage.process import run_python, run_script, signal_name
from fuzz_core.worker.scripts import SCRIPT_NAME
from nightfuzz.reports.case import Baseline, BugCase
from nightfuzz.reports.issues import bug_report, missing_parts, regression_report, umbrella_report

SCRIPT_SECONDS = 60.0
_COLOUR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")


def report(
    settings: Settings,
    output: CommandOutput,
    bugs: list[int],
    umbrella: bool,
    regression: bool,
    baseline: str | None,
    run_now: bool,
    private: bool,
    file: Path | None,
) -> Report:
    """Print or write the text.

    Args:
        baseline: key of a target.
        run_now: whether the script is run for its output.

    Raises:
        UserError: the bug is private and `private` is not set, no bug is meant, or a bug is not for an umbrella.
    """
    with read_state(settings) as store:
        cases = []
        for each in _chosen(store, settings, bugs, umbrella):
            against = _baseline(store, each.row, baseline, settings.confirm_runs) if regression else None
            printed = _script_output(store.target(each.row.target), each.row) if run_now else ""
            cases.append(case(store, each, against, printed))
    if cases:
        environment = _environment(settings, output, cases[0].target)
        cases = [each._replace(environment=environment) for each in cases]
    one = regression_report if regression else bug_report
    issue = umbrella_report(cases) if umbrella else one(cases[0], private)
    if any(each.severity.private for each in cases):
        output.note("private: send this only to the library's security contact, never to a public place")
    for note in _reader_notes(cases, umbrella):
        output.note(note)
    missing = [] if umbrella else missing_parts(str(issue), cases[0].target.library)
    if missing:
        output.note(f"the report lacks: {', '.join(missing)}")
    data = {"text": str(issue), "private": any(each.severity.private for each in cases), "missing": missing}
    if file is None:
        if not output.as_json:
            print(printable(str(issue)))
        return Report(data)
    try:
        write_whole(file, str(issue))
    except OSError as error:
        raise UserError(f"cannot write {file}: {error.strerror}", "name another file with --output") from error
    output.note(f"written to {file}")
    return Report(data)


def _reader_notes(cases: Sequence[BugCase], umbrella: bool) -> list[str]:
    """List the facts that a person has to know before the text goes to the library's tracker."""
    rules = disclosure_of(cases[0].bug.api)
    if rules is None:
        return []
    first = cases[0]
    place = f"{rules.repository}#{rules.umbrella}"
    checked = f"{first.target.library} {first.target.version}"
    newest = library_of(first.target.library).newest
    notes = {
        f"{rules.repository}: {rules.why}": True,
        f"post it as a comment in {place}, not as an issue of its own": umbrella and rules.umbrella > 0,
        f"only {checked} was run: run `nightfuzz recheck {first.bug.id} --target {newest}` before you post": (
            not first.nightly and not first.shown_on
        ),
        f"{rules.repository} does not want bugs that only {first.bug.api} shows": not any(
            map(rules.takes, (first.bug.api, *first.also))
        ),
        f"{rules.repository} takes only reports about the newest version": rules.newest_only,
        outdated(rules, today()): True,
    }
    return [note for note, holds in notes.items() if note and holds]


def _chosen(store: Store, settings: Settings, numbers: Sequence[int], umbrella: bool) -> list[JudgedBug]:
    if umbrella and not numbers:
        return batch(with_privacy(store, store.bugs(target_key(store, settings.target))))
    if len(numbers) != 1 and not umbrella:
        problem = f"a report is about one bug, but {len(numbers) or 'no'} numbers are given"
        raise UserError(problem, "give one number, or add --umbrella to list several bugs in one report")
    targets = {store.bug(number).target for number in numbers}
    if len(targets) > 1:
        raise UserError(
            f"these bugs are of several targets: {', '.join(sorted(targets))}",
            "give only bugs of one target; `nightfuzz bugs --target TARGET` lists them",
        )
    by_number = {each.row.id: each for each in with_privacy(store, store.bugs(targets.pop()))}
    chosen = [by_number[number] for number in numbers]
    for each in chosen if umbrella else []:
        if not is_for_umbrella(each):
            raise UserError(
                f"bug {each.row.id} ({each.row.kind}) gets an issue of its own",
                f"write its issue with `nightfuzz report {each.row.id}`",
            )
    return chosen


def _script_output(target: TargetRecord, bug: BugRow) -> str:
    """Run the script in a fresh process and return its whole output.

    The output has the library's log, but no paths of this machine.
    """
    files, dialect = {SCRIPT_NAME: bug.script}, dialect_of(target.library)
    done = run_python(target.python, files, dialect, SCRIPT_SECONDS, env=dialect.verbose)
    end = "stopped at the time limit" if done.code is None else f"exit status {done.code}"
    if done.code is not None and done.code < 0:
        end = f"ended by {signal_name(-done.code)}"
    printed = _COLOUR.sub("", f"{done.stdout}{done.stderr}")
    return without_places(f"{printed}\n{end}", target.python)


def _baseline(store: Store, bug: BugRow, key: str | None, runs: int) -> Baseline:
    """Run the script on the baseline, and return that build.

    Raises:
        UserError: the script fails there too, even once.
    """
    if key is None:
        raise UserError("--regression needs a build that does not show the bug", "name the build with --baseline")
    target = store.target(key)
    for _ in range(runs):
        outcome = run_script(target.python, bug.script, dialect_of(target.library), SCRIPT_SECONDS)
        if (outcome.kind, outcome.name) == (bug.outcome.kind, bug.outcome.name) or outcome.kind != "ok":
            raise UserError(
                f"on the baseline {key} the script of bug {bug.id} ended with {outcome.kind} {outcome.name}".rstrip(),
                "name a build on which the script succeeds with --baseline, or leave out --regression",
            )
    return Baseline(target.version, "ok", runs)


def _environment(settings: Settings, output: CommandOutput, target: TargetRecord) -> Environment:
    """Return the versions; where they cannot be kept, that is said and they are gathered again the next time."""
    kept = environment_from_json(target.info.get(ENVIRONMENT))
    if kept is not None:
        return kept
    try:
        with open_state(settings) as store:
            return keep_environment(store, target)
    except UserError as error:
        output.note(f"the versions of the environment are not saved: {error.problem}")
        return collect_env(target.python, target.library)
