"""`nightfuzz pack`: the value space of a target as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fuzz_core.campaign.trace import shipped_seeds
from fuzz_core.cli.output import CommandOutput, Report
from fuzz_core.cli.session import session_of
from fuzz_core.cli.settings import Settings
from fuzz_core.store.spacefile import pack as write_space
from fuzz_core.targets.artifact import sha256_of


def pack(settings: Settings, output: CommandOutput, file: Path | None) -> Report:
    """Write the space file, and say how many calls and bytes it has and what its hash is."""
    with session_of(settings, output) as session:
        path = file or Path(f"{session.target.key}.space")
        seeds = shipped_seeds(session)
        calls = write_space(session.store, session.target.key, seeds, path)
        target = session.target
        data: dict[str, Any] = {"key": target.key, "library": target.library, "version": target.version}
        data |= {"file": str(path), "calls": calls, "size": path.stat().st_size, "sha256": sha256_of(path)}
        text = f"{path}: {calls:,} calls of {target.key} in {data['size'] / 1e6:.1f} MB"
        return Report(data, [text, f"sha256: {data['sha256']}"])
