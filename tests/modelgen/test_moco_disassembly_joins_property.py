"""Property tests of joins: made-up programs with branches, run with a toy library that computes widths."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from moco_programs import taken_apart

from fuzz_core.adapters.models import Models
from fuzz_core.modelgen.moco.program import MADE, SEEN, Program, assemble


@dataclass(frozen=True)
class Tensor:
    """An activation: its number of channels, and the layers that it has passed through."""

    shape, dtype = (), "float32"

    width: int
    passed: frozenset[int]

    def __add__(self, other: object) -> Tensor:
        assert isinstance(other, Tensor)
        return Tensor(max(self.width, other.width), self.passed | other.passed)

    __mul__ = __sub__ = __add__  # type: ignore[assignment]


class Tree(NamedTuple):
    """A branch: the tags of layers and joins in the order of computation, beginning at the value that arrives."""

    parts: tuple[Any, ...]  # tags, and joins: a sign with its branches


class WidthModule:
    """The class of all layers and models."""

    def __init__(self, tag: int = 0) -> None:
        self.tag = tag

    def __call__(self, x: Any) -> Any:
        return self.forward(x)

    def forward(self, x: Any) -> Any:
        """Returns what a layer computes."""
        return Tensor(x.width, x.passed | {self.tag})


def toy() -> types.ModuleType:
    """Returns the toy library."""
    made = types.ModuleType("fakelib")

    class Layer(WidthModule):
        def __call__(self, x: Any) -> Any:
            return self.forward(x)

    class Concatenate(Layer):
        def __call__(self, values: list[Tensor], axis: int = 1) -> Tensor:
            return cat(values)

    def cat(values: list[Tensor], axis: int = 1) -> Tensor:
        return Tensor(sum(each.width for each in values), frozenset().union(*(each.passed for each in values)))

    def sequential(*layers: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
        def run(x: Tensor) -> Tensor:
            for each in layers:
                x = each(x)
            return x

        return run

    Layer.__module__ = Concatenate.__module__ = "fakelib"
    vars(made).update(
        Module=WidthModule,
        Layer=Layer,
        Concatenate=Concatenate,
        Sequential=sequential,
        cat=cat,
        relu=lambda x, tag: Layer(tag).forward(x),
        Input=lambda: Tensor(1, frozenset()),
    )
    return made


class WidthModels(Models):
    """The hooks of the toy library; `serial`: whether a program describes a model by serial calls."""

    layer = WidthModule

    def __init__(self, serial: bool) -> None:
        self.symbolic = Tensor if serial else ()


@contextmanager
def installed() -> Iterator[None]:
    before = sys.modules.pop("fakelib", None)
    sys.modules["fakelib"] = toy()
    try:
        yield
    finally:
        del sys.modules["fakelib"]
        sys.modules |= {} if before is None else {"fakelib": before}


class TreeWriter:
    """A writer of trees as programs: as a class whose layers are made first if `inside` is true, else as a script."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any], inside: bool) -> None:
        self.draw, self.inside = draw, inside
        self.made: list[str] = []
        self.lines: list[str] = []
        self.tags = self.names = 0

    def one_of(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def tree(self, depth: int) -> Tree:
        parts: list[Any] = []
        for _ in range(self.draw(st.integers(0, 2))):
            if depth and self.draw(st.booleans()):
                sign = self.one_of("cat", "cat", "+", "*", "layer")
                count = 2 if sign in "+*" else self.draw(st.integers(2, 4))
                branches = tuple(self.tree(depth - 1) for _ in range(count))
                # A join whose branches have no layer changes the result of every program, so the join is dropped.
                parts += [(sign, branches)] if any(map(tags_of, branches)) else []
            else:
                self.tags += 1
                parts.append(self.tags)
        return Tree(tuple(parts))

    def attribute(self, value: str) -> str:
        name = f"self.a{len(self.made)}" if self.inside else f"a{len(self.made)}"
        self.made.append(f"{name} = {value}")
        return name

    def named(self, expression: str) -> str:
        """Returns the expression, or a variable that holds it."""
        if self.draw(st.booleans()):
            return expression
        self.names += 1
        self.lines.append(f"v{self.names} = {expression}")
        return f"v{self.names}"

    def written(self, tree: Tree, arrives: str) -> str:
        found = arrives
        for part in tree.parts:
            found = self.named(self.layer(part, found) if isinstance(part, int) else self.join(*part, found))
        return found

    def layer(self, tag: int, x: str) -> str:
        match self.one_of("inline", "applied", "held", "sequence"):
            case "inline":
                return f"toy.Layer({tag})({x})"
            case "applied":
                return f"toy.relu({x}, {tag})"
            case "held":
                return f"{self.attribute(f'toy.Layer({tag})')}({x})"
        return f"{self.attribute(f'toy.Sequential(toy.Layer({tag}))')}({x})"

    def join(self, sign: str, branches: tuple[Tree, ...], x: str) -> str:
        self.names += 1
        name = f"v{self.names}"
        self.lines.append(f"{name} = {x}")
        values = [self.written(branch, name) for branch in branches]
        if sign in "+*":
            return f"({values[0]} {sign} {values[1]})"
        function = "toy.cat" if sign == "cat" else self.one_of("toy.Concatenate()", self.attribute("toy.Concatenate()"))
        opening, closing = self.one_of("[]", "()")
        return f"{function}({opening}{', '.join(values)}{closing}{self.one_of('', ', axis=1')})"

    def program(self, tree: Tree) -> str:
        last = self.written(tree, "x")
        if not self.inside:
            lines = [*self.made, "x = toy.Layer(1000)(toy.Input())", *self.lines, f"x = toy.Layer(1001)({last})"]
            return "import fakelib as toy\n" + "".join(f"{line}\n" for line in lines)
        first = ["self.first = toy.Layer(1000)", *self.made, "self.last = toy.Layer(1001)"]
        then = ["x = self.first(x)", *self.lines, f"return self.last({last})"]
        init, forward = ("".join(f"        {line}\n" for line in lines) for lines in (first, then))
        return (
            f"import fakelib as toy\nclass Net(toy.Module):\n    def __init__(self):\n{init}"
            f"    def forward(self, x):\n{forward}x = Net()(toy.Input())\n"
        )


def tags_of(tree: Tree) -> list[int]:
    """Returns the tags of the layers of a tree, in the order of the tree."""
    return [
        tag
        for part in tree.parts
        for tag in ([part] if isinstance(part, int) else [t for branch in part[1] for t in tags_of(branch)])
    ]


def expected(tree: Tree, arrives: Tensor, there: set[int], numbers: Mapping[int, int]) -> Tensor:
    """Returns the result of a tree with some of its layers; a branch without inserted layers is not joined.

    Args:
        tree: the tree to compute.
        arrives: the value that the tree begins with.
        there: tags of the layers that are inserted.
        numbers: the block number of each tag.
    """
    found = arrives
    for part in tree.parts:
        if isinstance(part, int):
            found = Tensor(found.width, found.passed | ({part} & there))
            continue
        sign, branches = part
        own = [set(tags_of(branch)) for branch in branches]
        values = [expected(branch, found, there, numbers) for branch in branches]
        # The base is the result if no further branch has an inserted layer. It is a branch without layers, or else the
        # branch that is computed first.
        base = min(range(len(own)), key=lambda place: min((numbers[tag] for tag in own[place]), default=-1))
        if not any(tags & there for place, tags in enumerate(own) if place != base):
            found = values[base]
            continue
        widths = [each.width for each in values]
        width = max(widths) if sign in "+*" else sum(widths)
        found = Tensor(width, frozenset[int]().union(*(each.passed for each in values)))
    return found


def result(text: str) -> Tensor:
    """Returns the value that a program computes."""
    space: dict[str, Any] = {
        MADE: lambda number, function: function,
        SEEN: lambda number, *value: value[0] if value else lambda x: x,
    }
    with installed():
        exec(compile(text, "made.py", "exec"), space)
    found = space["x"]
    assert isinstance(found, Tensor)
    return found


@st.composite
def programs(draw: Callable[[st.SearchStrategy[Any]], Any]) -> tuple[Tree, str]:
    writer = TreeWriter(draw, draw(st.booleans()))
    tree = writer.tree(draw(st.integers(1, 3)))
    # The layer 999 guarantees that each program has a layer to take out.
    tree = Tree((*tree.parts, 999))
    return tree, writer.program(tree)


def blocks_by_tag(program: Program) -> dict[int, int]:
    """Returns the number of each block by the tag of its layer."""
    texts = {block.number: [each.source for each in block.call.arguments] for block in program.blocks}
    return {int(next(text for text in sources if text.isdigit())): number for number, sources in texts.items()}


@examples(60)
@given(programs(), st.data())
def test_branches_are_joined_when_one_of_them_has_a_layer(made: tuple[Tree, str], data: st.DataObject) -> None:
    tree, source = made
    with installed():
        program = taken_apart(source, models=WidthModels("class Net" not in source))
    calls = {block.number: block.call for block in program.blocks}
    numbers = blocks_by_tag(program)
    assert sorted(numbers) == sorted([*tags_of(tree), 1000, 1001])
    there = set(data.draw(st.lists(st.sampled_from(tags_of(tree)), unique=True)))
    ends = {numbers[1000], *program.template.head}
    inserted = {numbers[tag] for tag in there} | ends
    wanted = expected(tree, Tensor(1, frozenset({1000})), there, numbers)
    for watched in (False, True):
        text = assemble(program.template, {number: calls[number] for number in sorted(inserted)}, watched)
        assert result(text) == Tensor(wanted.width, wanted.passed | {1001})
    root = assemble(program.template, {number: calls[number] for number in ends})
    assert result(root).width == 1
