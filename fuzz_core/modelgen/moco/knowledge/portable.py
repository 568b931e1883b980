"""Facts from any source, reduced to values and names, so that no foreign code gets into programs."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.modelgen.moco.block_test import described
from fuzz_core.modelgen.moco.constants import Opaque, meaning
from fuzz_core.modelgen.moco.facts import Facts, Parameter, ParameterRelation
from fuzz_core.modelgen.moco.knowledge.expressions import read

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
    takes = [text for text in facts.takes if not isinstance(meaning(text), Opaque)]
    sound = whole and len(takes) == len(facts.takes)
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
    def kept(texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(text for text in texts if _is_value(text, roots))

    default = parameter.default
    return parameter.model_copy(
        update={
            "default": default if default is None or _is_value(default, roots) else None,
            "seen": kept(parameter.seen),
            "constraints": tuple(each for each in parameter.constraints if _is_short(each)),
        }
    )


def _is_short(constraint: Constraint) -> bool:
    return constraint.kind != "lengths" or max(map(int, constraint.bounds)) <= MOST_ITEMS


def _is_readable(relation: ParameterRelation) -> bool:
    try:
        read(relation.expression)
    except ValueError:
        return False
    return all(name.isidentifier() for name in relation.parameters)
