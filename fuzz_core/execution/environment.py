"""The environment of foreign code: what it gets to see of ours, and what its library wants there."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path

from platformdirs import user_cache_path

import fuzz_core
from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.adapters.surroundings import surroundings
from fuzz_core.ir.errors import UserError

KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "TZ", "KERAS_BACKEND")


def environment(home: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """What foreign code gets to see: no tokens, no user's home, one thread, a fixed hash seed."""
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    outside = os.environ.get("NIGHTFUZZ_PATH", "")
    fixed = {
        "HOME": str(home),
        "TMPDIR": str(home),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(_code()), outside])),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "TF_CPP_MIN_LOG_LEVEL": "1",
        "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    }
    return {**kept, **fixed, **(extra or {})}


def surroundings_of(library: str, python: str) -> dict[str, str]:
    """What a library wants in its interpreter's; nothing where it is unknown, which the process itself will say."""
    with contextlib.suppress(UserError):
        return surroundings(dialect_of(library), python)
    return {}


def compiles(library: str) -> bool:
    """Whether a library compiles while it runs."""
    with contextlib.suppress(UserError):
        return bool(dialect_of(library).compiled)
    return False


def _code() -> Path:
    """A folder with this project and without the controller's numpy, which lies beside it where it is a wheel's.

    The same one each time: what a worker says of its own frames is part of a finding.
    """
    project = Path(fuzz_core.__file__).parent
    if not (project.parent / "numpy").exists():
        return project.parent
    cache = Path(os.environ.get("NIGHTFUZZ_CACHE") or user_cache_path("nightfuzz"))
    folder = cache / "code" / blake2b(str(project).encode(), digest_size=8).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        (folder / project.name).symlink_to(project)
    return folder
