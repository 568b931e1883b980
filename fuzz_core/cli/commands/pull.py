"""`nightfuzz pull`: make targets."""

from __future__ import annotations

from pathlib import Path

from fuzz_core.cli.output import CommandOutput, Report
from fuzz_core.cli.sandbox import contained_imports
from fuzz_core.cli.session import make_target, save_made
from fuzz_core.cli.settings import Settings
from fuzz_core.cli.state import open_state
from fuzz_core.ir.errors import UserError
from fuzz_core.targets.lock import read_lock
from fuzz_core.targets.record import to_json
from fuzz_core.targets.spec import parse_spec


def pull(settings: Settings, output: CommandOutput, specs: list[str], lock: Path | None) -> Report:
    """Make targets one by one and say what each holds.

    Args:
        lock: file with the lock of the only spec.

    Raises:
        UserError: a lock is given with several specs; also as `make_target`.
    """
    locked = None if lock is None else read_lock(lock)
    if locked is not None and len(specs) > 1:
        raise UserError(f"--lock fits one build, but {len(specs)} are named", "name one build, or leave out --lock")
    parsed = [parse_spec(spec, settings.library, settings.index) for spec in specs]
    made = []
    with open_state(settings) as store, contained_imports(settings, output), output.watch() as watch:
        for spec in parsed:
            target = make_target(settings, spec.text, locked, watch.phase)
            made.append(target)
            save_made(store, target)
            output.show(f"{target.key}: {target.summary()}", *(f"  note: {note}" for note in target.notes))
    return Report([to_json(target) for target in made])
