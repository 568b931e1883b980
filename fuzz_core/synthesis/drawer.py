"""Values for the arguments of a signature: type-correct, and as a refusal of an earlier try asks for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from fuzz_core.ir.dtypes import DTYPES, integer_bounds
from fuzz_core.ir.elements import pack
from fuzz_core.ir.rng import Rng
from fuzz_core.ir.signatures import LOOSE, ApiSignature, SignatureParameter
from fuzz_core.ir.values import NONE, Fill, Invocation, Map, Ref, Seq, Tensor, Value, prim
from fuzz_core.synthesis.draft import ArgumentSource, Cast, Draft, parameters, tensors
from fuzz_core.synthesis.refusals import Hints
from fuzz_core.synthesis.refusals import hints as read_hints

SHAPES = (
    (),
    (),
    (),
    (1,),
    (2,),
    (3,),
    (4,),
    (2, 3),
    (3, 3),
    (2, 2),
    (1, 2),
    (2, 1, 3),
    (2, 3, 3),
    (1, 4, 4, 2),
    (2, 4, 4, 4),
)
LARGER = ((1, 4, 4, 4, 2), (2, 2, 3, 4, 4), (1, 8, 8, 3), (16,), (8, 8), (2, 2, 2, 2, 2, 2))
SIZES = (2, 3, 1, 4, 2, 3, 8)
MAX_SIZE, MAX_RANK = 64, 6
INTEGERS = (1, 2, 0, 3, 1, 2, 4, -1, 8)
FLOATS = (1.0, 0.5, 0.0, 0.1, 2.0, 1e-3, -1.0)
# Share of lists of shapes that leave the shapes open.
UNKNOWN_SHARE = 0.3
# Share of objects that are like another one of the call: the variables of an optimiser have one dtype and shape.
ALIKE_SHARE = 0.7
# Share of texts that another call makes, if one makes such texts.
CONTENT_SHARE = 0.3
TEXTS = ("", "a", "abc", "1", "2.5", "a b", "a,b", "same")
_MAPPING = re.compile(r"\b(?:dict(?:ionary)?|mapping)\b", re.IGNORECASE)
# Dtypes of an argument that allows every one, the likely ones more often.
USUAL = ("float32", "float32", "float32", "int32", "int64", "float64", "bool", "string", "int32", "complex64", "uint8")


class Drawer:
    """Draws the arguments of a call.

    Args:
        dtypes: the dtypes that the library can compute with.
        casts: the conversions that make tensors of further dtypes.
    """

    def __init__(self, rng: Rng, source: ArgumentSource, dtypes: Sequence[str], casts: Mapping[str, Cast] = {}) -> None:
        self.rng, self.source, self.casts = rng, source, casts
        self.known = {*dtypes, *casts}
        # Arguments and apis whose objects have been refused there for their type.
        self.misfits: set[tuple[str, str]] = set()
        self.makers: dict[str, Callable[[Draft, SignatureParameter, Hints], Value | None]] = {
            "tensor": self._tensor,
            "int": lambda draft, parameter, hints: prim(self._integer(draft, parameter, hints)),
            "float": lambda draft, parameter, hints: prim(self._float(hints)),
            "bool": lambda draft, parameter, hints: prim(self.rng.chance(0.5)),
            "str": lambda draft, parameter, hints: prim(self._text(hints)),
            "dtype": self._dtype_value,
            "shape": self._sizes,
            "number": self._number,
            "object": self._object,
            "function": lambda draft, parameter, hints: self.source.named(self.rng, draft.signature.api, parameter),
            "any": self._any,
        }

    def fresh(self, signature: ApiSignature, optional: float = 0.1) -> Draft:
        """Draw all required arguments, and each optional one with the given probability."""
        draft = Draft(signature)
        draft.usual = self.rng.choice(SHAPES) if self.rng.chance(0.3) else None
        for place, parameter in enumerate(parameters(signature)):
            if parameter.required or self.rng.chance(optional):
                self.draw(draft, place, Hints())
        return draft

    def reformed(self, draft: Draft, form: ApiSignature, hints: Hints) -> Draft:
        """Return a draft with another form; what both forms have stays."""
        made = Draft(form)
        made.dtypes, made.counts, made.around = {**draft.dtypes}, {**draft.counts}, draft.around
        kept = dict(zip(parameters(draft.signature), draft.values, strict=True))
        made.values = [kept.get(parameter) for parameter in parameters(form)]
        for place, parameter in enumerate(parameters(form)):
            if parameter not in kept:
                self.draw(made, place, hints)
        return made

    def draw(self, draft: Draft, place: int, hints: Hints) -> None:
        """Draw one argument anew, with the hints of a refusal and of the argument's documentation."""
        parameter = parameters(draft.signature)[place]
        if parameter.text:
            hints = hints.joined(read_hints(parameter.text, ()))
        if not parameter.many or parameter.kind == "shape":
            draft.values[place] = self._one(draft, parameter, hints)
            return
        if not parameter.choices and self.rng.chance(0.3):
            value = self.source.named(self.rng, draft.signature.api, parameter)
            if isinstance(value, Seq):
                draft.values[place] = value
                return
        count = self._count(draft, parameter, hints)
        items = [self._one(draft, parameter, hints) for _ in range(count)]
        if parameter.kind != "tensor" or self.rng.chance(0.3) or not items:
            found = items
        else:
            # Tensors of a list mostly have one shape.
            found = [items[0] if parameter.group else each for each in items]
        draft.values[place] = Seq("list", tuple(NONE if item is None else item for item in found))

    def _count(self, draft: Draft, parameter: SignatureParameter, hints: Hints) -> int:
        least = parameter.least or 0
        key = parameter.many
        if key != "*" and key in draft.counts:
            return draft.counts[key]
        wanted = [number for number in hints.numbers if least <= number <= 8]
        count = self.rng.choice(wanted) if wanted and self.rng.chance(0.5) else least + self.rng.choice((0, 1, 0, 2, 1))
        if parameter.kind == "tensor" and count == 0 and self.rng.chance(0.8):
            count = 1
        draft.counts[key] = count
        return count

    def _one(self, draft: Draft, parameter: SignatureParameter, hints: Hints) -> Value | None:
        if parameter.choices:
            return self.rng.choice(parameter.choices)
        if parameter.kind == "tensor" and parameter.group and not parameter.group.startswith(LOOSE):
            parameter = parameter._replace(dtypes=(self.dtype(draft, parameter, hints),))
        if parameter.kind == "object" and self.rng.chance(ALIKE_SHARE):
            alike = [each for each in draft.alike(parameter) if not self._is_misfit(parameter, each)]
            if alike:
                return self.rng.choice(alike)
        # An operation that decodes a text gets the result of one that encodes it.
        if (
            _is_text(parameter)
            and self.rng.chance(CONTENT_SHARE)
            and self.source.makers(draft.signature.api, parameter)
        ):
            return self._object(draft, parameter, hints)
        if not parameter.many and self.rng.chance(0.1 if parameter.kind == "tensor" else 0.3):
            value = self.source.named(self.rng, draft.signature.api, parameter)
            if value is not None and not self._is_misfit(parameter, value):
                return value
        return self.makers[parameter.kind](draft, parameter, hints)

    def _is_misfit(self, parameter: SignatureParameter, value: Value) -> bool:
        return isinstance(value, Invocation) and (parameter.name, value.api) in self.misfits

    def dtype(self, draft: Draft, parameter: SignatureParameter, hints: Hints) -> str:
        """Return the dtype of the parameter's group; draw it if the group has none yet."""
        loose = parameter.group.startswith(LOOSE) and self.rng.chance(0.25)
        common = draft.dtypes.get(parameter.group, "")
        if common and not loose and common in (parameter.dtypes or (common,)):
            return common
        allowed = [name for name in parameter.dtypes or USUAL if name in self.known]
        told = [name for name in hints.dtypes if name in (self.known if not parameter.dtypes else allowed)]
        likely = [name for name in USUAL if name in allowed] or allowed
        # A tensor mostly has the dtype of the variables of its call.
        held = [each.dtype for _, call in draft.objects() for each in tensors(call)]
        held = [name for name in held if name in allowed]
        if told and self.rng.chance(0.5):
            found = self.rng.choice(told)
        elif held and self.rng.chance(0.8):
            found = self.rng.choice(held)
        else:
            found = self.rng.choice(likely if self.rng.chance(0.7) else allowed) if allowed else "float32"
        if parameter.group:
            draft.dtypes.setdefault(parameter.group, found)
        return found

    def _dtype_value(self, draft: Draft, parameter: SignatureParameter, hints: Hints) -> Value:
        name = self.dtype(draft, parameter, hints)
        # A cast to a layout has no dtype to name.
        rest = self.casts[name].rest if name in self.casts else ()
        return rest[-1] if rest else Ref("dtype", name)

    def _tensor(self, draft: Draft, parameter: SignatureParameter, hints: Hints) -> Value:
        return self.tensor(self.dtype(draft, parameter, hints), self.shape(draft, hints), draft, hints)

    def tensor(self, dtype: str, shape: tuple[int, ...], draft: Draft, hints: Hints) -> Value:
        """Return a tensor with drawn elements, or now and then, for whole numbers, the sizes of another one."""
        cast = self.casts.get(dtype)
        if cast is not None:
            return Invocation(cast.api, (self.tensor(cast.dtype, shape, draft, hints), *cast.rest))
        if DTYPES[dtype].kind in ("int", "uint") and self.rng.chance(0.3) and (sizes := self._told_shape(draft)):
            # Many operations take sizes as a tensor.
            low, high = integer_bounds(dtype)
            numbers = np.clip(np.array(sizes), low, high).astype(DTYPES[dtype].storage)
            return Tensor(dtype, (len(sizes),), Fill("values", data=pack(numbers)))
        return self.shaped(dtype, shape, draft, hints)

    def shaped(self, dtype: str, shape: tuple[int, ...], draft: Draft, hints: Hints) -> Tensor:
        """Return a tensor of exactly this shape and this dtype, which must need no cast."""
        return Tensor(dtype, shape, self._fill(dtype, shape, draft, hints))

    def _told_shape(self, draft: Draft) -> tuple[int, ...]:
        shapes = draft.shapes()
        return self.rng.choice(shapes) if shapes else ()

    def _fill(self, dtype: str, shape: tuple[int, ...], draft: Draft, hints: Hints) -> Fill:
        kind, count = DTYPES[dtype].kind, int(np.prod(shape, dtype=int))
        if count == 0 or (kind in ("float", "complex") and self.rng.chance(0.7)):
            return Fill()
        if kind == "string":
            text = self._text(hints)
            return Fill("values", data=pack(np.array([text] * count, dtype=object)))
        if kind == "bool":
            return Fill("constant", float(self.rng.below(2)))
        if kind in ("float", "complex"):
            return Fill("constant", self.rng.choice(FLOATS))
        if self.rng.chance(0.6) or count == 1:
            return Fill("constant", float(abs(self._plain_integer(draft, hints))))
        numbers = np.arange(count) if self.rng.chance(0.6) else np.array([self.rng.below(3) for _ in range(count)])
        if self.rng.chance(0.5):
            numbers = np.sort(numbers % self.rng.choice((2, 3, 4)))
        return Fill("values", data=pack(numbers.astype(DTYPES[dtype].storage)))

    def shape(self, draft: Draft, hints: Hints) -> tuple[int, ...]:
        """Draw a shape: of a tensor of the draft, a part of it, with the rank of a hint, or a usual one."""
        rng, others = self.rng, draft.shapes()
        if draft.usual is not None and rng.chance(0.6):
            return draft.usual
        if hints.ranks and rng.chance(0.5):
            rank = min(max(rng.choice(hints.ranks) + rng.choice((0, 0, 0, 1)), 0), MAX_RANK)
            fitting = [shape for shape in (*others, *SHAPES, *LARGER) if len(shape) == rank]
            if fitting and rng.chance(0.7):
                return rng.choice(fitting)
            return tuple(self.size(draft, hints) for _ in range(rank))
        if others and rng.chance(0.6):
            return self.varied(rng.choice(others), draft, hints) if rng.chance(0.4) else rng.choice(others)
        return rng.choice(SHAPES if rng.chance(0.85) else LARGER)

    def varied(self, shape: tuple[int, ...], draft: Draft, hints: Hints) -> tuple[int, ...]:
        """Return a shape that differs in one step: a size, one more or fewer dimensions, or one of its sizes alone."""
        rng = self.rng
        way = rng.below(8)
        if way == 0 or not shape:
            return (self.size(draft, hints), *shape) if rng.chance(0.5) else (*shape, self.size(draft, hints))
        if way == 1:
            return shape[1:]
        if way == 2:
            return shape[:-1]
        if way == 3:
            return (rng.choice(shape),)
        place = rng.below(len(shape))
        return (*shape[:place], self.size(draft, hints), *shape[place + 1 :])

    def size(self, draft: Draft, hints: Hints) -> int:
        """Draw the size of a dimension."""
        wanted = [number for number in hints.numbers if 0 <= number <= MAX_SIZE]
        if wanted and self.rng.chance(0.5):
            return self.rng.choice(wanted)
        sizes = [size for shape in draft.shapes() for size in shape]
        return self.rng.choice(sizes) if sizes and self.rng.chance(0.5) else self.rng.choice(SIZES)

    def _plain_integer(self, draft: Draft, hints: Hints) -> int:
        if hints.numbers and self.rng.chance(0.3):
            return self.rng.choice(hints.numbers)
        sizes = [size for shape in draft.shapes() for size in shape]
        if sizes and self.rng.chance(0.2):
            return self.rng.choice(sizes)
        return self.rng.choice(INTEGERS)

    def _integer(self, draft: Draft, parameter: SignatureParameter, hints: Hints) -> int:
        number = self._plain_integer(draft, hints)
        return number if parameter.least is None or parameter.many else max(number, parameter.least)

    def _float(self, hints: Hints) -> float:
        if hints.numbers and self.rng.chance(0.2):
            return float(self.rng.choice(hints.numbers))
        return self.rng.choice(FLOATS)

    def _text(self, hints: Hints) -> str:
        if hints.texts and self.rng.chance(0.6):
            return self.rng.choice(hints.texts)
        return self.rng.choice(TEXTS)

    def _sizes(self, draft: Draft, parameter: SignatureParameter, hints: Hints) -> Value:
        shape = self.shape(draft, hints)
        # The shapes of several values may be unknown, as for the elements of a dataset.
        unknown = bool(parameter.many) and self.rng.chance(UNKNOWN_SHARE)
        made = NONE if unknown else Seq("list", tuple(prim(size) for size in shape))
        return Seq("list", (made,) * self._count(draft, parameter, hints)) if parameter.many else made

    def _number(self, draft: Draft, parameter: SignatureParameter, hints: Hints) -> Value:
        return prim(self._integer(draft, parameter, hints) if self.rng.chance(0.5) else self._float(hints))

    def _object(self, draft: Draft, parameter: SignatureParameter, hints: Hints) -> Value | None:
        """Return a call that makes an object, or one of the same api with other arguments and dtypes of the draft."""
        makers = self.source.makers(draft.signature.api, parameter)
        if not makers:
            return self.source.named(self.rng, draft.signature.api, parameter)
        fitting = [each for each in makers if not self._is_misfit(parameter, each.call)]
        call, signature, _ = self.rng.choice(fitting if fitting and self.rng.chance(0.9) else makers)
        if signature is None or any(each.kind == "object" or _is_text(each) for each in signature.parameters):
            return call
        # What is made from a tensor (a variable) mostly has the dtype and shape of another argument.
        if self.rng.chance(0.2 if any(each.kind == "tensor" for each in signature.parameters) else 0.5):
            return call
        inner = Draft(signature)
        inner.around, inner.usual = draft.shapes(), draft.usual
        for each in signature.parameters:
            dtypes = [name for name in draft.dtypes.values() if name in (each.dtypes or (name,))]
            if each.group and dtypes and self.rng.chance(0.6):
                inner.dtypes[each.group] = self.rng.choice(dtypes)
        for place, each in enumerate(signature.parameters):
            if each.required or self.rng.chance(0.1):
                self.draw(inner, place, hints)
        return inner.invocation()._replace(then=call.then)

    def _any(self, draft: Draft, parameter: SignatureParameter, hints: Hints) -> Value | None:
        parameter = parameter._replace(many="")
        if self.rng.chance(0.5) and self.source.makers(draft.signature.api, parameter):
            made = self._object(draft, parameter, hints)
            is_mapping = made is not None and _MAPPING.search(parameter.text)
            return Map((("a", made),)) if made is not None and is_mapping else made
        if self.rng.chance(0.5):
            value = self.source.named(self.rng, draft.signature.api, parameter)
            if value is not None:
                return value
        kind = self.rng.choice(("tensor", "tensor", "tensor", "int", "shape", "float", "bool", "str", "list"))
        if kind == "list":
            items = [self._tensor(draft, parameter, hints) for _ in range(1 + self.rng.below(2))]
            return Seq("list", tuple(items))
        return self.makers[kind](draft, parameter, hints)


def _is_text(parameter: SignatureParameter) -> bool:
    return parameter.kind == "tensor" and parameter.dtypes == ("string",)
