"""A relation of table 4: another way to write an operator in a library that must give the same result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal, NamedTuple

from fuzz_core.modelgen.gandalf import templates
from fuzz_core.modelgen.gandalf.table import Library, Operator, Spelling


class RelationExample(NamedTuple):
    """An operator of the table, a library, and a part of the spelling that the relation produces there."""

    operator: str
    library: Library
    written: str


class Relation(ABC):
    """An equivalent way to write an operator in a library, with the conditions of the equivalence."""

    number: ClassVar[int]  # its number in table 4
    statement: ClassVar[str]  # what is equivalent, in the paper's words
    precisions: ClassVar[tuple[str, ...]] = ("float32", "float64")  # the precisions in which the equivalence holds
    # The precision of the plain result to compare with; None for the same precision.
    reference: ClassVar[Literal["float32", "float64"] | None] = None
    examples: ClassVar[tuple[RelationExample, ...]]

    @abstractmethod
    def applies_to(self, operator: Operator, library: Library) -> bool:
        """Return whether the relation can rewrite the operator's spelling in this library."""

    @abstractmethod
    def transform(self, operator: Operator, library: Library) -> Spelling:
        """Return the rewritten spelling.

        Call this method only if the relation applies.
        """

    def constants(self, operator: Operator) -> tuple[str, ...]:
        """Return the weights that must be one constant for the equivalence; most relations need none."""
        return ()


class TableRelation(Relation):
    """A relation whose spellings stand in the table, operator by operator."""

    def applies_to(self, operator: Operator, library: Library) -> bool:
        """Return whether the table has another spelling under the relation's number."""
        return self.number in operator.also.get(library, {})

    def transform(self, operator: Operator, library: Library) -> Spelling:
        """Return the table's other spelling."""
        return operator.also[library][self.number]


class Defaulted(Relation):
    """An argument that is left out because its value is the library's default."""

    arguments: ClassVar[tuple[tuple[str, str], ...]]  # by name and value, as libraries call it

    def applies_to(self, operator: Operator, library: Library) -> bool:
        """Return whether the spelling has one of the arguments, with the default value."""
        spelling = operator.spelled.get(library)
        if spelling is None:
            return False
        given = {each for text in (spelling.setup, spelling.call) for each in templates.keywords(text)}
        return not given.isdisjoint(self.arguments)

    def transform(self, operator: Operator, library: Library) -> Spelling:
        """Return the spelling without the arguments."""
        spelling = operator.spelled[library]
        texts = {"setup": self._without(spelling.setup), "call": self._without(spelling.call)}
        return spelling.model_copy(update=texts)

    def _without(self, text: str) -> str:
        for name, value in self.arguments:
            text = templates.without_keyword(text, name, value)
        return text


def replaced(spelling: Spelling, meanings: dict[str, str]) -> Spelling:
    """Return a spelling with names replaced by expressions."""
    texts = {"setup": templates.filled(spelling.setup, meanings), "call": templates.filled(spelling.call, meanings)}
    return spelling.model_copy(update=texts)
