"""The layers that a model uses in a single place, each time that it computes."""

from __future__ import annotations

import libcst as cst

from fuzz_core.modelgen.moco.styles.flow import Walk
from fuzz_core.modelgen.moco.styles.layers import Layer
from fuzz_core.modelgen.moco.styles.world import ProgramNames

_TURNED = (cst.For, cst.While, cst.BaseComp, cst.CompFor)


class Once:
    """The test for layers of a program that are used once; False if the text does not show it."""

    def __init__(self, world: ProgramNames, walk: Walk) -> None:
        self._world = world
        self._walk = walk

    def of(self, layer: Layer) -> bool:
        """Returns whether a layer is used in one place, of one object, in a function that is called in one place."""
        calls = [call for call, through in self._walk.through.items() if layer.call in through.layers]
        inner = [call for call in calls if call not in self._walk.begun]
        homes = [self._world.source.function_of(call) for call in inner]
        used = bool(calls) and len(set(homes)) == len(homes)
        return used and len(layer.makers) < 2 and all(map(self._is_single, (layer.call, *inner)))

    def _is_single(self, node: cst.CSTNode) -> bool:
        """Returns whether an expression is computed once for each computation of its model."""
        for outer in self._world.source.ancestors(node):
            if isinstance(outer, _TURNED):
                return False
            if isinstance(outer, cst.ClassDef):
                return self._is_made_once(outer)
            if isinstance(outer, cst.FunctionDef) and self._walk.helped[outer] > 1:
                return False
        return True

    def _is_made_once(self, owner: cst.ClassDef) -> bool:
        """Returns whether a class is named in one place outside of itself, which is in no loop."""
        source = self._world.source
        outside = [
            [*source.ancestors(name)]
            for name in self._world.names[owner.name.value]
            if source.loads(name) and owner not in source.ancestors(name)
        ]
        return len(outside) == 1 and not any(isinstance(each, _TURNED) for each in outside[0])
