"""`nightfuzz watch`: the screen of a run in another terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from fuzz_core.cli.output import CommandOutput, Report
from fuzz_core.cli.screen import Screen, described
from fuzz_core.cli.settings import Settings
from fuzz_core.cli.state import STATE_FILE
from fuzz_core.cli.status import STATUS_FILE, StatusSnapshot, read_status
from fuzz_core.store.statefile import is_held

LOOK_SECONDS = 0.5
# A run that has written no status for so long may have been killed.
STALE_SECONDS = 15.0


def watch(settings: Settings, output: CommandOutput) -> Report:
    """Show a run until it ends or the user interrupts.

    The status at this moment is returned at once without a terminal.

    Raises:
        UserError: no run has left its status in the state directory.
    """
    status = read_status(settings.state / STATUS_FILE)
    if output.is_live:
        with Screen(output.console, lambda: status) as screen, suppress(KeyboardInterrupt):
            seen = status.noted - len(status.notes)
            for status in follow(settings.state):
                for text in status.notes[len(status.notes) - min(status.noted - seen, len(status.notes)) :]:
                    screen.note(text)
                seen = status.noted
    return Report(status.model_dump(mode="json"), described(status))


def follow(
    state: Path,
    sleep: Callable[[float], None] = time.sleep,
    wall: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Iterator[StatusSnapshot]:
    """Yield the status of a run twice a second.

    The last one is that of its end, or the last before it was killed.
    """
    while True:
        status = read_status(state / STATUS_FILE)
        yield status
        stale = (wall() - status.written).total_seconds() > STALE_SECONDS
        if status.ended or (stale and not is_held(state / STATE_FILE)):
            return
        sleep(LOOK_SECONDS)
