"""`nightfuzz dashboard`: a static site of the state's public facts."""

from __future__ import annotations

from pathlib import Path

from fuzz_core.campaign.dashboard.collection import public_site
from fuzz_core.cli.output import CommandOutput, Report
from fuzz_core.cli.settings import Settings
from fuzz_core.cli.state import read_state, today
from fuzz_core.triage.known import load_registry
from nightfuzz.reports.dashboard.site import write_site


def dashboard(settings: Settings, output: CommandOutput, folder: Path, single: bool) -> Report:
    """Write the dashboard.

    Raises:
        UserError: the state cannot be read, or the folder cannot be written.
    """
    with read_state(settings) as store:
        state = store.path
    site = public_site(state, load_registry(settings.known, today()))
    page = write_site(site, folder, single)
    told = f"{len(site.bugs):,} public bugs, {len(site.builds):,} builds and {len(site.apis):,} apis"
    return Report({"page": str(page), "bugs": len(site.bugs)}, [f"written to {page}: {told}; open it in a browser"])
