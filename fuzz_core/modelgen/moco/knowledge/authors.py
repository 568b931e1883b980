"""Import of the files that the paper's authors made for each api (the text box of section III-C)."""

from __future__ import annotations

import json
import re
from itertools import chain
from pathlib import Path
from typing import Any

from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.errors import UserError
from fuzz_core.modelgen.moco.facts import Facts, Parameter, ParameterRelation
from fuzz_core.modelgen.moco.knowledge import words
from fuzz_core.modelgen.moco.knowledge.file import parsed

# The line has colons of its own, and must be read as text.
_LINE = re.compile(r"^([ \t]*(?:- *)?)(Parameter 1: .*Constrain: .*?)[ \t]*$", re.MULTILINE)
_SUFFIXES = (".yaml", ".yml", ".json")


class AuthorsFiles:
    """An `Extractor` over a folder with one file for each api, `tf.keras.layers.LSTM.yaml`, all of which it reads.

    If two files have the same name, the first counts. `used` has the names of the files that were asked for.

    Raises:
        UserError: there is no file, or one cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        listed = sorted(path for path in folder.rglob("*") if path.suffix in _SUFFIXES and path.is_file())
        if not listed:
            why = "no YAML or JSON file is in" if folder.is_dir() else "there is no folder"
            raise UserError(f"--import: {why} {folder}", "name a folder that has one YAML file for each api")
        self.known = {path.stem: imported(path.stem, _text(path), str(path)) for path in reversed(listed)}
        self.used: set[str] = set()

    def facts(self, api: Api) -> Facts | None:
        """Return the facts in the file of the api, under any of its names; None if there is no such file."""
        name = next((name for name in (api.name, *api.aliases) if name in self.known), None)
        if name is None:
            return None
        self.used.add(name)
        return self.known[name].model_copy(update={"api": api.name})


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"cannot read {path}: {error}", "correct the file, or remove it from the folder of --import"
        ) from error


def imported(api: str, text: str, where: str) -> Facts:
    """Return the facts in a file.

    Raises:
        UserError: the file has another form.
    """
    data = parsed(_LINE.sub(lambda line: line[1] + json.dumps(line[2]), text), where)
    if not isinstance(data, dict):
        raise UserError(f"{where} is not a mapping", "write the keys Similarity, Parameters and Constrains into it")
    listed = _section(data, "Parameters", dict, where)
    parameters = tuple(_parameter(str(name), each or {}, where) for name, each in listed.items())
    names = [each.name for each in parameters]
    relations = tuple(each for line in _lines(data.get("Constrains")) if (each := _relation(line, names)) is not None)
    pairs = [each.items() for each in _section(data, "Similarity", list, where) if isinstance(each, dict)]
    similar = {str(name): float(number) for name, number in chain(*pairs) if isinstance(number, int | float)}
    return Facts(api=api, parameters=parameters, relations=relations, similar=similar)


def _section(data: dict[Any, Any], name: str, kind: type, where: str) -> Any:
    found = data.get(name)
    if found is None:
        return kind()
    if not isinstance(found, kind):
        form = "mapping (KEY: VALUE)" if kind is dict else "list (- ITEM)"
        raise UserError(f"{where}: {name} is not a {form.partition(' ')[0]}", f"write {name} as a {form}")
    return found


def _lines(found: Any) -> list[Any]:
    """Return the list; a single constraint may stand without a list."""
    return found if isinstance(found, list) else [] if found is None else [found]


def _parameter(name: str, said: Any, where: str) -> Parameter:
    if not isinstance(said, dict):
        raise UserError(f"{where}: the parameter {name} is not a mapping", f"write {name} as a mapping (KEY: VALUE)")
    enum = said.get("enum")
    listed = [None if each == "None" else each for each in enum] if isinstance(enum, list) else []
    said_choices = ", ".join(map(repr, listed))
    choices = words.constraint_of(name, "choices", map(words.choice, listed), said_choices, "import")
    return Parameter(
        name=name,
        dtype=words.dtype_of(str(said.get("dtype", ""))),
        structure=words.structure_of(str(said.get("structure", ""))),
        default=_default(said),
        constraints=(
            *choices,
            *words.range_of(name, str(said.get("range", "")), "import"),
            *words.lengths_of(name, str(said.get("shape", "")), "import"),
        ),
    )


def _default(said: dict[Any, Any]) -> str | None:
    if "default" not in said:
        return None
    value = said["default"]
    return "None" if value in (None, "None") else repr(value)


def _relation(line: Any, names: list[str]) -> ParameterRelation | None:
    """Read the relation of "Parameter 1: a, Parameter 2: b, Constrain: a > b", given as text or as a mapping."""
    if isinstance(line, dict):
        text = next((str(value) for key, value in line.items() if str(key).startswith("Constrain")), "")
    else:
        text = str(line).rpartition("Constrain:")[2]
    return words.relation_of(text.strip(), names, "import")
