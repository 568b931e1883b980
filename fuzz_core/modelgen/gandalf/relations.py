"""The 15 relations of table 4: other ways to write an operator in a library that must give the same result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from fuzz_core.modelgen.gandalf import templates
from fuzz_core.modelgen.gandalf.declarations import FLOAT, GUARDS, INT, SAME, pattern
from fuzz_core.modelgen.gandalf.table import Layout, Library, Operator, Precision, Spelling

_DOUBLE: dict[Library, str] = {
    "torch": "made.to(torch.double)",
    "tensorflow": "tf.cast(made, tf.double)",
    "jittor": "made.double()",
}


@dataclass(frozen=True)
class Relation:
    """An equivalent way to write an operator in a library.

    The table spells it out operator by operator. Derived classes have a rule for the operators that it leaves out.
    """

    number: int  # its number in table 4
    statement: str  # what is equivalent, in the paper's words

    # The precisions in which the equivalence holds.
    precisions: ClassVar[tuple[Precision, ...]] = ("float32", "float64")
    # The precision of the plain result to compare with; None for the same precision.
    reference: ClassVar[Precision | None] = None

    def applies_to(self, operator: Operator, library: Library) -> bool:
        """Return whether the relation can rewrite the operator's spelling in this library."""
        spelled_out = self.number in operator.also.get(library, {})
        return spelled_out or (library in operator.spelled and self.has_rule(operator, library))

    def transform(self, operator: Operator, library: Library) -> Spelling:
        """Return the rewritten spelling.

        Call this method only if the relation applies.
        """
        return operator.also.get(library, {}).get(self.number) or self.rewrite(operator, library)

    def constants(self, operator: Operator) -> Sequence[str]:
        """Return the weights that must be one constant for the equivalence; most relations need none."""
        return ()

    def has_rule(self, operator: Operator, library: Library) -> bool:
        """Return whether a rule rewrites the operator, which the library has."""
        return False

    def rewrite(self, operator: Operator, library: Library) -> Spelling:
        """Return the spelling that the rule makes."""
        raise NotImplementedError


@dataclass(frozen=True)
class AxesRelation(Relation):
    """Another order of axes, for operators that compute element by element and have no parameter for the order."""

    layout: Layout

    def has_rule(self, operator: Operator, library: Library) -> bool:
        """See `Relation`."""
        return operator.pointwise

    def rewrite(self, operator: Operator, library: Library) -> Spelling:
        """See `Relation`."""
        return operator.spelled[library].model_copy(update={"layout": self.layout})


@dataclass(frozen=True)
class WrapRelation(Relation):
    """Weights or inputs that are wrapped in an expression, {0} in `forms`, which keeps their values."""

    names: Callable[[Operator], Sequence[str]]
    forms: Mapping[Library, str]

    def has_rule(self, operator: Operator, library: Library) -> bool:
        """See `Relation`."""
        return library in self.forms and bool(self.names(operator))

    def rewrite(self, operator: Operator, library: Library) -> Spelling:
        """See `Relation`."""
        spelling = operator.spelled[library]
        meanings = {name: self.forms[library].format(name) for name in self.names(operator)}
        texts = {"setup": templates.filled(spelling.setup, meanings), "call": templates.filled(spelling.call, meanings)}
        return spelling.model_copy(update=texts)


class ConstantRelation(WrapRelation):
    """Constant weights given as a tensor, or made by the library's initializer."""

    def constants(self, operator: Operator) -> Sequence[str]:
        """See `Relation`."""
        return self.names(operator)


class FloatRelation(WrapRelation):
    """The short name `float` must mean float32: data converted to `float` gives the results of a float32 program.

    The conversion happens in a program of float64, since it would have no effect in float32. The result is converted
    back for the nodes that follow. Operators with weights or layers of float64 are left out, because they take no
    float32 data.
    """

    precisions = ("float64",)
    reference = "float32"

    def has_rule(self, operator: Operator, library: Library) -> bool:
        """Return whether the operator computes element by element and all its inputs and its result are floats."""
        if not operator.pointwise or library in operator.coarse or not super().has_rule(operator, library):
            return False
        kinds = {each.kind for each in (*operator.inputs, pattern(operator.gives))}
        return kinds <= {FLOAT, *GUARDS, SAME} and not operator.spelled[library].setup

    def rewrite(self, operator: Operator, library: Library) -> Spelling:
        """Convert inputs to `float`, and the result back to double precision."""
        spelling = super().rewrite(operator, library)
        return spelling.model_copy(update={"call": templates.filled(_DOUBLE[library], {"made": spelling.call})})


@dataclass(frozen=True)
class DefaultRelation(Relation):
    """Arguments that are left out because their values are the library's defaults."""

    arguments: frozenset[tuple[str, str]]  # by name and value, as libraries call it

    def has_rule(self, operator: Operator, library: Library) -> bool:
        """See `Relation`."""
        spelling = operator.spelled[library]
        return any(not self.arguments.isdisjoint(templates.keywords(each)) for each in (spelling.setup, spelling.call))

    def rewrite(self, operator: Operator, library: Library) -> Spelling:
        """See `Relation`."""
        spelling = operator.spelled[library]
        texts = {name: templates.without(getattr(spelling, name), self.arguments) for name in ("setup", "call")}
        return spelling.model_copy(update=texts)


def _weights(operator: Operator) -> list[str]:
    return list(operator.weights)


def _kernels(operator: Operator) -> list[str]:
    return [name for name in operator.weights if name.startswith("w")]


def _biases(operator: Operator) -> list[str]:
    return [name for name in operator.weights if name.startswith("b")]


def _images(operator: Operator) -> list[str]:
    patterns = {name: pattern(text) for name, text in operator.takes.items()}
    return [name for name, each in patterns.items() if len(each.parts) == 4 and each.names == {"N", "C", "H", "W"}]


def _floats(operator: Operator) -> list[str]:
    return [name for name, text in operator.takes.items() if pattern(text).kind in (FLOAT, *GUARDS)]


def _integers(operator: Operator) -> list[str]:
    return [name for name, text in operator.takes.items() if pattern(text).kind == INT]


_LOADED: dict[Library, str] = {
    "torch": "nn.Parameter({0}, requires_grad=False)",
    "tensorflow": "tf.convert_to_tensor(tf.Variable({0}))",
    "jittor": "{0}.clone()",
}
_CONSTANT: dict[Library, str] = {
    "torch": "nn.init.constant_(torch.empty_like({0}), 0.25)",
    "tensorflow": "keras.initializers.Constant(0.25)({0}.shape, {0}.dtype)",
    "jittor": "jt.init.constant({0}.shape, {0}.dtype, 0.25)",
}
# PyTorch alone declares the order of axes for a tensor, as its memory format.
_CHANNELS_LAST: dict[Library, str] = {"torch": "{0}.contiguous(memory_format=torch.channels_last)"}
_FLOAT: dict[Library, str] = {
    "torch": "{0}.to(torch.float)",
    "tensorflow": "tf.cast({0}, float)",
    "jittor": "{0}.float()",
}
_INT: dict[Library, str] = {
    "torch": "{0}.to(torch.int)",
    "tensorflow": "tf.cast({0}, tf.int32)",
    "jittor": "{0}.int()",
}
_AFFINE = frozenset({("affine", "True"), ("elementwise_affine", "True"), ("center", "True"), ("scale", "True")})
_RELATIONS = (
    WrapRelation(1, "I1 ≡ I2 when initialized with same weights", _weights, _LOADED),
    ConstantRelation(2, "I1 ≡ I2 when the kernel are normalized with same constants", _kernels, _CONSTANT),
    ConstantRelation(3, "I1 ≡ I2 when the bias are normalized with same constants", _biases, _CONSTANT),
    AxesRelation(4, "I1 ≡ I2 with input shape as (N, H, W, C) and (N, C, H, W)", "last"),
    AxesRelation(5, "I1 ≡ I2 with input shape as (N, C, L), (N, L, C) and (L, N, C)", "time"),
    WrapRelation(6, "I1 ≡ I2 with input shape as channel_first and channel_last", _images, _CHANNELS_LAST),
    FloatRelation(7, "I1 ≡ I2 with float and float32", _floats, _FLOAT),
    WrapRelation(8, "I1 ≡ I2 with int and int32", _integers, _INT),
    Relation(9, "I1 ≡ I2 when received multi inputs or automated patched inputs"),
    DefaultRelation(
        10,
        "I1 ≡ I2 when separable and depthwise set as depth_multiplier = 1 or default",
        frozenset({("depth_multiplier", "1")}),
    ),
    Relation(11, "I1 ≡ I2 when padding = 'SAME' or dealing with same padded tensor"),
    Relation(12, "I1 ≡ I2 when received box param or box transformed from list param"),
    Relation(13, "I1 ≡ I2 when I1.momentum + I2.momentum = 1"),
    DefaultRelation(14, "I1 ≡ I2 with affine = True or default affine", _AFFINE),
    DefaultRelation(
        15,
        "I1 ≡ I2 with track_running_stats = True or default track_running_stats",
        frozenset({("track_running_stats", "True")}),
    ),
)
RELATIONS: dict[int, Relation] = {each.number: each for each in _RELATIONS}
