"""Property tests of disassembly: made-up programs of both styles, run with a toy library that logs its layers."""

from __future__ import annotations

import sys
import types
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from examples import examples
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st
from moco_programs import taken_apart

from fuzz_core.adapters.models import Models
from fuzz_core.ir.errors import UserError
from fuzz_core.modelgen.moco.program import MADE, SEEN, CallArgument, Program, assemble


class Value:
    """An activation of the toy library; each operation gives another object."""

    shape, dtype = (), "float32"

    def __add__(self, other: object) -> Value:
        assert isinstance(other, Value)
        return Value()

    def flat(self, size: int = 0) -> Value:
        return Value()

    def size(self, axis: int) -> int:
        return axis


class LoggedModule:
    """The class of all layers and models."""

    def __call__(self, *values: Any) -> Any:
        return self.forward(*values)  # type: ignore[attr-defined]


def _toy(log: list[int]) -> types.ModuleType:
    toy = types.ModuleType("fakelib")

    class Layer(LoggedModule):
        several = False

        def __init__(self, tag: int, *_: object, **__: object) -> None:
            self.tag = tag

        def __call__(self, *values: object, **named: object) -> Any:
            assert isinstance([*values, *named.values()][0], Value)
            log.append(self.tag)
            return (Value(), None) if self.several else Value()

    class Recurrent(Layer):
        several = True

    def function(x: Value, tag: int, *_: object, **__: object) -> Value:
        log.append(tag)
        return Value()

    def sequence(*layers: Any) -> Callable[[Value], Value]:
        if len(layers) == 1 and isinstance(layers[0], (list, dict)):
            layers = tuple(layers[0].values() if isinstance(layers[0], dict) else layers[0])

        def run(x: Value) -> Value:
            for layer in layers:
                x = layer(x)
            return x

        return run

    Layer.__module__ = Recurrent.__module__ = "fakelib"
    vars(toy).update(
        Module=LoggedModule,
        Layer=Layer,
        Recurrent=Recurrent,
        Sequential=sequence,
        List=list,
        Input=Value,
        fun=function,
        join=lambda values: Value(),
    )
    return toy


class ClassModels(Models):
    """The hooks for programs whose models are classes."""

    layer = LoggedModule


class SerialModels(ClassModels):
    """The hooks for programs that describe a model by serial calls."""

    symbolic = Value


@contextmanager
def _installed(toy: types.ModuleType) -> Iterator[None]:
    before = sys.modules.pop("fakelib", None)
    sys.modules["fakelib"] = toy
    try:
        yield
    finally:
        del sys.modules["fakelib"]
        sys.modules |= {} if before is None else {"fakelib": before}


def log_of(text: str) -> tuple[list[int], dict[int, int]]:
    """Returns the tags of the layers that a program runs, in order, and how often each absent block was seen."""
    log: list[int] = []
    seen: dict[int, int] = {}

    def see(number: int, *value: Value) -> Any:
        if not value:
            return lambda x: see(number, x)
        seen[number] = seen.get(number, 0) + 1
        return value[0]

    with _installed(_toy(log)):
        space = {"__name__": "__main__", MADE: lambda number, function: function, SEEN: see}
        exec(compile(text, "made.py", "exec"), space)
    return log, seen


class ProgramWriter:
    """A writer of random programs. Each layer has a tag of its own, which the log records."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self.draw = draw
        self.tags = 0
        self.made: list[str] = []
        self.held: list[str] = []

    def one_of(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def tag(self) -> str:
        self.tags += 1
        return str(self.tags)

    def layer(self, api: str = "Layer") -> str:
        """Returns a call that makes a layer, in one of several spellings."""
        form = self.one_of(
            "{0}({1})", "{0}( {1} )", "{0}({1}, 'é', k=(1, 2),)", "{0}(\n{1},  # why, then\n)", "{0}({1}, *())"
        )
        return str(form).format(f"toy.{api}" if form[-4:] != "*())" or api != "Layer" else "L", self.tag())

    def attribute(self, value: str) -> str:
        name = f"self.a{len(self.made)}"
        self.made.append(f"{name} = {value}")
        return name

    def expression(self, depth: int, inside: bool) -> str:
        """Returns an expression for an activation. If `inside` is true, attributes of a class hold the layers."""
        if depth <= 0:
            return "x"

        def rest() -> str:
            return self.expression(depth - 1 - self.draw(st.integers(0, 1)), inside)

        kinds = ["function", "inline", "join", "add", "method", "plain"]
        kind = self.one_of(*kinds, *(["held", "held", "shared", "sequence", "pair", "list"] if inside else []))
        match kind:
            case "function":
                form = self.one_of(
                    "toy.fun({0}, {1})", "toy.fun( {0} , tag = {1})", "toy.fun(\n# one\n{0}, {1}\n)", "f({0}, {1})"
                )
                return str(form.format(rest(), self.tag()))
            case "inline":
                return f"{self.layer()}({rest()})"
            case "join":
                return f"toy.join([{rest()}, {rest()}])"
            case "add":
                return f"({rest()} + {rest()})"
            case "method":
                return f"{rest()}.flat(x.size(0))"
            case "held":
                name = self.attribute(self.layer())
                self.held.append(name)
                return f"{name}({rest()})"
            case "shared" if self.held:
                return f"{self.one_of(*self.held)}({rest()})"
            case "pair":
                return f"{self.attribute(self.layer())}({rest()}, {rest()})"
            case "sequence":
                return f"{self.attribute(self.sequence())}({rest()})"
            case "list":
                name = self.attribute(f"toy.List([{self.layer()}, {self.layer()}])")
                return f"{name}[{self.one_of(0, 1)}]({rest()})"
        return rest()

    def sequence(self) -> str:
        count = self.draw(st.integers(1, 3))
        layers = [self.layer() for _ in range(count)]
        if self.draw(st.booleans()):
            layers.insert(self.draw(st.integers(0, count)), "toy.Sequential(" + self.layer() + ")")
        end = self.one_of("", ",", "\n, ")
        match self.one_of("plain", "list", "named", "spread"):
            case "plain":
                return f"toy.Sequential({', '.join(layers)}{end})"
            case "list":
                return f"toy.Sequential([{', '.join(layers)}{end}])"
            case "named":
                pairs = ", ".join(f"('n{place}', {layer})" for place, layer in enumerate(layers))
                return f"toy.Sequential(OrderedDict([{pairs}{end}]))"
        return "toy.Sequential(\n" + ",  # and, so\n".join(layers) + f"{end})"

    def statement(self, inside: bool) -> list[str]:
        expression = self.expression(self.draw(st.integers(1, 3)), inside)
        kinds = ["plain", "plain", "if", "for", "branch", "walrus"] + (["recurrent", "loop"] if inside else [])
        match self.one_of(*kinds):
            case "if":
                return ["if x is not None:", f"    x = {_one_line(expression)}", "else:", "    x = x"]
            case "for":
                return ["for _ in range(2):", f"    x = {_one_line(expression)}"]
            case "branch":
                return [f"y = {expression}", "x = x + y"]
            case "walrus":
                return [f"x = (z := {expression})"]
            case "recurrent":
                name = self.attribute(self.layer("Recurrent"))
                form = self.one_of("x, _ = {0}({1})", "(x, _) = {0}({1}, None)", "x = {0}({1})[0]")
                return [form.format(name, expression)]
            case "loop":
                name = self.attribute(f"toy.List([{self.layer()}, {self.layer()}])")
                return [f"for layer in {name}:", "    x = layer(x)"]
        return [f"x = {expression}"]


def _one_line(expression: str) -> str:
    """Returns an expression that may stand in an indented line."""
    return f"({expression})"


def _indented(lines: list[str], by: str) -> str:
    return "".join(by + line.replace("\n", "\n" + by) + "\n" for line in lines)


HEAD = "from collections import OrderedDict\nimport fakelib as toy\nfrom fakelib import fun as f, Layer as L\n\n"


@st.composite
def class_programs(draw: Callable[[st.SearchStrategy[Any]], Any]) -> str:
    writer = ProgramWriter(draw)
    body = [line for _ in range(draw(st.integers(1, 4))) for line in writer.statement(True)]
    return (
        f"{HEAD}class Net(toy.Module):\n    def __init__(self):\n"
        + _indented(["self.first = toy.Layer(1000)", *writer.made, "self.last = toy.Layer(1001)"], " " * 8)
        + "    def forward(self, x):\n"
        + _indented(["x = self.first(x)", *body, "return self.last(x)"], " " * 8)
        + "\nnet = Net()\nout = net(toy.Input())\n"
    )


@st.composite
def serial_programs(draw: Callable[[st.SearchStrategy[Any]], Any]) -> str:
    writer = ProgramWriter(draw)
    body = [line for _ in range(draw(st.integers(1, 4))) for line in writer.statement(False)]
    lines = ["x = toy.Input()", *body, "x = toy.Layer(1001)(x)"]
    if draw(st.booleans()):
        return f"{HEAD}def build():\n{_indented([*lines, 'return x'], '    ')}\nmodel = build()\n"
    return HEAD + _indented(lines, "")


def tag_of(program: Program, number: int) -> int:
    """Returns the tag of a block's layer."""
    texts = [each.source.strip() for each in program.blocks[number].call.arguments]
    return int(next(text for text in texts if text.isdigit()))


def checked(source: str, data: st.DataObject, models: Models) -> None:
    """Checks that a program without some of its layers runs the further layers as before and in the same order."""
    try:
        with _installed(_toy([])):
            program = taken_apart(source, models=models)
    except UserError:
        assume(False)
    calls = {block.number: block.call for block in program.blocks}
    log, _ = log_of(source)
    tags = {number: tag_of(program, number) for number in calls}
    assert len(set(tags.values())) == len(tags)
    assert [*tags.values()] == [tag for tag in dict.fromkeys(log) if tag in tags.values()]
    out = [number for number in calls if number not in program.template.head]
    absent = set(data.draw(st.lists(st.sampled_from(out), unique=True)))
    there = {number: call for number, call in calls.items() if number not in absent}
    expected = [tag for tag in log if tag not in {tags[number] for number in absent}]
    assert log_of(assemble(program.template, there))[0] == expected
    watched, seen = log_of(assemble(program.template, there, watched=True))
    assert watched == expected
    assert seen == {number: log.count(tags[number]) for number in absent}
    changed = data.draw(st.sampled_from(sorted(there)))
    arguments = tuple(
        CallArgument(each.name, "2000") if each.source.strip() == str(tags[changed]) else each
        for each in calls[changed].arguments
    )
    other = {**there, changed: calls[changed]._replace(arguments=arguments)}
    replaced = [2000 if tag == tags[changed] else tag for tag in expected]
    assert log_of(assemble(program.template, other, watched=True, imports="import os\n"))[0] == replaced


LOOK = examples(40, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])


@LOOK
@given(class_programs(), st.data())
def test_classes(source: str, data: st.DataObject) -> None:
    checked(source, data, ClassModels())


@LOOK
@given(serial_programs(), st.data())
def test_serial_calls(source: str, data: st.DataObject) -> None:
    checked(source, data, SerialModels())


def test_a_program_is_as_it_was_made() -> None:
    # Shows that the writer's own programs run; if they did not, the properties would hold for no program.
    assert log_of(f"{HEAD}x = L(3)(toy.fun(toy.Input(), 2))\n")[0] == [2, 3]
    assert OrderedDict is not None
