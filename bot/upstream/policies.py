"""What a library's own tracker takes: shipped with nightfuzz, replaced entry by entry by a file of the user's."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatchcase
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from fuzz_core.ir.errors import UserError
from nightfuzz.reports.results import Line, Name, Names, Part

SHIPPED = "policies.toml"
Mode = Literal["off", "draft", "approved"]
Repository = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}$")]
Link = Annotated[str, Field(pattern=r"^(https://\S{1,1000})?$")]


class Policy(Part):
    """What one tracker takes. rule: where that is said. form: of its issues. refused_apis: wildcards; what shows itself
    in no other api is not reported. security: where vulnerabilities are told."""

    library: Name
    repository: Repository
    allowed: bool
    why: Line
    rule: Link = ""
    form: Link = ""
    refused_apis: Names = ()
    security: Link = ""

    def takes(self, api: str) -> bool:
        """Whether a bug of this api is worth a report."""
        return not any(fnmatchcase(api, glob) for glob in self.refused_apis)


class _File(Part):
    upstream: tuple[Policy, ...] = ()


def policies(own: Path | None = None) -> dict[str, Policy]:
    """By library. Raises UserError that names the file and the key of what does not fit."""
    shipped = resources.files(__package__).joinpath(SHIPPED).read_bytes()
    found = {each.library: each for each in _read(shipped, SHIPPED)}
    if own is None:
        return found
    try:
        content = own.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {own}: {error.strerror}", "name a TOML file of upstream policies") from error
    return found | {each.library: each for each in _read(content, str(own))}


def policy_of(found: dict[str, Policy], library: str) -> Policy:
    """Raises UserError for a library whose tracker is not known."""
    if library not in found:
        known = ", ".join(sorted(found))
        raise UserError(
            f"no policy says what the tracker of {library} takes", f"known are {known}; write one in a file of your own"
        )
    return found[library]


def _read(content: bytes, origin: str) -> tuple[Policy, ...]:
    guide = "see docs/issues.md for its form"
    try:
        return _File.model_validate(tomllib.loads(content.decode("utf-8"))).upstream
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{origin} is not valid TOML: {error}", guide) from error
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise UserError(f"{origin}: {where[:200]}: {first['msg'][:200]}", guide) from error
