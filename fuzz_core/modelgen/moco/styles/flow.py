"""The walk that follows activations through a program and notes the layers they meet, in the order of computation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

import libcst as cst

from fuzz_core.modelgen.moco.styles.activations import (
    Activations,
    Frame,
)
from fuzz_core.modelgen.moco.styles.contents import Holding
from fuzz_core.modelgen.moco.styles.joins import Join, Joins
from fuzz_core.modelgen.moco.styles.layers import Layer, is_class, is_input, is_sequence
from fuzz_core.modelgen.moco.styles.passages import Passages
from fuzz_core.modelgen.moco.styles.sequences import Element, elements
from fuzz_core.modelgen.moco.styles.uses import Uses
from fuzz_core.modelgen.moco.styles.values import Through, Values
from fuzz_core.modelgen.moco.styles.world import Class, ProgramNames, bound, own_attribute, selfname


class Walk:
    """A walk through a program.

    Attributes:
        layers: the layers, by the call that makes each.
        given: groups whose input layer is no block.
        parts: groups that are parts of models, without input and output layers of their own.
        helped: how many calls of each function get an activation.
        begun: calls of whole models, each of which computes the model anew.
    """

    def __init__(self, world: ProgramNames) -> None:
        self.world = world
        self.given: set[int] = set()
        self.parts: set[int] = set()
        self.helped: Counter[cst.FunctionDef] = Counter()
        self.begun: set[cst.Call] = set()
        self._activations = Activations(world)
        self._values = Values(world, self._activations)
        self._joins = Joins(self._values)
        self._uses = Uses(world, self._activations, self._values, self._joins, self._joined)
        self.layers = self._uses.layers
        self._groups = 0
        self._done: set[cst.CSTNode] = set()
        self._models: set[cst.CSTNode] = set()
        self._waiting: dict[cst.Call, Frame] = {}
        self._added_to: dict[cst.CSTNode, int] = {}
        self._holding = Holding(world)
        self._passages = Passages(world, self._values, self.layers, self._added_to)

    def program(self) -> None:
        """Walks all models: classes first, then serial calls, then sequences that are never called."""
        inner = self.world.parts()
        for owner in sorted(self.world.classes.values(), key=lambda each: each.name in inner):
            group = self._group()
            self._model(owner, group)
            if owner.name in inner:
                self.parts.add(group)
        self._body(self.world.source.module.body, Frame())
        for function in self.world.functions.values():
            self._function(function, Frame(function, computes=self._activations.computes(function)))
        for call, frame in self._waiting.items():
            self._sequence(call, self._group(), frame)
        for join in self.joins:
            for call in join.counted:
                self.layers[call].counted = not self._holding.in_sequence(call)

    @property
    def through(self) -> Mapping[cst.CSTNode, Through]:
        """The calls that pass activations through layers."""
        return self._values.through

    @property
    def joins(self) -> Iterable[Join]:
        """The joins whose branches are the same value while their layers are absent."""
        return self._joins.found.values()

    def _group(self) -> int:
        self._groups += 1
        return self._groups

    def _joined(self, frame: Frame) -> int:
        """Returns the model that a function works on, and starts a new one if there is none."""
        if frame.group < 0:
            frame.group = self._group()
        return frame.group

    def _model(self, owner: Class, group: int) -> None:
        for method in self.world.computing(owner):
            parameters = [*method.params.posonly_params, *method.params.params, *method.params.kwonly_params]
            given = {each.name.value for each in parameters if not _is_flag(each)} - {selfname(method)}
            self._function(method, Frame(method, owner, True, group, active=given))

    def _function(self, function: cst.FunctionDef, frame: Frame) -> None:
        in_class = any(isinstance(each, cst.ClassDef) for each in self.world.source.ancestors(function))
        if function not in self._done and (frame.model or not in_class):
            self._done.add(function)
            self._visit(function.body, frame)
            self._passages.function(function, frame.returned)

    def _body(self, nodes: Iterable[cst.CSTNode], frame: Frame) -> None:
        for node in nodes:
            self._visit(node, frame)

    def _visit(self, node: cst.CSTNode, frame: Frame) -> None:
        """Follows the computation of a node, in order."""
        match node:
            case cst.FunctionDef() | cst.ClassDef() | cst.Lambda():
                return
            case cst.Assign():
                self._visit(node.value, frame)
                for target in node.targets:
                    self._assigned(node, target.target, node.value, frame)
            case cst.AnnAssign(value=cst.BaseExpression() as value) | cst.AugAssign(value=value):
                self._visit(value, frame)
                self._assigned(node, node.target, value, frame)
            case cst.Return(value=cst.BaseExpression() as value):
                self._visit(value, frame)
                frame.returned.append(self._values.of(value, frame))
            case cst.If():
                self._choice(node, frame)
            case cst.For() | cst.CompFor():
                self._loop(node, frame)
            case cst.While():
                self._turns(node, self.world.source.children(node), frame)
            case cst.BinaryOperation():
                self._body(self.world.source.children(node), frame)
                self._joins.note(node, frame)
            case cst.GeneratorExp() | cst.ListComp() | cst.SetComp():
                self._body([node.for_in, node.elt], frame)
            case cst.Call():
                self._visit(node.func, frame)
                self._body(node.args, frame)
                self._call(node, frame)
            case _:
                self._body(self.world.source.children(node), frame)

    def _assigned(self, node: cst.CSTNode, target: cst.CSTNode, value: cst.BaseExpression, frame: Frame) -> None:
        added = isinstance(node, cst.AugAssign)
        if not added:
            self._values.assign(target, value, frame)
        elif isinstance(target, cst.Name):
            self._joins.note(node, frame)
            frame.values[target.value] = self._values.of(node, frame)
        self._activations.assign(target, value, frame, added=added)

    def _choice(self, node: cst.If, frame: Frame) -> None:
        """Follows both branches of an `if`, only one of which a program takes."""
        self._visit(node.test, frame)
        before = dict(frame.values)
        self._visit(node.body, frame)
        after, frame.values = frame.values, before
        if node.orelse is not None:
            self._visit(node.orelse, frame)
        self._values.merge(frame, after)

    def _loop(self, node: cst.For | cst.CompFor, frame: Frame) -> None:
        """Follows a loop over activations, or over the layers of a sequence."""
        self._visit(node.iter, frame)
        held = self._holding.applied(node, frame)
        if held is not None:
            self._sequence(held, self._joined(frame), frame)
            frame.layered |= {each.value: held for each in (node.target,) if isinstance(each, cst.Name)}
        self._activations.assign(node.target, node.iter, frame, added=True)
        self._values.forget(node.target, frame)
        inner = [each for each in self.world.source.children(node) if each not in (node.iter, node.target)]
        self._turns(node, inner, frame)

    def _turns(self, loop: cst.CSTNode, inner: Iterable[cst.CSTNode], frame: Frame) -> None:
        """Follows a loop body, which may run any number of times."""
        before = dict(frame.values)
        self._body(inner, frame)
        self._values.merge(frame, before)
        for each in self.world.source.nodes(loop):
            self._joins.again(each, frame)

    def _call(self, call: cst.Call, frame: Frame) -> None:
        function = call.func
        value = function if isinstance(function, cst.Call) else self._holding.of(function, frame)
        self._values.append(call, frame)
        if isinstance(function, cst.Name) and function.value in frame.layered:
            self._activations.results.add(call)
            self._passages.sequence(call, frame.layered[function.value])
        elif isinstance(value, cst.Call):
            self._used(call, value, frame)
        elif self._helper(call, frame) or self._added(call, frame):
            return
        elif api := self.world.apis.of(value or function):
            self._api(call, api, frame)

    def _api(self, call: cst.Call, api: str, frame: Frame) -> None:
        """Follows a call of an api: it makes a layer or a model, or it applies a function."""
        if is_input(api):
            self.given.add(self._joined(frame))
        elif is_sequence(api):
            named = isinstance(self.world.source.parent(call), (cst.Assign, cst.AnnAssign))
            if named and not frame.model:
                self._waiting[call] = frame
            else:
                self._sequence(call, self._group() if frame.group < 0 else frame.group, frame)
        elif not is_class(api):
            self._uses.function(call, api, frame)
        elif any(self._activations.active(each.value, frame) for each in call.args):
            self._models.add(call)

    def _helper(self, call: cst.Call, frame: Frame) -> bool:
        """Walks a function or a method of the program at its call; returns whether the call is one."""
        function, owner = self.world.local_function(call.func), None
        if isinstance(call.func, cst.Attribute) and own_attribute(call.func, frame.method) and frame.owner is not None:
            owner = frame.owner
            function = self.world.method(owner, call.func.attr.value)
        if function is None:
            return False
        pairs = bound(function, call.args, 1 if owner else 0)
        active = {to.name.value for to, given in pairs if self._activations.active(given.value, frame)}
        self.helped[function] += bool(active)
        if not (active or frame.model or frame.computes):
            self.begun.add(call)
        model = frame.model and bool(active or owner)
        group = frame.group if active or model else self._group()
        computes = self._activations.computes(function)
        self._function(function, Frame(function, owner, model, group, computes=computes, active=active))
        self._passages.call(call, function, 1 if owner else 0)
        return True

    def _used(self, call: cst.Call, value: cst.Call, frame: Frame) -> None:
        """Follows a call of an object that another call made."""
        made = self.world.made_by(value.func) or value
        owner, api = self.world.local_class(made.func), self.world.apis.of(made.func)
        if owner is None and not is_sequence(api) and made not in self._models:
            if api and self._makes_layer(made, api):
                self._uses.layer(call, made, api, frame, {value} - {made})
            elif frame.model:
                self._unknown(value, frame.group)
                self._helper(value, replace(frame, active=set()))
            return
        self._flows(call, frame)
        if is_sequence(api):
            self._sequence(value, self._joined(frame), frame)
            self._passages.sequence(call, value)
        elif owner is not None:
            self._model(owner, frame.group if frame.model else self._group())
            self._passages.model(call, owner)

    def _makes_layer(self, call: cst.Call, api: str) -> bool:
        """Returns whether a call makes a callable: an object of a class, or a function's version of a layer."""
        inner = [each.value for each in call.args if isinstance(each.value, cst.Call)]
        return is_class(api) or any(is_class(self.world.apis.of(each.func)) for each in inner)

    def _unknown(self, call: cst.Call, group: int) -> None:
        """Follows a call of a parameter, which may make an object of any class that is passed on: `block(64)`."""
        if isinstance(call.func, cst.Name) and self.world.is_parameter(call.func):
            for owner in self.world.passed:
                self._model(owner, group)

    def _flows(self, call: cst.Call, frame: Frame) -> None:
        """Notes that a whole model is used as a part of another one here."""
        values = [each.value for each in call.args]
        if frame.model or frame.computes or any(self._activations.active(each, frame) for each in values):
            self._activations.results.add(call)
        else:
            self.begun.add(call)

    def _sequence(self, sequence: cst.BaseExpression, group: int, frame: Frame) -> None:
        if sequence in self._done:
            return
        self._done.add(sequence)
        for element in elements(self.world, sequence):
            self._element(element, group, frame)

    def _element(self, element: Element, group: int, frame: Frame) -> None:
        value = element.value
        if not isinstance(value, cst.Call):
            return
        owner, api = self.world.local_class(value.func), self.world.apis.of(value.func)
        if not api:
            self._unknown(value, group)
        if owner is not None:
            self._model(owner, group)
        elif is_sequence(api):
            self._sequence(value, group, frame)
        elif api:
            self.layers.setdefault(value, Layer(value, api, element.kind, group, element.piece))

    def _added(self, call: cst.Call, frame: Frame) -> bool:
        """Follows `model.add(layers.Dense(3))` if the model is a sequence; returns whether it is."""
        if not isinstance(call.func, cst.Attribute) or call.func.attr.value != "add" or len(call.args) != 1:
            return False
        model = self._holding.of(call.func.value, frame)
        statement = self.world.source.parent(call)
        if not isinstance(model, cst.Call) or not is_sequence(self.world.apis.of(model.func)):
            return False
        if isinstance(statement, cst.Expr):
            group = self._added_to.setdefault(model, self._groups + 1)
            self._groups = max(self._groups, group)
            if model in self._waiting:
                self._sequence(model, group, frame)
            self._element(Element("added", statement, call.args[0].value), group, frame)
        return True


def _is_flag(parameter: cst.Param) -> bool:
    return isinstance(parameter.default, cst.Name) and parameter.default.value in ("True", "False")
