"""From a spec that names an index to builds, newest first, and where the one that was installed comes from."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from packaging.tags import sys_tags
from packaging.version import Version

from fuzz_core.adapters.library import library_of
from fuzz_core.ir.errors import UserError
from fuzz_core.targets import choice, commits, index, process, wheels
from fuzz_core.targets.artifact import Artifact, without_secrets
from fuzz_core.targets.build import (
    Build,
    Flavour,
    extra_of,
    flavour_notes,
    key_of,
    python_tag,
    torch_index,
    wanted_flavour,
)
from fuzz_core.targets.download import Fetcher
from fuzz_core.targets.facts import TargetInfo
from fuzz_core.targets.record import Origin, list_targets
from fuzz_core.targets.spec import TargetSpec

# Tonight's build may not be there yet.
NORMAL_DAYS = 1
_DRIVER = re.compile(r"CUDA Version: *(\d+)\.(\d+)")


class NotListed(UserError):  # noqa: N818 - says what happened, as UserError does
    """The index answers, and has no build that fits."""


def _today() -> date:
    return datetime.now(UTC).date()


@dataclass(frozen=True)
class Access:
    """How what is outside is reached. allow_cached: without a network, the newest build that is here will do.
    cache_bytes: how much the kept wheels may take. today: by which nights are old, in UTC."""

    allow_cached: bool = False
    cache_bytes: int = wheels.BOUND_BYTES
    today: Callable[[], date] = _today


DEFAULT_ACCESS = Access()


def builds(spec: TargetSpec, flavour: Flavour) -> list[Build]:
    """What an index lists for a spec and fits here, newest first.

    Raises installer.IndexUnreachable where it does not answer, NotListed where nothing there fits.
    """
    address = address_of(spec, flavour)
    listed = index.listing(address, str(spec.distribution))
    return _chosen(spec, flavour, listed, without_secrets(address))


def kept_builds(spec: TargetSpec, flavour: Flavour, home: Path) -> list[Build]:
    """The same of what is here: kept wheels and made targets of the index. Raises NotListed where there is none."""
    shown = without_secrets(address_of(spec, flavour)).rstrip("/")
    made = [target.origin.artifact for target in list_targets(home) if target.origin is not None]
    here = [*wheels.cached(), *made]
    ours = {each.key: each for each in here if (each.index, each.distribution) == (shown, spec.distribution)}
    return _chosen(spec, flavour, list(ours.values()), "what is kept here")


def age_notes(spec: TargetSpec, build: Build, today: date) -> tuple[str, ...]:
    """That the newest night is an old one: days may be missing, or the nights of this Python or flavour have ended."""
    day = build.artifact.dated()[0] if build.artifact else None
    if not spec.nightly or spec.version is not None or day is None or (today - day).days <= NORMAL_DAYS:
        return ()
    return (f"no newer night than that of {day} fits here, {(today - day).days} days ago",)


def address_of(spec: TargetSpec, flavour: Flavour) -> str:
    """The index that a spec means: its own, PyTorch's for the nights, else the one that pip is set up with."""
    if spec.index is not None:
        return spec.index
    if not (spec.nightly and _is_own(spec)):
        return index.configured()
    # One folder per flavour; the folder above lists them all.
    label = spec.label or ("cpu" if wanted_flavour(spec, flavour) == "cpu" else None)
    return f"{torch_index()}/nightly" + (f"/{label}" if label else "")


def _is_own(spec: TargetSpec) -> bool:
    library = library_of(spec.library)
    return library.own_index and spec.distribution in library.distributions


@contextmanager
def requirement_of(build: Build, access: Access) -> Iterator[str]:
    """What the installer is told: the requirement of a pin, or the file of an artifact, which stays meanwhile.

    Raises as wheels.held does.
    """
    if build.artifact is None:
        yield build.requirement
        return
    with index.session() as session, wheels.held(build.artifact, Fetcher(session), access.cache_bytes) as path:
        yield f"{build.requirement} @ {path.as_uri()}"


def origin_of(build: Build, info: TargetInfo) -> Origin | None:
    """Date and source commit of an installed build; None for one that pip found."""
    if build.artifact is None:
        return None
    day, dated_by = build.artifact.dated()
    if library_of(info.library).own_index and day is not None and build.version.is_devrelease:
        with index.session() as session:
            commit = commits.of_torch_nightly(day, info.commit, session)
    else:
        commit = commits.said_by_library(info.commit)
    return Origin(build.artifact, day.isoformat() if day else "", dated_by, *commit)


def _chosen(spec: TargetSpec, flavour: Flavour, listed: list[Artifact], where: str) -> list[Build]:
    machine = choice.Machine(list(sys_tags()), ".".join(map(str, sys.version_info[:3])))
    wish = _wish(spec, flavour)
    found = choice.newest(listed, wish, machine)
    if not found:
        raise _none(spec, listed, machine, where)
    return [_build(spec, flavour, each) for each in found]


def _wish(spec: TargetSpec, flavour: Flavour) -> choice.Wish:
    if not library_of(spec.library).own_index:
        return choice.Wish(spec.version, spec.nightly, spec.label)
    accelerated = wanted_flavour(spec, flavour) == "cuda"
    driver = _driver() if accelerated and not spec.label else None
    flavoured = (accelerated, flavour != "auto", driver, sys.platform != "linux")
    return choice.Wish(spec.version, spec.nightly, spec.label, *flavoured)


def _driver() -> tuple[int, int] | None:
    """The newest CUDA version that this machine's driver runs."""
    try:
        found = _DRIVER.search(process.run(["nvidia-smi"], timeout=20, env=os.environ).stdout)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return (int(found.group(1)), int(found.group(2))) if found else None


def _build(spec: TargetSpec, flavour: Flavour, artifact: Artifact) -> Build:
    version, wanted = Version(artifact.version), wanted_flavour(spec, flavour)
    extra = extra_of(spec, wanted)
    name = artifact.distribution + ("-cuda" if extra else "")
    # PyTorch's nights need nights of their dependencies, which are in the same index alone.
    own = library_of(spec.library).own_index and spec.nightly
    return Build(
        key_of(name, artifact.version, python_tag(), artifact.key[:8]),
        version,
        artifact.distribution + extra,
        ("--extra-index-url", artifact.index) if own else (),
        (*flavour_notes(spec, flavour, wanted, version), *_notes(artifact)),
        artifact,
    )


def _notes(artifact: Artifact) -> tuple[str, ...]:
    notes = []
    if artifact.yanked is not None:
        why = f": {artifact.yanked}" if artifact.yanked else ""
        notes.append(f"{artifact.filename} has been yanked{why}; it is taken as its version was asked for")
    if artifact.sha256 is None:
        notes.append(f"the index gives no SHA-256 of {artifact.filename}: what came could not be verified")
    return tuple(notes)


def _none(spec: TargetSpec, listed: list[Artifact], machine: choice.Machine, where: str) -> NotListed:
    ranks = dict.fromkeys(machine.tags, 0)
    fitting = [each for each in listed if choice.installable(each, ranks, machine.python)]
    here = f"{python_tag()} on this platform"
    if not fitting:
        return NotListed(f"{where} has no {spec.distribution} for {here}", "use another Python, or another index")
    if spec.version is None and all(each.yanked is not None for each in fitting):
        return NotListed(f"{where}: every {spec.distribution} for {here} has been yanked", "pin one: ==VERSION")
    wanted = "nightly build" if spec.nightly else "build"
    labelled = f" labelled {spec.label}" if spec.label else ""
    newest = ", ".join(map(str, sorted({Version(each.version) for each in fitting})[-3:]))
    asked = f"{spec.distribution}=={spec.version}" if spec.version else spec.distribution
    return NotListed(f"{where} has no {wanted} of {asked}{labelled} for {here}", f"its newest versions: {newest}")
