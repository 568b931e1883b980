"""Disassembly of model programs into a template with slots and the blocks that fit them (MoCo 2024, section III-B)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import libcst as cst

from fuzz_core.ir.errors import UserError
from fuzz_core.modelgen.moco.program import Block, Program, Slot, Template
from fuzz_core.modelgen.moco.styles.apis import Apis
from fuzz_core.modelgen.moco.styles.cuts import Cut, Cutter, call_of
from fuzz_core.modelgen.moco.styles.flow import Walk
from fuzz_core.modelgen.moco.styles.hindrances import hindrances
from fuzz_core.modelgen.moco.styles.joins import Seams
from fuzz_core.modelgen.moco.styles.layers import Layer
from fuzz_core.modelgen.moco.styles.once import Once
from fuzz_core.modelgen.moco.styles.reads import Reads
from fuzz_core.modelgen.moco.styles.source import Source, Span
from fuzz_core.modelgen.moco.styles.world import ProgramNames


def disassemble(name: str, source: str, library: str, aliases: Mapping[str, str] | None = None) -> Program:
    """Takes a program apart into its template and blocks.

    Args:
        aliases: further names of apis of the library, each with the canonical one.

    Raises:
        UserError: the text is not Python, or no hidden layer is found in it. The message names the obstacles and their
            lines.
    """
    try:
        text = Source(name, source)
        world = ProgramNames(text, Apis(text, library, aliases or {}))
        walk = Walk(world)
        walk.program()
        return _Parts(name, library, world, walk).program()
    except RecursionError:
        raise UserError(f"{name} is nested too deeply to be taken apart", "spell out its longest expression") from None


class _Parts:
    """The maker of blocks from the layers of a program: removable ones, and those that stay."""

    def __init__(self, name: str, library: str, world: ProgramNames, walk: Walk) -> None:
        self._name, self._library = name, library
        self._world, self._source, self._walk = world, world.source, walk
        self._reads = Reads(world)
        self._once = Once(world, walk)
        used = {use.call for layer in walk.layers.values() for use in layer.uses}
        self._cutter = Cutter(world.source, self._reads, used | set(walk.layers))

    def program(self) -> Program:
        layers = self._in_models()
        for layer in layers:
            layer.stays = layer.stays or self._why_it_stays(layer)
        layers = [each for each in layers if not (each.stays and each.kind == "applied")]
        layers, cuts = self._fitting(layers)
        if all(layer.stays for layer in layers):
            raise self._refusal(layers)
        hidden = (layer.call for layer in layers if not layer.stays)
        inside = any(isinstance(each, cst.ClassDef) for call in hidden for each in self._source.ancestors(call))
        blocks = tuple(self._block(number, layer) for number, layer in enumerate(layers))
        head = tuple(number for number, layer in enumerate(layers) if layer.stays)
        style = "class" if inside else "serial"
        return Program(self._name, self._library, style, self._template(cuts, head), blocks)

    def _in_models(self) -> list[Layer]:
        """Returns the layers in order of computation. Functions before the first layer and after the last stay."""
        groups: dict[int, list[Layer]] = {}
        for layer in self._walk.layers.values():
            groups.setdefault(layer.group, []).append(layer)
        return [layer for group, layers in sorted(groups.items()) for layer in self._ends(group, layers)]

    def _ends(self, group: int, layers: list[Layer]) -> list[Layer]:
        made = [place for place, layer in enumerate(layers) if layer.kind != "applied"]
        if made and group in self._walk.parts:
            return layers
        sized = [place for place in made if _is_sized(layers[place].call)]
        if not made:
            return []
        first, last = made[0], (sized or made)[-1]
        for place, layer in enumerate(layers):
            if place < first or place > last or place in ({last} if group in self._walk.given else {first, last}):
                layer.stays = "as an end of the model"
        return layers

    def _why_it_stays(self, layer: Layer) -> str:
        if any(each.star for each in layer.call.args):
            return "as its arguments are not written out"
        if layer.kind == "held" and (line := self._reads.elsewhere(layer)):
            return f"as line {line} reads it for something else than its result"
        if any(self._cutter.tail(use.call) is None for use in layer.uses):
            return "as several values that it gives are read"
        return ""

    def _fitting(self, layers: list[Layer]) -> tuple[list[Layer], list[Cut]]:
        """Returns layers whose cuts do not overlap. If a layer is in the arguments of another, the outer one stays."""
        while True:
            cuts = [c for n, layer in enumerate(layers) for c in self._cutter.cuts(n, layer, bool(layer.stays))]
            outer = next((a for a, b in pairwise(sorted(cuts, key=_place)) if b.span.start < a.span.end), None)
            if outer is None:
                return layers, self._with_joins(layers, cuts)
            layer = layers[outer.slot.block]
            if layer.stays or layer.kind == "applied":
                layers = [each for each in layers if each is not layer]
            layer.stays = "as another layer is among its arguments"

    def _with_joins(self, layers: list[Layer], cuts: list[Cut]) -> list[Cut]:
        """Returns the cuts of layers with those of joins; a join with overlapping cuts stays as it is."""
        numbers = {layer.call: number for number, layer in enumerate(layers) if not layer.stays}
        seams = Seams(self._source, self._world.apis, numbers)
        for join in self._walk.joins:
            both = sorted([*cuts, *seams.cuts(join)], key=_place)
            if all(one.span.end <= other.span.start for one, other in pairwise(both)):
                cuts = both
        return sorted(cuts, key=_place)

    def _block(self, number: int, layer: Layer) -> Block:
        line, once = self._source.line(layer.call), self._once.of(layer)
        return Block(number, call_of(self._source, layer), line, number, once)

    def _template(self, cuts: list[Cut], head: tuple[int, ...]) -> Template:
        fresh_at = self._fresh()
        pieces: list[str | Slot] = []
        at, fresh = 0, 0
        for span, slot, _ in cuts:
            if at <= fresh_at < span.start:
                pieces.append(self._source.text[at:fresh_at])
                at, fresh = fresh_at, len(pieces)
            pieces += [self._source.text[at : span.start], slot]
            at = span.end
        return Template((*pieces, self._source.text[at:]), head, fresh)

    def _fresh(self) -> int:
        """Returns the place for imports: behind the docstring and the imports from `__future__`."""
        for place, statement in enumerate(self._source.module.body):
            small = statement.body if isinstance(statement, cst.SimpleStatementLine) else ()
            docstring = not place and small and isinstance(small[0], cst.Expr)
            future = small and isinstance(small[0], cst.ImportFrom) and _is_future(small[0])
            if not docstring and not future:
                decorators = getattr(statement, "decorators", ())
                return self._source.line_start(next(iter(decorators), statement))
        return len(self._source.text)

    def _refusal(self, layers: list[Layer]) -> UserError:
        reasons = [f"line {self._source.line(each.call)}: {each.api} stays, {each.stays}" for each in layers]
        reasons += hindrances(self._world, self._library, self._walk.layers)
        return UserError(
            f"{self._name} cannot be taken apart: {'; '.join(reasons) or 'it makes no layers that it uses'}",
            "give a program with hidden layers that it calls serially, or that `forward`, `call` or `execute` calls",
        )


def _place(cut: Cut) -> tuple[Span, int]:
    return cut.span, cut.size


def _is_future(statement: cst.ImportFrom) -> bool:
    return isinstance(statement.module, cst.Name) and statement.module.value == "__future__"


def _is_sized(call: cst.Call) -> bool:
    """Returns whether a layer gets a size, as an output layer does: a number that is no axis."""
    return any(
        not isinstance(each.value, (cst.BaseString, cst.Float))
        and not (isinstance(each.value, cst.Name) and each.value.value in ("True", "False", "None"))
        and (each.keyword is None or each.keyword.value not in ("dim", "axis", "name"))
        for each in call.args
    )
