"""Relations 4 to 8 of table 4: the order of axes, and dtypes that are not declared."""

from __future__ import annotations

from typing import ClassVar

from fuzz_core.modelgen.gandalf import templates
from fuzz_core.modelgen.gandalf.patterns import FLOAT, GUARDS, INT, SAME, pattern
from fuzz_core.modelgen.gandalf.relations.contract import Relation, RelationExample, TableRelation, replaced
from fuzz_core.modelgen.gandalf.table import Layout, Library, Operator, Spelling


class _Axes(TableRelation):
    """A relation for the operators that the table spells out, and for all that compute element by element."""

    layout: ClassVar[Layout]

    def applies_to(self, operator: Operator, library: Library) -> bool:
        """Return whether the operator computes element by element or the table has another spelling."""
        return super().applies_to(operator, library) or (library in operator.spelled and operator.pointwise)

    def transform(self, operator: Operator, library: Library) -> Spelling:
        """Return the spelling for another order of axes."""
        if super().applies_to(operator, library):
            return super().transform(operator, library)
        return operator.spelled[library].model_copy(update={"layout": self.layout})


class Images(_Axes):
    """Images as (N, H, W, C) or (N, C, H, W), for operators without a parameter that says which."""

    number = 4
    statement = "I1 ≡ I2 with input shape as (N, H, W, C) and (N, C, H, W)"
    layout = "last"
    examples = (RelationExample("relu", "torch", "F.relu(x)"),)


class Sequences(_Axes):
    """Sequences as (N, C, L), (N, L, C) or (L, N, C)."""

    number = 5
    statement = "I1 ≡ I2 with input shape as (N, C, L), (N, L, C) and (L, N, C)"
    layout = "time"
    examples = (RelationExample("relu", "torch", "F.relu(x)"),)


class DeclaredFormat(TableRelation):
    """Channels declared to be first or last.

    PyTorch declares it for a tensor, as its memory format.
    """

    number = 6
    statement = "I1 ≡ I2 with input shape as channel_first and channel_last"
    examples = (RelationExample("max_pool2d", "torch", "x.contiguous(memory_format=torch.channels_last)"),)

    def applies_to(self, operator: Operator, library: Library) -> bool:
        """Return whether the table has another spelling or the operator takes images in PyTorch."""
        images = library == "torch" and library in operator.spelled and bool(_images(operator))
        return images or super().applies_to(operator, library)

    def transform(self, operator: Operator, library: Library) -> Spelling:
        """Return the spelling that declares channels to be last."""
        if super().applies_to(operator, library):
            return super().transform(operator, library)
        declared = "{0}.contiguous(memory_format=torch.channels_last)"
        return replaced(operator.spelled[library], {name: declared.format(name) for name in _images(operator)})


def _images(operator: Operator) -> list[str]:
    pairs = zip(operator.takes, operator.inputs, strict=True)
    return [name for name, each in pairs if len(each.parts) == 4 and each.names == {"N", "C", "H", "W"}]


class _Undeclared(Relation):
    kinds: ClassVar[tuple[str, ...]]
    forms: ClassVar[dict[Library, str]]

    def applies_to(self, operator: Operator, library: Library) -> bool:
        """Return whether the operator has an input of one of the kinds."""
        return library in operator.spelled and bool(self._inputs(operator))

    def transform(self, operator: Operator, library: Library) -> Spelling:
        """Return the spelling whose inputs of these kinds are converted to the dtype by its short name."""
        meanings = {name: self.forms[library].format(name) for name in self._inputs(operator)}
        return replaced(operator.spelled[library], meanings)

    def _inputs(self, operator: Operator) -> list[str]:
        pairs = zip(operator.takes, operator.inputs, strict=True)
        return [name for name, each in pairs if each.kind in self.kinds]


class Floats(_Undeclared):
    """The short name `float` must mean float32: data converted to `float` gives the results of a float32 program.

    The conversion happens in a program of float64, since it would have no effect in float32. The result is converted
    back for the nodes that follow. Operators with weights or layers of float64 are left out, because they take no
    float32 data.
    """

    number = 7
    statement = "I1 ≡ I2 with float and float32"
    precisions = ("float64",)
    reference = "float32"
    kinds = (FLOAT, *GUARDS)
    forms: ClassVar[dict[Library, str]] = {
        "torch": "{0}.to(torch.float)",
        "tensorflow": "tf.cast({0}, float)",
        "jittor": "{0}.float()",
    }
    back: ClassVar[dict[Library, str]] = {
        "torch": "made.to(torch.double)",
        "tensorflow": "tf.cast(made, tf.double)",
        "jittor": "made.double()",
    }
    examples = (RelationExample("relu", "torch", "F.relu(x.to(torch.float)).to(torch.double)"),)

    def applies_to(self, operator: Operator, library: Library) -> bool:
        """Return whether the operator computes element by element and all its inputs and its result are floats."""
        if not (super().applies_to(operator, library) and operator.pointwise) or library in operator.coarse:
            return False
        kinds = {each.kind for each in (*operator.inputs, pattern(operator.gives))}
        return kinds <= {*self.kinds, SAME} and not operator.spelled[library].setup

    def transform(self, operator: Operator, library: Library) -> Spelling:
        """Convert inputs to `float`, and the result back to double precision."""
        spelling = super().transform(operator, library)
        return spelling.model_copy(update={"call": templates.filled(self.back[library], {"made": spelling.call})})


class Integers(_Undeclared):
    """The short name `int` must mean int32."""

    number = 8
    statement = "I1 ≡ I2 with int and int32"
    kinds = (INT,)
    forms: ClassVar[dict[Library, str]] = {
        "torch": "{0}.to(torch.int)",
        "tensorflow": "tf.cast({0}, tf.int32)",
        "jittor": "{0}.int()",
    }
    examples = (RelationExample("embedding", "torch", "x.to(torch.int)"),)
