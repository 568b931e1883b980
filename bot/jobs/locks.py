"""The builds of a plan, each locked to the files that its spec means now."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from fuzz_core.cli.settings import Settings, load
from fuzz_core.targets.installer import IndexUnreachable
from fuzz_core.targets.lock import aligned, lock_build
from fuzz_core.targets.resolve import NoBuildError
from fuzz_core.targets.spec import libraries, parse_spec
from nightfuzz.bot.action.inputs import Inputs
from nightfuzz.bot.jobs.note import PlannedBuild
from nightfuzz.bot.jobs.settings import settings_file
from nightfuzz.bot.jobs.workspace import Workspace


def plan_builds(inputs: Inputs, specs: Sequence[str], sources: Path) -> list[PlannedBuild]:
    """Lock the build of each spec without an installation.

    Builds that are compared are locked to files of one flavour, if there are such. A spec that only the fuzz job can
    resolve is passed on, with the reason.

    Raises:
        UserError: a malformed spec.
    """
    settings = _settings(inputs, sources)
    builds = [_planned(spec, settings, sources, inputs.python_version or "") for spec in specs]
    locks = iter(aligned([build.lock for build in builds if build.lock is not None]))
    return [build if build.lock is None else build.model_copy(update={"lock": next(locks)}) for build in builds]


def describe(what: str, build: PlannedBuild) -> list[str]:
    """Return lines about a planned build for the summary."""
    if build.lock is None:
        return [f"{what}: {build.spec}, resolved by each fuzz job: {build.problem}"]
    return [f"{what}: {build.lock.summary()}", *(f"{what}: {note}" for note in build.lock.notes)]


def _settings(inputs: Inputs, sources: Path) -> Settings:
    with tempfile.TemporaryDirectory(prefix="nightfuzz-plan-") as name:
        root = Path(name)
        flags = settings_file(inputs, Workspace(root, root / "state", sources))
        return load(Path(flags[1]), {}) if flags else Settings.model_validate({})


def _planned(text: str, settings: Settings, sources: Path, python: str) -> PlannedBuild:
    lock, problem = None, _elsewhere(text, settings, sources)
    if not problem:
        # A path of the user's is relative to the repository.
        place = str(sources / Path(text).expanduser()) if _is_file(text) else text
        try:
            lock = lock_build(parse_spec(place, settings.library, settings.index), settings.flavour, python)
        except (IndexUnreachable, NoBuildError) as error:
            # The runners may reach an index that this machine does not, or keep a file that the index no longer has.
            problem = error.problem.splitlines()[0]
    return PlannedBuild(spec=text, lock=lock, problem=problem[:2_000])


def _is_file(text: str) -> bool:
    return text.lower().endswith(".whl") and not text.startswith("python:")


def _elsewhere(text: str, settings: Settings, sources: Path) -> str:
    """Return why only a runner can resolve a spec; empty if this machine can."""
    if text.startswith("python:"):
        return "the interpreter is on the runner"
    if _is_file(text) and not (sources / Path(text).expanduser()).is_file():
        return "the file is on the runner"
    if settings.library is not None and settings.library not in libraries():
        return f"the package that knows {settings.library} is on the runner"
    return ""
