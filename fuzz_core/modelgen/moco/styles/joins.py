"""The places where a program joins several activations: a shortcut is added, or branches are concatenated.

While the layers of all branches but one are absent, the join would combine a value with itself. The program then has
the value alone instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import libcst as cst

from fuzz_core.modelgen.moco.program import Slot
from fuzz_core.modelgen.moco.styles.activations import Frame, Path, Several, Value
from fuzz_core.modelgen.moco.styles.apis import Apis
from fuzz_core.modelgen.moco.styles.cuts import Cut
from fuzz_core.modelgen.moco.styles.layers import last_word
from fuzz_core.modelgen.moco.styles.source import Source, Span
from fuzz_core.modelgen.moco.styles.values import Layers, Values, joined


class Branch(NamedTuple):
    """A branch of a join."""

    own: Layers  # the layers that no other branch has passed through, too
    sure: bool  # whether it always has


class Join(NamedTuple):
    """An expression, or a `+=`, that joins branches."""

    node: cst.CSTNode
    operands: tuple[cst.BaseExpression, ...]  # the expressions of the branches, or the one expression of their list
    branches: tuple[Branch, ...]
    fixed: int  # so many of the first branches are always there
    # The variable that holds the branches' value without their own layers, for the case that no branch is there.
    spare: str

    @property
    def counted(self) -> Layers:
        """The layers of the branches behind the fixed ones, of which there may be any number."""
        return Layers().union(*(branch.own for branch in self.branches[self.fixed :]))


class Joins:
    """The collector of the joins of a program.

    Attributes:
        found: the joins, by their nodes.
    """

    def __init__(self, values: Values) -> None:
        self.found: dict[cst.CSTNode, Join] = {}
        self._values = values

    def note(self, node: cst.CSTNode, frame: Frame) -> bool:
        """Notes an expression if it joins values that are the same without layers; returns whether it does."""
        several = self._values.brought(node, frame)
        if several is None or joined(several.parts) is None:
            return False
        spare, common = "", Path.intersection(*(part.path for part in several.parts))
        if not several.fixed:
            held = self._spare(several, common, frame)
            if held is None:
                return False
            spare, common = held
        branches = tuple(
            Branch(self._values.layers(part.path - common), bool(part.sure - common)) for part in several.parts
        )
        if any(branch.own for branch in branches):
            operands = tuple(self._values.operands(node, frame))
            self.found[node] = Join(node, operands, branches, several.fixed, spare)
        return node in self.found

    def again(self, node: cst.CSTNode, frame: Frame) -> None:
        """Notes a join of a list once more, behind the loop that fills it."""
        operands = self._values.operands(node, frame)
        if len(operands) == 1 and isinstance(operands[0], cst.Name):
            self.note(node, frame)

    def _spare(self, several: Several, common: Path, frame: Frame) -> tuple[str, Path] | None:
        """Returns the latest variable that holds the common beginning of all branches of a list."""
        held = {name: self._values.named(name) for name in frame.active} | frame.values
        same = [
            (name, value.path)
            for name, value in sorted(held.items())
            if isinstance(value, Value) and value.root == several.parts[0].root and value.path <= common
        ]
        return max(same, key=lambda each: len(each[1]), default=None)


class Seams:
    """The maker of cuts for joins. A join of layers that are no blocks stays as it is.

    Args:
        numbers: the numbers of the blocks, by the calls that make them.
    """

    def __init__(self, source: Source, apis: Apis, numbers: Mapping[cst.Call, int]) -> None:
        self._source = source
        self._apis = apis
        self._numbers = numbers

    def cuts(self, join: Join) -> list[Cut]:
        """Returns the cuts for a join, which is inserted with any block of a branch besides the one that remains."""
        if any(call not in self._numbers for branch in join.branches for call in branch.own):
            return []
        first = -1 if join.spare else min(range(join.fixed), key=lambda place: self._rank(join.branches[place], place))
        others = [branch.own for place, branch in enumerate(join.branches) if place != first]
        blocks = sorted({self._numbers[call] for own in others for call in own})
        pieces = self._pieces(join, max(first, 0)) if blocks else []
        slot = Slot(blocks[0], "", "", called=False, joins=tuple(blocks)) if blocks else None
        return [self._cut(slot, *piece) for piece in pieces] if slot is not None else []

    def _rank(self, branch: Branch, place: int) -> tuple[bool, bool, int, int]:
        """Returns a sort key: a shortcut without layers, then a sure branch, then the branch computed first."""
        first = min((self._numbers[call] for call in branch.own), default=-1)
        return bool(branch.own), branch.sure, first, place

    def _cut(self, slot: Slot, span: Span, absent: str, size: int = 0) -> Cut:
        return Cut(span, slot._replace(before=self._source.text[slice(*span)], absent=absent), size)

    def _pieces(self, join: Join, first: int) -> list[tuple[Span, str, int]]:
        """Returns the places that change, with the text while the join is absent."""
        node = join.node
        match node:
            case cst.BinaryOperation():
                whole = self._source.span(node)
                return self._chosen(join, whole, first)
            case cst.AugAssign():
                start, end = self._source.span(node.target).end, self._source.whole(node.value).end
                opening = f" = ({self._source.said(node.target)}, "
                return [
                    (Span(start, self._source.whole(node.value).start), opening, 0),
                    (Span(end, end), f")[{first}]", end - start),
                ]
            case cst.Call() if len(join.operands) > 1:
                return self._chosen(join, self._source.span(node), first)
            case cst.Call():
                return self._listed(join, node, first)
        return []

    def _chosen(self, join: Join, whole: Span, first: int) -> list[tuple[Span, str, int]]:
        """Returns cuts by which all operands are computed and one is taken: `(x, skip)[0]`."""
        spans = [self._source.whole(each) for each in join.operands]
        size = whole.end - whole.start
        between = [(Span(one.end, other.start), ", ", 0) for one, other in pairwise(spans)]
        opening, closing = Span(whole.start, spans[0].start), Span(spans[-1].end, whole.end)
        return [(opening, "(", -size), *between, (closing, f")[{first}]", size)]

    def _listed(self, join: Join, call: cst.Call, first: int) -> list[tuple[Span, str, int]]:
        """Returns cuts that take one item of a list. A call that stacks gets a list of one, to keep the new axis."""
        inner, whole = self._source.whole(join.operands[0]), self._source.span(call)
        opening, closing = ("[*", f", {join.spare}]") if join.spare else ("", "")
        if last_word(self._apis.of(call.func)) == "stack":
            one = [(Span(inner.start, inner.start), opening, 0)] if opening else []
            return [*one, (Span(inner.end, inner.end), f"{closing}[{first}:{first + 1}]", 0)]
        opening, closing = (opening, closing) if join.spare else ("(", ")")
        return [(Span(whole.start, inner.start), opening, 0), (Span(inner.end, whole.end), f"{closing}[{first}]", 0)]
