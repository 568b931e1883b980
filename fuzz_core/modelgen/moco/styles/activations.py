"""The activations among the expressions of a program: the inputs and results of layers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import libcst as cst

from fuzz_core.modelgen.moco.styles.layers import is_input
from fuzz_core.modelgen.moco.styles.world import Class, ProgramNames

# Methods and functions that describe an activation and do not return one.
_QUESTIONS = frozenset(
    (
        "size",
        "dim",
        "ndimension",
        "numel",
        "nelement",
        "item",
        "tolist",
        "stride",
        "shape",
        "rank",
        "get_shape",
        "numpy",
    )
)
# Builtin functions whose result contains their arguments.
_HANDING_ON = frozenset(("sum", "list", "tuple", "zip", "reversed", "enumerate", "iter", "next", "abs", "sorted"))
# Calls by which a function shows that it trains and does not only compute.
_TRAINING = frozenset(("backward", "step", "zero_grad", "apply_gradients", "gradient", "fit", "minimize", "compile"))


Path = frozenset[cst.CSTNode]


class Value(NamedTuple):
    """The origin of an activation."""

    root: int  # a number for the value without any layer
    path: Path = frozenset()  # calls of layers, and of objects made of layers, that it may have passed through
    sure: Path = frozenset()  # the calls that it always passes through


class Several(NamedTuple):
    """A list of activations."""

    parts: tuple[Value, ...]
    # So many of the first parts are always there. Any number of the remaining ones may be there, for example if a loop
    # adds them.
    fixed: int


@dataclass
class Frame:
    """The state of a function while it is walked."""

    method: cst.FunctionDef | None = None
    owner: Class | None = None  # the class whose method it is
    model: bool = False  # whether it belongs to a model, regardless of its body
    group: int = -1  # the model that its layers belong to, -1 if there is none yet
    computes: bool = False  # whether it returns its result and trains no model
    active: set[str] = field(default_factory=set)  # variables that hold activations
    alien: set[str] = field(default_factory=set)  # variables that hold the result of a whole model
    # Variables that hold a layer of a sequence, with the sequence.
    layered: dict[str, cst.BaseExpression] = field(default_factory=dict)
    values: dict[str, Value | Several] = field(default_factory=dict)  # the origins of variables
    returned: list[Value] = field(default_factory=list)  # the origins of its results


class Activations:
    """A test that separates activations from other values.

    Attributes:
        results: calls of layers and models, which return activations.
    """

    def __init__(self, world: ProgramNames) -> None:
        self._world = world
        self.results: set[cst.Call] = set()

    def active(self, node: cst.CSTNode, frame: Frame) -> bool:
        """Returns whether an expression is an activation (or a collection of activations)."""
        match node:
            case cst.Name():
                return node.value in frame.active
            case cst.Call():
                return self._given_by(node, frame)
            case cst.Attribute() | cst.Lambda():
                return False
            case cst.Subscript():
                return self.active(node.value, frame)
        return any(self.active(child, frame) for child in self._world.source.children(node))

    def _given_by(self, call: cst.Call, frame: Frame) -> bool:
        if call in self.results or is_input(self._world.apis.of(call.func)):
            return True
        if isinstance(call.func, cst.Attribute):
            if is_question(call.func.attr.value):
                return False
            if self.active(call.func.value, frame):
                return True
        if isinstance(call.func, cst.Name) and self._world.builtin(call.func) and call.func.value not in _HANDING_ON:
            return False
        if not (frame.model or frame.computes) and self._is_unknown(call.func):
            return False
        return any(self.active(each.value, frame) for each in call.args)

    def alien(self, node: cst.CSTNode, frame: Frame) -> bool:
        """Returns whether an expression comes from a whole model, in a function that is no model itself."""
        if frame.model or frame.computes or isinstance(node, cst.Attribute):
            return False
        if isinstance(node, cst.Name):
            return node.value in frame.alien
        if isinstance(node, cst.Call) and self._is_unknown(node.func) and not self.active(node, frame):
            return True
        return any(self.alien(child, frame) for child in self._world.source.children(node))

    def _is_unknown(self, function: cst.CSTNode) -> bool:
        """Returns whether a called name is neither a function of the program nor an api: it may be a model."""
        if not isinstance(function, cst.Name) or self._world.local_function(function) is not None:
            return False
        return not self._world.builtin(function) and not self._world.apis.of(function)

    def assign(self, target: cst.CSTNode, value: cst.BaseExpression, frame: Frame, added: bool = False) -> None:
        """Notes what variables hold from here on.

        Args:
            added: whether they may still hold their earlier values.
        """
        names = {each.value for each in self._world.source.nodes(target) if isinstance(each, cst.Name)}
        for variables, holds in ((frame.active, self.active), (frame.alien, self.alien)):
            if holds(value, frame):
                variables |= names
            elif not added:
                variables -= names

    def computes(self, function: cst.FunctionDef) -> bool:
        """Returns whether a function returns its result and trains no model."""
        gives = False
        for node in self._world.source.nodes(function.body):
            if isinstance(node, cst.Return) and node.value is not None:
                gives = True
            elif isinstance(node, cst.Attribute) and node.attr.value in _TRAINING:
                return False
        return gives


def is_question(name: str) -> bool:
    """Returns whether a function of this name describes an activation and does not return one."""
    return name in _QUESTIONS or name.startswith("is_") or name.endswith("_like")


def is_collection(node: cst.CSTNode) -> bool:
    """Returns whether an expression is a collection of values."""
    return isinstance(node, (cst.List, cst.Tuple, cst.Set, cst.Dict, cst.BaseComp))


def may_be_tensor(node: cst.CSTNode) -> bool:
    """Returns whether an expression of unknown origin may be an input of a layer."""
    return isinstance(node, (cst.Name, cst.Attribute, cst.Subscript, cst.Call, cst.BinaryOperation))
