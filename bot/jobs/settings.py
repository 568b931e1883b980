"""The settings file of a fuzz job's commands.

A pull request cannot change its settings: they are those of the commit that it is compared with. No path leads out of
the repository, in any mode.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import tomlkit

from fuzz_core.cli.settings import DEFAULT_FILE, Settings
from fuzz_core.ir.errors import UserError
from fuzz_core.triage.known import DEFAULT_FILE as KNOWN_FILE
from nightfuzz.bot.action.inputs import PULLS, Inputs, written
from nightfuzz.bot.git import git_in
from nightfuzz.bot.jobs.workspace import BASE_KNOWN, BASE_SETTINGS, KNOWN, Workspace

# A pull request is checked out as its merge, whose first parent is the base.
BASE = "HEAD^1"
# Keys that choose the installed packages, the files that are read, the address for data, or the machine's protection.
DENIED = {"index", "known", "knowledge_import", "llm_endpoint", "llm_key_variable"}
DENIED |= {name for name in Settings.model_fields if name.startswith("sandbox")}
# The commands get `state` as a flag, which wins.
PATHS = {name for name, field in Settings.model_fields.items() if "Path" in str(field.annotation)} - {"state"}


def keep_base_settings(inputs: Inputs, checkout: Path, folder: Path) -> tuple[str, ...]:
    """Write the base's settings and known findings into `folder` where a pull request is worked on.

    Args:
        checkout: of the pull request's merge commit.

    Returns:
        Notes.

    Raises:
        UserError: a pull request may not set a key, or the base lacks the file that `config` names.
    """
    if inputs.mode not in PULLS:
        return ()
    _refuse_denied(inputs)
    folder.mkdir(parents=True, exist_ok=True)
    if git_in(checkout, "rev-parse", "--verify", "--quiet", BASE).code:
        return (
            "the checkout lacks the pull request's base commit, so no settings file was read: set `fetch-depth: 2`",
        )
    name = inputs.settings.config or Path(DEFAULT_FILE)
    text = _base_file(checkout, name)
    if text is None and inputs.settings.config is not None:
        raise UserError(
            f"input settings: config: the base branch has no file {name}",
            "merge the file into the base branch first: settings of a pull request come from there",
        )
    (folder / BASE_SETTINGS).write_bytes(text or b"")
    known = _read_settings(folder / BASE_SETTINGS).get("known", name.with_name(KNOWN_FILE))
    (folder / BASE_KNOWN).write_bytes(_base_file(checkout, Path(known)) or b"")
    return ()


def settings_file(inputs: Inputs, work: Workspace) -> tuple[str, ...]:
    """Make the settings file of the commands and return the flag that names the file; empty without settings.

    The input `settings` wins over the user's file. Verdicts that people gave by labels are added to the known findings.

    Raises:
        UserError: a pull request may not set a key, or a path leads out of the repository.
    """
    options, sources = inputs.settings.options, work.sources
    is_pull = inputs.mode in PULLS
    own, known = _of_base(inputs, work) if is_pull else _of_sources(inputs, work)
    settings = {**(_read_settings(own) if own.is_file() else {}), **options}
    _check_places({**settings, "tests": [*settings.get("tests", ()), *inputs.tests], "config": own}, work, is_pull)
    taught = inputs.plan_folder / KNOWN if inputs.plan_folder else None
    if not is_pull and not options and (taught is None or not taught.is_file()):
        return ("--config", str(own)) if own.is_file() else ()
    known = known if is_pull else sources / settings.get("known", known)
    files = [file for file in (known, taught) if file is not None and file.is_file()]
    work.root.mkdir(parents=True, exist_ok=True)
    (work.root / KNOWN).write_text("".join(file.read_text(encoding="utf-8") + "\n" for file in files), encoding="utf-8")
    made = work.root / DEFAULT_FILE
    made.write_text(tomlkit.dumps({**settings, "known": str(work.root / KNOWN)}), encoding="utf-8")
    return "--config", str(made)


def _of_sources(inputs: Inputs, work: Workspace) -> tuple[Path, Path]:
    """Return the user's settings file, and where its known findings lie unless it says so."""
    config = inputs.settings.config
    own = work.sources / (config or DEFAULT_FILE)
    if config is not None and not own.is_file():
        raise UserError(
            f"input settings: config: there is no file {config}",
            "write the path of the file from the repository's root",
        )
    return own, own.with_name(KNOWN_FILE)


def _of_base(inputs: Inputs, work: Workspace) -> tuple[Path, Path]:
    """Return the settings and known findings of the base: from the plan, else from the checkout that is worked in."""
    _refuse_denied(inputs)
    if inputs.plan_folder is None:
        for note in keep_base_settings(inputs, work.sources, work.root):
            print(note, flush=True)
    folder = inputs.plan_folder or work.root
    return folder / BASE_SETTINGS, folder / BASE_KNOWN


def _refuse_denied(inputs: Inputs) -> None:
    for name in sorted(DENIED & inputs.settings.options.keys()):
        raise UserError(
            f"input settings: {written(name)} cannot be set in the mode {inputs.mode}",
            f"set this key in {DEFAULT_FILE} of the base branch; "
            "a pull request can change the workflow file, so its input is not trusted",
        )


def _check_places(settings: Mapping[str, Any], work: Workspace, is_pull: bool) -> None:
    """Check the places that the settings name; links are followed.

    A base's `known` and its file itself are not read from the pull request's files.
    """
    root = work.sources.resolve()
    checked = (PATHS | {"config"}) - ({"known", "config"} if is_pull else set())
    for name in sorted(checked & settings.keys()):
        for path in _listed(settings[name]):
            if not (root / path).resolve().is_relative_to(root):
                raise UserError(
                    f"{written(name)}: {path} leads out of the repository", "name a path inside the repository"
                )


def _listed(value: object) -> Iterator[str]:
    yield from map(str, value) if isinstance(value, list) else [str(value)]


def _base_file(checkout: Path, path: Path) -> bytes | None:
    done = git_in(checkout, "show", f"{BASE}:{PurePosixPath(path)}")
    return None if done.code else done.output


def _read_settings(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(
            f"{file.name} is not valid TOML: {error}",
            "correct that line; docs/reference/configuration.md has an example",
        ) from error
