"""`nightfuzz doctor`: what is here and what is missing."""

from __future__ import annotations

from fuzz_core.cli.output import CommandOutput, Report, TextTable
from fuzz_core.cli.settings import Settings
from fuzz_core.execution.protection import FILES, means_here
from fuzz_core.targets.doctor import DoctorCheck, checks


def doctor(settings: Settings, output: CommandOutput) -> Report:
    """Check this machine; the exit code is 2 if a required part is missing."""
    found = [*checks(configured=settings.target), _confinement()]
    rows = [["ok" if each.ok else "missing", each.name, each.detail, each.remedy] for each in found]
    code = 2 if any(each.required and not each.ok for each in found) else 0
    return Report([each._asdict() for each in found], [TextTable(["", "what", "found", "remedy"], rows)], code)


def _confinement() -> DoctorCheck:
    """Check the protection of files from workers that are plain processes."""
    means = means_here()
    remedy = "" if means else "use Linux 5.19 or newer, allow user namespaces, or use --sandbox docker"
    return DoctorCheck("confinement", bool(means), FILES[means], remedy)
