"""A release of nightfuzz that offers a space file: every process with a folder in its path knows the offer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# Python runs this file at its start. Interpreters of targets do so too, and know no index of space files.
_START = """
from contextlib import suppress
from pathlib import Path
with suppress(ImportError):
    from fuzz_core.targets import spaces
    spaces.INDEX = Path(__file__).with_name("spaces.toml")
"""


def offer(folder: Path, packed: Mapping[str, Any], url: str = "http://127.0.0.1:9/") -> None:
    """Lets processes with this folder in PYTHONPATH offer a file.

    Args:
        packed: answer of `nightfuzz pack --json` on the file.
        url: address of the file.
    """
    rows = {name: packed[name] for name in ("key", "library", "version", "sha256", "size")} | {"url": url}
    lines = [f"{name} = {json.dumps(value)}\n" for name, value in rows.items()]
    (folder / "spaces.toml").write_text("[[space]]\n" + "".join(lines))
    (folder / "sitecustomize.py").write_text(_START)
