"""The obstacles that keep layers of a program from being understood, for the refusal's message."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import libcst as cst

from fuzz_core.modelgen.moco.styles.layers import is_class, is_input, is_sequence
from fuzz_core.modelgen.moco.styles.sequences import is_list
from fuzz_core.modelgen.moco.styles.world import ProgramNames

_MOST = 5  # reasons are enough
_NAMING = frozenset(("setattr", "add_module", "register_module", "__setattr__", "update"))


def hindrances(world: ProgramNames, library: str, known: Collection[cst.Call]) -> list[str]:
    """Returns the obstacles to disassembly, with their lines.

    Args:
        known: the calls that make layers which are understood.
    """
    if not world.apis.imported:
        return [f"it imports nothing of {library}"]
    found = list(dict.fromkeys(_unused(world, known)))
    return found[:_MOST] + [f"{len(found) - _MOST} more like these"] * (len(found) > _MOST)


def _unused(world: ProgramNames, known: Collection[cst.Call]) -> Iterator[str]:
    """Layers that model classes make, and whose use is not found."""
    for owner in world.classes.values():
        for call in world.source.nodes(owner.node) if world.computing(owner) else ():
            if isinstance(call, cst.Call) and call not in known and _is_outermost(world, call):
                api = world.apis.of(call.func)
                if is_class(api) and not is_sequence(api) and not is_list(world, call) and not is_input(api):
                    yield f"line {world.source.line(call)}: {api} {_why(world, call)}"


def _is_outermost(world: ProgramNames, call: cst.Call) -> bool:
    """Returns whether a call is no argument of another layer."""
    for outer in world.source.ancestors(call):
        if isinstance(outer, cst.Call) and (api := world.apis.of(outer.func)):
            return is_sequence(api) or is_list(world, outer) or api.endswith("Dict")
    return True


def _why(world: ProgramNames, call: cst.Call) -> str:
    for outer in world.source.ancestors(call):
        match outer:
            case cst.Call(func=cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name))) if name in _NAMING:
                return "gets its name when the program runs"
            case cst.Dict() | cst.DictComp():
                return "is kept in a dictionary"
            case cst.ListComp() | cst.GeneratorExp() | cst.For() | cst.While():
                return "is made in a loop, and what uses it is not seen"
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Subscript())]):
                return "is kept under a name that the program makes up"
            case cst.FunctionDef():
                break
    return "is not seen in use"
