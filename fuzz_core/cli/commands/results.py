"""`nightfuzz results`: what is known of a build's bugs, in a form that other programs read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from fuzz_core.campaign.document import result_since
from fuzz_core.cli.output import CommandOutput, Report, Verbatim
from fuzz_core.cli.settings import Settings
from fuzz_core.cli.state import read_state, target_key
from fuzz_core.execution.protection import read_protection
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.files import write_whole
from nightfuzz.reports.junit import junit
from nightfuzz.reports.results import RunResult
from nightfuzz.reports.sarif import sarif
from nightfuzz.reports.summary import summary

FORMATS: Mapping[str, Callable[[RunResult], str]] = {
    "json": RunResult.to_json,
    "markdown": summary,
    "sarif": sarif,
    "junit": junit,
}


def results(settings: Settings, output: CommandOutput, form: str, since: str | None, file: Path | None) -> Report:
    """Print the results of a target in a form of `FORMATS`, or write them into a file.

    Args:
        since: the day or second, in UTC, from which on a bug counts as new; None for the beginning.

    Raises:
        UserError: there is no such form, or the file cannot be written.
    """
    if form not in FORMATS:
        raise UserError(f"--format {form!r} is not a form of results", f"write one of: {', '.join(FORMATS)}")
    began = _moment(since)
    with read_state(settings) as store:
        key = target_key(store, settings.target)
        text = FORMATS[form](result_since(store, key, began, read_protection(settings.state)))
    if file is None:
        return Report(json.loads(text) if form in ("json", "sarif") else {form: text}, [Verbatim(text)])
    try:
        write_whole(file, text)
    except OSError as error:
        raise UserError(f"cannot write {file}: {error.strerror}", "name another file with --output") from error
    return Report({"file": str(file)}, [f"written to {file}"])


def _moment(text: str | None) -> datetime:
    """Return a moment in UTC, the first of all for None.

    Raises:
        UserError: the text is no moment.
    """
    if text is None:
        return datetime.min.replace(tzinfo=UTC)
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise UserError(
            f"--since {text!r} is neither a date nor a time", "write 2026-11-25 or 2026-11-25T08:30"
        ) from error
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
