"""Knowledge as YAML: one file for each build of a library, the same bytes for the same knowledge."""

from __future__ import annotations

import re
from collections.abc import Collection
from io import StringIO
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.representer import SafeRepresenter

from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.files import write_whole
from fuzz_core.modelgen.expressions import Opaque, meaning, readable
from fuzz_core.modelgen.moco.block_test import described
from fuzz_core.modelgen.moco.facts import VERSION, Facts, Knowledge, Parameter, ParameterRelation

WIDTH = 4096
# Text that may stand without quotes if YAML allows it; the YAML library by itself quotes too little of other text.
_PLAIN = re.compile(r"[\w'\"(\[{<*+./-][ -~]*")
_REMEDY = "make the file again: `nightfuzz moco knowledge`"


class OtherVersionError(UserError):
    """A knowledge file has the form of another version of the program."""


def path_of(folder: Path, build: str) -> Path:
    """Return the path of a build's knowledge file."""
    return folder / f"{build}.yaml"


def write(knowledge: Knowledge, path: Path) -> None:
    """Write the file completely or not at all.

    Raises:
        UserError: the disk refuses.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, dumped(knowledge))
    except OSError as error:
        raise UserError(
            f"cannot write {path}: {error.strerror}",
            f"make {path.parent} writable, or name another directory with --state",
        ) from error


def read(path: Path) -> Knowledge:
    """Read a knowledge file.

    Raises:
        UserError: the file is missing, unreadable, of another version or not valid.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise UserError(f"there is no knowledge file {path}", "make the file: `nightfuzz moco knowledge`") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path}: {error}", _REMEDY) from error
    return loaded(text, str(path))


def dumped(knowledge: Knowledge) -> str:
    """Return the text of the file: apis by name, without defaults."""
    data = {"version": knowledge.version, **plain(knowledge)}
    data["apis"] = dict(sorted(data.get("apis", {}).items()))
    stream = StringIO()
    _yaml().dump(data, stream)
    return stream.getvalue()


def plain(facts: Knowledge | Facts) -> dict[str, Any]:
    """Return plain JSON data without defaults.

    Lone surrogates, which a worker may send, become escapes.
    """
    found: dict[str, Any] = _clean(facts.model_dump(mode="json", exclude_defaults=True))
    return found


def loaded(text: str, where: str) -> Knowledge:
    """Read the text that `dumped` returns.

    Raises:
        UserError: the file is invalid; the message names `where`.
    """
    data = parsed(text, where)
    version = data.get("version") if isinstance(data, dict) else None
    if version != VERSION:
        raise OtherVersionError(
            f"{where} has the format version {version}, but this nightfuzz reads version {VERSION}", _REMEDY
        )
    try:
        return Knowledge.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UserError(f"{where}: {place}: {first['msg']}", f"correct that value, or {_REMEDY}") from error


def parsed(text: str, where: str) -> Any:
    """Read YAML as plain data.

    Raises:
        UserError: a syntax error; the message has its place.
    """
    try:
        return _yaml().load(text)
    except (YAMLError, ValueError, RecursionError) as error:
        raise UserError(f"{where} is not valid YAML: {error}", _REMEDY) from error


class _Representer(SafeRepresenter):
    """A representer that writes text with other than plain ASCII in double quotes, with escapes."""

    def text(self, data: str) -> ScalarNode:
        """Return the node of a text."""
        return self.represent_scalar("tag:yaml.org,2002:str", data, None if _PLAIN.fullmatch(data) else '"')


_Representer.add_representer(str, _Representer.text)


def _yaml() -> YAML:
    made: Any = YAML(typ="safe", pure=True)
    made.Representer = _Representer
    made.default_flow_style = None
    made.sort_base_mapping_type_on_output = False
    made.width = WIDTH
    made.allow_unicode = False
    found: YAML = made
    return found


def _clean(data: Any) -> Any:
    if isinstance(data, str):
        return data.encode("utf-8", "backslashreplace").decode()
    if isinstance(data, dict):
        return {_clean(key): _clean(value) for key, value in data.items()}
    return [_clean(each) for each in data] if isinstance(data, list) else data


# A sequence with more items is not written.
MOST_ITEMS = 64


def portable(facts: Facts, roots: Collection[str]) -> Facts | None:
    """Return the facts that consist of values and of names of the library; None if the api is not the library's.

    An example with any other expression is left out as a whole.

    Args:
        roots: the names that programs import the library by.
    """
    if _own(facts.api, roots) is None:
        return None
    examples = facts.example.items()
    whole = all(name.isidentifier() and _is_value(text, roots) for name, text in examples)
    sound = whole and not any(isinstance(meaning(text), Opaque) for text in facts.takes)
    return facts.model_copy(
        update={
            "parameters": tuple(_parameter(each, roots) for each in facts.parameters if each.name.isidentifier()),
            "relations": tuple(filter(_is_readable, facts.relations)),
            "dtypes": tuple(dtype for dtype in facts.dtypes if dtype in DTYPES),
            "example": facts.example if sound else {},
            "inputs": facts.inputs if sound else (),
            "takes": facts.takes if sound else (),
        }
    )


def _own(path: str, roots: Collection[str]) -> str | None:
    """Return the public path of a name of the library, None for any other name."""
    parts = path.split(".")
    public = all(part.isidentifier() and not part.startswith("_") for part in parts)
    return path if public and parts[0] in roots and len(parts) > 1 else None


def _is_value(text: str, roots: Collection[str]) -> bool:
    return described(text, lambda path: _own(path, roots)) is not None


def _parameter(parameter: Parameter, roots: Collection[str]) -> Parameter:
    default = parameter.default
    return parameter.model_copy(
        update={
            "default": default if default is None or _is_value(default, roots) else None,
            "seen": tuple(text for text in parameter.seen if _is_value(text, roots)),
            "constraints": tuple(each for each in parameter.constraints if _is_short(each)),
        }
    )


def _is_short(constraint: Constraint) -> bool:
    return constraint.kind != "lengths" or max(map(int, constraint.bounds)) <= MOST_ITEMS


def _is_readable(relation: ParameterRelation) -> bool:
    return readable(relation.expression) is not None and all(name.isidentifier() for name in relation.parameters)
