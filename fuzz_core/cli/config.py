"""nightfuzz.toml: every option of the command line, checked; flags win over it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from rapidfuzz import process as nearest

from fuzz_core.ir.errors import UserError
from fuzz_core.triage.known import DEFAULT_FILE as KNOWN_FILE

DEFAULT_FILE = "nightfuzz.toml"
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: object) -> object:
    """Seconds from `45m`, `1h30m`, `90s` or `90`. Raises ValueError for anything else."""
    if not isinstance(text, str):
        return text
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*([smh]?)", text.strip())
    if not parts or re.sub(r"(\d+(?:\.\d+)?)\s*([smh]?)\s*", "", text.strip()):
        raise ValueError(f"{text!r} is no time: write 45m, 1h30m, 90s or 90")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


Seconds = Annotated[float, BeforeValidator(seconds), Field(gt=0, allow_inf_nan=False)]


class Settings(BaseModel):
    """Every option, with its default. Times take `45m`, `90s` or seconds."""

    model_config = ConfigDict(extra="forbid")

    target: str | None = None
    baseline: str | None = None
    flavour: str = Field("auto", pattern="^(auto|cpu|cuda)$")
    library: str | None = None
    index: str | None = None
    allow_cached: bool = False
    wheel_cache: float = Field(20.0, ge=0, allow_inf_nan=False)
    state: Path = Path(".nightfuzz")
    workers: int = Field(2, ge=1, le=256)
    time: Seconds = 45 * 60.0
    tests_count: int | None = Field(None, ge=1)
    seed: int | None = Field(None, ge=0)
    api: list[str] = []
    shard: str | None = None
    changed: bool = False
    source: list[str] = ["docs", "tests", "models"]
    docs: list[Path] = []
    tests: list[Path] = []
    models: list[Path] = []
    seed_time: Seconds = 60.0
    timeout: Seconds = 3.0
    oracles: list[str] = ["crash", "differential", "nonfinite", "performance", "bounds", "leak", "versions"]
    confirm_runs: int = Field(5, ge=1, le=100)
    disable: list[str] = []
    schedule: str = "bandit"
    grow: bool = True
    fail_on_bugs: bool = False
    known: Path = Path(KNOWN_FILE)
    sandbox: str = Field("none", pattern="^(none|auto|docker)$")
    sandbox_image: str | None = None
    sandbox_base: str | None = None
    sandbox_memory: float | None = Field(None, gt=0, allow_inf_nan=False)
    sandbox_cpus: float | None = Field(None, gt=0, allow_inf_nan=False)
    sandbox_processes: int | None = Field(None, ge=64)


def load(path: Path | None, flags: dict[str, Any]) -> Settings:
    """Settings from the file (`nightfuzz.toml` here, where there is one) under the flags that were given.

    Raises UserError for a missing or broken file, an unknown key (naming the nearest) and a value that does not fit.
    """
    file = path or Path(DEFAULT_FILE)
    data = _read(file) if path is not None or file.exists() else {}
    for key in data:
        if key not in Settings.model_fields:
            close = nearest.extractOne(key, list(Settings.model_fields))
            raise UserError(f"{file}: unknown key {key!r}", f"did you mean {close[0]!r}?")
    given = {key: value for key, value in flags.items() if value is not None and value != []}
    try:
        return Settings(**{"known": file.with_name(KNOWN_FILE), **data, **given})
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        source = "on the command line" if name.split(".")[0] in given else f"in {file}"
        raise UserError(f"{name} {source}: {first['msg']}", f"it was {first['input']!r}") from error


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror}", "check the path given with --config") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{file} is not valid TOML: {error}", "see docs/configuration.md for an example") from error
