"""Disassembly of model programs into a template with slots and the blocks that fit them (MoCo 2024, section III-B).

A run of the program with hooks shows which calls make layers or apply functions, in which order their results are
computed, and which operations join branches. The text then only has to be cut at these calls.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import accumulate, pairwise
from typing import NamedTuple

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.ir.errors import CodecError, UserError
from fuzz_core.modelgen.expressions import dotted
from fuzz_core.modelgen.moco.names import ModuleNames
from fuzz_core.modelgen.moco.program import (
    INPUT,
    SEEN,
    Block,
    Call,
    CallArgument,
    Program,
    Slot,
    Template,
    open_at_first_block,
)
from fuzz_core.worker.programs_ran import FlowRecord, JoinRecord, UseRecord

_REMEDY = "give a program that runs, with hidden layers that its models compute with"
_SERIAL = 0  # the group of layers that the program calls outside of all models


class _Cut(NamedTuple):
    """A slot and the text that it replaces."""

    start: int
    end: int
    # The order of cuts at one place. An opening cut has the negative length of the text that it encloses, a closing cut
    # the positive length.
    size: int
    slot: Slot


class _Part(NamedTuple):
    """A layer or an applied function."""

    use: UseRecord
    node: ast.Call
    stays: bool


class Disassembly:
    """A program that is to be taken apart: `hooked` is its text with hooks, whose run gives a record for `program`.

    Raises:
        UserError: the text is not Python, or is nested too deeply.
    """

    def __init__(self, name: str, source: str, library: str, aliases: Mapping[str, str] = {}) -> None:
        self._name, self._library, self._aliases = name, library, aliases
        try:
            self._tree = ast.parse(source)
            self._names = ModuleNames(library, self._tree)
            hooks = HookWriter(self._names)
            self.hooked = ast.unparse(hooks.visit(deepcopy(self._tree)))
        except RecursionError:
            raise UserError(
                f"{name} has an expression that is nested too deeply to be taken apart",
                "split its longest expression into several statements",
            ) from None
        except (SyntaxError, ValueError) as error:
            raise UserError(
                f"{name} is not valid Python: {error}", "correct the syntax error, or leave the program out of --models"
            ) from None
        self._sites = hooks.sites
        # Syntax trees count bytes.
        self._bytes = source.encode()
        self._starts = [0, *accumulate(map(len, self._bytes.splitlines(keepends=True)))]

    def program(self, record: FlowRecord) -> Program:
        """Return the program in parts.

        Raises:
            UserError: the run has shown no hidden layer.
            CodecError: the record is not of this program.
        """
        parts = self._fitting(list(self._parts(record)))
        if all(part.stays for part in parts):
            raise UserError(f"{self._name} cannot be taken apart: it has no hidden layers", _REMEDY)
        blocks = tuple(self._block(number, part) for number, part in enumerate(parts))
        head = tuple(number for number, part in enumerate(parts) if part.stays)
        cuts = [cut for number, part in enumerate(parts) for cut in self._cuts(number, part, blocks[number].call)]
        cuts = self._with_joins(parts, cuts, record.joins)
        spans = [self._span(node) for node in ast.walk(self._tree) if isinstance(node, ast.ClassDef)]
        hidden = [self._span(part.node)[0] for part in parts if not part.stays]
        inside = any(start <= at < end for at in hidden for start, end in spans)
        style = "class" if inside else "serial"
        return open_at_first_block(Program(self._name, self._library, style, self._template(cuts, head), blocks))

    # Which calls are blocks.

    def _parts(self, record: FlowRecord) -> Iterator[_Part]:
        """Yield layers in order of computation.

        Functions before the first layer and after the last stay.
        """
        groups: dict[int, list[UseRecord]] = {}
        for use in record.uses:
            groups.setdefault(use.group, []).append(use)
        called = (self._names.public(dotted(each.func)) or "" for each in self._sites if isinstance(each, ast.Call))
        given = any(path.rpartition(".")[2].startswith("Input") for path in called)
        for group, uses in groups.items():
            nodes = [self._call(use.site) for use in uses]
            made = [place for place, use in enumerate(uses) if not use.applied]
            sized = [place for place in made if _is_sized(nodes[place])]
            if not made:
                continue
            first, last = made[0], (sized or made)[-1]
            ends = {last} if given and group == _SERIAL else {first, last}
            for place, (use, node) in enumerate(zip(uses, nodes, strict=True)):
                spread = any(isinstance(each, ast.Starred) for each in node.args)
                spread = spread or any(each.arg is None for each in node.keywords)
                stays = spread or place < first or place > last or place in ends or not self._is_cut(use, node)
                if not stays or not use.applied:
                    yield _Part(use, node, stays)

    def _is_cut(self, use: UseRecord, node: ast.Call) -> bool:
        """Return whether an absent layer could give what it gets."""
        if use.gave.count("x") != 1 or use.gave.replace("None", "").strip("(), ") != "x":
            return False
        return use.place < len(_given(node)) if use.applied else not use.place

    def _fitting(self, parts: list[_Part]) -> list[_Part]:
        """Return parts whose cuts do not overlap.

        If a layer is in the arguments of another, the outer one stays.
        """
        while True:
            cuts = sorted(cut for number, part in enumerate(parts) for cut in self._cuts(number, part))
            outer = next((a for a, b in pairwise(cuts) if b.start < a.end), None)
            if outer is None:
                return parts
            part = parts[outer.slot.block]
            if part.stays or part.use.applied:
                parts.remove(part)
            else:
                parts[outer.slot.block] = part._replace(stays=True)

    def _block(self, number: int, part: _Part) -> Block:
        node, use = part.node, part.use
        spelled = self._text(node.func)
        path = self._names.public(dotted(node.func)) or spelled
        written = tuple(
            CallArgument(name, INPUT if use.applied and place == use.place else self._text(value))
            for place, (name, value) in enumerate(_given(node))
        )
        call = Call(self._aliases.get(path, path), spelled, written, use.applied)
        return Block(number, call, node.lineno, number, use.once)

    # How the text is cut.

    def _cuts(self, number: int, part: _Part, call: Call | None = None) -> list[_Cut]:
        start, end = self._span(part.node)
        use, slot = part.use, Slot(number, original=call)
        if not use.applied:
            absent, marker = ("", "") if part.stays else self._absent(number, use)
            return [_Cut(start, end, 0, slot._replace(absent=absent, marker=marker, text=self._between(start, end)))]
        inner = self._span(_given(part.node)[use.place][1])
        before, after = use.gave.split("x")
        opening = slot._replace(
            absent=f"{before}(", marker=f"{before}{SEEN}({number}, ", half="open", text=self._between(start, inner[0])
        )
        closing = slot._replace(absent=f"){after}", half="close", text=self._between(inner[1], end))
        return [_Cut(start, inner[0], start - end, opening), _Cut(inner[1], end, end - start, closing)]

    def _absent(self, number: int, use: UseRecord) -> tuple[str, str]:
        """Return the layer that takes the place of an absent one: in the program, and in a watched program."""
        dialect = dialect_of(self._library)
        identity = dialect.identity and self._spelled(dialect.identity)
        if use.alone and use.gave == "x" and identity:
            return f"{identity}()", f"{SEEN}({number})"
        before, after = "(lambda x, *_, **__: ", ")"
        if dialect.computes:
            before = f"type('Absent', ({identity},), {{'{dialect.computes}': lambda self, x, *_, **__: "
            after = "})()"
        return f"{before}{use.gave}{after}", f"{before}{use.gave.replace('x', f'{SEEN}({number}, x)')}{after}"

    def _spelled(self, api: str) -> str:
        """Return the shortest path to an api, which imports its module if the program has no name for it."""
        path = self._names.spelled(api)
        root, _, rest = api.partition(".")
        if path != api or root in self._names.aliases:
            return path
        return f"__import__({dialect_of(self._library).imports[0].split()[1]!r}).{rest}"

    def _with_joins(self, parts: Sequence[_Part], cuts: list[_Cut], joins: Sequence[JoinRecord]) -> list[_Cut]:
        """Return the cuts of layers with those of joins; a join with overlapping cuts stays as it is."""
        numbers = {part.use.site: number for number, part in enumerate(parts) if not part.stays}
        for join in joins:
            both = sorted([*cuts, *self._join(join, numbers)])
            if all(one.end <= other.start for one, other in pairwise(both)):
                cuts = both
        return sorted(cuts)

    def _join(self, join: JoinRecord, numbers: Mapping[int, int]) -> list[_Cut]:
        """Return the cuts for a join, which is inserted with any block of a branch besides the one that remains."""
        if any(site not in numbers for own in join.own for site in own):
            return []
        # A shortcut without layers remains, or else the branch that is computed first.
        ranks = [(bool(own), min((numbers[site] for site in own), default=-1)) for own in join.own]
        first = ranks.index(min(ranks))
        blocks = sorted({numbers[site] for place, own in enumerate(join.own) if place != first for site in own})
        node = self._sites[join.site] if join.site < len(self._sites) else None
        if not blocks or node is None:
            return []
        start, end = self._span(node)
        slot = Slot(blocks[0], joins=tuple(blocks))

        def cut(start: int, end: int, absent: str, size: int = 0) -> _Cut:
            return _Cut(start, end, size, slot._replace(text=self._between(start, end), absent=absent))

        if isinstance(node, ast.AugAssign):
            target, value = self._span(node.target), self._span(node.value)
            opening = cut(target[1], value[0], f" = ({self._text(node.target)}, ")
            return [opening, cut(value[1], end, f")[{first}]", end - start)]
        if isinstance(node, ast.BinOp):
            operands = [self._span(node.left), self._span(node.right)]
        else:
            given = _given(node)
            if any(isinstance(each, ast.Starred) for each in node.args) or max(join.places) >= len(given):
                return []
            operands = [self._span(given[place][1]) for place in join.places]
            if len(operands) == 1 and dotted(node.func).rpartition(".")[2] == "stack":
                # A call that stacks gets a list of one, to keep the new axis.
                return [cut(operands[0][1], operands[0][1], f"[{first}:{first + 1}]")]
        between = [cut(one[1], other[0], ", ") for one, other in pairwise(operands)]
        opening = cut(start, operands[0][0], "(", start - end)
        return [opening, *between, cut(operands[-1][1], end, f")[{first}]", end - start)]

    def _template(self, cuts: Sequence[_Cut], head: tuple[int, ...]) -> Template:
        pieces: list[str | Slot] = []
        at = 0
        for start, end, _, slot in cuts:
            pieces += [self._between(at, start), slot]
            at = end
        return Template((*pieces, self._between(at)), head)

    # The text.

    def _call(self, site: int) -> ast.Call:
        node = self._sites[site] if site < len(self._sites) else None
        if not isinstance(node, ast.Call):
            raise CodecError(f"there is no call {site} in {self._name}")
        return node

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[node.end_lineno - 1] + node.end_col_offset

    def _between(self, start: int, end: int | None = None) -> str:
        return self._bytes[start:end].decode()

    def _text(self, node: ast.expr) -> str:
        return self._between(*self._span(node))


def _given(call: ast.Call) -> list[tuple[str, ast.expr]]:
    """Return the arguments of a call, with the names that they are given by."""
    return [*(("", each) for each in call.args), *((each.arg or "", each.value) for each in call.keywords)]


def _is_sized(call: ast.Call) -> bool:
    """Return whether a layer gets a size, as an output layer does: a number that is no axis."""
    sizes = [value for name, value in _given(call) if name not in ("dim", "axis", "name")]
    return any(
        type(each.value) is int if isinstance(each, ast.Constant) else not isinstance(each, ast.JoinedStr)
        for each in sizes
    )


Site = ast.Call | ast.BinOp | ast.AugAssign

# The functions that a program with hooks calls, and the places of operators among those that the worker knows.
CALLED, COMBINED = "__called__", "__combined__"
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Mod, ast.Pow, ast.FloorDiv)
# Builtin functions that look at the frame which calls them.
_BY_FRAME = frozenset(("super", "locals", "globals", "vars", "dir", "eval", "exec"))


class HookWriter(ast.NodeTransformer):
    """A transformer that puts hooks into a program.

    Attributes:
        sites: the calls and operations with a hook, as they are in the program; a hook passes the site's place here.
    """

    def __init__(self, names: ModuleNames) -> None:
        self._names = names
        self.sites: list[Site] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Leave decorators, defaults and annotations as they are."""
        node.body = [self.visit(each) for each in node.body]
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:
        """Leave texts as they are."""
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Put a hook around the function of a call."""
        place = self._site(node)
        if isinstance(node.func, ast.Name) and node.func.id in _BY_FRAME:
            return node
        public = ast.Constant(self._names.public(dotted(node.func)) is not None)
        return ast.Call(_hook(CALLED, place, node.func, public), node.args, node.keywords)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Put a hook in the place of an operation."""
        if type(node.op) not in _OPERATORS:
            return self.generic_visit(node)
        place = self._site(node)
        return _hook(COMBINED, place, ast.Constant(_OPERATORS.index(type(node.op))), node.left, node.right)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """Put a hook in the place of an operation on a variable."""
        if type(node.op) not in _OPERATORS or not isinstance(node.target, ast.Name):
            return self.generic_visit(node)
        place = self._site(node)
        number = ast.Constant(_OPERATORS.index(type(node.op)) + len(_OPERATORS))
        value = _hook(COMBINED, place, number, ast.Name(node.target.id, ast.Load()), node.value)
        return ast.copy_location(ast.Assign([node.target], value), node)

    def _site(self, node: Site) -> int:
        """Return the place of a site, whose children get hooks."""
        place = len(self.sites)
        self.sites.append(deepcopy(node))
        self.generic_visit(node)
        return place


def _hook(name: str, place: int, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), [ast.Constant(place), *args], [])
