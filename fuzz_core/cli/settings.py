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
    """Return seconds from `45m`, `1h30m`, `90s` or `90`.

    Raises:
        ValueError: any other text.
    """
    if not isinstance(text, str):
        return text
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*([smh]?)", text.strip())
    if not parts or re.sub(r"(\d+(?:\.\d+)?)\s*([smh]?)\s*", "", text.strip()):
        raise ValueError(f"{text!r} is not a time: write 45m, 1h30m, 90s or 90")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def duration(value: float) -> str:
    """Return seconds as a person writes them: 45m, 90s."""
    return f"{value:g}s" if value % 60 else f"{value / 60:g}m"


def _words(text: object) -> object:
    """Return the words of a text with commas between them; a value of another type stays as it is."""
    return [each.strip() for each in text.split(",") if each.strip()] if isinstance(text, str) else text


def _endpoint(text: str) -> str:
    """Return the address of a language model.

    Raises:
        ValueError: the text is no address, or has a password.
    """
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError("the value is not an address: write https://HOST/v1") from None
    if parts.scheme not in ("http", "https") or not host or not text.isprintable() or " " in text:
        raise ValueError("the value is not an address: write https://HOST/v1")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("the address has a password or a query: leave it out, and give a key with `llm_key_variable`")
    return text.rstrip("/")


def _variable(text: str) -> str:
    """Return the name of an environment variable.

    Raises:
        ValueError: any other text, which may be a key.
    """
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        raise ValueError(
            "the value is not the name of an environment variable: put the key into a variable, and write its name here"
        )
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
    """Every setting.

    Times take `45m`, `90s` or seconds.

    A description is the help text of the flag. The text names the default if the value alone does not say it.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    target: str | None = Field(
        None,
        description="Build to test (target), e.g. torch==2.13.0; `pull --help` has all forms [default: the last used]",
    )
    baseline: str | None = Field(
        None, description="Older build to compare the target with, e.g. torch==2.12.0 [default: no comparison]"
    )
    flavour: Literal["auto", "cpu", "cuda"] = Field(
        "auto", description="Build to install: auto (fits this machine), cpu or cuda"
    )
    library: str | None = Field(
        None,
        description="Library to test; needed if the target is a Python interpreter (python:PATH) "
        "with several libraries, or if the package is not named like its library",
    )
    index: str | None = Field(None, description="Address of the package index [default: pip's index]")
    allow_cached: bool = Field(
        False, description="Use the newest build in the local cache if the package index cannot be reached"
    )
    compile_cache: float = Field(4.0, description="Limit of the code that a library compiles, in GB", ge=0)
    wheel_cache: float = Field(20.0, description="Limit of downloaded wheels, in GB", ge=0)
    state: Path = Field(Path(".nightfuzz"), description="State directory (recorded calls, bugs, reports)")
    workers: int = Field(2, description="Number of worker processes", ge=1, le=256)
    time: Seconds = Field(45 * 60.0, description="Time limit of the command: 45m, 90s, 1h30m")
    tests_count: int | None = Field(None, description="Number of tests to run, instead of a time limit", ge=1)
    seed: int | None = Field(
        None, description="Seed of the random number generator, an integer [default: drawn at random]", ge=0
    )
    api: list[str] = Field([], description="Only apis (functions, classes) that match this pattern, e.g. 'torch.nn.*'")
    shard: str | None = Field(
        None, description="Only one part (shard) of the apis: 1/4 is the first of four parts of equal cost"
    )
    changed: bool = Field(
        False, description="Only apis that are called by new or changed code in --tests, --models and --docs"
    )
    base: Path | None = Field(
        None,
        description="For --changed: directory of your sources before the change [default: the code of earlier runs]",
    )
    space: Path | None = Field(
        None,
        description="File of recorded calls, written by `pack`, to load first "
        "[default: the file that comes with the nightfuzz release, if any]",
    )
    source: Annotated[list[str], Words] = Field(
        ["docs", "tests", "models", "search"],
        description="Sources of calls, separated by commas: docs, tests, models, "
        "search (calls that nightfuzz makes up and tries) [default: all]",
    )
    docs: list[Path] = Field([], description="Further directory of HTML, RST or Markdown pages with examples")
    tests: list[Path] = Field([], description="Further directory of pytest or unittest files")
    models: list[Path] = Field([], description="Further directory of model programs (scripts that run a model)")
    seed_time: Seconds = Field(60.0, description="Time limit for each piece of traced code (seed)")
    timeout: Seconds = Field(3.0, description="Time limit of one test; a longer test is a hang")
    oracles: list[str] = Field(default_factory=_every_oracle, description="Oracles to use (checks that find a bug)")
    confirm_runs: int = Field(5, description="Fresh processes in which a finding must reproduce", ge=1, le=100)
    disable: list[str] = Field(
        [],
        description="Mutation rules to switch off, by name or by kind. "
        "Kinds of the FreeFuzz paper: type, random, database. "
        "Other kinds: beyond (further rules), edge (values that do not fit the other arguments)",
    )
    engine: Literal["api", "freefuzz", "moco", "gandalf"] = Field(
        "api",
        description="What to fuzz: api or freefuzz (single calls), moco (model programs), gandalf (several libraries)",
    )
    paper: bool = Field(
        False, description="For freefuzz, moco, gandalf: run the published algorithm, without our improvements"
    )
    libraries: Annotated[list[str], Words] = Field(
        [],
        description="For gandalf, libraries or builds to compare with each other on the same models, "
        "separated by commas [default: torch,tensorflow]",
    )
    domain: Annotated[list[Literal["cv", "nlp", "asr"]], Words] = Field(
        ["cv", "nlp", "asr"],
        description="For gandalf, domains of the models, separated by commas: "
        "cv (images), nlp (text), asr (speech) [default: all]",
    )
    guidance: str = Field(
        "novelty",
        description="For gandalf, strategy that chooses the operators of a model: "
        "random, mcmc, genetic, q, double-q, dqn, ddqn, bandit, novelty",
    )
    reward: Annotated[list[Annotated[float, Field(ge=0)]], Words] = Field(
        [1.0, 1.0, 1.0],
        description="For gandalf, three numbers A,B,C: "
        "the rewards for a disagreement, for a crash, and for NaN or infinity",
        min_length=3,
        max_length=3,
    )
    models_share: float = Field(
        0.2,
        description="Share of the fuzzing time for model programs: 0 (none) or more, below 1",
        ge=0,
        lt=1,
    )
    knowledge_import: Path | None = Field(
        None,
        description="Directory with the MoCo authors' files to import: one YAML or JSON file for each api",
    )
    llm_endpoint: Annotated[str, AfterValidator(_endpoint)] | None = Field(
        None, description="Also ask a language model at this address (OpenAI protocol): https://HOST/v1"
    )
    llm_model: str | None = Field(None, description="Name of the model at --llm-endpoint", min_length=1, max_length=200)
    llm_embedding_model: str | None = Field(
        None,
        description="Embedding model at --llm-endpoint that compares api definitions "
        "[default: compare the words of the definitions]",
        min_length=1,
        max_length=200,
    )
    llm_key_variable: Annotated[str, AfterValidator(_variable)] | None = Field(
        None, description="Name of the environment variable that holds the key of --llm-endpoint"
    )
    schedule: str = Field(
        "bandit",
        description="Order of apis: bandit (more time for apis with new behaviour), "
        "fair (equal time for each api), uniform (equal number of tests for each api)",
    )
    grow: bool = Field(True, description="Also mutate the test cases that showed a new kind of outcome")
    fail_on_bugs: bool = Field(False, description="Exit with code 1 if the command finds new bugs")
    known: Path = Field(default_factory=_known_file, description="File of known findings (bugs reported already)")
    sandbox: Literal["none", "auto", "docker"] = Field(
        "none", description="Run in a container: none (no container), docker, or auto (docker if it can start)"
    )
    sandbox_image: str | None = Field(None, description="Image of the container")
    sandbox_base: str | None = Field(None, description="Image that the container's image is built on")
    sandbox_memory: float | None = Field(None, description="Memory of the container, in GB", gt=0)
    sandbox_cpus: float | None = Field(None, description="Processors of the container", gt=0)
    sandbox_processes: int | None = Field(None, description="Limit of processes and threads in the container", ge=64)


def load(path: Path | None, flags: Mapping[str, Any]) -> Settings:
    """Return settings from the file (`nightfuzz.toml` here, where there is one) under the flags that were given.

    Raises:
        UserError: the file is missing or broken, a key is unknown (the message names the nearest), or a value does
            not fit.
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
            raise UserError(f"{file}, line {line}: a byte is not UTF-8", "save the file as UTF-8") from error
        data |= parse(text, str(file))
    given = {key: value for key, value in flags.items() if value is not None and value != []}
    return check(data, given, str(file), text)


def parse(text: str, origin: str) -> dict[str, Any]:
    """Return the keys and values of a settings text.

    Raises:
        UserError: the text is no TOML, or has an unknown key.
    """
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UserError(
            f"{origin} is not valid TOML: {error}", "correct that line; docs/reference/configuration.md has an example"
        ) from error
    for key, value in data.items():
        if key not in Settings.model_fields:
            place = f"{origin}{_line_of(key, text)}"
            if isinstance(value, dict):
                raise UserError(
                    f"{place}: [{key}] is a table, but the file has no tables",
                    "write all keys at the top of the file, without [...]",
                )
            close = get_close_matches(key, Settings.model_fields, n=1)
            remedy = (
                f"did you mean {close[0]!r}?"
                if close
                else "write the name of a flag without --, with _ for -; `nightfuzz run --help` lists flags"
            )
            raise UserError(f"{place}: unknown key {key!r}", remedy)
    return data


def _line_of(key: str, text: str) -> str:
    """Return the line of a key in a settings text, in words; empty if the key is spelt in another way."""
    found = re.search(rf"""^[ \t]*\[?[ \t]*["']?{re.escape(key)}["']?[ \t]*[=\].]""", text, re.MULTILINE)
    return f", line {text.count(chr(10), 0, found.start()) + 1}" if found else ""


def check(data: Mapping[str, Any], flags: Mapping[str, Any], origin: str = DEFAULT_FILE, text: str = "") -> Settings:
    """Return settings from the values of a text, under flags.

    Raises:
        UserError: a value does not fit; the message names the first.
    """
    try:
        return Settings(**{**data, **flags})
    except ValidationError as error:
        first = error.errors()[0]
        name, said = ".".join(str(part) for part in first["loc"]), first["msg"]
        key = name.partition(".")[0]
        where = f"{name} on the command line" if key in flags else f"{name} in {origin}{_line_of(key, text)}"
        if name in SECRET:
            remedy = (
                f"{key} means: {Settings.model_fields[key].description}; the value may be a secret and is not shown"
            )
            raise UserError(f"{where}: {said.removeprefix('Value error, ')}", remedy) from error
        remedy = f"give another value; {key} means: {Settings.model_fields[key].description}"
        if first["type"] == "value_error":
            raise UserError(f"{where}: {said.removeprefix('Value error, ')}", remedy) from error
        said = re.sub(r"^(Input|\w+) should", r"it has to", said).replace("it has to have", "it has to hold")
        raise UserError(f"{where} is {first['input']!r}: {said}", remedy) from error


def explicit_settings(settings: Settings) -> str:
    """Return the settings that a file or a flag has set, but for what may be a secret."""
    pairs = {name: getattr(settings, name) for name in settings.model_fields_set if name not in SECRET}
    return ", ".join(f"{name}={value}" for name, value in sorted(pairs.items())) or "all at their defaults"
