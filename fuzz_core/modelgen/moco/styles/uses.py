"""The places where layers get activations, and where functions of the library are applied to them."""

from __future__ import annotations

from collections.abc import Callable, Collection

import libcst as cst

from fuzz_core.modelgen.moco.styles.activations import Activations, Frame, is_collection, is_question, may_be_tensor
from fuzz_core.modelgen.moco.styles.contents import Holding
from fuzz_core.modelgen.moco.styles.joins import Joins
from fuzz_core.modelgen.moco.styles.layers import Kind, Layer, Use, last_word
from fuzz_core.modelgen.moco.styles.values import Layers, Through, Values
from fuzz_core.modelgen.moco.styles.world import ProgramNames, own_attribute


class Uses:
    """The collector of the uses of layers and functions.

    Attributes:
        layers: the layers, by the call that makes each.
    """

    def __init__(
        self, world: ProgramNames, activations: Activations, values: Values, joins: Joins, group: Callable[[Frame], int]
    ) -> None:
        self.layers: dict[cst.Call, Layer] = {}
        self._source = world.source
        self._holding = Holding(world)
        self._activations = activations
        self._values = values
        self._joins = joins
        self._group = group

    def layer(self, call: cst.Call, made: cst.Call, api: str, frame: Frame, makers: Collection[cst.Call]) -> None:
        """Notes a call of a layer.

        Args:
            made: the call that makes the layer.
            makers: calls of the program's function that makes it.
        """
        activation = self._activation(call, frame)
        if activation is None:
            self._gathers(call, frame)
            return
        self._activations.results.add(call)
        self._values.through[call] = Through(activation.value, Layers((made,)))
        kind: Kind = "inline" if made is call.func else "held"
        layer = self.layers.setdefault(made, Layer(made, api, kind, self._group(frame)))
        layer.uses.append(Use(call, activation))
        layer.makers |= set(makers)

    def _activation(self, call: cst.Call, frame: Frame) -> cst.Arg | None:
        """Returns the argument of a layer that is its activation."""
        if any(each.star for each in call.args):
            return None
        active = [each for each in call.args if self._activations.active(each.value, frame)]
        found = [each for each in active if not is_collection(each.value)]
        positional = [each for each in call.args if each.keyword is None]
        if not frame.model:
            aliens = any(self._activations.alien(each.value, frame) for each in positional)
            if aliens or (len(positional) > 1 and any(each not in found for each in positional)):
                return None
        if not active and len(positional) == 1 and may_be_tensor(positional[0].value):
            found = [positional[0]]
        return next((each for each in found if not self._values.is_list(each.value, frame)), None)

    def function(self, call: cst.Call, api: str, frame: Frame) -> None:
        """Notes a call of a library function, which may make an activation from one activation or from several."""
        if is_question(last_word(api)):
            return
        found = [each for each in call.args if self._activations.active(each.value, frame)]
        single = len(found) == 1 and not is_collection(found[0].value)
        single = single and not self._values.is_list(found[0].value, frame)
        single = single and (found[0].keyword is not None or found[0] is call.args[0])
        if single and not any(each.star or (each not in found and self._is_weighty(each, frame)) for each in call.args):
            self.layers[call] = Layer(call, api, "applied", frame.group, uses=[Use(call, found[0])])
            self._values.through[call] = Through(found[0].value, Layers((call,)))
        else:
            self._gathers(call, frame)

    def _gathers(self, call: cst.Call, frame: Frame) -> None:
        """Notes a layer or a library function that may make one activation from several."""
        if not any(each.star for each in call.args):
            self._values.gathering.add(call)
            if self._joins.note(call, frame):
                self._activations.results.add(call)

    def _is_weighty(self, argument: cst.Arg, frame: Frame) -> bool:
        """Returns whether an argument uses the model's weights or layers, and not only plain settings."""
        settings = (cst.Name, cst.BaseNumber, cst.BaseString, cst.Tuple)
        return any(
            own_attribute(node, frame.method) and not isinstance(self._holding.of(node, frame), settings)
            for node in self._source.nodes(argument.value)
            if isinstance(node, cst.Attribute) and node.attr.value != "training"
        )
