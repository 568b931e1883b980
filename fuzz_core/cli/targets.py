"""`nightfuzz pull`, and the target that a command works on."""

from __future__ import annotations

import json

from rich.console import Console

from fuzz_core.cli.config import Settings
from fuzz_core.cli.state import state_file
from fuzz_core.ir.errors import UserError
from fuzz_core.store.opening import open_store
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.store import Store
from fuzz_core.targets.environment import ensure
from fuzz_core.targets.record import Target, to_json
from fuzz_core.targets.resolve import Access
from fuzz_core.targets.spec import parse_spec


def pull(settings: Settings, console: Console, specs: list[str], as_json: bool) -> int:
    """Makes targets one by one and says what each holds."""
    parsed = [parse_spec(spec, settings.library, settings.index) for spec in specs]
    made = []
    with open_store(state_file(settings)) as store:
        for spec in parsed:
            if not as_json:
                console.print(f"{spec.text} …", markup=False)
            target = make_target(settings, spec.text)
            made.append(target)
            save_made(store, target)
            if not as_json:
                console.print(f"  {target.key}: {target.summary()}", markup=False, soft_wrap=True)
                for note in target.notes:
                    console.print(f"  note: {note}", markup=False, soft_wrap=True)
    if as_json:
        console.print_json(json.dumps([to_json(target) for target in made]))
    return 0


def target_of(store: Store, settings: Settings) -> TargetRecord:
    """The target that was asked for, made if need be, or the one on record that was used last."""
    if settings.target is None:
        known = store.targets()
        if not known:
            raise UserError("no target: none was named and none is on record", "add --target torch==2.13.0, say")
        return max(known, key=lambda record: record.made_at)
    for record in store.targets():
        if record.key == settings.target:
            return record
    return save_made(store, make_target(settings, settings.target))


def make_target(settings: Settings, spec: str) -> Target:
    """Makes a target as the settings say. Raises as parse_spec and ensure do."""
    parsed = parse_spec(spec, settings.library, settings.index)
    access = Access(settings.allow_cached, int(settings.wheel_cache * 1e9))
    return ensure(parsed, settings.flavour, access=access)


def save_made(store: Store, made: Target) -> TargetRecord:
    """Puts a made target on record."""
    record = TargetRecord(made.key, made.spec, made.library, made.version, str(made.python), made.facts())
    store.save_target(record)
    return record
