"""The operators that graphs are made of: one YAML file for each family, checked when it is read (section 5.2)."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Set
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator

from fuzz_core.ir.errors import UserError
from fuzz_core.modelgen.expressions import names_of
from fuzz_core.modelgen.gandalf import templates
from fuzz_core.modelgen.gandalf.declarations import (
    DRAWS,
    GIVEN,
    TAKEN,
    Declared,
    Pattern,
    declaration,
    expression,
    pattern,
)
from fuzz_core.modelgen.moco.knowledge.file import parsed

Library = Literal["torch", "tensorflow", "jittor"]
LIBRARIES: tuple[Library, ...] = get_args(Library)
# The libraries that are compared if the user names none.
COMPARED: tuple[Library, ...] = ("torch", "tensorflow")
Symbol = Literal["input", "inner", "output"]
Domain = Literal["cv", "nlp", "asr"]
Layout = Literal["first", "last", "time"]
Precision = Literal["float32", "float64"]
HOME = Path(__file__).parent / "operators"
# The modules of a library that its programs may name beside numpy, with their public names.
MODULES: dict[Library, dict[str, str]] = {
    "torch": {"torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional"},
    "tensorflow": {"tf": "tf", "keras": "tf.keras"},
    "jittor": {"jt": "jittor", "nn": "jittor.nn"},
}
NUMPY = "np"
# Number and product of the dimensions that `...` stands for. In spellings, `out` is the shape of the result.
COUNTS = frozenset({"rank", "size"})
OUTPUT = "out"
_REMEDY = "correct this entry; the other entries of the file show the form"


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Spelling(_Entry):
    """How a library writes an operator: lines that prepare (a layer, its weights) and the expression of the result."""

    call: str
    setup: str = ""
    # The axes of images and sequences in the spelling. `first`: N, C, then space, as the table has them; `last`: N,
    # space, C; `time`: the first axis after the channels goes to the front.
    layout: Layout = "first"


Spelled = Annotated[Spelling, BeforeValidator(lambda given: {"call": given} if isinstance(given, str) else given)]


class Operator(_Entry):
    """An operator, independent of libraries."""

    name: str
    family: str
    # Its roles in the grammar (definition 2): `input` takes the model's data, `output` may end it.
    symbols: tuple[Symbol, ...] = ("inner",)
    domains: tuple[Domain, ...] = get_args(Domain)
    takes: dict[str, str]  # patterns of its inputs, by name; a dimension's name stands for the same size in all of them
    parameters: dict[str, Declared] = {}  # the declared values of its parameters
    requires: tuple[str, ...] = ()  # expressions that must hold
    # Patterns whose kind says how they are drawn; the names of kernels begin with w, those of biases with b.
    weights: dict[str, str] = {}
    gives: str  # the pattern of the result
    spelled: dict[Library, Spelled]
    excluded: dict[Library, str] = {}  # why a library has no spelling
    # Further expressions that must hold if a library is among those compared.
    limits: dict[Library, tuple[str, ...]] = {}
    single: dict[Library, str] = {}  # why a library computes it in float32 alone, which is documented
    # An undocumented bug that makes a library's double precision only as good as single precision; later builds may not
    # have it.
    loses: dict[Library, str] = {}
    # The undocumented result of a library when its spelling was verified: a bug, which later builds may not have.
    wrong: dict[Library, str] = {}
    # Other spellings of the same operator, by the number of the relation that makes them (table 4).
    also: dict[Library, dict[int, Spelled]] = {}

    @property
    def inputs(self) -> tuple[Pattern, ...]:
        """The patterns of its inputs, in order."""
        return tuple(map(pattern, self.takes.values()))

    @property
    def coarse(self) -> dict[Library, str]:
        """Why a library's result is only as good as single precision, documented or not."""
        return {**self.single, **self.loses}

    @property
    def faults(self) -> dict[Library, str]:
        """The known differences of a library from its documentation."""
        return {**self.loses, **self.wrong}

    @property
    def pointwise(self) -> bool:
        """Whether each element depends only on the elements at its place, so that the order of axes does not matter."""
        parts = {pattern(text).parts for text in (*self.takes.values(), self.gives)}
        return parts == {(None,)} and not self.weights

    @model_validator(mode="after")
    def _checked(self) -> Operator:
        _check_libraries(self)
        for name, text in self.takes.items():
            with _at(f"takes.{name}"):
                if not _pattern_of(text, TAKEN).binds:
                    raise ValueError("write the dimensions of an input as names, numbers and at most one ...")
        dimensions = set().union(*(each.names for each in self.inputs))
        words = [*self.takes, *self.parameters, *self.weights, *COUNTS, OUTPUT, *dimensions]
        if double := sorted({word for word in words if words.count(word) > 1}):
            raise ValueError(f"the name {double[0]} stands for two things")
        _check_expressions(self, {*COUNTS, *self.parameters, *dimensions})
        for library, spelling in self.spelled.items():
            with _at(f"spelled.{library}"):
                _check_spelling(spelling, {*words, *MODULES[library], NUMPY})
        for library, others in self.also.items():
            for number, spelling in others.items():
                with _at(f"also.{library}.{number}"):
                    _check_spelling(spelling, {*words, *MODULES[library], NUMPY})
        return self

    def limited(self, libraries: Collection[Library]) -> Operator:
        """Return the operator with the limits of all of these libraries."""
        further = tuple(text for library, every in self.limits.items() if library in libraries for text in every)
        return self.model_copy(update={"requires": self.requires + further}) if further else self


@contextmanager
def _at(place: str) -> Iterator[None]:
    """Put the place in an entry before the text of an error."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error


def _check_libraries(operator: Operator) -> None:
    for library in LIBRARIES:
        if (library in operator.spelled) == (library in operator.excluded):
            raise ValueError(f"{library} must have an entry either in `spelled` or in `excluded`")
    for field in (operator.limits, operator.single, operator.loses, operator.wrong, operator.also):
        if strangers := set(field) - set(operator.spelled):
            raise ValueError(f"{sorted(strangers)[0]} has no entry in `spelled`")


def _check_expressions(operator: Operator, known: set[str]) -> None:
    for name, declared in operator.parameters.items():
        with _at(f"parameters.{name}"):
            if isinstance(tree := declaration(declared), ast.expr):
                _check_names(names_of(tree), known)
    for place, text in enumerate(operator.requires):
        with _at(f"requires.{place}"):
            _check_names(names_of(expression(text)), known)
    for library, limits in operator.limits.items():
        for text in limits:
            with _at(f"limits.{library}"):
                _check_names(names_of(expression(text)), known)
    with _at("gives"):
        _check_names(_pattern_of(operator.gives, GIVEN).names, known)
    for name, text in operator.weights.items():
        with _at(f"weights.{name}"):
            _check_names(_pattern_of(text, DRAWS).names, known)


def _pattern_of(text: str, kinds: Collection[str]) -> Pattern:
    found = pattern(text)
    if found.kind not in kinds:
        raise ValueError(f"the kind {found.kind} is not one of {', '.join(kinds)}")
    return found


def _check_names(names: Set[str], known: Set[str]) -> None:
    if unknown := sorted(names - known):
        raise ValueError(f"the name {unknown[0]} is not defined here")


def _check_spelling(spelling: Spelling, known: set[str]) -> None:
    if not templates.is_expression(spelling.call):
        raise ValueError("the call must be one expression")
    made = templates.assigned(spelling.setup)
    if double := sorted(made & known):
        raise ValueError(f"the name {double[0]} stands for two things")
    _check_names(templates.free(spelling.setup), known)
    _check_names(templates.free(spelling.call), known | made)


@cache
def load() -> dict[str, Operator]:
    """Load all operators, by name.

    Raises:
        UserError: an entry is wrong; the message names the file, the operator and the field.
    """
    found: dict[str, Operator] = {}
    for path in sorted(HOME.glob("*.yaml")):
        for operator in read(path.read_text(encoding="utf-8"), path.name):
            if operator.name in found:
                raise UserError(
                    f"{path.name}: the family {found[operator.name].family} has an operator {operator.name}, too",
                    "rename or remove one of the two",
                )
            found[operator.name] = operator
    return found


def read(text: str, where: str) -> list[Operator]:
    """Read the operators of a file: `family`, `each` (common fields, unless an operator has its own), `operators`.

    Raises:
        UserError: an entry is wrong; the message names the file, the operator and the field.
    """
    try:
        data = parsed(text, where)
    except UserError as error:
        raise UserError(error.problem, _REMEDY) from error
    if not isinstance(data, dict) or not isinstance(data.get("operators"), dict) or "family" not in data:
        raise UserError(
            f"{where}: the file needs the keys `family` and `operators`, and `operators` has to be a mapping",
            "add the missing key, or write `operators` as KEY: VALUE",
        )
    return [_operator(data, name, entry, where) for name, entry in data["operators"].items()]


def _operator(data: dict[str, Any], name: str, entry: Any, where: str) -> Operator:
    if not isinstance(entry, dict):
        raise UserError(f"{where}: {name}: the operator is not a mapping of fields", "write its fields as KEY: VALUE")
    try:
        return Operator.model_validate({**data.get("each", {}), **entry, "name": name, "family": data["family"]})
    except ValidationError as error:
        first = error.errors()[0]
        place = "".join(f"{each}: " for each in first["loc"] if each != "function-before[<lambda>(), Spelling]")
        raise UserError(f"{where}: {name}: {place}{first['msg'].removeprefix('Value error, ')}", _REMEDY) from error
