"""From the Action's inputs, and what the plan job left, to what a fuzz job is asked to do."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import tomlkit
from pydantic import ValidationError

from fuzz_core.cli.config import DEFAULT_FILE
from fuzz_core.ir.errors import UserError
from fuzz_core.store.opening import open_store
from fuzz_core.triage.known import DEFAULT_FILE as KNOWN_FILE
from nightfuzz.bot.action.inputs import Inputs
from nightfuzz.bot.issues.filings import Request
from nightfuzz.bot.jobs.places import KNOWN, PLAN
from nightfuzz.bot.jobs.steps import Asked
from nightfuzz.bot.jobs.wanting import numbered
from nightfuzz.bot.jobs.work import Work
from nightfuzz.reports.results import Mode, Name, Part

PLAN_BYTES = 4 << 20


class Planned(Part):
    """What the plan job has found out. target, baseline: specs, where the pull request's files name them.

    requests: what people asked for in comments; their fingerprints are looked up in the state.
    """

    target: Name | None = None
    baseline: Name | None = None
    requests: tuple[Request, ...] = ()


def planned(inputs: Inputs) -> Planned:
    """The note of the plan job, empty where there was none. Raises UserError for one that cannot be read."""
    path = inputs.state_path / PLAN if inputs.state == "artifact" and inputs.state_path else None
    if path is None or not path.is_file():
        return Planned()
    try:
        return Planned.model_validate_json(path.read_bytes()[:PLAN_BYTES])
    except (OSError, ValidationError) as error:
        raise UserError(f"{PLAN} cannot be read", "run the plan job again") from error


def specs(inputs: Inputs, plan: Planned) -> tuple[str, str | None]:
    """Specs of the target and the baseline. Raises UserError where the mode needs one that nobody named."""
    target, baseline = inputs.target or plan.target, inputs.baseline or plan.baseline
    if target is None:
        raise UserError("input target is empty", "name the build to fuzz, such as torch-nightly")
    if inputs.mode == "bump" and baseline is None:
        raise UserError("input baseline is empty", "name the build that is in use now, such as torch==2.12.0")
    return target, baseline if inputs.mode in ("nightly", "bump") else None


def asked(inputs: Inputs, plan: Planned, work: Work) -> Asked:
    """What the commands are made from; the targets' keys come when they are made."""
    settings = settings_file(inputs, work)
    return Asked(
        mode=cast(Mode, inputs.mode),
        seconds=inputs.time,
        target="",
        tests=inputs.tests,
        shard=inputs.shard,
        shards=inputs.settings.shards,
        bisect=_bisect(plan.requests, work) if inputs.shard == 0 else (),
        common=("--sandbox", inputs.sandbox, *settings),
        pull=settings,
    )


def _bisect(requests: Sequence[Request], work: Work) -> tuple[int, ...]:
    wanted = [each.fingerprint for each in requests if each.kind == "bisect" and not each.settled]
    if not wanted or not work.state_file.exists():
        return ()
    with open_store(work.state_file, read_only=True) as store:
        rows = [numbered(store, fingerprint) for fingerprint in dict.fromkeys(wanted)]
    return tuple(row.id for row in rows if row is not None)


def settings_file(inputs: Inputs, work: Work) -> tuple[str, ...]:
    """Make the settings file of the commands and return the flag that names it; nothing where nothing is set.

    The input `settings` wins over the user's file. What people taught by labels is added to the known findings.
    """
    config, options = inputs.settings.config, inputs.settings.options
    own = work.sources / (config or DEFAULT_FILE)
    if config is not None and not own.is_file():
        raise UserError(
            f"input settings: config: there is no file {config}", "write its path from the repository's root"
        )
    taught = inputs.state_path / KNOWN if inputs.state == "artifact" and inputs.state_path else None
    if not options and (taught is None or not taught.is_file()):
        return ("--config", str(own)) if own.is_file() else ()
    settings = {**(_read(own) if own.is_file() else {}), **options}
    known = work.sources / settings.get("known", own.with_name(KNOWN_FILE))
    files = [file for file in (known, taught) if file is not None and file.is_file()]
    work.root.mkdir(parents=True, exist_ok=True)
    (work.root / KNOWN).write_text("".join(file.read_text(encoding="utf-8") + "\n" for file in files), encoding="utf-8")
    made = work.root / DEFAULT_FILE
    made.write_text(tomlkit.dumps({**settings, "known": str(work.root / KNOWN)}), encoding="utf-8")
    return "--config", str(made)


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(
            f"{file.name} is not valid TOML: {error}", "see docs/configuration.md for an example"
        ) from error
