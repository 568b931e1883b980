"""Search for a call that a library accepts: each new kind of refusal is a step towards it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from fuzz_core.ir.rng import Rng
from fuzz_core.ir.signatures import ApiSignature
from fuzz_core.ir.tree import rewritten, walk
from fuzz_core.ir.values import Invocation, Seq, Tensor, Value
from fuzz_core.synthesis.draft import ArgumentSource, Cast, Draft, parameters, tensors
from fuzz_core.synthesis.drawer import Drawer
from fuzz_core.synthesis.forms import other_form
from fuzz_core.synthesis.refusals import Hints, class_of, hints, misfit
from fuzz_core.synthesis.repair import repairs

FRESH_FIRST = 12
FRESH_SHARE = 0.2
# Share of the changes that make tensors alike: few definitions say that variables have one shape.
ALIGNED_SHARE = 0.1
# Share of the changes that put what a refusal demands where the draft has what the refusal was given.
REPAIR_SHARE = 0.6
# Refusals that were met last are tried most: a later check comes to light when the earlier ones hold.
LATEST = 6
# Classes of refusals that are kept, and forms of a call.
MOST_CLASSES, MOST_FORMS = 200, 40


@dataclass
class Refused:
    """A draft that was refused, with what the refusal says."""

    draft: Draft
    message: str
    hints: Hints
    form: ApiSignature | None = None  # what the refusal asks for, if that is another form of the call
    used: int = 0  # how often it was changed into another draft


class Search:
    """Ask-and-tell search for a valid call of an api: `ask` for a draft, `tell` its refusal."""

    def __init__(
        self,
        signatures: Sequence[ApiSignature],
        rng: Rng,
        source: ArgumentSource,
        dtypes: Sequence[str],
        casts: Mapping[str, Cast] = {},
    ) -> None:
        self.signatures = [*signatures]
        self.declared = len(signatures)
        self.rng = rng
        self.drawer = Drawer(rng, source, dtypes, casts)
        self.casts = frozenset(casts)
        self.refused: dict[str, Refused] = {}
        self.asked = 0

    def ask(self) -> Draft:
        """Return the next draft."""
        self.asked += 1
        if self.asked <= FRESH_FIRST or not self.refused or self.rng.chance(FRESH_SHARE):
            # The form that a refusal has asked for last is the likely one.
            asked_for = len(self.signatures) > self.declared and self.rng.chance(0.4)
            signature = self.signatures[-1] if asked_for else self.rng.choice(self.signatures)
            return self.drawer.fresh(signature, optional=self.rng.choice((0.0, 0.0, 0.1, 0.5)))
        kept = [*self.refused.values()]
        if self.rng.chance(0.8):
            kept = kept[-1:] if self.rng.chance(0.4) else kept[-LATEST:]
        base = min((self.rng.choice(kept), self.rng.choice(kept)), key=lambda each: each.used)
        base.used += 1
        return self._changed(base)

    def tell(self, draft: Draft, message: str) -> None:
        """Learn from the refusal of a draft, unless the refusal is about a call that makes an argument."""
        call = draft.invocation()
        inner = {_last(each.api) for each in walk(call) if isinstance(each, Invocation) and each is not call}
        if _last(call.api) not in message and any(name in message for name in inner):
            return
        names = tuple(parameter.name for parameter in parameters(draft.signature))
        told = hints(message, names, self.casts)
        argument = misfit(message)
        if argument is not None or _is_rank_of_object(draft, told):
            self._leave_out(draft, argument or "")
        form = other_form(draft.signature, message)
        if form is not None and form not in self.signatures and len(self.signatures) < MOST_FORMS:
            self.signatures.append(form)
        key = class_of(message)
        known = self.refused.get(key)
        if known is None and len(self.refused) >= MOST_CLASSES:
            return
        # The later draft of a class is the better one: more of its arguments are mended.
        self.refused[key] = Refused(draft, message, told, form, known.used if known else 0)

    def _leave_out(self, draft: Draft, argument: str) -> None:
        """Note which api has made an object of a wrong type, if all objects of the draft come from one api.

        Args:
            argument: the argument that the refusal names; empty if it names none.
        """
        made = {
            (parameter.name, value.api)
            for parameter, value in zip(parameters(draft.signature), draft.values, strict=True)
            if isinstance(value, Invocation) and parameter.kind == "object" and argument in ("", parameter.name)
        }
        if len({api for _, api in made}) == 1:
            self.drawer.misfits |= made

    def _changed(self, base: Refused) -> Draft:
        told = base.hints
        if base.form is not None and self.rng.chance(REPAIR_SHARE):
            return self.drawer.reformed(base.draft, base.form, told)
        draft = base.draft.copy()
        places = range(len(draft.values))
        if not places:
            return draft
        if self.rng.chance(ALIGNED_SHARE):
            self._align(draft, told)
            return draft
        left_out = [n for n in places if draft.values[n] is None and parameters(draft.signature)[n].kind == "any"]
        if told.is_none and left_out and self.rng.chance(REPAIR_SHARE):
            self.drawer.draw(draft, self.rng.choice(left_out), told)
            return draft
        if told.kernels and self.rng.chance(REPAIR_SHARE):
            self._fit_kernel(draft, told)
            return draft
        if self.rng.chance(REPAIR_SHARE) and (found := repairs(draft, told, self.drawer)):
            repair = self.rng.choice(found)
            draft.values[repair.place] = repair.value
            return draft
        named = [n for n in places if parameters(draft.signature)[n].name in told.arguments]
        for _ in range(self.rng.choice((1, 1, 1, 1, 2, 3))):
            place = self.rng.choice(named if named and self.rng.chance(0.6) else places)
            self._change(draft, place, told)
        return draft

    def _change(self, draft: Draft, place: int, told: Hints) -> None:
        rng, drawer = self.rng, self.drawer
        parameter, value = parameters(draft.signature)[place], draft.values[place]
        if value is not None and not parameter.required and rng.chance(0.3):
            draft.values[place] = None
            return
        if parameter.group and rng.chance(0.3 if told.dtypes else 0.1):
            self._retype(draft, parameter.group, told)
            return
        if parameter.many not in ("", "*") and rng.chance(0.3):
            draft.counts.pop(parameter.many, None)
            for other, each in enumerate(parameters(draft.signature)):
                if each.many == parameter.many:
                    drawer.draw(draft, other, told)
            return
        if isinstance(value, Tensor) and rng.chance(0.6):
            way = rng.below(3)
            shape = drawer.shape(draft, told) if way == 0 else value.shape
            shape = drawer.varied(shape, draft, told) if way == 1 else shape
            draft.values[place] = drawer.tensor(value.dtype, shape, draft, told)
            return
        if isinstance(value, Seq) and value.items and parameter.kind in ("int", "float", "bool") and rng.chance(0.5):
            items = list(value.items)
            made = drawer.makers[parameter.kind](draft, parameter, told)
            if made is not None:
                items[rng.below(len(items))] = made
            draft.values[place] = Seq("list", tuple(items))
            return
        drawer.draw(draft, place, told)

    def _align(self, draft: Draft, told: Hints) -> None:
        """Give all tensors that are no scalars one shape, and tensors that make an object a dtype of the call."""
        shape = self.rng.choice([*filter(None, draft.shapes())] or [(2,)])
        dtypes = [*draft.dtypes.values()]

        def aligned(part: Value, is_inside: bool) -> Value:
            if not isinstance(part, Tensor):
                return part
            dtype = self.rng.choice(dtypes) if is_inside and dtypes else part.dtype
            return self.drawer.tensor(dtype, shape if part.shape or is_inside else (), draft, told)

        for place, parameter in enumerate(parameters(draft.signature)):
            value = draft.values[place]
            if isinstance(value, Invocation) and parameter.kind == "object":
                value = self.rng.choice(draft.alike(parameter) or [value])
            if value is not None:
                draft.values[place] = rewritten(value, partial(aligned, is_inside=parameter.kind == "object"))

    def _retype(self, draft: Draft, group: str, told: Hints) -> None:
        """Draw the dtype of a group anew; tensors keep their shapes."""
        draft.dtypes.pop(group, None)
        self._redraw(draft, group, told)

    def _fit_kernel(self, draft: Draft, told: Hints) -> None:
        """Give all groups the dtypes of one of the kernels that a refusal lists; tensors keep their shapes."""
        for group, dtypes in self.rng.choice(told.kernels):
            if dtypes:
                draft.dtypes[group] = self.rng.choice(dtypes)
                self._redraw(draft, group, told)

    def _redraw(self, draft: Draft, group: str, told: Hints) -> None:
        """Draw what a group has with the group's dtype; tensors keep their shapes."""
        for place, parameter in enumerate(parameters(draft.signature)):
            value = draft.values[place]
            if parameter.group != group or (value is None and not parameter.required and parameter.kind != "dtype"):
                continue
            inner = tensors(value)
            if parameter.kind == "tensor" and not parameter.many and inner:
                dtype = self.drawer.dtype(draft, parameter, told)
                draft.values[place] = self.drawer.tensor(dtype, inner[0].shape, draft, told)
            else:
                self.drawer.draw(draft, place, told)


def _is_rank_of_object(draft: Draft, told: Hints) -> bool:
    """Return whether a refusal complains of a rank that no tensor of a call has, so that an object has it."""
    pairs = zip(parameters(draft.signature), draft.values, strict=True)
    ranks = {len(tensor.shape) for each, value in pairs if each.kind != "object" for tensor in tensors(value)}
    return bool(told.ranks and told.given_ranks) and ranks.isdisjoint(told.given_ranks)


def _last(api: str) -> str:
    return api.rpartition(".")[2]
