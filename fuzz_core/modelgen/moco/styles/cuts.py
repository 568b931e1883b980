"""The cuts in a program: the slots of its layers, with the text that replaces an absent layer."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import libcst as cst

from fuzz_core.modelgen.moco.program import INPUT, SEEN, Call, CallArgument, Slot
from fuzz_core.modelgen.moco.styles.layers import Layer, Use
from fuzz_core.modelgen.moco.styles.reads import Reads
from fuzz_core.modelgen.moco.styles.source import Source, Span, item


class Cut(NamedTuple):
    """A slot and the text that it replaces."""

    span: Span
    slot: Slot
    # The order of cuts at one place that replace no text. An opening cut has the negative length of the text that it
    # encloses, a closing cut the positive length.
    size: int = 0


# The size of a cut that encloses all other cuts at its place.
_OUTER = 1 << 62


class Tail(NamedTuple):
    """Text around an activation that replaces the further results of an absent layer, and the end of the use."""

    before: str
    after: str
    end: int


def call_of(source: Source, layer: Layer) -> Call:
    """Returns the call of a layer as a block has it."""
    activation = layer.uses[0].activation if layer.kind == "applied" else None
    arguments = tuple(_argument(source, each, each is activation) for each in layer.call.args)
    return Call(layer.api, source.said(layer.call.func), arguments, layer.kind == "applied")


def _argument(source: Source, argument: cst.Arg, activation: bool) -> CallArgument:
    name = argument.keyword.value if argument.keyword is not None else ""
    return CallArgument(name, INPUT if activation else source.text[slice(*source.value(argument))])


class Cutter:
    """The maker of cuts for one layer after another.

    Args:
        known: the calls that make, apply and use layers.
    """

    def __init__(self, source: Source, reads: Reads, known: Collection[cst.CSTNode]) -> None:
        self._source = source
        self._reads = reads
        self.known = known

    def cuts(self, number: int, layer: Layer, stays: bool) -> list[Cut]:
        """Returns the cuts for a layer.

        Args:
            stays: whether it is always there, so that only its call is cut out.
        """
        call = call_of(self._source, layer)
        if stays:
            return [self._made(number, call, layer.call, self._source.span(layer.call), "")]
        match layer.kind:
            case "held":
                made = self._made(number, call, layer.call, self._source.span(layer.call), "None")
                return [made, *(cut for use in layer.uses for cut in self._used(number, use))]
            case "inline":
                return self._inline(number, call, layer)
            case "applied":
                return self._applied(number, call, layer)
            case "element":
                return [self._element(number, call, layer)]
        assert layer.piece is not None
        return [self._made(number, call, layer.call, self._source.span(layer.piece), "pass", not layer.counted)]

    def _made(self, number: int, call: Call, node: cst.Call, piece: Span, absent: str, marked: bool = False) -> Cut:
        """Returns the cut for the call of a layer in a piece of text that is removed with it."""
        inner = self._source.span(node)
        before, after = self._source.text[piece.start : inner.start], self._source.text[inner.end : piece.end]
        marker = f"{before}{SEEN}({number}){after}" if marked else ""
        return Cut(piece, self._called(Slot(number, before, after, absent, marker=marker), call, inner))

    def _called(self, slot: Slot, call: Call, span: Span) -> Slot:
        return slot._replace(original=call, text=self._source.text[slice(*span)])

    def _element(self, number: int, call: Call, layer: Layer) -> Cut:
        """Returns the cut for an element of a sequence with the comma behind it."""
        assert layer.piece is not None
        if isinstance(layer.piece, cst.ListComp):
            cut = self._made(number, call, layer.call, self._source.span(layer.piece), "[]")
            return cut if layer.counted else Cut(cut.span, cut.slot._replace(marker=f"[{SEEN}({number})]"))
        start, end = self._source.span(layer.piece)
        siblings = self._source.parent(layer.piece)
        assert siblings is not None
        behind = [
            self._source.span(each).start
            for each in self._source.children(siblings)
            if isinstance(each, type(layer.piece))
        ]
        comma = getattr(layer.piece, "comma", None)
        if isinstance(comma, cst.Comma):
            end = self._source.span(comma).end
        end = min((each for each in behind if each > start), default=end)
        return self._made(number, call, layer.call, Span(start, end), "", not layer.counted)

    def _used(self, number: int, use: Use) -> list[Cut]:
        """Returns the cuts around the activation at a use of a held layer."""
        inner, outer = self._source.value(use.activation), self._source.span(use.call)
        tail = self.tail(use.call)
        assert tail is not None
        if self._has_layers_beside(use):
            return self._chosen(number, use, tail)
        seen = f"{tail.before}{SEEN}({number}, "
        return [
            self._around(number, Span(outer.start, inner.start), f"{tail.before}(", seen),
            self._around(number, Span(inner.end, tail.end), f"){tail.after}"),
        ]

    def _around(self, number: int, span: Span, absent: str, marker: str = "") -> Cut:
        text = self._source.text[slice(*span)]
        return Cut(span, Slot(number, text, "", absent, called=False, marker=marker))

    def _has_layers_beside(self, use: Use) -> bool:
        """Returns whether further arguments hold blocks, which are computed even if this block is absent."""
        plain = all(each.keyword is None for each in use.call.args)
        others = (each.value for each in use.call.args if each is not use.activation)
        return plain and any(node in self.known for each in others for node in self._source.nodes(each))

    def _chosen(self, number: int, use: Use, tail: Tail) -> list[Cut]:
        """Returns cuts by which an absent layer leaves all its arguments, in order: `(x, self.keys(x))[0]`."""
        outer, inner = self._source.span(use.call), self._source.value(use.activation)
        first, last = self._source.value(use.call.args[0]), self._source.value(use.call.args[-1])
        place = use.call.args.index(use.activation)
        return [
            self._around(number, Span(outer.start, first.start), f"{tail.before}("),
            self._around(number, Span(inner.start, inner.start), "", f"{SEEN}({number}, ")._replace(size=-_OUTER),
            self._around(number, Span(inner.end, inner.end), "", ")")._replace(size=_OUTER),
            self._around(number, Span(last.end, tail.end), f")[{place}]{tail.after}"),
        ]

    def _inline(self, number: int, call: Call, layer: Layer) -> list[Cut]:
        (use,) = layer.uses
        opening, *others = self._used(number, use)
        made = self._made(number, call, layer.call, opening.span, opening.slot.absent)
        return [Cut(made.span, made.slot._replace(marker=opening.slot.marker)), *others]

    def _applied(self, number: int, call: Call, layer: Layer) -> list[Cut]:
        (use,) = layer.uses
        (outer, opening, _), (end, closing, _) = self._used(number, use)
        first = self._called(opening._replace(before="", called=True, half="open"), call, outer)
        call_end = self._source.span(use.call).end
        last = closing._replace(before="", after=self._source.text[call_end : end.end], called=True, half="close")
        return [Cut(outer, first), Cut(end, self._called(last, call, Span(end.start, call_end)))]

    def tail(self, call: cst.Call) -> Tail | None:
        """Returns the text for the further results of a use; None if several of them are read."""
        end, node, parent = self._source.span(call).end, call, self._source.parent(call)
        while isinstance(parent, cst.Subscript) and parent.value is node and not node.lpar and item(parent) is not None:
            end, node, parent = self._source.span(parent).end, parent, self._source.parent(parent)  # type: ignore[assignment]
        if isinstance(parent, cst.Assign) and node is call:
            for target in parent.targets:
                if isinstance(target.target, (cst.Tuple, cst.List)):
                    return self._unpacked(target.target, parent, end)
        return Tail("", "", end)

    def _unpacked(self, target: cst.Tuple | cst.List, statement: cst.Assign, end: int) -> Tail | None:
        values = [each.value for each in target.elements]
        read = [place for place, each in enumerate(values) if self._reads.read_after(each, statement)]
        if len(read) > 1 or not all(isinstance(each, cst.Element) for each in target.elements):
            return None
        texts = [_nothing(each) for each in values]
        place = read[0] if read else 0
        before = "".join(f"{text}, " for text in texts[:place])
        return Tail(before, "".join(f", {text}" for text in texts[place + 1 :]) or ("" if place else ","), end)


def _nothing(target: cst.BaseExpression) -> str:
    if isinstance(target, (cst.Tuple, cst.List)):
        return "(" + "".join(f"{_nothing(each.value)}, " for each in target.elements) + ")"
    return "None"
