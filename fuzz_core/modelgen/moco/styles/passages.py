"""Functions, classes, sequences and lists of a program that only pass an activation through layers."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

import libcst as cst

from fuzz_core.modelgen.moco.styles.activations import Value
from fuzz_core.modelgen.moco.styles.layers import is_sequence
from fuzz_core.modelgen.moco.styles.sequences import elements, is_whole
from fuzz_core.modelgen.moco.styles.values import Layers, Through, Values
from fuzz_core.modelgen.moco.styles.world import Class, ProgramNames, bound


class Passing(NamedTuple):
    """The layers that a function of the program passes its parameter through, if that is the parameter's only use."""

    name: str  # the parameter
    layers: Layers
    sure: bool  # whether it always passes through at least one layer


class Passages:
    """The collector of calls that only pass an activation through layers.

    Args:
        layers: the known layers, by the calls that make them.
        added: sequences that grow later.
    """

    def __init__(
        self, world: ProgramNames, values: Values, layers: Collection[cst.CSTNode], added: Collection[cst.CSTNode]
    ) -> None:
        self._world = world
        self._values = values
        self._layers = layers
        self._added = added
        self._passing: dict[cst.FunctionDef, Passing | None] = {}

    def function(self, function: cst.FunctionDef, returned: Iterable[Value]) -> None:
        """Notes which layers a function passes a parameter through, by its results."""
        found = list(returned)
        every = [*function.params.posonly_params, *function.params.params, *function.params.kwonly_params]
        names = {self._values.named(each.name.value).root: each.name.value for each in every}
        self._passing[function] = None
        if found and found[0].root in names and all(each.root == found[0].root for each in found):
            layers = self._values.layers(call for each in found for call in each.path)
            self._passing[function] = Passing(names[found[0].root], layers, all(each.sure for each in found))

    def call(self, call: cst.Call, function: cst.FunctionDef, skipped: int) -> None:
        """Notes a call of a function. skipped: parameters that it is bound to."""
        passing = self._passing.get(function)
        for to, given in bound(function, call.args, skipped):
            if passing is not None and to.name.value == passing.name:
                self._values.through[call] = Through(given.value, passing.layers, passing.sure)

    def model(self, call: cst.Call, owner: Class) -> None:
        """Notes a call of an object of a class of the program."""
        for method in self._world.computing(owner):
            self.call(call, method, 1)

    def sequence(self, call: cst.Call, sequence: cst.BaseExpression) -> None:
        """Notes a call of a sequence, or of the elements of a list one by one."""
        layers = self._inside(sequence)
        if layers is not None and len(call.args) == 1 and not call.args[0].star:
            self._values.through[call] = Through(call.args[0].value, layers)

    def _inside(self, sequence: cst.BaseExpression) -> Layers | None:
        """Returns the layers that a sequence is made of; None if a part of it is not understood."""
        found = [self._alone(each.value) for each in elements(self._world, sequence)]
        known = [layers for layers in found if layers is not None]
        if not found or len(known) < len(found) or sequence in self._added or not is_whole(self._world, sequence):
            return None
        return Layers().union(*known)

    def _alone(self, value: cst.BaseExpression) -> Layers | None:
        """Returns the layers that an element of a sequence is made of."""
        if not isinstance(value, cst.Call):
            return None
        if (owner := self._world.local_class(value.func)) is not None:
            found = [self._passing.get(method) for method in self._world.computing(owner)]
            return found[0].layers if len(found) == 1 and found[0] is not None else None
        if is_sequence(self._world.apis.of(value.func)):
            return self._inside(value)
        return Layers((value,)) if value in self._layers else None
