"""`nightfuzz history`: what was done with every build."""

from __future__ import annotations

from collections import Counter

from fuzz_core.campaign.history import Build, share_of_real
from fuzz_core.campaign.history import history as builds_of
from fuzz_core.cli.output import CommandOutput, Report, TextTable
from fuzz_core.cli.settings import Settings
from fuzz_core.cli.state import read_state, target_key

HEAD = ("build", "date", "commit", "fuzzed", "apis", "tests", "found", "new", "fixed", "back", "real")


def history(settings: Settings, output: CommandOutput) -> Report:
    """Return every build of the state (of one target's), the oldest first."""
    with read_state(settings) as store:
        builds = builds_of(store)
        if settings.target is not None:
            key = target_key(store, settings.target)
            builds = [build for build in builds if build.row.target == key]
    judged: Counter[str] = Counter()
    for build in builds:
        judged.update(build.judged)
    told = [f"judged real: {share_of_real(judged)} causes"] if judged else []
    return Report([build.to_json() for build in builds], [TextTable(HEAD, [_line(each) for each in builds]), *told])


def _line(build: Build) -> list[object]:
    row, turns = build.row, (len(build.fixed), len(build.regressed))
    work = (_duration(row.seconds), row.apis, f"{row.tests:,}", row.findings)
    return [row.target, build.date, build.commit[:12], *work, row.opened, *turns, share_of_real(build.judged)]


def _duration(seconds: float) -> str:
    """Return `1h05m`, `12m`, `40s`."""
    minutes = round(seconds / 60)
    if minutes < 1:
        return f"{seconds:.0f}s"
    return f"{minutes // 60}h{minutes % 60:02d}m" if minutes >= 60 else f"{minutes}m"
