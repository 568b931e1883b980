"""Agreement of all commands that look at a bug."""

from __future__ import annotations

from fuzz_core.campaign.recheck import RecheckOptions, recheck
from fuzz_core.campaign.reproduce import case_of, is_replayed
from fuzz_core.campaign.session import Session
from fuzz_core.cli.commands.bugs import show
from fuzz_core.cli.commands.repro import repro
from fuzz_core.cli.output import CommandOutput
from fuzz_core.cli.settings import Settings
from fuzz_core.triage.process import run_script
from nightfuzz.reports.contradiction import contradiction


def disagreements(session: Session, timeout: float = 20.0) -> list[str]:
    """Returns the differences between `repro --run`, `recheck`, `show` and the script, for the bugs on record."""
    settings, output = Settings(state=session.state_dir, timeout=timeout), CommandOutput()
    said = []
    checked = {
        each.bug.id: each.check.status for each in recheck(session, RecheckOptions(runs=1, timeout=timeout)).checked
    }
    for bug in session.store.bugs():
        again = repro(settings, output, bug.id, True)
        if (again.code, str(again.text[0])) != (1, f"reproduces: {contradiction(bug)}") or checked[bug.id] != "shown":
            said.append(f"{bug.signature_text}: repro {again.code} {again.text}, recheck {checked[bug.id]}")
        if contradiction(bug) not in str(show(settings, output, bug.id).text[0]):
            said.append(f"{bug.signature_text}: show says something else")
        alone = run_script(session.target.python, bug.script, session.dialect, timeout)
        if alone.kind == "ok" and not (
            bug.kind == "slow" and is_replayed(case_of(session.store, bug).verdict, session.dialect)
        ):
            said.append(f"{bug.signature_text}: the script ends well\n{bug.script}")
    return said
