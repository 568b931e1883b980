"""Relations 1 to 3 of table 4: weights with the same values give the same result, however they are loaded."""

from __future__ import annotations

from typing import ClassVar

from fuzz_core.modelgen.gandalf.relations.contract import Relation, RelationExample, replaced
from fuzz_core.modelgen.gandalf.table import Library, Operator, Spelling

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


class SameWeights(Relation):
    """Weights given as plain tensors, or loaded into parameters of the library first."""

    number = 1
    statement = "I1 ≡ I2 when initialized with same weights"
    examples = (RelationExample("linear", "torch", "nn.Parameter(w, requires_grad=False)"),)

    def applies_to(self, operator: Operator, library: Library) -> bool:
        """Return whether the operator has weights."""
        return library in operator.spelled and bool(operator.weights)

    def transform(self, operator: Operator, library: Library) -> Spelling:
        """Return the spelling in which every weight is a parameter."""
        meanings = {name: _LOADED[library].format(name) for name in operator.weights}
        return replaced(operator.spelled[library], meanings)


class _Constants(Relation):
    letter: ClassVar[str]

    def constants(self, operator: Operator) -> tuple[str, ...]:
        """Return the weights that the relation is about."""
        return tuple(name for name in operator.weights if name.startswith(self.letter))

    def applies_to(self, operator: Operator, library: Library) -> bool:
        """Return whether the operator has weights of this letter."""
        return library in operator.spelled and bool(self.constants(operator))

    def transform(self, operator: Operator, library: Library) -> Spelling:
        """Return the spelling in which the library's initializer makes these weights."""
        meanings = {name: _CONSTANT[library].format(name) for name in self.constants(operator)}
        return replaced(operator.spelled[library], meanings)


class SameKernels(_Constants):
    """A constant kernel given as a tensor, or made by the library's initializer."""

    number = 2
    statement = "I1 ≡ I2 when the kernel are normalized with same constants"
    letter = "w"
    examples = (RelationExample("linear", "torch", "nn.init.constant_(torch.empty_like(w), 0.25)"),)


class SameBiases(_Constants):
    """A constant bias given as a tensor, or made by the library's initializer."""

    number = 3
    statement = "I1 ≡ I2 when the bias are normalized with same constants"
    letter = "b"
    examples = (RelationExample("linear", "tensorflow", "keras.initializers.Constant(0.25)(b.shape, b.dtype)"),)
