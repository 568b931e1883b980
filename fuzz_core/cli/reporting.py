"""`nightfuzz report`: a bug, a regression or a batch of crashes as the text of an issue. Nothing is sent anywhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.campaign.cases import ENVIRONMENT, Judged, batch, case, guarded, keep_environment
from fuzz_core.cli.config import Settings
from fuzz_core.cli.display import printable
from fuzz_core.cli.state import state_file, target_key
from fuzz_core.ir.errors import UserError
from fuzz_core.store.opening import open_store
from fuzz_core.store.records import BugRow, TargetRecord
from fuzz_core.store.store import Store
from fuzz_core.targets.collect_env import Environment, collect_env, environment_from_json, without_places
from fuzz_core.triage.process import SCRIPT_NAME, run_python, run_script
from nightfuzz.reports.case import Baseline, Case
from nightfuzz.reports.issues import Issue, bug_report, missing_parts, regression_report, umbrella_report

SCRIPT_SECONDS = 60.0
_COLOUR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")


class Wanted(NamedTuple):
    """What the command line asks for. baseline: key of a target. run_now: whether the script is run for its output."""

    umbrella: bool = False
    regression: bool = False
    baseline: str | None = None
    run_now: bool = False
    private: bool = False
    output: Path | None = None


def report(settings: Settings, console: Console, numbers: Sequence[int], wanted: Wanted) -> int:
    """Prints or writes the text. Raises UserError for a private bug without `private`, and where none is meant."""
    with open_store(state_file(settings), read_only=True) as store:
        chosen = _chosen(store, settings, numbers, wanted)
        cases = [_case(store, each, wanted, settings.confirm_runs) for each in chosen]
    if cases:
        environment = _environment(settings, cases[0].target)
        cases = [each._replace(environment=environment) for each in cases]
    _write(_issue(cases, wanted), cases, wanted)
    return 0


def _chosen(store: Store, settings: Settings, numbers: Sequence[int], wanted: Wanted) -> list[Judged]:
    if wanted.umbrella and not numbers:
        return batch(guarded(store, store.bugs(target_key(store, settings.target))))
    if len(numbers) != 1 and not wanted.umbrella:
        raise UserError("a report is about one bug", "name its number, or batch several with --umbrella")
    targets = {store.bug(number).target for number in numbers}
    if len(targets) > 1:
        raise UserError(f"the bugs are of several targets: {', '.join(sorted(targets))}", "batch those of one target")
    by_number = {each.row.id: each for each in guarded(store, store.bugs(targets.pop()))}
    return [by_number[number] for number in numbers]


def _case(store: Store, each: Judged, wanted: Wanted, runs: int) -> Case:
    baseline = _baseline(store, each.row, wanted.baseline, runs) if wanted.regression else None
    return case(store, each, baseline, _output(store.target(each.row.target), each.row) if wanted.run_now else "")


def _output(target: TargetRecord, bug: BugRow) -> str:
    """All that the script writes in a fresh process, and its library asked for all; no places of this machine."""
    files, dialect = {SCRIPT_NAME: bug.script}, dialect_of(target.library)
    done = run_python(target.python, files, dialect, SCRIPT_SECONDS, env=dialect.verbose)
    end = "stopped at the time limit" if done.code is None else f"exit status {done.code}"
    said = _COLOUR.sub("", f"{done.stdout}{done.stderr}")
    return without_places(f"{said}\n{end}", target.python)


def _baseline(store: Store, bug: BugRow, key: str | None, runs: int) -> Baseline:
    """What the script does on the baseline. Raises UserError where it fails there too, even once."""
    if key is None:
        raise UserError("a regression needs a build that does not show the bug", "name its target with --baseline")
    target = store.target(key)
    for _ in range(runs):
        outcome = run_script(target.python, bug.script, dialect_of(target.library), SCRIPT_SECONDS)
        if (outcome.kind, outcome.name) == (bug.outcome.kind, bug.outcome.name) or outcome.kind != "ok":
            raise UserError(
                f"on {key} the script of bug {bug.id} ended with {outcome.kind} {outcome.name}",
                "a baseline is a build on which it returns",
            )
    return Baseline(target.version, "ok", runs)


def _environment(settings: Settings, target: TargetRecord) -> Environment:
    """The versions; where they cannot be kept, that is said and they are gathered again the next time."""
    kept = environment_from_json(target.info.get(ENVIRONMENT))
    if kept is not None:
        return kept
    try:
        with open_store(state_file(settings)) as store:
            return keep_environment(store, target)
    except UserError as error:
        Console(stderr=True).print(f"the versions are not kept: {error.problem}", markup=False, soft_wrap=True)
        return collect_env(target.python, target.library)


def _issue(cases: Sequence[Case], wanted: Wanted) -> Issue:
    if wanted.umbrella:
        return umbrella_report(cases)
    if wanted.regression:
        return regression_report(cases[0], wanted.private)
    return bug_report(cases[0], wanted.private)


def _write(issue: Issue, cases: Sequence[Case], wanted: Wanted) -> None:
    notes = Console(stderr=True)
    if any(each.severity.private for each in cases):
        notes.print("private: for the library's security contact alone, not for a public place", markup=False)
    missing = [] if wanted.umbrella else missing_parts(str(issue), cases[0].target.library)
    if missing:
        notes.print(f"not in it: {', '.join(missing)}", markup=False, soft_wrap=True)
    if wanted.output is None:
        print(printable(str(issue)))
        return
    try:
        wanted.output.write_text(str(issue), encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {wanted.output}: {error.strerror}", "choose another file") from error
    notes.print(f"written to {wanted.output}", markup=False, soft_wrap=True)
