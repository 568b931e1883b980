"""A call in the making: a value for each parameter of a signature, and where the values come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from fuzz_core.ir.rng import Rng
from fuzz_core.ir.signatures import ApiSignature, SignatureParameter
from fuzz_core.ir.values import Invocation, Seq, Tensor, Then, Value


class ArgumentSource(Protocol):
    """Knowledge of arguments from other calls of the library."""

    def named(self, rng: Rng, api: str, parameter: SignatureParameter) -> Value | None:
        """Return a value that an api took for an argument of this name, if there is one."""

    def makers(self, api: str, parameter: SignatureParameter) -> Sequence[Maker]:
        """Return the calls that make such an argument, the likely ones more than once."""


class Maker(NamedTuple):
    """A call that makes an object, with the signature to vary it by if it has one."""

    call: Invocation
    signature: ApiSignature | None = None
    weight: int = 1  # how likely it is what a call wants


class Cast(NamedTuple):
    """How a tensor of a dtype without a description is made: an api converts a tensor of another dtype."""

    dtype: str
    api: str
    rest: tuple[Value, ...] = ()  # the arguments behind the tensor


class Draft:
    """A call in the making: a value for each parameter of its signature, None for those that are left out."""

    def __init__(self, signature: ApiSignature) -> None:
        self.signature = signature
        self.values: list[Value | None] = [None] * len(parameters(signature))
        self.dtypes: dict[str, str] = {}
        self.counts: dict[str, int] = {}
        # The shape that most tensors of the call have, if most have one.
        self.usual: tuple[int, ...] | None = None
        self.around: list[tuple[int, ...]] = []  # shapes in the call that this call is an argument of

    def copy(self) -> Draft:
        """Return a draft that can be changed apart from this one."""
        made = Draft(self.signature)
        made.values, made.dtypes, made.counts = [*self.values], {**self.dtypes}, {**self.counts}
        made.around = self.around
        return made

    def shapes(self) -> list[tuple[int, ...]]:
        """Return the shapes of the tensors drawn so far."""
        return self.around + [tensor.shape for value in self.values for tensor in tensors(value)]

    def objects(self) -> Iterator[tuple[SignatureParameter, Invocation]]:
        """Yield the parameters whose objects are drawn, with the calls that make them."""
        for parameter, value in zip(parameters(self.signature), self.values, strict=True):
            if parameter.kind == "object" and isinstance(value, Invocation):
                yield parameter, value

    def alike(self, parameter: SignatureParameter) -> list[Invocation]:
        """Return the calls that make objects of this kind for other parameters."""
        return [
            call for other, call in self.objects() if other.dtypes == parameter.dtypes and other.name != parameter.name
        ]

    def invocation(self) -> Invocation:
        """Return the call."""
        count = len(self.signature.parameters)
        args, kwargs = _call(self.signature.parameters, self.values[:count])
        then = None
        if self.signature.method:
            then = Then(self.signature.method, *_call(self.signature.own, self.values[count:]))
        return Invocation(self.signature.api, args, kwargs, then)


def parameters(signature: ApiSignature) -> tuple[SignatureParameter, ...]:
    """Return all parameters of a signature."""
    return signature.parameters + signature.own


def _call(
    parameters: Sequence[SignatureParameter], values: Sequence[Value | None]
) -> tuple[tuple[Value, ...], tuple[tuple[str, Value], ...]]:
    args: list[Value] = []
    kwargs: list[tuple[str, Value]] = []
    open_end = True
    for parameter, value in zip(parameters, values, strict=True):
        if not parameter.positional:
            kwargs += [] if value is None else [(parameter.name, value)]
        elif value is None:
            open_end = False
        elif open_end:
            args.append(value)
    return tuple(args), tuple(kwargs)


def tensors(value: Value | None) -> list[Tensor]:
    """Return the tensors of a list, or the one that a conversion begins with."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Seq):
        return [tensor for item in value.items for tensor in tensors(item)]
    return tensors(value.args[0]) if isinstance(value, Invocation) and value.args else []
