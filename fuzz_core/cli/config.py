"""nightfuzz.toml: every option of the command line, checked; flags win over it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from rapidfuzz import process as nearest

from fuzz_core.ir.errors import UserError
from fuzz_core.oracles.contract import ORACLES
from fuzz_core.targets.spec import Flavour
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


def endpoint(text: str) -> str:
    """The address of a model of language. Raises ValueError for none, or for one with a password in it."""
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError("it is no address: write https://HOST/v1") from None
    if parts.scheme not in ("http", "https") or not host or not text.isprintable() or " " in text:
        raise ValueError("it is no address: write https://HOST/v1")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("the address has a password or a query in it: keys go by `llm_key_variable`")
    return text.rstrip("/")


def variable(text: str) -> str:
    """The name of an environment variable. Raises ValueError for any other text, a key perhaps."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        raise ValueError("it is no name of an environment variable: write the key there, and its name here")
    return text


Seconds = Annotated[float, BeforeValidator(seconds), Field(gt=0, allow_inf_nan=False)]
Worth = Annotated[float, Field(ge=0, allow_inf_nan=False)]
# What may be a secret in the wrong place is not told again.
UNTOLD = ("llm_endpoint", "llm_key_variable")


class Settings(BaseModel):
    """Every option, with its default. Times take `45m`, `90s` or seconds."""

    model_config = ConfigDict(extra="forbid")

    target: str | None = None
    baseline: str | None = None
    flavour: Flavour = "auto"
    library: str | None = None
    index: str | None = None
    allow_cached: bool = False
    compile_cache: float = Field(4.0, ge=0, allow_inf_nan=False)
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
    oracles: list[str] = [*ORACLES]
    confirm_runs: int = Field(5, ge=1, le=100)
    disable: list[str] = []
    engine: Literal["api", "moco", "gandalf"] = "api"
    libraries: list[str] = []
    domain: list[Literal["cv", "nlp", "asr"]] = ["cv", "nlp", "asr"]
    guidance: str = "novelty"
    reward: list[Worth] = Field([1.0, 1.0, 1.0], min_length=3, max_length=3)
    models_share: float = Field(0.2, ge=0, lt=1, allow_inf_nan=False)
    knowledge_import: Path | None = None
    llm_endpoint: Annotated[str, AfterValidator(endpoint)] | None = None
    llm_model: str | None = Field(None, min_length=1, max_length=200)
    llm_key_variable: Annotated[str, AfterValidator(variable)] | None = None
    schedule: str = "bandit"
    grow: bool = True
    fail_on_bugs: bool = False
    known: Path = Path(KNOWN_FILE)
    sandbox: Literal["none", "auto", "docker"] = "none"
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
        told = "it is not repeated here, as it may be a secret" if name in UNTOLD else f"it was {first['input']!r}"
        raise UserError(f"{name} {source}: {first['msg']}", told) from error


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror}", "check the path given with --config") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{file} is not valid TOML: {error}", "see docs/configuration.md for an example") from error
