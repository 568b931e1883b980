"""The settings: name, type, default, help sentence and limits of each. They read `nightfuzz.toml` and the flags."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from fuzz_core.ir.errors import UserError

DEFAULT_FILE = "nightfuzz.toml"
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: object) -> object:
    """Seconds from `45m`, `1h30m`, `90s` or `90`. Raises ValueError for any other text."""
    if not isinstance(text, str):
        return text
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*([smh]?)", text.strip())
    if not parts or re.sub(r"(\d+(?:\.\d+)?)\s*([smh]?)\s*", "", text.strip()):
        raise ValueError(f"{text!r} is no time: write 45m, 1h30m, 90s or 90")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def duration(value: float) -> str:
    """Seconds as a person writes them: 45m, 90s."""
    return f"{value:g}s" if value % 60 else f"{value / 60:g}m"


def _words(text: object) -> object:
    """The words of a text with commas between them; a value of another type stays as it is."""
    return [each.strip() for each in text.split(",") if each.strip()] if isinstance(text, str) else text


def _endpoint(text: str) -> str:
    """The address of a language model. Raises ValueError for another text, and for an address with a password."""
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


def _variable(text: str) -> str:
    """The name of an environment variable. Raises ValueError for any other text, which may be a key."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        raise ValueError("it is no name of an environment variable: write the key there, and its name here")
    return text


def _every_oracle() -> list[str]:
    from fuzz_core.oracles.contract import ORACLES

    return [*ORACLES]


def _known_file() -> Path:
    from fuzz_core.triage.known import DEFAULT_FILE

    return Path(DEFAULT_FILE)


Seconds = Annotated[float, BeforeValidator(seconds), Field(gt=0, allow_inf_nan=False)]
# A text with commas is a list as well: so these are given on the command line.
Words = BeforeValidator(_words)
# An error message does not repeat these values: a secret may have been written there by mistake.
SECRET = ("llm_endpoint", "llm_key_variable")


class Settings(BaseModel):
    """Every setting. Times take `45m`, `90s` or seconds.

    A description is the help text of the flag. The text names the default if the value alone does not say it.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    target: str | None = Field(None, description="Target, as for `pull` [default: the last used target]")
    baseline: str | None = Field(None, description="Another build to compare with, as for `pull`")
    flavour: Literal["auto", "cpu", "cuda"] = Field("auto", description="auto, cpu or cuda build")
    library: str | None = Field(None, description="Library of an interpreter that holds several")
    index: str | None = Field(None, description="Address of the package index [default: that of pip]")
    allow_cached: bool = Field(False, description="Without a network, take the newest build that is kept here")
    compile_cache: float = Field(4.0, description="GB that compiled code may take", ge=0)
    wheel_cache: float = Field(20.0, description="GB that downloaded wheels may take", ge=0)
    state: Path = Field(Path(".nightfuzz"), description="State directory")
    workers: int = Field(2, description="Worker processes", ge=1, le=256)
    time: Seconds = Field(45 * 60.0, description="Time-box: 45m, 90s, 1h30m")
    tests_count: int | None = Field(None, description="Fixed number of tests instead of a time-box", ge=1)
    seed: int | None = Field(None, description="Seed of all randomness [default: drawn]", ge=0)
    api: list[str] = Field([], description="Only apis that match, e.g. 'torch.nn.*'")
    shard: str | None = Field(None, description="Share of the apis, e.g. 1/4 for the first of four of equal cost")
    changed: bool = Field(False, description="Only apis that changed seeds of --tests, --models and --docs call")
    base: Path | None = Field(
        None,
        description="Your sources before the change, for --changed [default: compare with the recorded seeds]",
    )
    space: Path | None = Field(
        None, description="Space file to take over before tracing [default: the release's of this build, if it has one]"
    )
    source: Annotated[list[str], Words] = Field(
        ["docs", "tests", "models"], description="Seed sources: docs,tests,models [default: all]"
    )
    docs: list[Path] = Field([], description="Directory of HTML, RST or Markdown pages")
    tests: list[Path] = Field([], description="Directory of pytest or unittest files")
    models: list[Path] = Field([], description="Directory of model programs")
    seed_time: Seconds = Field(60.0, description="Time limit per seed")
    timeout: Seconds = Field(3.0, description="Time limit per test")
    oracles: list[str] = Field(default_factory=_every_oracle, description="Oracles to use")
    confirm_runs: int = Field(5, description="Fresh processes in which a finding must reproduce", ge=1, le=100)
    disable: list[str] = Field([], description="Switch off a mutator or kind by name")
    engine: Literal["api", "freefuzz", "moco", "gandalf"] = Field(
        "api",
        description="api or freefuzz: calls of apis; moco: model programs; gandalf: models in several libraries",
    )
    paper: bool = Field(
        False, description="freefuzz, moco, gandalf: the algorithm as its paper has it, without our improvements"
    )
    libraries: Annotated[list[str], Words] = Field(
        [], description="Libraries or targets whose models are compared [gandalf: torch,tensorflow]"
    )
    domain: Annotated[list[Literal["cv", "nlp", "asr"]], Words] = Field(
        ["cv", "nlp", "asr"], description="gandalf: cv, nlp, asr [default: all]"
    )
    guidance: str = Field(
        "novelty", description="gandalf: strategy: random, mcmc, genetic, q, double-q, dqn, ddqn, bandit or novelty"
    )
    reward: Annotated[list[Annotated[float, Field(ge=0)]], Words] = Field(
        [1.0, 1.0, 1.0],
        description="gandalf: rewards for a disagreement, a crash, and NaN or inf",
        min_length=3,
        max_length=3,
    )
    models_share: float = Field(
        0.2,
        description="Share of the fuzzing in which model programs grow, 0 for none",
        ge=0,
        lt=1,
    )
    knowledge_import: Path | None = Field(
        None, description="Directory of the MoCo authors' files, one for each api (YAML, JSON)"
    )
    llm_endpoint: Annotated[str, AfterValidator(_endpoint)] | None = Field(
        None, description="Also ask a language model, at an OpenAI-compatible address: https://HOST/v1"
    )
    llm_model: str | None = Field(None, description="Name of the language model", min_length=1, max_length=200)
    llm_key_variable: Annotated[str, AfterValidator(_variable)] | None = Field(
        None, description="Name of the environment variable with the language model's key"
    )
    schedule: str = Field("bandit", description="bandit, fair (equal time) or uniform (equal tests)")
    grow: bool = Field(True, description="Mutate test cases that showed a new outcome")
    fail_on_bugs: bool = Field(False, description="Exit with 1 when new bugs were found")
    known: Path = Field(default_factory=_known_file, description="File of known findings")
    sandbox: Literal["none", "auto", "docker"] = Field(
        "none", description="none, auto or docker: workers in a container"
    )
    sandbox_image: str | None = Field(None, description="Image of the container")
    sandbox_base: str | None = Field(None, description="Image that the container's image is built on")
    sandbox_memory: float | None = Field(None, description="GB of memory", gt=0)
    sandbox_cpus: float | None = Field(None, description="Processors of the container", gt=0)
    sandbox_processes: int | None = Field(None, description="Processes and threads of the container", ge=64)


def load(path: Path | None, flags: Mapping[str, Any]) -> Settings:
    """Settings from the file (`nightfuzz.toml` here, where there is one) under the flags that were given.

    Raises UserError for a missing or broken file, an unknown key (naming the nearest) and a value that does not fit.
    """
    file = path or Path(DEFAULT_FILE)
    data = {"known": file.with_name(_known_file().name)}
    text = ""
    if path is not None or file.exists():
        try:
            text = file.read_text(encoding="utf-8")
        except OSError as error:
            raise UserError(f"cannot read {file}: {error.strerror}", "check the path given with --config") from error
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            raise UserError(f"{file}, line {line}: it is not UTF-8", "save the file as UTF-8") from error
        data |= parse(text, str(file))
    given = {key: value for key, value in flags.items() if value is not None and value != []}
    return check(data, given, str(file), text)


def parse(text: str, origin: str) -> dict[str, Any]:
    """The keys and values of a settings text. Raises UserError for broken TOML and an unknown key."""
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UserError(f"{origin} is not valid TOML: {error}", "see docs/configuration.md for an example") from error
    for key, value in data.items():
        if key not in Settings.model_fields:
            place = f"{origin}{_line_of(key, text)}"
            if isinstance(value, dict):
                raise UserError(
                    f"{place}: [{key}] is a table", "write all keys at the top of the file, without a table"
                )
            close = get_close_matches(key, Settings.model_fields, n=1)
            remedy = f"did you mean {close[0]!r}?" if close else "a key is the name of a flag, with _ for -: see --help"
            raise UserError(f"{place}: unknown key {key!r}", remedy)
    return data


def _line_of(key: str, text: str) -> str:
    """The line of a key in a settings text, in words; empty if the key is spelt in another way."""
    found = re.search(rf"""^[ \t]*\[?[ \t]*["']?{re.escape(key)}["']?[ \t]*[=\].]""", text, re.MULTILINE)
    return f", line {text.count(chr(10), 0, found.start()) + 1}" if found else ""


def check(data: Mapping[str, Any], flags: Mapping[str, Any], origin: str = DEFAULT_FILE, text: str = "") -> Settings:
    """Settings from the values of a text, under flags. Raises UserError for the first value that does not fit."""
    try:
        return Settings(**{**data, **flags})
    except ValidationError as error:
        first = error.errors()[0]
        name, said = ".".join(str(part) for part in first["loc"]), first["msg"]
        key = name.partition(".")[0]
        where = f"{name} on the command line" if key in flags else f"{name} in {origin}{_line_of(key, text)}"
        if name in SECRET:
            remedy = "its value is not repeated here, as it may be a secret"
            raise UserError(f"{where}: {said.removeprefix('Value error, ')}", remedy) from error
        remedy = f"give another value; {key} means: {Settings.model_fields[key].description}"
        if first["type"] == "value_error":
            raise UserError(f"{where}: {said.removeprefix('Value error, ')}", remedy) from error
        said = re.sub(r"^(Input|\w+) should", r"it has to", said).replace("it has to have", "it has to hold")
        raise UserError(f"{where} is {first['input']!r}: {said}", remedy) from error


def named(settings: Settings) -> str:
    """The settings that a file or a flag has set, but for what may be a secret."""
    pairs = {name: getattr(settings, name) for name in settings.model_fields_set if name not in SECRET}
    return ", ".join(f"{name}={value}" for name, value in sorted(pairs.items())) or "all as by default"
