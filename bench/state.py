"""What keeping a state costs: `python -m bench.state BASE SHARD...` packs, splits, checks and merges copies of them."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from fuzz_core.campaign.exporting import joined, split
from fuzz_core.store.intake import take_in
from fuzz_core.store.opening import open_store
from nightfuzz.bot.state.archive import pack, parts, unpack

MIB = 1 << 20
T = TypeVar("T")


def main(
    base: Annotated[Path, typer.Argument(help="a state file")],
    shards: Annotated[list[Path], typer.Argument(help="state files that began as copies of it")],
) -> None:
    """Prints seconds of CPU and mebibytes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copies = [Path(shutil.copy(path, folder / f"{number}.db")) for number, path in enumerate((base, *shards))]
        for path, copy in zip((base, *shards), copies, strict=True):
            open_store(copy).close()
            _one(path, copy, folder)
            _second(copy, folder / "second.db")
        _together(copies, folder)


def _one(path: Path, copy: Path, folder: Path) -> None:
    print(f"{path}: {copy.stat().st_size / MIB:.0f} MiB")
    packed = _timed("pack", lambda: pack(copy))
    print(f"  packed: {sum(map(len, packed.values())) / MIB:.1f} MiB")
    _timed("unpack", lambda: unpack(parts(packed), folder / "unpacked.db"))
    _timed("split", lambda: split(copy, folder / "public.db", folder / "private.db"))
    _timed("take in, nothing known", lambda: take_in(copy, folder / "clean.db"))


def _second(copy: Path, grown: Path) -> None:
    """What one more build adds that takes over all of the first one."""
    shutil.copy(copy, grown)
    _shrink(grown)
    before = grown.stat().st_size
    with open_store(grown) as store:
        first = store.targets()[0]
        key = f"{first.key}-next"
        store.save_target(first._replace(key=key, made_at=""))
        store.save_apis(key, store.apis(first.key))
        store.save_constraints(key, store.constraints(first.key))
        seeds = {seed.digest: seed.name for seed in store.seeds(first.key)}
        _timed("carry over", lambda: store.carry(key, first.key, seeds, (), ()))
    _shrink(grown)
    print(f"  a second build adds {(grown.stat().st_size - before) / MIB:.1f} MiB to {before / MIB:.1f}")


def _shrink(path: Path) -> None:
    with open_store(path) as store:
        store._db.execute("VACUUM")


def _together(copies: list[Path], folder: Path) -> None:
    clean = [folder / f"clean-{number}.db" for number in range(1, len(copies))]
    for path, to in zip(copies[1:], clean, strict=True):
        _timed(f"take in {path.stem}, the base known", partial(take_in, path, to, copies[0]))
    with open_store(copies[0]) as store:
        merged = _timed(f"merge {len(clean)} shards", lambda: joined(store, clean))
    print(f"  {dict(merged.rows)}")


def _timed(what: str, call: Callable[[], T]) -> T:
    before = time.process_time()
    done = call()
    print(f"  {what}: {time.process_time() - before:.1f} s", flush=True)
    return done


if __name__ == "__main__":
    typer.run(main)
